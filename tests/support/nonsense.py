"""A gigabyte of nonsense in many shapes, made while it is read, and what the verifier says of it.

Usage: python tests/support/nonsense.py [NAME…]

For each it prints a line of JSON: what was said, CPU seconds, peak memory of the process so far and MiB that were read.
"""

from __future__ import annotations

import io
import itertools
import json
import resource
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.verify import verify
from sixledger.v1 import replay_service_pb2
from support.ledgers import KEYS, Table

GIB, MIB = 1 << 30, 1 << 20
#: Memory that a process may have in all, in bytes: far less than the nonsense.
MEMORY = 900 * MIB
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


class Made(io.RawIOBase):
    """A stream of pieces that are made when they are read; it counts them."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = next(self._pieces, b"")
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)


def gib(piece: bytes) -> Iterator[bytes]:
    """A gigabyte of a piece again and again."""
    return itertools.repeat(piece, GIB // len(piece) + 1)


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, gzipped. The same piece gives the same bytes, so that a bomb is made in no time."""
    yield GZIP_HEADER
    known: dict[bytes, bytes] = {}
    for piece in pieces:
        if piece not in known:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            known[piece] = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
        yield known[piece]


def _file() -> list[bytes]:
    return Table(name="nonsense").play().file().splitlines(keepends=True)


def _header() -> bytes:
    return _file()[0]


def _after_header(piece: bytes) -> Iterator[bytes]:
    yield _header()
    yield from gib(piece)


def _record(**parts: Any) -> bytes:
    """A line in the form of a record."""
    value = {"body": "", "hash": "", "openings": [], "seals": [], "shown": 0} | parts
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _many_seals() -> bytes:
    return _record(seals=[{"audience": "0", "commitment": "", "epoch": 0}] * 65_535)


def _header_of(keys: bytes) -> bytes:
    return b'{"format":"sixledger-ledger/1","keys":[' + keys + b"]}\n"


def _deep(opening: bytes, closing: bytes) -> bytes:
    depth = MIB
    return b'{"body":' + opening * depth + b"1" + closing * depth + b"}\n"


def _empty_members() -> Iterator[bytes]:
    empty = GZIP_HEADER + b"\x03\x00" + struct.pack("<II", 0, 0)
    return gib(empty * 1000)


def _padding() -> Iterator[bytes]:
    text = _header()
    yield GZIP_HEADER
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield packer.compress(text) + packer.flush() + struct.pack("<II", zlib.crc32(text), len(text))
    yield from gib(bytes(MIB))


#: The shapes: each gives the pieces of a stream.
SHAPES: dict[str, Callable[[], Iterator[bytes]]] = {
    "zeros": lambda: gib(bytes(MIB)),
    "newlines": lambda: gib(b"\n" * MIB),
    "one line": lambda: itertools.chain([_header()[:-1]], gib(b"x" * MIB)),
    "one line after the header": lambda: _after_header(b"x" * MIB),
    "newlines after the header": lambda: _after_header(b"\n" * MIB),
    "a million headers": lambda: gib(_header()),
    "a million heads": lambda: _after_header(_file()[-1]),
    "records of seals": lambda: _after_header(_many_seals()),
    "large bodies": lambda: _after_header(_record(body="AAAA" * (3 * MIB // 4))),
    "a header of keys": lambda: iter([_header_of(b",".join([json.dumps(str(KEYS[0])).encode()] * 60_000))]),
    "nested lists": lambda: iter([_header(), _deep(b"[", b"]")]),
    "nested objects": lambda: iter([_header(), _deep(b'{"a":', b"}")]),
    "nested header": lambda: iter([_header_of(b"[" * MIB)]),
    "a number of a million digits": lambda: iter([_header(), _record().replace(b":0}", b":" + b"9" * MIB + b"}")]),
    "a number with a huge exponent": lambda: iter([_header(), _record().replace(b":0}", b":1e999999999}")]),
    "gzip bomb": lambda: packed(gib(bytes(MIB))),
    "gzip bomb after the header": lambda: packed(_after_header(bytes(MIB))),
    "gzip bomb of newlines": lambda: packed(_after_header(b"\n" * MIB)),
    "gzip bomb of records": lambda: packed(_after_header(_record() * 1000)),
    "gzip members that are empty": _empty_members,
    "gzip padding": _padding,
}  # fmt: skip


def judge(stream: BinaryIO) -> str:
    """What the verifier says, in a line."""
    try:
        report = verify(stream, trusted=KEYS)
    except UnusableInput as error:
        return f"unusable: {error}"
    assert report.verdict != replay_service_pb2.VERDICT_VALID
    return report.summary


def _most_memory_kib() -> int:
    """The most memory that this program has had at a time.

    What getrusage says counts what the parent had when it started this process, and a test run is large.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
        if found is not None:
            return int(found.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(names: list[str]) -> None:
    """Judge these shapes, or all, with bounded memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for name in names or SHAPES:
        made = Made(SHAPES[name]())
        begun = time.process_time()
        said = judge(cast(BinaryIO, io.BufferedReader(made)))
        found = {
            "name": name,
            "said": said,
            "seconds": time.process_time() - begun,
            "memory_mib": _most_memory_kib() >> 10,
            "read_mib": made.taken / MIB,
        }
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
