"""The transports: what carries calls between sockets and handlers. Everything above is the same for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import grpc
import grpc.aio
from sixledger.service.config import Settings


class Transport(Protocol):
    """A server of handlers as grpc has them."""

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Serve what these handlers know."""

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """What generated code calls beside `add_generic_rpc_handlers`, with the same methods."""

    async def listen(self) -> int:
        """Take the address of the settings; its port, 0 for a socket file. Raises OSError."""
        ...

    async def start(self) -> None:
        """Answer."""

    async def stop(self, grace_s: float | None) -> None:
        """Take no new calls, give running ones so many seconds, and close everything. Harmless when repeated."""

    async def wait_for_termination(self) -> None:
        """Wait until it has stopped."""


def transport_of(settings: Settings, interceptors: Sequence[grpc.aio.ServerInterceptor]) -> Transport:
    """The transport that the settings name. Raises ValueError if it is not installed."""
    if settings.transport == "grpcio":
        return GrpcioServer(settings, interceptors)
    try:
        from sixledger.service.http2.server import Http2Server
    except ImportError as error:
        raise ValueError("transport http2 needs the extra: pip install 'sixledger[http2]'") from error
    return Http2Server(settings, interceptors)


class GrpcioServer:
    """The server of grpc.aio."""

    def __init__(self, settings: Settings, interceptors: Sequence[grpc.aio.ServerInterceptor] = ()) -> None:
        """The first interceptor is the outermost."""
        self._settings = settings
        self._server: Any = grpc.aio.server(interceptors=tuple(interceptors), options=_options(settings))

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Serve what these handlers know."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Any) -> None:
        """Serve these methods."""
        self._server.add_registered_method_handlers(service, handlers)

    async def listen(self) -> int:
        """Take the address of the settings; its port, 0 for a socket file. Raises OSError."""
        settings = self._settings
        arguments: tuple[Any, ...] = ()
        add = self._server.add_insecure_port
        if settings.tls_certificate is not None and settings.tls_key is not None:
            pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
            authorities = settings.tls_client_ca.read_bytes() if settings.tls_client_ca is not None else None
            add = self._server.add_secure_port
            arguments = (grpc.ssl_server_credentials([pair], authorities, require_client_auth=authorities is not None),)
        try:
            port: int = add(settings.listen, *arguments)
        except RuntimeError as error:  # gRPC does not say more
            raise OSError(str(error)) from None
        return port

    async def start(self) -> None:
        """Answer."""
        await self._server.start()

    async def stop(self, grace_s: float | None) -> None:
        """Take no new calls, give running ones so many seconds, and close everything. Harmless when repeated."""
        await self._server.stop(grace_s)

    async def wait_for_termination(self) -> None:
        """Wait until it has stopped."""
        await self._server.wait_for_termination()


def _options(settings: Settings) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", settings.max_request_bytes),
        ("grpc.max_send_message_length", 64 << 20),
        ("grpc.max_concurrent_streams", settings.max_streams),
        # Off for one process, so that a second server on an address is told that it is taken.
        ("grpc.so_reuseport", int(settings.workers > 1)),
        ("grpc.keepalive_time_ms", int(settings.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", int(settings.keepalive_timeout_s * 1000)),
        # The time before alone ends nothing: an answer may take a minute unless this says otherwise.
        ("grpc.http2.ping_timeout_ms", int(settings.keepalive_timeout_s * 1000)),
        # By default gRPC stops asking after two questions, until there is something to send again.
        ("grpc.http2.max_pings_without_data", 0),
        # Clients may ask as often as every ten seconds.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 3),
    ]
