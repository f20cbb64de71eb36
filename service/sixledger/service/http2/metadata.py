"""Headers and trailers of calls: metadata, time limits and statuses."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import quote

import grpc

#: A header as HTTP/2 has it.
Header: TypeAlias = tuple[bytes, bytes]
#: An item of metadata as grpc has it: bytes belong to names that end with `-bin`.
Item: TypeAlias = tuple[str, str | bytes]

CONTENT_TYPE = b"application/grpc"
#: The headers of every reply.
RESPONSE: tuple[Header, ...] = (
    (b":status", b"200"),
    (b"content-type", CONTENT_TYPE),
    (b"grpc-accept-encoding", b"identity"),
)
#: The trailers of a call that succeeded.
OK: tuple[Header, ...] = ((b"grpc-status", b"0"),)

#: Headers of the call itself, beside those with a colon and those of gRPC.
_RESERVED = {b"te", b"content-type"}
_UNITS = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
#: Longer than any call lives. Timers do not take every number.
_LONGEST_S = 10 * 365 * 86400.0
#: What stands for itself in a `grpc-message`: printable ASCII without the percent sign.
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class CallFault(Exception):
    """What is wrong with a call below its messages; its end has this status."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def status_trailers(code: grpc.StatusCode, message: str, metadata: Iterable[Item] = ()) -> list[Header]:
    """The trailers that end a call with a status."""
    trailers: list[Header] = [(b"grpc-status", b"%d" % code.value[0])]
    if message:
        trailers.append((b"grpc-message", quote(message, safe=_PRINTABLE).encode()))
    return trailers + encoded(metadata)


def encoded(metadata: Iterable[Item]) -> list[Header]:
    """Metadata as headers."""
    return [_encoded(item) for item in metadata]


def read_metadata(headers: Iterable[Header]) -> tuple[Item, ...]:
    """What the caller sent beside the call itself, in its order. What cannot be read is left out."""
    items: list[Item] = []
    for name, value in headers:
        if name[:1] == b":" or name in _RESERVED or (name[:5] == b"grpc-" and name[-4:] != b"-bin"):
            continue
        try:
            if name[-4:] == b"-bin":
                items.extend((name.decode("ascii"), _unpadded(part)) for part in value.split(b","))
            else:
                items.append((name.decode("ascii"), value.decode("latin-1")))
        except ValueError:
            continue
    return tuple(items)


def read_timeout(text: bytes) -> float:
    """The seconds of a `grpc-timeout`. Raises CallFault."""
    digits, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not digits.isdigit() or len(digits) > 8:
        raise CallFault(grpc.StatusCode.INTERNAL, "grpc-timeout must be up to eight digits and a unit, as in 500m")
    return min(int(digits) * unit, _LONGEST_S)


def _encoded(item: Item) -> Header:
    name, value = item
    if isinstance(value, bytes):
        return name.encode(), base64.b64encode(value).rstrip(b"=")
    return name.encode(), value.encode()


def _unpadded(text: bytes) -> bytes:
    """Base64, with or without padding. Raises ValueError."""
    text = text.strip()
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
