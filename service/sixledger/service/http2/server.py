"""Listening, and finding the handler of a call."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from sixledger.service.config import Settings
from sixledger.service.http2.connection import Connection
from sixledger.service.http2.listening import BACKLOG, SocketFile, bound, socket_file
from sixledger.service.http2.metadata import Item
from sixledger.service.logs import Log


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
        self._file: SocketFile | None = None
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
        options: dict[str, Any] = {"ssl": self._tls(), "start_serving": False, "backlog": BACKLOG}
        if file := socket_file(address):
            await file.claim()
            self._listeners.append(await loop.create_unix_server(self._connected, file.path, **options))
            file.made()
            self._file = file
            return 0
        sockets = await bound(address, reuse_port=self._settings.workers > 1)
        for each in sockets:
            self._listeners.append(await loop.create_server(self._connected, sock=each, **options))
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
        if self._file is not None:
            self._file.remove()
        connections = tuple(self.connections)
        for connection in connections:
            connection.announce_end()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s or 0):
                await asyncio.gather(*(connection.idle() for connection in connections))
        await asyncio.gather(*(connection.finish() for connection in tuple(self.connections)))
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
