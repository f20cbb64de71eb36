"""Protobuf on the wire, spelt as no writer of ours does: still the same message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LENGTH = 2


def varint(value: int) -> bytes:
    """A number, seven bits a byte."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and content of each field; of those without a length the content as it is spelt."""
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        if key & 7 == LENGTH:
            size, at = _read(data, at)
            end = at + size
        else:
            end = {0: _read(data, at)[1], 1: at + 8, 5: at + 4}[key & 7]
        yield key >> 3, key & 7, data[at:end]
        at = end


def unpacked(descriptor: Any, data: bytes) -> bytes:
    """The same message with its lists of one number each spelt as a single field: a byte shorter for each."""
    parts = []
    for number, wire, content in fields(data):
        field, spelt = descriptor.fields_by_number[number], content
        texts = (field.TYPE_BYTES, field.TYPE_STRING)
        numbers = field.is_repeated and field.message_type is None and field.type not in texts
        if wire == LENGTH and field.message_type is not None:
            spelt = unpacked(field.message_type, content)
        if wire == LENGTH and numbers and _read(content, 0)[1] == len(content):
            parts.append(varint(number << 3) + content)
        else:
            parts.append(varint(number << 3 | wire) + (varint(len(spelt)) + spelt if wire == LENGTH else spelt))
    return b"".join(parts)
