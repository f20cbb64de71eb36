"""One match as this process holds it: where it stands, and its newest records.

Everything here follows from the stored ledger, so it can be dropped and read again at any time.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable

from google.protobuf.message import DecodeError
from sixledger.engine.registry import Registry
from sixledger.ledger.author import Author
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.match import Match
from sixledger.ledger.whole import WholeRecord
from sixledger.service.errors import ServiceError, ledger_broken, no_spectators
from sixledger.service.store import MatchRow
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2

#: Newest records that are kept beyond the current epoch.
KEPT_RECORDS = 64
#: Items of followed records that are kept for others.
SHARED_ITEMS = 64


class Hosted:
    """A match of this process. Acts and catching up happen under `lock`; reading needs none."""

    __slots__ = (
        "__weakref__", "_base", "_head", "_marks", "_recent", "_shared", "author", "checked_at", "lock", "match", "row",
    )  # fmt: skip

    def __init__(self, row: MatchRow, author: Author, match: Match, first: WholeRecord) -> None:
        """`match` stands after record 0, which is `first`."""
        self.row = row
        self.author = author
        self.match = match
        self.lock = asyncio.Lock()
        #: When the store was last asked for newer records, by the loop's clock.
        self.checked_at = 0.0
        #: As what they are made from: of records there are many.
        self._recent = [first.made]
        self._base = 0
        #: Records that revealed epochs, as (number, highest epoch revealed by then), ascending.
        self._marks: list[tuple[int, int]] = []
        self._head: tuple[int, str] = (-1, "")
        #: Items of followed records, made once for all who may see the same, oldest first.
        self._shared: dict[tuple[int, int | None, bool], bytes] = {}

    @classmethod
    def load(cls, row: MatchRow, first: bytes, registry: Registry) -> Hosted:
        """The match after its stored record 0. Raises LEDGER_BROKEN, or UNKNOWN_GAME for rules of another build."""
        try:
            record = record_pb2.Record.FromString(first)
            match = begin(record, registry)
            author = Author(row.root_secret, row.match_id, match.opened.epochs)
            if author.seeds.commitment != match.opened.commitment:
                raise ledger_broken(row.match_id, "record 0 does not commit to the seeds of the match")
            match.apply(record, check_signatures=False)
        except LedgerFault as fault:
            if fault.verdict == replay_service_pb2.VERDICT_UNKNOWN_RULESET:
                raise ServiceError(error_pb2.REASON_UNKNOWN_GAME, fault.message) from fault
            raise ledger_broken(row.match_id, f"record 0: {fault.message}") from fault
        except DecodeError as error:
            raise ledger_broken(row.match_id, "record 0 cannot be read") from error
        return cls(row, author, match, WholeRecord.of(record))

    def check_viewer(self, viewer: int | None) -> None:
        """Raise NO_SPECTATORS if the viewer, a spectator (None), may not look on."""
        if viewer is None and self.row.no_spectators:
            raise no_spectators()

    # -- going on --------------------------------------------------------------------------------

    def advance(self, match: Match, record: WholeRecord) -> None:
        """Stand after `record`, which is durable, where the match is `match`."""
        revealed_before = self.match.revealed
        self.match = match
        self._recent.append(record.made)
        if match.revealed > revealed_before:
            start = self._marks[-1][0] if self._marks else 0
            self._marks.append((match.seq, match.revealed))
            self._trim(start)

    def fold(self, stored: Iterable[bytes]) -> None:
        """Take the next stored records. Raises LEDGER_BROKEN and then stands where it stood."""
        for data in stored:
            after = self.match.copy()
            try:
                record = record_pb2.Record.FromString(data)
                after.apply(record, check_signatures=False)
            except LedgerFault as fault:
                raise ledger_broken(self.match.match_id, f"record {self.match.seq + 1}: {fault.message}") from fault
            except DecodeError as error:
                message = f"record {self.match.seq + 1} cannot be read"
                raise ledger_broken(self.match.match_id, message) from error
            self.advance(after, WholeRecord.of(record))

    def _trim(self, start: int) -> None:
        """Forget records before the epoch that just ended, but for the newest few."""
        drop = min(start, self.match.seq + 1 - KEPT_RECORDS) - self._base
        if drop > 0:
            del self._recent[:drop]
            self._base += drop

    # -- reading ---------------------------------------------------------------------------------

    def kept(self, first: int, end: int) -> list[WholeRecord] | None:
        """The records `first` to `end` − 1, or None if they are not all at hand."""
        if first < self._base:
            return None
        return [WholeRecord(*made) for made in self._recent[first - self._base : end - self._base]]

    def shared(self, seq: int, viewer: int | None, with_head: bool) -> bytes | None:
        """What was last shared of record `seq` for a viewer, with or without a signed head."""
        return self._shared.get((seq, viewer, with_head))

    def share(self, seq: int, viewer: int | None, with_head: bool, item: bytes) -> None:
        """Keep an item for others who may see the same; the oldest leaves."""
        self._shared[seq, viewer, with_head] = item
        if len(self._shared) > SHARED_ITEMS:
            del self._shared[next(iter(self._shared))]

    def revealed_at(self, seq: int) -> int:
        """The highest epoch that was revealed by record `seq` or before."""
        index = bisect_right(self._marks, (seq, 1 << 32))
        return self._marks[index - 1][1] if index else 0

    def revealed_around(self, seq: int) -> tuple[int, int]:
        """The highest epoch that was revealed before record `seq`, and by it."""
        if not self._marks or self._marks[-1][0] < seq:  # as for almost every new record
            revealed = self._marks[-1][1] if self._marks else 0
            return revealed, revealed
        return self.revealed_at(seq - 1), self.revealed_at(seq)

    def sealed_since(self, seq: int) -> int:
        """The oldest record with a seal that was still shut just before record `seq` by the reveals then known."""
        index = bisect_right(self._marks, (seq - 1, 1 << 32))
        return self._marks[index - 1][0] if index else 0

    def forget_heads(self) -> None:
        """Let heads be signed anew: the keys have changed."""
        self._head = (-1, "")
        self._shared = {place: item for place, item in self._shared.items() if not place[2]}

    def head(self, signer: HeadSigner) -> str:
        """Signed head of the last record, signed once."""
        match = self.match
        seq, note = self._head
        if seq != match.seq:
            note = signer.sign(match.match_id, match.seq + 1, match.hash, match.time_us)
            self._head = (match.seq, note)
        return note
