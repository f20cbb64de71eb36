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
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import grpc.aio
from grpc_channelz.v1 import channelz, channelz_pb2
from grpc_reflection.v1alpha import reflection
from sixledger.service.metrics import CONTENT_TYPE, Metrics

#: How a connection begins that speaks HTTP/2 without TLS.
_HTTP2 = b"PRI * HTTP/2.0"
#: Bytes of a request, and seconds that it may take.
_MAX_HEAD, _TIMEOUT_S = 8192, 10.0
_PIECE = 65536


class AdminPort:
    """Listens at `address`, `HOST:PORT` or `unix:PATH`."""

    def __init__(self, address: str, metrics: Metrics, ready: Callable[[], str]) -> None:
        """`ready` says why the server is not ready for calls; an empty text: it is."""
        self._address = address
        self._metrics = metrics
        self._ready = ready
        self._grpc = ""
        self._connections: set[asyncio.Task[None]] = set()
        self._resources = AsyncExitStack()
        #: Where it listens; known once it does.
        self.address = address

    async def start(self, handlers: Sequence[Any], names: Sequence[str], interceptors: Sequence[Any] = ()) -> None:
        """Listen. The gRPC `handlers` of the services `names` are offered beside channelz. Raises OSError."""
        async with AsyncExitStack() as resources:
            server = grpc.aio.server(interceptors=interceptors, options=[("grpc.enable_channelz", 0)])
            resources.push_async_callback(server.stop, 0)
            channelz.add_channelz_servicer(server)
            server.add_generic_rpc_handlers(tuple(handlers))
            service = channelz_pb2.DESCRIPTOR.services_by_name["Channelz"].full_name
            reflection.enable_server_reflection([service, *names, reflection.SERVICE_NAME], server)
            self._grpc = self._listen_privately(server, resources)
            await server.start()
            listener = await self._listen()
            resources.push_async_callback(self._close, listener)
            self._resources = resources.pop_all()

    def _listen_privately(self, server: Any, resources: AsyncExitStack) -> str:
        if not hasattr(socket, "AF_UNIX"):
            return f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="sixledger-"))  # for this user alone
        path = Path(folder) / "admin"
        server.add_insecure_port(f"unix:{path}")
        return f"unix:{path}"

    async def _listen(self) -> asyncio.Server:
        address = self._address
        if address.startswith("unix:"):
            return await asyncio.start_unix_server(self._accept, address.removeprefix("unix:"))
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdigit():
            raise OSError(f"admin_listen {address!r} is neither HOST:PORT nor unix:PATH")
        try:
            listener = await asyncio.start_server(self._accept, host.strip("[]") or None, int(port))
        except (OSError, OverflowError):
            raise OSError(f"cannot listen on {address}: is the address right, and free?") from None
        self.address = f"{host}:{listener.sockets[0].getsockname()[1]}"
        return listener

    async def _close(self, listener: asyncio.Server) -> None:
        listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def stop(self) -> None:
        """Stop listening, and cut off who is connected. Harmless when repeated."""
        await self._resources.aclose()

    # -- connections -------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is a task"
        self._connections.add(task)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_TIMEOUT_S):
                    begun = await reader.readuntil(b"\r\n")
                if begun.startswith(_HTTP2):
                    await self._pass_on(begun, reader, writer)
                else:
                    await self._answer(begun, reader, writer)
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _pass_on(self, begun: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._grpc.startswith("unix:"):
            inner = await asyncio.open_unix_connection(self._grpc.removeprefix("unix:"))
        else:
            inner = await asyncio.open_connection(*self._grpc.rsplit(":", 1))
        inner[1].write(begun)
        ways = [asyncio.ensure_future(_copy(reader, inner[1])), asyncio.ensure_future(_copy(inner[0], writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            inner[1].close()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _answer(self, begun: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_TIMEOUT_S):
            size = len(begun)
            while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
                size += len(line)
                if size > _MAX_HEAD:
                    return
        words = begun.decode("latin-1").split()
        method, target = words[:2] if len(words) == 3 else ("", "")
        status, kind, content = await self._page(method, target.partition("?")[0])
        head = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", "Connection: close")
        writer.write("\r\n".join([*head, "", ""]).encode() + (b"" if method == "HEAD" else content))
        async with asyncio.timeout(_TIMEOUT_S):
            await writer.drain()

    async def _page(self, method: str, path: str) -> tuple[str, str, bytes]:
        plain = "text/plain; charset=utf-8"
        if method not in ("GET", "HEAD"):
            return "405 Method Not Allowed", plain, b"only GET and HEAD\n"
        if path == "/metrics":
            self._metrics.refresh()
            # A page of thousands of lines is put together beside the calls, not before them.
            return "200 OK", CONTENT_TYPE, await asyncio.to_thread(self._metrics.text)
        if path == "/healthz":
            return "200 OK", plain, b"live\n"
        if path == "/readyz":
            missing = self._ready()
            if missing:
                return "503 Service Unavailable", plain, f"{missing}\n".encode()
            return "200 OK", plain, b"ready\n"
        return "404 Not Found", plain, b"there are /metrics, /healthz and /readyz\n"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()
