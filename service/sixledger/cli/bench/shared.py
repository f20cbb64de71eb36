"""Lanes that share a play stream, as the tables of one frontend do: what waits to be sent goes up in one message."""

from __future__ import annotations

import asyncio
from itertools import count

from sixledger.cli.bench.matches import Caller, Table
from sixledger.cli.bench.stream import PLAY, Stream
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Refused
from sixledger.v1 import error_pb2, match_service_pb2

#: Commands in one message at most.
_TOGETHER = 64


class SharedStream:
    """A play stream of several lanes. Opens with the first command, and again after it broke."""

    def __init__(self, caller: Caller, number: int) -> None:
        """It uses the connection of caller `number`."""
        self._stream = Stream(caller, number, PLAY)
        self._tags = count(1)
        self._waiting: dict[int, asyncio.Future[match_service_pb2.PlayItem]] = {}
        self._outbox: list[match_service_pb2.PlayOrder] = []
        self._sending: asyncio.Task[None] | None = None
        self._receiving: asyncio.Task[None] | None = None

    async def order(self, command: match_service_pb2.SubmitCommandRequest) -> match_service_pb2.PlayItem:
        """Send a command, with others that wait; what answers it. Raises Refused if the stream ends."""
        answer: asyncio.Future[match_service_pb2.PlayItem] = asyncio.get_running_loop().create_future()
        tag = next(self._tags)
        self._waiting[tag] = answer
        self._outbox.append(match_service_pb2.PlayOrder(tag=tag, command=command))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())
        return await answer

    async def _send(self) -> None:
        """Send what waits, and what comes meanwhile."""
        while self._outbox:
            orders, self._outbox = self._outbox[:_TOGETHER], self._outbox[_TOGETHER:]
            try:
                await self._stream.write(match_service_pb2.PlayRequest(orders=orders).SerializeToString())
            except Refused as error:
                self._refuse(error)
                continue
            if self._receiving is None or self._receiving.done():
                self._receiving = asyncio.create_task(self._receive())

    async def _receive(self) -> None:
        """Hand over answers until the stream ends."""
        while True:
            try:
                reply = await self._stream.read()
            except Refused as error:
                self._refuse(error)
                return
            for item in match_service_pb2.PlayResponse.FromString(reply).items:
                if (answer := self._waiting.pop(item.tag, None)) is not None and not answer.done():
                    answer.set_result(item)

    def _refuse(self, error: Refused) -> None:
        """Nobody gets an answer any more who was sent."""
        unsent = {order.tag for order in self._outbox}
        for tag in [tag for tag in self._waiting if tag not in unsent]:
            answer = self._waiting.pop(tag)
            if not answer.done():
                answer.set_exception(error)

    async def close(self) -> None:
        """End it."""
        tasks = [task for task in (self._sending, self._receiving) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stream.close()


class SharedLane:
    """Commands on a play stream that other lanes use as well, one in flight."""

    def __init__(self, stream: SharedStream, supply: Supply) -> None:
        """It plays matches of the `supply`."""
        self._stream = stream
        self._supply = supply
        self._table: Table | None = None

    async def __call__(self) -> None:
        """One command."""
        before, self._table = self._table, None
        table = self._supply.take(before)
        request = table.request()
        item = await self._stream.order(request)
        self._supply.note(request.ByteSize(), item.ByteSize())
        if item.WhichOneof("item") != "played":
            raise Refused(error_pb2.Reason.Name(item.failure.reason).removeprefix("REASON_"))
        table.told(item.played.record)
        self._table = table
