"""Who makes the call that runs, as far as the transport tells: for servicers, which know no transport.

The gate says so for each call, in a context variable; tasks that the call starts inherit it. Outside of a call,
in tests for example, the caller is nobody, who may do everything that needs no key.
"""

from __future__ import annotations

import ipaddress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

_SCHEME = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """The other end of a call."""

    #: Its address without the port, see `peer_of`; empty: nobody.
    peer: str = ""
    #: What it sent as API key; empty if nothing. A secret.
    key: str = field(default="", repr=False)


NOBODY = Caller()
#: A Caller, or the transport's context of the call: few calls ask who makes them.
_current: ContextVar[Any] = ContextVar("caller", default=NOBODY)


def current() -> Caller:
    """Who makes the call that runs."""
    value = _current.get()
    return value if isinstance(value, Caller) else caller_of(value)


def enter(caller: Any) -> None:
    """Say who makes the call that runs from now on in this task: a Caller, or a context of grpc.aio."""
    _current.set(caller)


def caller_of(context: Any) -> Caller:
    """The caller in a context of grpc.aio."""
    for name, value in context.invocation_metadata() or ():
        if name == "authorization" and isinstance(value, str) and value[: len(_SCHEME)].lower() == _SCHEME:
            return Caller(peer_of(context.peer()), value[len(_SCHEME) :].strip())
    return Caller(peer_of(context.peer()))


@lru_cache(maxsize=4096)
def peer_of(address: str) -> str:
    """Whom an address of the transport stands for: the host, or the /64 network of an IPv6 address.

    Whoever has one address of such a network usually has them all, and every port of its host.
    """
    scheme, _, rest = address.partition(":")
    if scheme == "ipv4":
        return rest.rpartition(":")[0]
    if scheme == "ipv6":
        host = unquote(rest.rpartition(":")[0]).strip("[]").partition("%")[0]
        try:
            parsed = ipaddress.IPv6Address(host)
        except ValueError:
            return host
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return host if parsed.is_loopback else str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return scheme
