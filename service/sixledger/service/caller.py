"""Who makes the call that runs, as far as the transport tells: for servicers, which know no transport.

The gate says so for each call, in a context variable; tasks that the call starts inherit it. Outside of a call,
in tests for example, the caller is nobody, who may do everything that needs no key.
"""

from __future__ import annotations

import ipaddress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote

_SCHEME = "bearer "

Networks: TypeAlias = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


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


def caller_of(context: Any, proxies: Networks = ()) -> Caller:
    """The caller in a context of grpc.aio: if one of the `proxies` passes the call on, whom that names."""
    peer, key, forwarded = context.peer(), "", ""
    for name, value in context.invocation_metadata() or ():
        if name == "authorization" and not key and isinstance(value, str) and value[: len(_SCHEME)].lower() == _SCHEME:
            key = value[len(_SCHEME) :].strip()
        elif name == "x-forwarded-for" and isinstance(value, str):
            forwarded = value
    if proxies and forwarded and _is_among(peer, proxies):
        # The last one is whom the proxy itself has seen; those before it are what the other end says.
        peer = _as_peer(forwarded.rpartition(",")[2].strip()) or peer
    return Caller(peer_of(peer), key)


def networks(text: str) -> Networks:
    """Networks between commas, as `10.0.0.0/8` or a single address. Raises ValueError."""
    return tuple(ipaddress.ip_network(each.strip()) for each in text.split(",") if each.strip())


@lru_cache(maxsize=4096)
def _is_among(peer: str, proxies: Networks) -> bool:
    """True if an address of the transport is in one of the networks."""
    try:
        found = ipaddress.ip_address(unquote(peer.partition(":")[2].rpartition(":")[0]).strip("[]"))
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in proxies)


def _as_peer(text: str) -> str:
    """An address as the transport writes it; empty if it is none."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ""
    return f"ipv4:{found}:0" if found.version == 4 else f"ipv6:[{found}]:0"


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
