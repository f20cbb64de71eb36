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

    __slots__ = ("_begun", "_limit", "_missing")

    def __init__(self, limit: int) -> None:
        """No message may have more than `limit` bytes."""
        self._limit = limit
        #: What has come of a message that is not whole, and the bytes without which it need not be looked at again.
        self._begun = bytearray()
        self._missing = 0

    @property
    def complete(self) -> bool:
        """True if no message has begun that is not whole."""
        return not self._begun

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole with `data`. Raises CallFault for what is none, or too long."""
        if self._begun:
            self._begun += data
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data = bytes(self._begun)
            self._begun.clear()
        messages = []
        start, end, needed = 0, len(data), _PREFIX.size
        while end - start >= _PREFIX.size:
            compressed, length = _PREFIX.unpack_from(data, start)
            if length > self._limit:
                message = f"a message of {length} bytes is larger than the {self._limit} that a request may have"
                raise CallFault(grpc.StatusCode.RESOURCE_EXHAUSTED, message)
            if compressed:
                raise CallFault(grpc.StatusCode.UNIMPLEMENTED, "this server takes uncompressed messages only")
            needed = _PREFIX.size + length
            if start + needed > end:
                break
            messages.append(data[start + _PREFIX.size : start + needed])
            start += needed
            needed = _PREFIX.size
        if start < end:
            self._begun += data[start:]
            self._missing = needed - (end - start)
        return messages
