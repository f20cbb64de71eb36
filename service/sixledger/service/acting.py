"""Taking acts: deciding them, making their records durable, finding them again; and firing timers.

What is cached here is folded from the store, and appended to it by compare-and-set. Whoever loses reads on and decides
again. Deciding works on a copy of the match, which takes its place only after the commit; so a lost race, a failed
append or an exception leaves no trace. Acts of several matches are decided and appended together (`rendezvous`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from sixledger.engine.errors import EngineError, IllegalCommand, MalformedCommand
from sixledger.ledger import clocks
from sixledger.ledger.faults import LedgerFault, MalformedAct, Refused
from sixledger.ledger.match import Match
from sixledger.ledger.whole import WholeRecord
from sixledger.service.errors import (
    ServiceError,
    illegal,
    ledger_broken,
    malformed,
    quota_exceeded,
    request_id_reused,
    translate,
    unavailable,
)
from sixledger.service.hosted import Hosted
from sixledger.service.idempotency import is_same_act
from sixledger.service.logs import Log
from sixledger.service.matches import Matches, Posted
from sixledger.service.rendezvous import Rendezvous
from sixledger.service.restored import is_restored, refusal
from sixledger.service.store import Appended, AppendResult, Entry, RequestTaken, TokenFloor
from sixledger.service.tokens import LOCKED
from sixledger.v1 import engine_service_pb2, error_pb2, game_pb2, match_service_pb2, record_pb2

#: How often a lost race is run again before the caller is asked to come back.
ATTEMPTS = 16


class Acting(Matches):
    """Matches of one store in which seats and owners act, and timers fire."""

    #: Told of the first deadline of a match whenever it changes here.
    on_deadline: Callable[[int], None] | None = None
    #: No token that was made until now is valid for longer.
    _token_lifetime_us: int
    #: Where whatever makes a record waits for others who do.
    _rendezvous: Rendezvous
    #: Of its own: a logger keeps the configuration that it was first used with.
    _log: Log

    async def act(
        self,
        match_id: bytes,
        action: engine_service_pb2.Action,
        *,
        display_name: str | None = None,
        bot: str | None = None,
    ) -> Posted:
        """Make the record of `action`, durably, or find the one that the same act has made before.

        `display_name` and `bot` belong to a seat that joins: its name, and the bot of this server that plays it.
        The caller has checked the token. Raises ServiceError: REQUEST_ID_REUSED, BAD_SIGNATURE,
        STALE_DECISION, ILLEGAL_COMMAND, …
        """
        hosted = await self.hosted(match_id)
        async with hosted.lock:
            await self._rendezvous.meet()
            restored = is_restored(self.store, match_id)
            for _ in range(ATTEMPTS):
                begun = time.perf_counter()
                if restored:
                    if action.WhichOneof("action") != "abort":
                        if found := await self._made_before(hosted, action):
                            return found
                        raise refusal(match_id)
                    # Its clocks have stood still: what ran out meanwhile costs nobody the match.
                    action.time_us = min(action.time_us, hosted.match.first_deadline_us)
                try:
                    if action.time_us > hosted.match.first_deadline_us:
                        await self._fire_before(hosted, action)
                    after, record = hosted.author.make(hosted.match, action)
                except (EngineError, Refused) as error:
                    # The request id goes before everything else that may be wrong, and what was decided
                    # on may be old: another replica can have gone on.
                    if found := await self._made_before(hosted, action):
                        return found
                    if await self._catch_up(hosted):
                        continue
                    raise self._refusal(hosted, action, error) from error
                decided = time.perf_counter()
                entry = await self._entry(hosted.match, action, after, record, display_name, bot)
                result = await self._append(entry)
                if isinstance(result, Appended):
                    self._measure(action, begun, decided)
                    self._advance(hosted, after, record, entry)
                    return Posted(hosted, after.seq, record, after.time_us)
                if isinstance(result, RequestTaken):
                    return await self._repetition(hosted, action, result.seq)
                if self.metrics is not None:
                    self.metrics.conflict()
                await self._catch_up(hosted)
        raise unavailable("others acted in this match all the time; try again")

    def _advance(self, hosted: Hosted, after: Match, record: WholeRecord, entry: Entry) -> None:
        """Stand after a record that is durable; `entry` says what has changed with it."""
        hosted.advance(after, record)
        self.hub.hint(after.match_id)
        if entry.status is not None:
            self._log_status(after)
        if entry.next_deadline_us is not None:
            self._expect(after)

    async def _entry(
        self,
        before: Match,
        action: engine_service_pb2.Action,
        after: Match,
        record: WholeRecord,
        display_name: str | None = None,
        bot: str | None = None,
    ) -> Entry:
        """What the store is to keep of an act."""
        cause = action.cause
        entry = Entry(before.match_id, after.seq, record.data, cause.kind, cause.seat, cause.request_id)
        if (status := after.status) != before.status:
            entry.status = status
        if (deadline_us := after.first_deadline_us) != before.first_deadline_us:
            entry.next_deadline_us = kept_deadline(deadline_us)
        entry.display_name, entry.bot = display_name, bot
        if before.state is None:
            joined = sum(seat.joined for seat in after.seats)
            if joined != sum(seat.joined for seat in before.seats):
                entry.joined = joined
            if len(after.seats) != len(before.seats):
                entry.seats = len(after.seats)
            if action.HasField("leave"):
                entry.display_name = ""
                entry.floor = await self.next_floor(before.match_id, cause.seat, after.time_us)
        return entry

    async def _append(self, entry: Entry) -> AppendResult:
        try:
            return await self.store.append(entry)
        except asyncio.CancelledError:
            # The caller left; the record may still become durable. Those who follow look for it.
            self.hub.hint(entry.match_id)
            raise

    async def next_floor(self, match_id: bytes, seat: int, time_us: int) -> TokenFloor:
        """The floor that makes all tokens of a seat worthless that there are at `time_us`. Raises QUOTA_EXCEEDED."""
        generation = await self.store.look_up_floor(match_id, seat) + 1
        if generation >= LOCKED:
            raise quota_exceeded("generations_of_tokens", LOCKED)
        return TokenFloor(generation, time_us + self._token_lifetime_us)

    # -- acts that were made before ----------------------------------------------------------------

    async def made_before(self, match_id: bytes, action: engine_service_pb2.Action) -> Posted | None:
        """The record that the same act has made before, if it has. Raises REQUEST_ID_REUSED if another one has."""
        hosted = await self.hosted(match_id)
        async with hosted.lock:
            return await self._made_before(hosted, action)

    async def _made_before(self, hosted: Hosted, action: engine_service_pb2.Action) -> Posted | None:
        cause = action.cause
        if len(cause.request_id) != 16:
            return None
        seq = await self.store.find_request(hosted.match.match_id, cause.kind, cause.seat, cause.request_id)
        return None if seq is None else await self._repetition(hosted, action, seq)

    async def _repetition(self, hosted: Hosted, action: engine_service_pb2.Action, seq: int) -> Posted:
        """The record that the same act made before. Raises REQUEST_ID_REUSED if it was another one."""
        if seq > hosted.match.seq:
            await self._catch_up(hosted)
        found = await self.posted(hosted, seq)
        try:
            same = is_same_act(action, found.record.message, hosted.match.game)
        except LedgerFault as fault:
            raise ledger_broken(hosted.match.match_id, f"record {seq}: {fault.message}") from fault
        if not same:
            raise request_id_reused()
        return found

    def _refusal(self, hosted: Hosted, action: engine_service_pb2.Action, error: Exception) -> ServiceError:
        cause = action.cause
        if isinstance(error, MalformedAct):
            if error.field == "cause.kind":  # who acts is told by the call, not by a field
                return malformed("command", "is none that the table can give")
            # The fields of an act lie elsewhere in the requests than in an Action.
            return malformed(error.field.removeprefix("cause.").removeprefix("join."), error.message)
        if not isinstance(error, IllegalCommand):
            return translated(error, "command" if isinstance(error, MalformedCommand) else "")
        match = hosted.match
        detail = error_pb2.IllegalCommandDetail(rule=error.rule)
        detail.command.CopyFrom(game_pb2.Command.FromString(action.command))
        if match.state is not None:
            viewer = cause.seat if cause.kind == record_pb2.CAUSE_KIND_SEAT else None
            detail.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
        return illegal(error, detail)

    # -- time --------------------------------------------------------------------------------------

    def _expect(self, match: Match) -> None:
        if self.on_deadline is not None and match.first_deadline_us != clocks.NEVER:
            self.on_deadline(match.first_deadline_us)

    async def fire_due(self, match_id: bytes) -> int:
        """Fire the timers of a match whose deadline has passed; how many records that made."""
        if is_restored(self.store, match_id):
            return 0
        hosted = await self.hosted(match_id)
        async with hosted.lock:
            await self._catch_up(hosted)
            return len(await self._fire(hosted, self.clock()))

    async def _fire(self, hosted: Hosted, now_us: int) -> list[engine_service_pb2.Timer]:
        """Fire what is due at `now_us`; the lock is held. At the deadline itself a command is still in time."""
        fired: list[engine_service_pb2.Timer] = []
        attempts = 0
        while now_us > hosted.match.first_deadline_us and attempts < ATTEMPTS:
            await self._rendezvous.meet()
            timer = hosted.match.timers()[0]
            action = clocks.fire(timer, now_us)
            after, record = hosted.author.make(hosted.match, action)
            entry = await self._entry(hosted.match, action, after, record)
            if isinstance(await self._append(entry), Appended):
                if self.metrics is not None:
                    self.metrics.fired((now_us - timer.deadline_us) / 1_000_000)
                self._advance(hosted, after, record, entry)
                fired.append(timer)
            else:  # another replica was faster
                attempts += 1
                await self._catch_up(hosted)
        return fired

    async def _fire_before(self, hosted: Hosted, action: engine_service_pb2.Action) -> None:
        """Fire what is due before an act; the lock is held. Raises IllegalCommand if the act has come too late."""
        fired = await self._fire(hosted, action.time_us)
        seat = action.cause.seat
        own = next((timer for timer in fired if timer.kind == clocks.TURN and timer.seat == seat), None)
        if own is not None and action.WhichOneof("action") == "command":
            raise IllegalCommand("too_late", f"the time of seat {seat} ended at {own.deadline_us}")

    # -- telling -----------------------------------------------------------------------------------

    def _measure(self, action: engine_service_pb2.Action, begun: float, decided: float) -> None:
        """An act that began then and was decided then is durable now, all by time.perf_counter."""
        if self.metrics is not None:
            self.metrics.acted(action.WhichOneof("action"), decided - begun, time.perf_counter() - decided)
        if self._tracing is not None:
            self._tracing.acted(begun, decided)

    def _log_status(self, match: Match) -> None:
        if self.metrics is not None:
            self.metrics.changed(match.status)
        name = match_service_pb2.MatchStatus.Name(match.status).removeprefix("MATCH_STATUS_").lower()
        self._log.info(f"match_{name}", match=match.match_id.hex(), records=match.seq + 1)


def kept_deadline(deadline_us: int) -> int:
    """A deadline as the store keeps it: 0 is none."""
    return 0 if deadline_us == clocks.NEVER else deadline_us


def translated(error: Exception, field: str) -> ServiceError:
    """As `errors.translate`. Raises what is a defect of ours."""
    found = translate(error, field)
    if found is None:
        raise error
    return found
