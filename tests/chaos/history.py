"""What clients tell of a run, a JSON object a line: what they asked for, what they were told, what they saw.

The checker works on this and on the exported ledgers, and on nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

#: An act is sent for the first time; `request` and `match` are its names from now on.
INVOKED = "invoked"
#: The service confirmed it, as the record `seq` with this `hash`.
ACKNOWLEDGED = "acknowledged"
#: The service refused it for good; `detail` is the reason.
REFUSED = "refused"
#: An attempt got no answer that says which of both; it is sent again, or given up.
UNKNOWN = "unknown"
#: Somebody was shown the record `seq` with this `hash`.
SEEN = "seen"
#: A watcher was told that the match is over.
ENDED = "ended"
#: A signed head was received: `detail`.
HEAD = "head"
#: The service did what it must never do: `detail`.
BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Event:
    """One line. Times in nanoseconds of one monotonic clock, bytes in hexadecimal."""

    what: str
    #: Which client: a seat, a watcher, an owner.
    by: str
    time_ns: int = 0
    match: str = ""
    request: str = ""
    #: create, join, commitment, contribution, command, resign, seat bot or abort.
    act: str = ""
    #: −1: the table.
    seat: int = -1
    decision: int = 0
    seq: int = -1
    hash: str = ""
    detail: str = ""


_DEFAULTS = {each.name: each.default for each in fields(Event)}


class History:
    """Writes events to a file as they happen, and keeps them."""

    def __init__(self, path: Path) -> None:
        """A new file."""
        self._path = path
        self._file: TextIO | None = None
        self.events: list[Event] = []

    def add(self, what: str, by: str, **values: Any) -> None:
        """Note an event that happens now."""
        event = Event(what, by, time.monotonic_ns(), **values)
        self.events.append(event)
        if self._file is not None:
            told = {name: value for name, value in asdict(event).items() if value != _DEFAULTS[name]}
            self._file.write(json.dumps(told, separators=(",", ":")) + "\n")

    def __enter__(self) -> Self:
        self._file = self._path.open("w", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read(path: Path) -> Iterator[Event]:
    """The events of a file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Event(**json.loads(line))
