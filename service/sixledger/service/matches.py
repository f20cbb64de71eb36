"""The matches of a store as this process knows them: found, caught up with what others appended, and read."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError
from sixledger.engine.registry import Registry, installed
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.records import read_body
from sixledger.ledger.whole import WholeRecord
from sixledger.service.archive import Ledgers
from sixledger.service.cache import MatchCache
from sixledger.service.errors import ServiceError, ledger_broken, unknown_match
from sixledger.service.hosted import Hosted
from sixledger.service.hub import Hub
from sixledger.service.store import Store
from sixledger.v1 import record_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics
    from sixledger.service.tracing import Tracing

#: Records read from the store at a time.
PAGE = 200
#: Openings kept in memory, for lists.
OPENINGS = 4096

Q = TypeVar("Q")
R = TypeVar("R")


def wall_clock() -> int:
    """Microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


@dataclass(slots=True)
class Posted:
    """A record of a match, made now or found again, and the match that holds it."""

    hosted: Hosted
    #: Number of the record.
    seq: int
    record: WholeRecord
    #: Time of the record in microseconds.
    time_us: int


class Matches:
    """The matches of one store, for reading."""

    def __init__(
        self,
        store: Store,
        signer: HeadSigner,
        *,
        clock: Callable[[], int] = wall_clock,
        cached_matches: int = 1024,
        registry: Registry | None = None,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        archive: Path | None = None,
    ) -> None:
        """`clock` gives microseconds since 1970-01-01 UTC. `archive` is the folder with the ledgers that have left.

        `metrics` and `tracing` are told what happens.
        """
        self.store = store
        self.signer = signer
        self.clock = clock
        self.hub = Hub()
        self.registry = registry or installed()
        self._cache = MatchCache(cached_matches, self.hub.watched)
        self._ledgers = Ledgers(store, archive)
        self._openings: OrderedDict[bytes, record_pb2.MatchOpened] = OrderedDict()
        #: Told what happens, if somebody wants to know.
        self.metrics = metrics
        self._tracing = tracing
        if metrics is not None:
            metrics.look_at(self._cache, lambda: self.hub.watchers)

    # -- finding -----------------------------------------------------------------------------------

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

    # -- reading -----------------------------------------------------------------------------------

    async def posted(self, hosted: Hosted, seq: int) -> Posted:
        """Record `seq` of a match, which exists."""
        (record,) = await self.records(hosted, seq, seq + 1)
        return Posted(hosted, seq, record, record_pb2.Body.FromString(record.message.body).time_us)

    async def records(self, hosted: Hosted, first: int, end: int) -> list[WholeRecord]:
        """The records `first` to `end` − 1, which exist."""
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
            return [WholeRecord.of(record_pb2.Record.FromString(data)) for data in stored]
        except (DecodeError, IndexError) as error:
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
