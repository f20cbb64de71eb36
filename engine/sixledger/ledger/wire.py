"""Messages put together from parts that are bytes already: what was made once is not made again.

A field of bytes or of a message is `varint(number << 3 | 2) || varint(length) || content`; the fields of a message
simply follow each other. <https://protobuf.dev/programming-guides/encoding/>
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sixledger.v1 import record_pb2

_SMALL = [bytes((value,)) for value in range(0x80)]
_FOUR = struct.Struct("<I").pack


def varint(value: int) -> bytes:
    """A number of at most 64 bits, seven bits a byte, the least first."""
    if value < 0x80:
        return _SMALL[value]
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


#: For what comes often: the upper bits of a time, a decision.
_kept_varint = lru_cache(maxsize=4096)(varint)


def time_varint(time_us: int) -> bytes:
    """As `varint`, and three times as fast for times of these days."""
    upper = time_us >> 28
    if not upper:
        return varint(time_us)
    lower = time_us & 0x7F | (time_us & 0x3F80) << 1 | (time_us & 0x1FC000) << 2 | (time_us & 0xFE00000) << 3
    return _FOUR(lower | 0x80808080) + _kept_varint(upper)


def key(number: int) -> bytes:
    """What stands before the length of a field of bytes or of a message."""
    return varint(number << 3 | 2)


@lru_cache(maxsize=4096)
def before(number: int, length: int) -> bytes:
    """What stands before the content of a field of bytes or of a message."""
    return key(number) + varint(length)


def field(number: int, content: bytes) -> bytes:
    """A field of bytes or of a message."""
    return b"".join((key(number), varint(len(content)), content))


def repeated(number: int, contents: Iterable[bytes]) -> bytes:
    """A repeated field."""
    before = key(number)
    parts: list[bytes] = []
    for content in contents:
        parts += (before, varint(len(content)), content)
    return b"".join(parts)


def command_cause(
    seat: int, request_id: bytes, decision: int, observed_head: bytes, key_id: bytes, signature: bytes
) -> bytes:
    """The serialised Cause of a command that a seat gave; a field that is zero or empty is absent.

    As deterministic serialisation writes it.
    """
    cause = _seat_start(seat, len(request_id)) + request_id
    if decision:
        cause += _decision(decision)
    if observed_head:
        cause += before(5, len(observed_head)) + observed_head
    if key_id:
        cause += before(6, len(key_id)) + key_id
    return cause + before(7, len(signature)) + signature if signature else cause


def sealed_command(command: bytes, signature: bytes) -> bytes:
    """A SealedCommand, as deterministic serialisation writes it."""
    value = before(1, len(command)) + command if command else b""
    return value + before(2, len(signature)) + signature if signature else value


@lru_cache(maxsize=256)
def _seat_start(seat: int, length: int) -> bytes:
    """The Cause of a seat up to its request id."""
    return _OF_SEAT + (b"\x10" + varint(seat) if seat else b"") + b"\x1a" + varint(length)


@lru_cache(maxsize=4096)
def _decision(decision: int) -> bytes:
    return b"\x20" + varint(decision)


_OF_SEAT = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT).SerializeToString()


@lru_cache(maxsize=1024)
def _start(match_id: bytes) -> bytes:
    """A Body of format 1 up to the id of its match."""
    return b"\x08\x01\x12" + varint(len(match_id)) + match_id


@lru_cache(maxsize=4096)
def _seq(seq: int) -> bytes:
    return b"\x18" + varint(seq) if seq else b""


def body(
    match_id: bytes,
    seq: int,
    time_us: int,
    cause: bytes,
    command: bytes,
    events: Sequence[bytes],
    lifecycle: Sequence[record_pb2.Lifecycle] = (),
    reveals: Sequence[record_pb2.Reveal] = (),
) -> bytes:
    """A serialised Body of format 1, as deterministic serialisation writes it.

    `cause` and `command` are serialised, `events` are whole fields, each with its key (`Spelling.event`).
    """
    time = b"\x20" + time_varint(time_us) if time_us else b""
    parts = [_start(match_id), _seq(seq), time, before(5, len(cause)), cause]
    if command:
        parts += (before(6, len(command)), command)
    for step in lifecycle:
        data = step.SerializeToString(deterministic=True)
        parts += (b"\x3a", varint(len(data)), data)
    parts += events
    for reveal in reveals:
        data = reveal.SerializeToString(deterministic=True)
        parts += (b"\x4a", varint(len(data)), data)
    return b"".join(parts)
