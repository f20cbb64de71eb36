"""Structured logs: one JSON object a line.

Only ids, seats, reasons, names of methods and numbers are logged; never a message of the schema, a token
or an exception's arguments. That keeps secrets out, whatever goes wrong.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO

import structlog


def _serialise(event: Any, **_: Any) -> bytes:
    return json.dumps(event, separators=(",", ":"), default=lambda value: type(value).__name__).encode()


#: What becomes of a line.
PROCESSORS: Sequence[Any] = (
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.JSONRenderer(serializer=_serialise),
)


class Sink:
    """Where lines go. One that cannot be written (a full disk, a reader that has gone) fails no call."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, line: bytes) -> None:
        """Write a line, or lose it."""
        with suppress(OSError, ValueError):  # ValueError: it is closed
            self._file.write(line)

    def flush(self) -> None:
        """Hand on what was written."""
        with suppress(OSError, ValueError):
            self._file.flush()


def configure(level: str = "info", file: BinaryIO | None = None, *, worker: str | None = None) -> None:
    """Log from `level` (debug, info, warning, error) on to `file`, by default standard error.

    Every line says which `worker` of several processes wrote it. Raises ValueError for another level.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"log level {level!r} is none of debug, info, warning, error")

    def named(_logger: Any, _method: str, event: Any) -> Any:
        event["worker"] = worker
        return event

    structlog.configure(
        processors=PROCESSORS if worker is None else [named, *PROCESSORS],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.BytesLoggerFactory(file=Sink(file or sys.stderr.buffer)),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )


class Log:
    """A named logger, bound once per configuration: binding costs more than writing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logger: Any = None

    def bind(self) -> None:
        """Take the configuration as it is now."""
        self._logger = structlog.get_logger().bind(logger=self._name)

    def _bound(self) -> Any:
        if self._logger is None:
            self.bind()
        return self._logger

    def debug(self, event: str, **fields: object) -> None:
        """Log what helps to find a defect."""
        self._bound().debug(event, **fields)

    def info(self, event: str, **fields: object) -> None:
        """Log what happened."""
        self._bound().info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log what somebody should look at."""
        self._bound().warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        """Log what somebody must look at."""
        self._bound().error(event, **fields)


def places(trace: TracebackType | None) -> list[str]:
    """Where an exception came from: file, line and function, innermost last, without source or values."""
    return [
        f"{frame.filename.rsplit('sixledger/', 1)[-1]}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(trace)[-12:]
    ]
