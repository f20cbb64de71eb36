"""Messages put together from parts that are bytes already: an item that was made once is not read to be sent again.

A field of bytes or of a message is `varint(number << 3 | 2) || varint(length) || content`; the fields of a message
simply follow each other. <https://protobuf.dev/programming-guides/encoding/>
"""

from __future__ import annotations

from collections.abc import Iterable


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


_SMALL = [bytes((value,)) for value in range(0x80)]


def field(number: int, content: bytes) -> bytes:
    """A field of bytes or of a message."""
    return b"".join((varint(number << 3 | 2), varint(len(content)), content))


def repeated(number: int, contents: Iterable[bytes]) -> bytes:
    """A repeated field."""
    key = varint(number << 3 | 2)
    parts: list[bytes] = []
    for content in contents:
        parts += (key, varint(len(content)), content)
    return b"".join(parts)


def play_item(tag: int, match_id: bytes, number: int, content: bytes) -> bytes:
    """A PlayItem whose field `number` is the message `content`."""
    tagged = b"\x08" + varint(tag) if tag else b""
    named = field(2, match_id) if match_id else b""
    return b"".join((tagged, named, varint(number << 3 | 2), varint(len(content)), content))
