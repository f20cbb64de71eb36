"""Strict lines of JSON: bounded, unpacked if need be, and every value in its one spelling."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NoReturn

from sixledger.ledger.faults import LedgerFault, Verdict, tampered
from sixledger.ledger.heads import strict_base64
from sixledger.ledger.readable import dumps
from sixledger.v1 import replay_service_pb2

TAMPERED, TRUNCATED = replay_service_pb2.VERDICT_TAMPERED, replay_service_pb2.VERDICT_TRUNCATED
#: Limits of a file: bytes of a line, and of all lines after unpacking.
MAX_LINE_BYTES = 4 << 20
MAX_FILE_BYTES = 256 << 20


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines without their ends, unpacked and within the limits. Raises LedgerFault with the line."""
    start = stream.read(2)
    whole: BinaryIO = io.BufferedReader(_Joined(start, stream))
    if start == b"\x1f\x8b":
        whole = gzip.GzipFile(fileobj=whole)  # type: ignore[assignment]  # reads like one
    total = number = 0
    while True:
        number += 1
        try:
            line = whole.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            raise _fault(TRUNCATED, "the gzip data end too early", number) from None
        except (gzip.BadGzipFile, zlib.error):
            raise _fault(TAMPERED, "the gzip data are damaged", number) from None
        if not line:
            return
        total += len(line)
        if total > MAX_FILE_BYTES:
            raise _fault(TAMPERED, f"the file has more than {MAX_FILE_BYTES} bytes", number)
        if len(line) > MAX_LINE_BYTES:
            raise _fault(TAMPERED, f"the line has more than {MAX_LINE_BYTES} bytes", number)
        if not line.endswith(b"\n"):
            raise _fault(TRUNCATED, "the last line has no end", number)
        yield line[:-1]


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the stream that they came from."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one read goes."""
        data, self._start = (self._start, b"") if self._start else (self._rest.read(len(buffer)), b"")
        buffer[: len(data)] = data
        return len(data)


def _fault(verdict: Verdict.ValueType, message: str, line: int) -> LedgerFault:
    fault = LedgerFault(verdict, "parse", message)
    fault.line = line
    return fault


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is no number of a ledger")


def json_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line in its only spelling. Raises LedgerFault."""
    try:
        text = line.decode()
        value = json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise tampered("parse", "the line is no JSON of a ledger") from error
    if not isinstance(value, dict) or dumps(value) != text:
        raise tampered("parse", "the line is no RFC 8785 JSON object")
    return value


def members(value: Any, names: Sequence[str]) -> list[Any]:
    """The members of an object that has exactly `names`. Raises LedgerFault."""
    if not isinstance(value, dict) or sorted(value) != list(names):
        raise tampered("parse", f"an object must have exactly {', '.join(names)}")
    return [value[name] for name in names]


def items(value: Any) -> list[Any]:
    """A list. Raises LedgerFault."""
    if not isinstance(value, list):
        raise tampered("parse", "a list is missing")
    return value


def string(value: Any) -> str:
    """A string. Raises LedgerFault."""
    if not isinstance(value, str):
        raise tampered("parse", "a string is missing")
    return value


def decoded(value: Any) -> bytes:
    """The bytes of a base64 string. Raises LedgerFault."""
    try:
        return strict_base64(string(value))
    except ValueError as error:
        raise tampered("parse", str(error)) from error


def u32(value: Any) -> int:
    """A number of 32 bits. Raises LedgerFault."""
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise tampered("parse", "a number is out of its range")
    return value


def u64(value: Any) -> int:
    """A number of 64 bits, written as a string. Raises LedgerFault."""
    text = string(value)
    if len(text) > 20 or not text.isascii() or not text.isdigit() or str(int(text)) != text or int(text) >= 1 << 64:
        raise tampered("parse", "a 64-bit number is not written as decimal string")
    return int(text)
