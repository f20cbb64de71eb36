"""A TCP relay that can be cut, held up, robbed of its replies, and slowed: the network that the nemesis rules."""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit, urlunsplit

Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[], Awaitable[Ends]]


class State(enum.Enum):
    """What a wire does with bytes."""

    OPEN = "open"
    #: Connections are reset, and nobody can connect.
    CUT = "cut"
    #: Nothing passes in either direction, and connections stay: what was sent arrives once the wire is open again.
    HELD = "held"
    #: Requests pass and replies vanish; opening the wire resets its connections.
    LOSSY = "lossy"


class Wire:
    """Stands on a port of its own before one target, for as long as the context lasts."""

    def __init__(self, connect: Connect) -> None:
        """`connect` opens a connection to the target."""
        self._connect = connect
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self.state = State.OPEN
        #: Seconds that each piece of a reply is delayed.
        self.delay_s = 0.0
        #: Bytes of replies that vanished.
        self.lost = 0
        self.port = 0

    def set(self, state: State) -> None:
        """Change what happens to bytes from now on."""
        before, self.state = self.state, state
        if state is State.HELD:
            self._flows.clear()
        else:
            self._flows.set()
        if state is State.CUT or before is State.LOSSY:
            self.reset()

    def reset(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        ends = [writer]
        try:
            if self.state is State.CUT:
                return
            await self._flows.wait()
            up_reader, up_writer = await self._connect()
            ends.append(up_writer)
            self._writers.add(up_writer)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass(reader, up_writer, replies=False))
                tasks.create_task(self._pass(up_reader, writer, replies=True))
        except OSError:
            pass  # the target is not there
        finally:
            for each in ends:
                self._writers.discard(each)
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flows.wait()
                if replies and self.state is State.LOSSY:
                    self.lost += len(data)
                    continue
                if replies and self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            self._flows.set()
            self.reset()
            await asyncio.sleep(0.05)


def to_port(port: int) -> Connect:
    """Connects to a port of this machine."""
    return lambda: asyncio.open_connection("127.0.0.1", port)


def to_database(url: str) -> Connect:
    """Connects to the server of a PostgreSQL URL, by its socket file if the URL names a folder."""
    target = urlsplit(url)
    port = target.port or 5432
    folder = parse_qs(target.query).get("host", [""])[0]
    if folder:
        return lambda: asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{port}")
    return lambda: asyncio.open_connection(target.hostname, port)


def through(url: str, wire: Wire) -> str:
    """The URL of the same database through a wire."""
    target = urlsplit(url)
    user = target.netloc.rpartition("@")[0]
    return urlunsplit(target._replace(netloc=f"{user}@127.0.0.1:{wire.port}", query=""))
