"""The match host: opens matches, takes acts, and makes their records durable.

Any replica may host any match: what is cached here is folded from the store, and appended to it by
compare-and-set. Whoever loses reads on and decides again. Deciding works on a copy of the match, which
takes its place only after the commit; so a lost race, a failed append or an exception leaves no trace.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError
from sixledger.engine.errors import EngineError, IllegalCommand, MalformedCommand
from sixledger.engine.registry import Registry, installed
from sixledger.engine.schema import Malformed
from sixledger.ledger import clocks
from sixledger.ledger.author import Author
from sixledger.ledger.faults import LedgerFault, MalformedAct, Refused
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.match import Match
from sixledger.ledger.records import read_body
from sixledger.service.archive import Ledgers
from sixledger.service.cache import MatchCache
from sixledger.service.errors import (
    ServiceError,
    illegal,
    ledger_broken,
    malformed,
    quota_exceeded,
    request_id_reused,
    translate,
    unavailable,
    unknown_match,
)
from sixledger.service.hosted import Hosted
from sixledger.service.hub import Hub
from sixledger.service.idempotency import (
    create_request_id,
    created_match_id,
    is_same_act,
    is_same_creation,
)
from sixledger.service.logs import Log
from sixledger.service.restored import is_restored, refusal
from sixledger.service.store import Appended, Entry, MatchRow, RequestTaken, Store, TokenFloor
from sixledger.service.tokens import LOCKED
from sixledger.v1 import engine_service_pb2, error_pb2, game_pb2, match_service_pb2, record_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics
    from sixledger.service.tracing import Tracing

#: Records read from the store at a time.
PAGE = 200
#: Openings kept in memory, for lists.
OPENINGS = 4096
#: How often a lost race is run again before the caller is asked to come back.
ATTEMPTS = 16

Q = TypeVar("Q")
R = TypeVar("R")

_TABLE = record_pb2.CAUSE_KIND_TABLE


def wall_clock() -> int:
    """Microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class Posted:
    """A record of a match, made now or found again, and the match that holds it."""

    hosted: Hosted
    #: Number of the record.
    seq: int
    #: Whole: with all its openings.
    record: record_pb2.Record = field(repr=False)
    #: Time of the record in microseconds.
    time_us: int


class MatchHost:
    """Hosts the matches of one store."""

    def __init__(
        self,
        store: Store,
        signer: HeadSigner,
        *,
        clock: Callable[[], int] = wall_clock,
        root_secret: Callable[[], bytes] | None = None,
        cached_matches: int = 1024,
        registry: Registry | None = None,
        token_lifetime_s: int = 90 * 24 * 3600,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        archive: Path | None = None,
    ) -> None:
        """`clock` gives microseconds since 1970-01-01 UTC, `root_secret` (for tests) 32 random bytes for a match.

        `archive` is the folder with the ledgers that have left the store.
        No token that was made until now is valid for longer than `token_lifetime_s` seconds. `metrics` and `tracing`
        are told what happens.
        """
        self.store = store
        self.signer = signer
        self.clock = clock
        self.hub = Hub()
        self.registry = registry or installed()
        #: Told of the first deadline of a match whenever it changes here.
        self.on_deadline: Callable[[int], None] | None = None
        self._token_lifetime_us = token_lifetime_s * 1_000_000
        self._root_secret = root_secret or partial(secrets.token_bytes, 32)
        self._cache = MatchCache(cached_matches, self.hub.watched)
        self._ledgers = Ledgers(store, archive)
        self._openings: OrderedDict[bytes, record_pb2.MatchOpened] = OrderedDict()
        #: Told what happens, if somebody wants to know.
        self.metrics = metrics
        self._tracing = tracing
        self._log = Log("host")
        if metrics is not None:
            metrics.look_at(self._cache, lambda: self.hub.watchers)

    # -- finding matches -------------------------------------------------------------------------

    async def hosted(self, match_id: bytes) -> Hosted:
        """The match as far as it is known here. Raises UNKNOWN_MATCH or LEDGER_BROKEN."""
        hosted = self._cache.peek(match_id)
        return hosted if hosted is not None else await self._cache.get(match_id, lambda: self._load(match_id))

    def peek(self, match_id: bytes) -> Hosted | None:
        """The match as far as it is known here, if it is in memory."""
        return self._cache.peek(match_id)

    async def fresh(self, match_id: bytes, max_age_s: float = 0, *, news: str = "") -> Hosted:
        """The match with every record of the store, looked up at most `max_age_s` ago.

        `news` is for whoever looks on behalf of those who follow the match: what made it look, `wakeup` or `look`. How
        long new records have waited for that is measured.
        """
        hosted = await self.hosted(match_id)
        now = asyncio.get_running_loop().time()
        if max_age_s and now - hosted.checked_at < max_age_s:
            return hosted
        if hosted.match.over and hosted.checked_at:
            return hosted  # nothing can follow
        async with hosted.lock:
            if await self._catch_up(hosted) and news and self.metrics is not None:
                self.metrics.news(news, (self.clock() - hosted.match.time_us) / 1_000_000)
        return hosted

    async def opening(self, match_id: bytes) -> record_pb2.MatchOpened:
        """What record 0 of a match states; nothing if it cannot be read. Kept apart: it is short, and never changes."""
        if match_id not in self._openings:
            opened = record_pb2.MatchOpened()
            hosted = self._cache.peek(match_id)
            if hosted is not None:
                opened = hosted.match.opened
            elif first := await self.store.records(match_id, 0, 1):
                with suppress(DecodeError, LedgerFault):
                    steps = read_body(record_pb2.Record.FromString(first[0])).lifecycle
                    opened = steps[0].opened if steps else opened
            self._openings[match_id] = opened
            while len(self._openings) > OPENINGS:
                self._openings.popitem(last=False)
        return self._openings[match_id]

    async def _load(self, match_id: bytes) -> Hosted:
        row = await self.store.match(match_id)
        if row is None:
            raise unknown_match(match_id)
        first = await self.store.records(match_id, 0, 1)
        if not first:
            raise ledger_broken(match_id, "it has no records")
        hosted = Hosted.load(row, first[0], self.registry)
        await self._catch_up(hosted)
        return hosted

    async def _catch_up(self, hosted: Hosted) -> bool:
        """Fold what the store has and `hosted` lacks; its lock is held. True if there was anything."""
        grew = False
        while True:
            page = await self._ledgers.records(hosted.match.match_id, hosted.match.seq + 1, PAGE)
            for start in range(0, len(page), 32):
                if start:
                    await asyncio.sleep(0)  # a long ledger must not hold up everybody else
                try:
                    hosted.fold(page[start : start + 32])
                except ServiceError:
                    self._cache.drop(hosted.match.match_id)
                    raise
            grew = grew or bool(page)
            if len(page) < PAGE:
                break
        hosted.checked_at = asyncio.get_running_loop().time()
        if grew:
            self.hub.hint(hosted.match.match_id)
        return grew

    # -- opening ---------------------------------------------------------------------------------

    async def create(
        self,
        request: match_service_pb2.CreateMatchRequest,
        *,
        owner: str = "",
        rematch_of: bytes = b"",
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> Posted:
        """Open the match that `request` asks for, or find it if the same request has opened it before.

        `owner` is who opens it, `rematch_of` the match before it. `admit` may refuse to open a new one.
        """
        if request.secret and len(request.secret) != 32:
            raise malformed("secret", "must be 32 bytes, or absent")
        if request.mode not in record_pb2.ContributionMode.values():
            raise malformed("mode", "is not a mode of this release")
        secret = request.secret or secrets.token_bytes(32)
        match_id = created_match_id(secret)
        if request.secret and (found := await self._created_before(match_id, request)):
            return found
        if admit is not None:
            await admit()
        try:
            game = self.registry.latest(request.game)
            options = game.schema.options.unpack(request.options)
            root_secret = self._root_secret()
            author, match, record = Author.open(
                game,
                request.seats,
                options,
                root_secret=root_secret,
                match_id=match_id,
                request_id=create_request_id(secret),
                time_us=self.clock(),
                mode=request.mode,
                ready_seats=request.ready_seats,
                clock=request.clock if request.HasField("clock") else None,
                timeout_policy=request.timeout_policy,
            )
        except (EngineError, Malformed, Refused) as error:
            raise _translated(error, "options" if isinstance(error, Malformed) else "") from error
        row = MatchRow(
            match_id,
            game.id,
            len(match.seats),
            match.time_us,
            root_secret,
            match.status,
            0,
            owner,
            request.private,
            request.no_spectators,
            rematch_of,
            _kept(match.first_deadline_us),
        )
        first = Entry(match_id, 0, record.SerializeToString(), _TABLE, 0, create_request_id(secret))
        if not await self.store.create(row, first):
            found = await self._created_before(match_id, request)
            if found is None:
                raise unavailable("the match was created at the same time; try again")
            return found
        hosted = Hosted(row, author, match, record)
        self._cache.put(hosted)
        self._expect(match)
        if self.metrics is not None:
            self.metrics.changed(match.status)
        self._log.info("match_created", match=match_id.hex(), game=game.id, seats=len(match.seats))
        return Posted(hosted, 0, record, match.time_us)

    async def _created_before(self, match_id: bytes, request: match_service_pb2.CreateMatchRequest) -> Posted | None:
        try:
            hosted = await self.hosted(match_id)
        except ServiceError as error:
            if error.reason == error_pb2.REASON_UNKNOWN_MATCH:
                return None
            raise
        try:
            same = is_same_creation(request, hosted.match.opened, hosted.match.game)
        except (EngineError, Malformed) as error:
            raise request_id_reused() from error
        row = hosted.row
        if not same or (row.private, row.no_spectators) != (request.private, request.no_spectators):
            raise request_id_reused()
        return await self.posted(hosted, 0)

    # -- acting ----------------------------------------------------------------------------------

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
                    after, record = hosted.author.act(hosted.match, action)
                except (EngineError, Refused) as error:
                    # The request id goes before everything else that may be wrong, and what was decided
                    # on may be old: another replica can have gone on.
                    if found := await self._made_before(hosted, action):
                        return found
                    if await self._catch_up(hosted):
                        continue
                    raise self._refusal(hosted, action, error) from error
                decided = time.perf_counter()
                result = await self._append(hosted, action, after, record, display_name, bot)
                if isinstance(result, Appended):
                    self._measure(action, begun, decided)
                    self._advance(hosted, after, record)
                    return Posted(hosted, after.seq, record, after.time_us)
                if isinstance(result, RequestTaken):
                    return await self._repetition(hosted, action, result.seq)
                if self.metrics is not None:
                    self.metrics.conflict()
                await self._catch_up(hosted)
        raise unavailable("others acted in this match all the time; try again")

    def _advance(self, hosted: Hosted, after: Match, record: record_pb2.Record) -> None:
        before = hosted.match
        hosted.advance(after, record)
        self.hub.hint(after.match_id)
        if after.status != before.status:
            self._log_status(after)
        if after.first_deadline_us != before.first_deadline_us:
            self._expect(after)

    # -- time ------------------------------------------------------------------------------------

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
            timer = hosted.match.timers()[0]
            action = clocks.fire(timer, now_us)
            after, record = hosted.author.act(hosted.match, action)
            if isinstance(await self._append(hosted, action, after, record, None, None), Appended):
                if self.metrics is not None:
                    self.metrics.fired((now_us - timer.deadline_us) / 1_000_000)
                self._advance(hosted, after, record)
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

    async def _append(
        self,
        hosted: Hosted,
        action: engine_service_pb2.Action,
        after: Match,
        record: record_pb2.Record,
        display_name: str | None,
        bot: str | None,
    ) -> Any:
        before, cause = hosted.match, action.cause
        status, joined, seats, floor = after.status, None, None, None
        if before.state is None:
            joined = sum(seat.joined for seat in after.seats)
            if joined == sum(seat.joined for seat in before.seats):
                joined = None
            if len(after.seats) != len(before.seats):
                seats = len(after.seats)
            if action.HasField("leave"):
                display_name = ""
                floor = await self.next_floor(before.match_id, cause.seat, after.time_us)
        entry = Entry(
            before.match_id,
            after.seq,
            record.SerializeToString(),
            cause.kind,
            cause.seat,
            cause.request_id,
            None if status == before.status else status,
            joined,
            display_name,
            seats,
            bot,
            floor,
            _kept(after.first_deadline_us) if after.first_deadline_us != before.first_deadline_us else None,
        )
        try:
            return await self.store.append(entry)
        except asyncio.CancelledError:
            # The caller left; the record may still become durable. Those who follow look for it.
            self.hub.hint(before.match_id)
            raise

    async def next_floor(self, match_id: bytes, seat: int, time_us: int) -> TokenFloor:
        """The floor that makes all tokens of a seat worthless that there are at `time_us`. Raises QUOTA_EXCEEDED."""
        generation = await self.store.look_up_floor(match_id, seat) + 1
        if generation >= LOCKED:
            raise quota_exceeded("generations_of_tokens", LOCKED)
        return TokenFloor(generation, time_us + self._token_lifetime_us)

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
            same = is_same_act(action, found.record, hosted.match.game)
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
            return _translated(error, "command" if isinstance(error, MalformedCommand) else "")
        match = hosted.match
        detail = error_pb2.IllegalCommandDetail(rule=error.rule)
        detail.command.CopyFrom(game_pb2.Command.FromString(action.command))
        if match.state is not None:
            viewer = cause.seat if cause.kind == record_pb2.CAUSE_KIND_SEAT else None
            detail.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
        return illegal(error, detail)

    # -- reading ---------------------------------------------------------------------------------

    async def posted(self, hosted: Hosted, seq: int) -> Posted:
        """Record `seq` of a match, which exists."""
        (record,) = await self.records(hosted, seq, seq + 1)
        return Posted(hosted, seq, record, record_pb2.Body.FromString(record.body).time_us)

    async def records(self, hosted: Hosted, first: int, end: int) -> list[record_pb2.Record]:
        """The whole records `first` to `end` − 1, which exist. They are shared: do not change them."""
        kept = hosted.kept(first, end)
        if kept is not None:
            return kept
        match_id = hosted.match.match_id
        stored: list[bytes] = []
        while (start := first + len(stored)) < end:
            page = await self._ledgers.records(match_id, start, min(PAGE, end - start))
            if not page:
                raise ledger_broken(match_id, f"record {start} is missing")
            stored += page
        try:
            return [record_pb2.Record.FromString(data) for data in stored]
        except DecodeError as error:
            raise ledger_broken(match_id, "a record cannot be read") from error

    def keys_changed(self) -> None:
        """Sign every head anew: the signer has other keys."""
        self._cache.forget_heads()

    def head(self, hosted: Hosted, posted: Posted | None = None) -> str:
        """Signed head of `posted`, by default of the last record. The same until its key is revoked."""
        if posted is None or posted.seq == hosted.match.seq:
            return hosted.head(self.signer)
        return self.signer.sign(hosted.match.match_id, posted.seq + 1, posted.record.hash, posted.time_us)

    def traced(self, name: str, behaviour: Callable[[Q], Awaitable[R]]) -> Callable[[Q], Awaitable[R]]:
        """`behaviour`, traced now and then if anything is."""
        return behaviour if self._tracing is None else self._tracing.traced(name, behaviour)

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


def _kept(deadline_us: int) -> int:
    """A deadline as the store keeps it: 0 is none."""
    return 0 if deadline_us == clocks.NEVER else deadline_us


def _translated(error: Exception, field: str) -> ServiceError:
    found = translate(error, field)
    if found is None:
        raise error
    return found
