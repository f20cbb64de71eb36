"""Lanes: callers that send one request after the other, by calls and on streams, and their echo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from sixledger.cli.bench import echo
from sixledger.cli.bench.matches import MATCH_SERVICE, Caller, Table
from sixledger.cli.bench.shared import SharedLane, SharedStream
from sixledger.cli.bench.stream import PLAY, Stream
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Lane, Refused
from sixledger.v1 import error_pb2, match_service_pb2

_SUBMIT = f"{MATCH_SERVICE}/SubmitCommand"


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


class PlayLane:
    """Commands on a play stream, one in flight."""

    def __init__(self, caller: Caller, number: int, supply: Supply) -> None:
        self._stream = Stream(caller, number, PLAY)
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
async def command_lanes(caller: Caller, lanes: int, supply: Supply, *, share: int) -> AsyncIterator[list[Lane]]:
    """So many lanes for commands: a call each with `share` 0, else on play streams that so many lanes share."""
    async with AsyncExitStack() as resources:

        def made(lane: PlayLane | SharedStream) -> Any:
            resources.push_async_callback(lane.close)
            return lane

        if share == 0:
            yield [UnaryLane(caller, number, supply) for number in range(lanes)]
        elif share == 1:
            yield [made(PlayLane(caller, number, supply)) for number in range(lanes)]
        else:
            streams = [made(SharedStream(caller, number)) for number in range(-(-lanes // share))]
            yield [SharedLane(streams[number // share], supply) for number in range(lanes)]


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
