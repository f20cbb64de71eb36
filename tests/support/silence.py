"""A relay of bytes between client and server that can fall silent: nothing passes any more, and nobody is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SilentRelay:
    """Passes bytes on until `fall_silent`. Both ends then hold half-open connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        #: Connections that were made through it.
        self.connections = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers += (writer, server_writer)
        for source, sink in ((reader, server_writer), (server_reader, writer)):
            task = asyncio.create_task(_pass(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def fall_silent(self) -> None:
        """Nothing passes through the connections that there are; new ones work."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Close everything."""
        self.fall_silent()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._tasks, *(w.wait_closed() for w in self._writers), return_exceptions=True)


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(64 * 1024):
            sink.write(data)
            await sink.drain()
    except OSError:
        pass
    sink.close()


@asynccontextmanager
async def silent_relay(port: int) -> AsyncIterator[tuple[SilentRelay, str]]:
    """A relay to a port of this machine, and its address."""
    relay = SilentRelay(port)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    try:
        yield relay, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await relay.close()
        await server.wait_closed()
