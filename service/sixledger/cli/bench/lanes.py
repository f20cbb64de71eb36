"""Lanes: callers that send one request after the other, by calls and on streams, and their echo."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
from sixledger.cli.bench import echo
from sixledger.cli.bench.matches import END, MATCH_SERVICE, Caller, Table
from sixledger.cli.bench.window import Exhausted, Lane, Refused
from sixledger.v1 import error_pb2, match_service_pb2

_PLAY, _SUBMIT = f"{MATCH_SERVICE}/Play", f"{MATCH_SERVICE}/SubmitCommand"
_SIZES = 2000


class Supply:
    """Matches for lanes to play in, and the sizes of what they sent."""

    def __init__(self, tables: Sequence[Table], *, cold: bool = False) -> None:
        """`cold`: matches take turns, a command each, so that none is asked twice while a cache could hold it."""
        self._tables = deque(tables)
        self._cold = cold
        self.sizes: list[tuple[int, int]] = []

    def take(self, before: Table | None) -> Table:
        """The match for the next command of a lane, whose last one was in the match `before`. Raises Exhausted."""
        if before is not None and not before.at_end:
            if not self._cold:
                return before
            self._tables.append(before)
        if not self._tables:
            raise Exhausted
        return self._tables.popleft()

    def note(self, request: int, reply: int) -> None:
        """Remember how large messages are."""
        if len(self.sizes) < _SIZES:
            self.sizes.append((request, reply))

    def mean_sizes(self) -> tuple[int, int]:
        """Mean sizes of requests and replies in bytes. Raises ValueError if nothing was sent."""
        if not self.sizes:
            raise ValueError("no command got a reply; what does the server say?")
        request, reply = (sum(each) // len(self.sizes) for each in zip(*self.sizes, strict=True))
        return request, reply


class UnaryLane:
    """Commands, a call each."""

    def __init__(self, caller: Caller, number: int, supply: Supply) -> None:
        self._submit = caller.stub(number, _SUBMIT)
        self._supply = supply
        self._table: Table | None = None

    async def __call__(self) -> None:
        """One command."""
        before, self._table = self._table, None  # a match whose command failed is left alone
        table = self._supply.take(before)
        request = table.request().SerializeToString()
        reply = await self._submit(request)
        self._supply.note(len(request), len(reply))
        table.told(match_service_pb2.SubmitCommandResponse.FromString(reply).record)
        self._table = table


class Stream:
    """A stream of calls and replies, opened anew after it broke."""

    def __init__(self, caller: Caller, number: int, method: str) -> None:
        self._open: Callable[[], Any] = lambda: caller.channel(number).stream_stream(method)(metadata=caller.metadata)
        self._call: Any = None

    async def ask(self, request: bytes) -> bytes:
        """Write a message and read the next. Raises AioRpcError if the stream ends."""
        if self._call is None:
            self._call = self._open()
        try:
            await self._call.write(request)
            return await self.read()
        except (grpc.aio.AioRpcError, grpc.aio.UsageError):
            self._call, broken = None, self._call
            if (code := await broken.code()) != grpc.StatusCode.OK:
                raise Refused(code.name) from None
            raise Refused("STREAM_ENDED") from None

    async def read(self) -> bytes:
        """The next message. Raises AioRpcError or Refused if there is none."""
        message = await self._call.read()
        if message is END:
            self._call, ended = None, self._call
            raise Refused((await ended.code()).name)
        return bytes(message)

    async def close(self) -> None:
        """End it."""
        if self._call is not None:
            self._call.cancel()


class PlayLane:
    """Commands on a play stream, one in flight."""

    def __init__(self, caller: Caller, number: int, supply: Supply) -> None:
        self._stream = Stream(caller, number, _PLAY)
        self._supply = supply
        self._table: Table | None = None
        self._tag = 0

    async def __call__(self) -> None:
        """One command."""
        before, self._table = self._table, None
        table = self._supply.take(before)
        self._tag += 1
        order = match_service_pb2.PlayOrder(tag=self._tag, command=table.request())
        request = match_service_pb2.PlayRequest(orders=[order]).SerializeToString()
        reply = await self._stream.ask(request)
        while (item := self._answer(reply)) is None:
            reply = await self._stream.read()
        self._supply.note(len(request), len(reply))
        if item.WhichOneof("item") != "played":
            raise Refused(error_pb2.Reason.Name(item.failure.reason).removeprefix("REASON_"))
        table.told(item.played.record)
        self._table = table

    def _answer(self, reply: bytes) -> match_service_pb2.PlayItem | None:
        """What answers the last order, if it is in there."""
        for item in match_service_pb2.PlayResponse.FromString(reply).items:
            if item.tag == self._tag:
                return item
        return None

    async def close(self) -> None:
        """End the stream."""
        await self._stream.close()


@asynccontextmanager
async def command_lanes(caller: Caller, count: int, supply: Supply, *, streams: bool) -> AsyncIterator[list[Lane]]:
    """So many lanes for commands."""
    async with AsyncExitStack() as resources:
        lanes: list[Lane] = []
        for number in range(count):
            if streams:
                lane = PlayLane(caller, number, supply)
                resources.push_async_callback(lane.close)
                lanes.append(lane)
            else:
                lanes.append(UnaryLane(caller, number, supply))
        yield lanes


@asynccontextmanager
async def echo_lanes(
    caller: Caller, count: int, sizes: tuple[int, int], *, streams: bool, calls: int = 1
) -> AsyncIterator[list[Lane]]:
    """So many lanes for the echo, with messages of these sizes; `calls` one after the other are one request."""
    request = echo.request(*sizes)
    async with AsyncExitStack() as resources:
        lanes: list[Lane] = []
        for number in range(count):
            if streams:
                stream = Stream(caller, number, echo.ECHOES)
                resources.push_async_callback(stream.close)
                lanes.append(_repeated(stream.ask, request, calls))
            else:
                lanes.append(_repeated(caller.stub(number, echo.ECHO), request, calls))
        yield lanes


def _repeated(ask: Callable[[bytes], Any], request: bytes, calls: int) -> Lane:
    async def lane() -> None:
        for _ in range(calls):
            await ask(request)

    return lane
