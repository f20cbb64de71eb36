"""Messages in the body of a call: a flag, the length in four bytes (big-endian), the message."""

from __future__ import annotations

import struct

import grpc
from sixledger.service.http2.metadata import CallFault

_PREFIX = struct.Struct(">BI")


def framed(message: bytes) -> bytes:
    """A message as it travels, uncompressed."""
    return _PREFIX.pack(0, len(message)) + message


class Deframer:
    """Takes the body of a call as it comes, and gives its messages."""

    __slots__ = ("_buffer", "_limit")

    def __init__(self, limit: int) -> None:
        """No message may have more than `limit` bytes."""
        self._buffer = b""
        self._limit = limit

    @property
    def complete(self) -> bool:
        """True if no message has begun that is not whole."""
        return not self._buffer

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole with `data`. Raises CallFault for what is none, or too long."""
        buffer = self._buffer + data if self._buffer else data
        messages = []
        start, end = 0, len(buffer)
        while end - start >= _PREFIX.size:
            compressed, length = _PREFIX.unpack_from(buffer, start)
            if length > self._limit:
                message = f"a message of {length} bytes is larger than the {self._limit} that a request may have"
                raise CallFault(grpc.StatusCode.RESOURCE_EXHAUSTED, message)
            if compressed:
                raise CallFault(grpc.StatusCode.UNIMPLEMENTED, "this server takes uncompressed messages only")
            stop = start + _PREFIX.size + length
            if stop > end:
                break
            messages.append(buffer[start + _PREFIX.size : stop])
            start = stop
        self._buffer = buffer[start:]
        return messages
