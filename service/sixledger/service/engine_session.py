"""A session of EngineService: one match kept in memory for the length of a stream. The caller keeps the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from sixledger.ledger import wire
from sixledger.ledger.author import Author
from sixledger.ledger.match import Match
from sixledger.service.checkpoint import to_checkpoint
from sixledger.service.errors import ServiceError, malformed, unavailable
from sixledger.service.failures import CallLog, failure, report
from sixledger.service.hub import NO_MATCH, Hub, Waiter
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import error_pb2, record_pb2

_METHOD = "/sixledger.v1.EngineService/Session"
#: After so many steps of one message others get their turn.
_TURN = 32


class Engines(Protocol):
    """What makes the records. Raises ServiceError."""

    def open(self, request: pb.StartMatchRequest) -> tuple[Author, Match, record_pb2.Record]:
        """A new match."""
        ...

    async def load(self, state: pb.EngineState, root_secret: bytes) -> tuple[Author, Match]:
        """A match of the caller's."""
        ...

    def apply(self, author: Author, match: Match, action: pb.Action) -> tuple[Match, record_pb2.Record]:
        """The next record, and where the match stands after it."""
        ...

    def legal(self, match: Match, seat: int) -> pb.ListEngineLegalCommandsResponse:
        """The legal commands of a seat."""
        ...

    def view(self, match: Match, viewer: int | None) -> pb.GetEngineViewResponse:
        """What a seat or a spectator sees."""
        ...


class _Stop(Waiter):
    """Hinted, it interrupts the waiting for the next request: the server stops."""

    __slots__ = ("reading",)

    def __init__(self) -> None:
        super().__init__()
        #: The task that waits for a request, while it does.
        self.reading: asyncio.Task[object] | None = None

    def hint(self) -> None:
        self.hinted = True
        if self.reading is not None:
            self.reading.cancel()
            self.reading = None


class EngineSession:
    """The match of one stream. `run` it once."""

    def __init__(self, engines: Engines, hub: Hub, log: CallLog) -> None:
        """`engines` make the records; the session ends when `hub` closes."""
        self._engines = engines
        self._hub = hub
        self._log = log
        self._author: Author | None = None
        self._match: Match | None = None

    async def run(self, requests: AsyncIterator[pb.SessionRequest]) -> AsyncGenerator[bytes, None]:
        """A serialised SessionResponse for each request, until the client has half-closed or the server stops."""
        stop = _Stop()
        self._hub.add(NO_MATCH, stop)
        try:
            while not (stop.hinted or self._hub.closed):
                try:
                    stop.reading = asyncio.current_task()
                    request = await anext(requests)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    task = asyncio.current_task()
                    if not stop.hinted or task is None or task.uncancel():
                        raise  # the client left
                    break
                finally:
                    stop.reading = None
                yield await self._respond(request.steps)
            stopping = failure(unavailable("the server stops; go on elsewhere from the last record"))
            yield pb.SessionResponse(results=[pb.SessionResult(failure=stopping)]).SerializeToString()
        finally:
            self._hub.remove(NO_MATCH, stop)

    async def _respond(self, steps: Sequence[pb.SessionStep]) -> bytes:
        results: list[bytes] = []
        for step in steps:
            started = time.perf_counter()
            try:
                if step.WhichOneof("step") == "action":
                    author, match = self._held()
                    self._match, record = self._engines.apply(author, match, step.action)
                    # By far the most frequent: put together without copying the record.
                    result = wire.field(pb.SessionResult.RECORD_FIELD_NUMBER, record.SerializeToString())
                    if self._match.clocks is not None:
                        result += pb.SessionResult(timers=self._match.timers()).SerializeToString()
                else:
                    result = (await self._other(step)).SerializeToString()
                if step.with_checkpoint:
                    checkpoint = to_checkpoint(self._held()[1]).SerializeToString()
                    result += wire.field(pb.SessionResult.CHECKPOINT_FIELD_NUMBER, checkpoint)
            except Exception as error:
                failed = failure(report(self._log, _METHOD, error, started))
                results.append(pb.SessionResult(failure=failed).SerializeToString())
                break
            results.append(result)
            if not len(results) % _TURN:
                await asyncio.sleep(0)
        return wire.repeated(pb.SessionResponse.RESULTS_FIELD_NUMBER, results)

    async def _other(self, step: pb.SessionStep) -> pb.SessionResult:
        """Do a step that is no action; the match changes only if it succeeds."""
        kind, result = step.WhichOneof("step"), pb.SessionResult()
        if kind == "legal":
            result.legal.CopyFrom(self._engines.legal(self._held()[1], step.legal.seat))
        elif kind == "view":
            viewer = step.view.seat if step.view.HasField("seat") else None
            result.view.CopyFrom(self._engines.view(self._held()[1], viewer))
        elif kind == "start":
            self._author, self._match, record = self._engines.open(step.start)
            result.record.CopyFrom(record)
            result.timers.extend(self._match.timers())
        elif kind == "load":
            self._author, self._match = await self._engines.load(step.load.state, step.load.root_secret)
            result.loaded.seq = self._match.seq
            result.timers.extend(self._match.timers())
        elif kind == "ping":
            result.pong.SetInParent()
            if self._match is not None:
                result.timers.extend(self._match.timers())
        else:
            raise malformed("step", "is empty, or of a later release")
        return result

    def _held(self) -> tuple[Author, Match]:
        if self._author is None or self._match is None:
            raise ServiceError(error_pb2.REASON_WRONG_PHASE, "the session holds no match: start or load one first")
        return self._author, self._match
