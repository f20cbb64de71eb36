"""The operator port: metrics and health over HTTP, channelz and the management of API keys over gRPC.

Both protocols share the port: a connection that begins as HTTP/2 does is passed on to a gRPC server that listens on
a private socket; every other one is answered here. Whoever reaches the port sees how the server is used, but no
secret of a match. It belongs on the loopback address or in a private network.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc.aio
from grpc_channelz.v1 import channelz, channelz_pb2
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_reflection.v1alpha import reflection
from sixledger.service.http_port import HttpPort, Page, connect, not_now, not_there, text_page
from sixledger.service.metrics import CONTENT_TYPE, Metrics


class AdminPort(HttpPort):
    """Listens at `address`, `HOST:PORT` or `unix:PATH`."""

    def __init__(self, address: str, metrics: Metrics, ready: Callable[[], str]) -> None:
        """`ready` says why the server is not ready for calls; an empty text: it is."""
        super().__init__(address)
        self._metrics = metrics
        self._ready = ready
        self._grpc = ""
        self._resources = AsyncExitStack()

    async def start(
        self,
        handlers: Sequence[Any],
        names: Sequence[str],
        interceptors: Sequence[Any] = (),
        health: health_pb2_grpc.HealthServicer | None = None,
    ) -> None:
        """Listen. The gRPC `handlers` of the services `names`, and `health`, are offered beside channelz.

        Raises OSError.
        """
        async with AsyncExitStack() as resources:
            server = grpc.aio.server(interceptors=interceptors, options=[("grpc.enable_channelz", 0)])
            resources.push_async_callback(server.stop, 0)
            channelz.add_channelz_servicer(server)
            server.add_generic_rpc_handlers(tuple(handlers))
            service = channelz_pb2.DESCRIPTOR.services_by_name["Channelz"].full_name
            offered = [service, *names, reflection.SERVICE_NAME]
            if health is not None:
                health_pb2_grpc.add_HealthServicer_to_server(health, server)
                offered.append(HEALTH)
            reflection.enable_server_reflection(offered, server)
            self._grpc = self._listen_privately(server, resources)
            await server.start()
            listener = await self.listen()
            resources.push_async_callback(self.close, listener)
            self._resources = resources.pop_all()

    def _listen_privately(self, server: Any, resources: AsyncExitStack) -> str:
        if not hasattr(socket, "AF_UNIX"):
            return f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="sixledger-"))  # for this user alone
        path = Path(folder) / "admin"
        server.add_insecure_port(f"unix:{path}")
        return f"unix:{path}"

    async def stop(self) -> None:
        """Stop listening, and cut off who is connected. Harmless when repeated."""
        await self._resources.aclose()

    # -- what it shows -----------------------------------------------------------------------------

    async def open_grpc(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the gRPC server on the private socket."""
        return await connect(self._grpc)

    async def page(self, path: str) -> Page:
        """Metrics, live and ready."""
        if path == "/metrics":
            self._metrics.refresh()
            # A page of thousands of lines is put together beside the calls, not before them.
            return "200 OK", CONTENT_TYPE, await asyncio.to_thread(self._metrics.text)
        if path in ("/livez", "/healthz"):
            return text_page("live")
        if path == "/readyz":
            missing = self._ready()
            return not_now(missing) if missing else text_page("ready")
        return not_there()
