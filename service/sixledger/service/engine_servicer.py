"""EngineService: engines without hosting. The caller owns the match, its secret and its ledger.

Takes and gives messages, raises ServiceError; keeps nothing between calls, but for the length of a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from sixledger.engine.errors import EngineError, IllegalCommand, MalformedCommand
from sixledger.engine.registry import Registry, installed
from sixledger.engine.schema import Malformed
from sixledger.ledger.author import Author
from sixledger.ledger.faults import LedgerFault, MalformedAct, Refused
from sixledger.ledger.folding import begin
from sixledger.ledger.match import Match
from sixledger.service.checkpoint import from_checkpoint, to_checkpoint
from sixledger.service.engine_session import EngineSession
from sixledger.service.errors import ServiceError, illegal, malformed, translate
from sixledger.service.failures import CallLog
from sixledger.service.hub import Hub
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import error_pb2, game_pb2, record_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics

T = TypeVar("T")

#: Ledgers with more records are folded in a thread, so that other calls go on.
_INLINE_RECORDS = 50


class EngineServicer:
    """The calls of EngineService, by their names."""

    def __init__(
        self, registry: Registry | None = None, hub: Hub | None = None, metrics: Metrics | None = None
    ) -> None:
        """Serve the games of `registry`, by default of this installation. Sessions end when `hub` closes."""
        self._registry = registry or installed()
        self._hub = hub or Hub()
        self._log = CallLog("session", metrics)

    async def StartMatch(self, request: pb.StartMatchRequest) -> pb.StartMatchResponse:
        """Open a match: make record 0."""
        _, match, record = self.open(request)
        return pb.StartMatchResponse(record=record, checkpoint=to_checkpoint(match), timers=match.timers())

    def SessionEncoded(self, requests: AsyncIterator[pb.SessionRequest]) -> AsyncGenerator[bytes, None]:
        """Keep one match for the length of the stream: serialised SessionResponses."""
        return EngineSession(self, self._hub, self._log).run(requests)

    async def Session(self, requests: AsyncIterator[pb.SessionRequest]) -> AsyncGenerator[pb.SessionResponse, None]:
        """Keep one match for the length of the stream."""
        async with aclosing(self.SessionEncoded(requests)) as responses:
            async for response in responses:
                yield pb.SessionResponse.FromString(response)

    async def ApplyAction(self, request: pb.ApplyActionRequest) -> pb.ApplyActionResponse:
        """Apply one action: make the next record."""
        if len(request.root_secret) != 32:
            raise malformed("root_secret", "must be 32 bytes")

        def work() -> pb.ApplyActionResponse:
            author, match = self._load(request.state, request.root_secret)
            after, record = self.apply(author, match, request.action)
            return pb.ApplyActionResponse(record=record, checkpoint=to_checkpoint(after), timers=after.timers())

        return await self._run(request.state, work)

    async def ListEngineLegalCommands(
        self, request: pb.ListEngineLegalCommandsRequest
    ) -> pb.ListEngineLegalCommandsResponse:
        """List the legal commands of a seat."""
        return self.legal(await self._run(request.state, lambda: self._match(request.state)), request.seat)

    async def GetEngineView(self, request: pb.GetEngineViewRequest) -> pb.GetEngineViewResponse:
        """Show what a seat or a spectator sees."""
        match = await self._run(request.state, lambda: self._match(request.state))
        return self.view(match, request.seat if request.HasField("seat") else None)

    # -- common parts ----------------------------------------------------------------------------

    def open(self, request: pb.StartMatchRequest) -> tuple[Author, Match, record_pb2.Record]:
        """A new match: its author, where it stands, and record 0. Raises ServiceError."""
        if request.mode not in record_pb2.ContributionMode.values():
            raise malformed("mode", "is not a mode of this release")
        try:
            game = self._registry.latest(request.game)
            return Author.open(
                game,
                request.seats,
                game.schema.options.unpack(request.options),
                root_secret=request.root_secret,
                match_id=request.match_id,
                request_id=request.request_id,
                time_us=request.time_us,
                mode=request.mode,
                immediate=request.immediate,
                ready_seats=request.ready_seats,
                clock=request.clock if request.HasField("clock") else None,
                timeout_policy=request.timeout_policy,
            )
        except (EngineError, Malformed, Refused) as error:
            raise _translated(error, "options" if isinstance(error, Malformed) else "") from error

    async def load(self, state: pb.EngineState, root_secret: bytes) -> tuple[Author, Match]:
        """The author of a match and where it stands. Raises MALFORMED."""
        if len(root_secret) != 32:
            raise malformed("root_secret", "must be 32 bytes")
        return await self._run(state, lambda: self._load(state, root_secret))

    def apply(self, author: Author, match: Match, action: pb.Action) -> tuple[Match, record_pb2.Record]:
        """Where the match stands after an action, and its record. Raises ServiceError."""
        try:
            return author.act(match, action)
        except IllegalCommand as error:
            raise _illegal(match, action, error) from error
        except MalformedCommand as error:
            raise _translated(error, "action.command") from error
        except (EngineError, Refused) as error:
            at_cause = isinstance(error, MalformedAct) and error.field == "request_id"
            raise _translated(error, "action.cause" if at_cause else "action") from error

    def legal(self, match: Match, seat: int) -> pb.ListEngineLegalCommandsResponse:
        """The legal commands of a seat. Raises MALFORMED."""
        _check_seat(match, seat)
        reply = pb.ListEngineLegalCommandsResponse(decision=match.decision)
        if match.state is not None and not match.over:
            for command in match.game.legal(match.state, seat):
                match.game.schema.commands.pack_into(reply.commands.add(), command)
        return reply

    def view(self, match: Match, viewer: int | None) -> pb.GetEngineViewResponse:
        """What a seat or a spectator sees. Raises MALFORMED."""
        if viewer is not None:
            _check_seat(match, viewer)
        reply = pb.GetEngineViewResponse()
        if match.state is not None:
            reply.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
        return reply

    async def _run(self, state: pb.EngineState, work: Callable[[], T]) -> T:
        if len(state.ledger.records) > _INLINE_RECORDS:
            return await asyncio.to_thread(work)
        return work()

    def _load(self, state: pb.EngineState, root_secret: bytes) -> tuple[Author, Match]:
        opened, match_id = self._opening(state)
        if len(match_id) != 16:
            raise malformed("state.checkpoint.match_id", "must be 16 bytes")
        if not 1 <= opened.epochs <= 1000:
            raise malformed("state", "the opening does not state 1 to 1000 epochs")
        author = Author(root_secret, match_id, opened.epochs)
        if author.seeds.commitment != opened.commitment:
            raise malformed("root_secret", "is not that of the match")
        return author, self._match(state, author)

    def _opening(self, state: pb.EngineState) -> tuple[record_pb2.MatchOpened, bytes]:
        if state.WhichOneof("state") == "checkpoint":
            return state.checkpoint.opened, state.checkpoint.match_id
        if not state.ledger.records:
            raise malformed("state", "holds neither a ledger nor a checkpoint")
        try:
            match = begin(state.ledger.records[0], self._registry)
        except LedgerFault as fault:
            raise malformed("state.ledger.records[0]", fault.message) from fault
        return match.opened, match.match_id

    def _match(self, state: pb.EngineState, author: Author | None = None) -> Match:
        if state.WhichOneof("state") == "checkpoint":
            seeds = author.seeds if author is not None else None
            return from_checkpoint(state.checkpoint, "state.checkpoint", self._registry, seeds)
        if not state.ledger.records:
            raise malformed("state", "holds neither a ledger nor a checkpoint")
        number = 0
        try:
            match = begin(state.ledger.records[0], self._registry)
            for number, record in enumerate(state.ledger.records):
                if len(record.openings) != len(record.seals):
                    raise malformed(f"state.ledger.records[{number}]", "must have all its openings")
                match.apply(record, check_signatures=False)
        except LedgerFault as fault:
            raise malformed(f"state.ledger.records[{number}]", fault.message) from fault
        return match


def _check_seat(match: Match, seat: int) -> None:
    if seat >= len(match.seats):
        raise malformed("seat", f"there is no seat {seat}")


def _illegal(match: Match, action: pb.Action, error: IllegalCommand) -> ServiceError:
    detail = error_pb2.IllegalCommandDetail(rule=error.rule)
    detail.command.CopyFrom(game_pb2.Command.FromString(action.command))
    if match.state is not None:
        viewer = action.cause.seat if action.cause.kind == record_pb2.CAUSE_KIND_SEAT else None
        detail.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
    return illegal(error, detail)


def _translated(error: Exception, field: str) -> ServiceError:
    found = translate(error, field)
    if found is None:
        raise error
    return found
