"""A port on which HTTP is answered here, and gRPC by a server behind it.

Both protocols share the port: a connection that begins as HTTP/2 does is passed on; every other one gets one page.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

#: How a connection begins that speaks HTTP/2 without TLS.
_HTTP2 = b"PRI * HTTP/2.0"
#: Bytes of a request, and seconds that it may take.
_MAX_HEAD, _TIMEOUT_S = 8192, 10.0
_PIECE = 65536
PLAIN = "text/plain; charset=utf-8"

#: Status, type and content of a page.
Page = tuple[str, str, bytes]


class HttpPort:
    """Listens at `address`, `HOST:PORT` or `unix:PATH`. What it shows is up to those who inherit from it."""

    def __init__(self, address: str) -> None:
        """Nothing listens yet."""
        self._wanted = address
        self._connections: set[asyncio.Task[None]] = set()
        #: Where it listens; known once it does.
        self.address = address

    async def page(self, path: str) -> Page:
        """The page at a path."""
        raise NotImplementedError

    async def open_grpc(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection to the gRPC server behind the port. Raises OSError."""
        raise NotImplementedError

    async def listen(self) -> asyncio.Server:
        """Listen, until `close` gets what this returns. Raises OSError."""
        address = self._wanted
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

    async def close(self, listener: asyncio.Server) -> None:
        """Stop listening, and cut off who is connected."""
        listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

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
        inner = await self.open_grpc()
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
        if method in ("GET", "HEAD"):
            status, kind, content = await self.page(target.partition("?")[0])
        else:
            status, kind, content = "405 Method Not Allowed", PLAIN, b"only GET and HEAD\n"
        head = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", "Connection: close")
        writer.write("\r\n".join([*head, "", ""]).encode() + (b"" if method == "HEAD" else content))
        async with asyncio.timeout(_TIMEOUT_S):
            await writer.drain()


def text_page(content: str) -> Page:
    """A page that says `content`."""
    return "200 OK", PLAIN, f"{content}\n".encode()


def not_now(reason: str) -> Page:
    """A page that says why the server should get no calls."""
    return "503 Service Unavailable", PLAIN, f"{reason}\n".encode()


def not_there() -> Page:
    """What stands where there is no page."""
    return "404 Not Found", PLAIN, b"there are /metrics, /livez, /healthz and /readyz\n"


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to `HOST:PORT` or `unix:PATH`. Raises OSError."""
    if address.startswith("unix:"):
        return await asyncio.open_unix_connection(address.removeprefix("unix:"))
    return await asyncio.open_connection(*address.rsplit(":", 1))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()
