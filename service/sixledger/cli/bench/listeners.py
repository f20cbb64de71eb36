"""Many streams at once, and when each got which message."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from sixledger.cli.bench.histogram import Histogram
from sixledger.cli.bench.matches import END, MATCH_SERVICE, Caller, Table
from sixledger.cli.bench.window import Refused
from sixledger.v1 import match_service_pb2

WATCH = f"{MATCH_SERVICE}/WatchMatch"
#: First bytes of items of WatchMatch: a record, and that all records were sent.
RECORD, CAUGHT_UP = 0x12, 0x1A
#: Nobody waits longer than that for streams to open, in seconds.
PATIENCE_S = 60.0


def watching(table: Table) -> bytes:
    """The request of a spectator who starts at the current view."""
    return match_service_pb2.WatchMatchRequest(match_id=table.match_id, snapshot=True).SerializeToString()


class Listeners:
    """Many streams of one method, and when each got which message."""

    def __init__(self, caller: Caller, method: str, requests: Sequence[bytes], *, bare: bool) -> None:
        """`bare`: every message counts, the first says that the stream is open; else only records do."""
        self.count, self._bare = len(requests), bare
        #: Messages that were delivered, and their bytes.
        self.delivered = self.bytes = 0
        #: From the moment each message was due to each delivery.
        self.latency = Histogram()
        self._due: list[float] = []
        self._counts_from = 0.0
        self._wanted: asyncio.Event = asyncio.Event()
        self._ready = asyncio.Semaphore(0)
        calls = [caller.channel(number).unary_stream(method) for number in range(self.count)]
        self._tasks = [
            asyncio.create_task(self._listen(call(request, metadata=caller.metadata)))
            for call, request in zip(calls, requests, strict=True)
        ]

    async def _listen(self, call: Any) -> None:
        opened, number = False, 0
        while (message := await call.read()) is not END:
            if not opened:
                opened = self._bare or message[0] == CAUGHT_UP
                if opened:
                    self._ready.release()
                continue
            if not (self._bare or message[0] == RECORD):
                continue
            due = self._due[number]
            number += 1
            self.delivered += 1
            self.bytes += len(message)
            if due >= self._counts_from:
                self.latency.add(time.perf_counter() - due)
            if self.delivered == self.count * len(self._due):
                self._wanted.set()

    async def ready(self) -> None:
        """Wait until every stream is open and has caught up. Raises Refused if one is not."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                for _ in self._tasks:
                    await self._ready.acquire()
        except TimeoutError:
            for task in self._tasks:
                if task.done():
                    task.result()
            raise Refused("STREAMS_DID_NOT_OPEN") from None

    def count_from(self, moment: float) -> None:
        """Count the latency of messages that are due from then on."""
        self._counts_from = moment

    def expect(self, due: float) -> None:
        """Another message will come to every stream; it was due at that moment."""
        self._due.append(due)
        self._wanted.clear()

    async def all_have(self) -> None:
        """Wait until every stream has got every message."""
        await self._wanted.wait()

    async def close(self) -> None:
        """Leave."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
