"""Listening, and finding the handler of a call."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sixledger.service.config import Settings
from sixledger.service.http2.connection import Connection
from sixledger.service.http2.metadata import Item
from sixledger.service.logs import Log

_BACKLOG = 1024


class CallDetails(NamedTuple):
    """What an interceptor is told of a call."""

    method: str
    invocation_metadata: Sequence[Item]


class Http2Server:
    """Serves handlers of grpc over HTTP/2; used like a server of grpc.aio."""

    def __init__(self, settings: Settings, interceptors: Sequence[Any] = ()) -> None:
        """The first interceptor is the outermost."""
        self.max_request_bytes = settings.max_request_bytes
        self.max_streams = settings.max_streams
        self.keepalive_s = settings.keepalive_s
        self.keepalive_timeout_s = settings.keepalive_timeout_s
        self.connections: set[Connection] = set()
        #: True once it takes no more calls.
        self.is_ending = False
        self._settings = settings
        self._services: list[Any] = []
        self._kinds: dict[str, bool] = {}
        self._find = self._chained(interceptors)
        self._listeners: list[asyncio.AbstractServer] = []
        self._ended = asyncio.Event()
        self._log = Log("http2")

    # -- handlers ------------------------------------------------------------------------------------

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Serve what these handlers know."""
        self._services.extend(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Nothing: generated code adds its methods in both ways, and one is enough."""

    def takes_many(self, method: str) -> bool:
        """False if a method takes exactly one request; then a call of it begins when that is there."""
        known = self._kinds.get(method)
        if known is None:
            handler = self._lookup(CallDetails(method, ()))
            if handler is None:
                return True  # the caller is told at once, whatever else it would send
            known = self._kinds[method] = bool(handler.request_streaming)
        return known

    async def handler(self, method: str, call: Any) -> Any:
        """The handler of a call, as the interceptors give it; None if there is none."""
        return await self._find(CallDetails(method, _Lazy(call)))

    def _chained(self, interceptors: Sequence[Any]) -> Callable[[Any], Awaitable[Any]]:
        async def find(details: Any) -> Any:
            return self._lookup(details)

        chain: Callable[[Any], Awaitable[Any]] = find
        for interceptor in reversed(interceptors):
            chain = partial(interceptor.intercept_service, chain)
        return chain

    def _lookup(self, details: Any) -> Any:
        for service in self._services:
            handler = service.service(details)
            if handler is not None:
                return handler
        return None

    def report(self, method: str, error: Exception) -> None:
        """Log that a call failed in a way that nobody has foreseen; its text may hold what a caller sent."""
        self._log.error("call_failed", method=method, error=type(error).__name__)

    # -- life ----------------------------------------------------------------------------------------

    async def listen(self) -> int:
        """Take the address, without answering yet; its port, 0 for a socket file. Raises OSError."""
        address, loop = self._settings.listen, asyncio.get_running_loop()
        options: dict[str, Any] = {"ssl": self._tls(), "start_serving": False}
        if path := _socket_file(address):
            self._listeners.append(await loop.create_unix_server(self._connected, path, backlog=_BACKLOG, **options))
            return 0
        sockets = await _bound(address, reuse_port=self._settings.workers > 1)
        for bound in sockets:
            listener = await loop.create_server(self._connected, sock=bound, backlog=_BACKLOG, **options)
            self._listeners.append(listener)
        port: int = sockets[0].getsockname()[1]
        return port

    def _tls(self) -> ssl.SSLContext | None:
        settings = self._settings
        if settings.tls_certificate is None or settings.tls_key is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
        context.set_alpn_protocols(["h2"])
        if settings.tls_client_ca is not None:
            context.load_verify_locations(settings.tls_client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _connected(self) -> Connection:
        return Connection(self)

    async def start(self) -> None:
        """Answer."""
        for listener in self._listeners:
            await listener.start_serving()

    async def stop(self, grace_s: float | None) -> None:
        """Take no new calls, give running ones `grace_s` seconds, and close everything. Harmless when repeated."""
        if self._ended.is_set():
            return
        self.is_ending = True
        for listener in self._listeners:
            listener.close()
        if self._listeners and (path := _socket_file(self._settings.listen)):
            with suppress(OSError):
                Path(path).unlink()  # noqa: ASYNC240 - one call of the system, and the server ends
        connections = tuple(self.connections)
        for connection in connections:
            connection.announce_end()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s or 0):
                await asyncio.gather(*(connection.idle() for connection in connections))
        await asyncio.gather(*(connection.finish() for connection in tuple(self.connections)))
        await asyncio.sleep(0)  # the sockets close in the next turn
        self._ended.set()

    async def wait_for_termination(self) -> None:
        """Wait until it has stopped."""
        await self._ended.wait()


class _Lazy(Sequence[Item]):
    """The metadata of a call, read when somebody looks: most interceptors do not."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __getitem__(self, index: Any) -> Any:
        return self._call.invocation_metadata()[index]

    def __len__(self) -> int:
        return len(self._call.invocation_metadata())


def _socket_file(address: str) -> str:
    """The path in `unix:PATH`; empty for other addresses."""
    return address.removeprefix("unix:") if address.startswith("unix:") else ""


async def _bound(address: str, *, reuse_port: bool) -> list[socket.socket]:
    """Sockets for every address that a name stands for, all with one port. Raises OSError."""
    host, _, port_text = address.rpartition(":")
    try:
        port = int(port_text)
    except ValueError:
        raise OSError(errno.EINVAL, "the address is not HOST:PORT") from None
    found = await asyncio.get_running_loop().getaddrinfo(
        host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, *_, where in dict.fromkeys(found):
            if sockets and not port:
                port = sockets[0].getsockname()[1]
            both = family == socket.AF_INET6 and where[0] == "::" and socket.has_dualstack_ipv6()
            try:
                bound = socket.create_server(
                    (where[0], port), family=family, backlog=_BACKLOG, reuse_port=reuse_port, dualstack_ipv6=both
                )
            except OSError as error:
                # A machine without IPv6 may still have names for it.
                if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and len(found) > 1:
                    continue
                raise
            bound.setblocking(False)
            sockets.append(bound)
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, "no such address here")
    except BaseException:
        for bound in sockets:
            bound.close()
        raise
    return sockets
