"""Strict lines of JSON: bounded, unpacked if need be, and every value in its one spelling."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NoReturn

from sixledger.ledger.faults import TAMPERED, TRUNCATED, LedgerFault, UnusableInput, Verdict, tampered
from sixledger.ledger.heads import strict_base64
from sixledger.ledger.readable import dumps

#: Limits of a file: bytes of a line, and of all lines, packed and unpacked.
MAX_LINE_BYTES = 4 << 20
MAX_FILE_BYTES = 256 << 20
#: Parts that were packed one by one and put together: an empty part takes 20 bytes and gives none.
MAX_GZIP_MEMBERS = 1024

GZIP = b"\x1f\x8b"
#: Bytes that are read from a file, and unpacked, at a time.
_CHUNK = 1 << 16


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines without their ends, unpacked. Raises LedgerFault with the line; UnusableInput beyond a limit."""
    whole = unpacked(stream)
    total = number = 0
    while True:
        number += 1
        try:
            line = whole.readline(MAX_LINE_BYTES + 1)
        except EOFError:
            raise _fault(TRUNCATED, "the gzip data end too early", number) from None
        except zlib.error:
            raise _fault(TAMPERED, "the gzip data are damaged", number) from None
        if not line:
            return
        total += len(line)
        if total > MAX_FILE_BYTES:
            raise beyond(f"the file has more than {MAX_FILE_BYTES} bytes")
        if len(line) > MAX_LINE_BYTES:
            raise beyond(f"line {number} has more than {MAX_LINE_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise _fault(TRUNCATED, "the last line has no end", number)
        yield line[:-1]


def beyond(what: str) -> UnusableInput:
    """The refusal of a file beyond a limit: nothing is said about whether it is true."""
    return UnusableInput(f"{what}, which is more than this build reads")


def unpacked(stream: BinaryIO) -> BinaryIO:
    """The content of a file, which is unpacked if it begins as gzip does.

    Reading it raises EOFError if the gzip data end too early, zlib.error if they are damaged, and UnusableInput
    beyond the limits of a packed file.
    """
    start = stream.read(len(GZIP))
    whole = rejoined(start, stream)
    if start != GZIP:
        return whole
    # Reading through a buffer: it has every method of a binary file.
    return io.BufferedReader(_Unpacked(whole), _CHUNK)


def rejoined(start: bytes, rest: BinaryIO) -> BinaryIO:
    """A stream of which the start was read already, from its beginning on."""
    return io.BufferedReader(_Joined(start, rest), _CHUNK)


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
        size = len(buffer)
        data, self._start = (self._start[:size], self._start[size:]) if self._start else (self._rest.read(size), b"")
        buffer[: len(data)] = data
        return len(data)


class _Unpacked(io.RawIOBase):
    """What gzip data unpack to, member after member, with zeros behind each as padding.

    Unlike `gzip.GzipFile` it bounds the data that unpack to nothing: padding, and empty members.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        self._rest = b""
        self._taken, self._members = 0, 1

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with some bytes; 0 at the end."""
        while self._rest or self._take():
            if self._unpacker.eof and not self._begin_next():
                continue
            data = self._unpacker.decompress(self._rest, len(buffer))
            self._rest = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail
            if data:
                buffer[: len(data)] = data
                return len(data)
        if not self._unpacker.eof:
            raise EOFError
        return 0

    def _take(self) -> bool:
        """Read on; False at the end of the file."""
        self._rest = self._packed.read(_CHUNK)
        self._taken += len(self._rest)
        if self._taken > MAX_FILE_BYTES:
            raise beyond(f"the file has more than {MAX_FILE_BYTES} bytes")
        return bool(self._rest)

    def _begin_next(self) -> bool:
        """Begin the next member, behind the padding; False if nothing else is at hand."""
        self._rest = self._rest.lstrip(b"\0")
        if not self._rest:
            return False
        self._members += 1
        if self._members > MAX_GZIP_MEMBERS:
            raise beyond(f"the file has more than {MAX_GZIP_MEMBERS} gzip members")
        self._unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        return True


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
        spelled = dumps(value)  # what nests just deeply enough to be read may be too deep to be written
    except (ValueError, RecursionError) as error:
        raise tampered("parse", "the line is no JSON of a ledger") from error
    if not isinstance(value, dict) or spelled != text:
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
