"""A store in the memory of the process: for tests, simulations and games that nobody will miss."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from sixledger.service.store.base import (
    ApiKeyRow,
    Appended,
    AppendResult,
    Cursor,
    Due,
    Entry,
    MatchRow,
    RecordsArchived,
    RequestTaken,
    SeqTaken,
    Store,
    StoreError,
    TokenFloor,
)
from sixledger.service.store.checks import (
    check_api_key,
    check_archivable,
    check_archive,
    check_creation,
    check_deadlines,
    check_entry,
    check_erasure,
    check_floor,
    check_id,
    check_key,
    check_listing,
    check_match_ids,
    check_page,
    check_secrets_page,
    check_statuses,
    check_unarchive,
)
from sixledger.service.store.sealing import opened, sealed


@dataclass(slots=True)
class _Match:
    row: MatchRow
    #: None in the place of one that has left for an archive.
    records: list[bytes | None] = field(default_factory=list, repr=False)
    #: Record number by (kind, seat, request id).
    requests: dict[tuple[int, int, bytes], int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    bots: dict[int, str] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.requests[entry.kind, entry.seat, entry.request_id] = entry.seq
        self.records.append(entry.record)
        if entry.status is not None:
            self.row = replace(self.row, status=entry.status)
        if entry.joined is not None:
            self.row = replace(self.row, joined=entry.joined)
        if entry.seats is not None:
            self.row = replace(self.row, seats=entry.seats)
        if entry.next_deadline_us is not None:
            self.row = replace(self.row, next_deadline_us=entry.next_deadline_us)
        if entry.bot:
            self.bots[entry.seat] = entry.bot
        elif entry.bot is not None:
            self.bots.pop(entry.seat, None)
        if entry.display_name:
            self.names[entry.seat] = entry.display_name
        elif entry.display_name is not None:
            self.names.pop(entry.seat, None)


class MemoryStore(Store):
    """Keeps everything for as long as the object lives; opening it again after `close` finds it all.

    No method waits in the middle, so each is atomic on its event loop.
    """

    def __init__(self) -> None:
        self._matches: dict[bytes, _Match] = {}
        #: (created_us, match id), ascending.
        self._order: list[tuple[int, bytes]] = []
        #: Matches with armed timers, ascending.
        self._due: list[Due] = []
        self._floors: dict[tuple[bytes, int], int] = {}
        self._keys: dict[str, ApiKeyRow] = {}
        self._open = False

    async def open(self) -> None:
        """As `Store.open`."""
        if self._open:
            raise StoreError("the store is open already")
        self._open = True

    async def close(self) -> None:
        """As `Store.close`."""
        self._open = False

    async def create(self, row: MatchRow, first: Entry) -> bool:
        """As `Store.create`."""
        check_creation(row, first)
        self._check_open()
        if row.match_id in self._matches:
            return False
        match = self._matches[row.match_id] = _Match(sealed(self.seal, row))
        match.add(first)
        insort(self._order, (row.created_us, row.match_id))
        self._move_deadline(row.match_id, 0, match.row.next_deadline_us)
        return True

    async def append(self, entry: Entry) -> AppendResult:
        """As `Store.append`."""
        check_entry(entry)
        self._check_open()
        match = self._matches.get(entry.match_id)
        if match is None:
            return SeqTaken()
        taken = match.requests.get((entry.kind, entry.seat, entry.request_id))
        if taken is not None:
            return RequestTaken(taken)
        if entry.seq != len(match.records) or match.row.archived:
            return SeqTaken()
        deadline_us = match.row.next_deadline_us
        match.add(entry)
        if entry.next_deadline_us is not None:
            self._move_deadline(entry.match_id, deadline_us, entry.next_deadline_us)
        if entry.floor is not None:
            self._raise_floor(entry.match_id, entry.seat, entry.floor)
        return Appended()

    def _move_deadline(self, match_id: bytes, before: int, after: int) -> None:
        if before:
            del self._due[bisect_left(self._due, (before, match_id))]
        if after:
            insort(self._due, Due(after, match_id))

    async def match(self, match_id: bytes) -> MatchRow | None:
        """As `Store.match`."""
        match = self._find(match_id)
        return None if match is None else opened(self.seal, match.row)

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As `Store.records`."""
        check_page(first, limit)
        match = self._find(match_id)
        found: list[bytes] = []
        for record in [] if match is None else match.records[first : first + limit]:
            if record is None:
                raise RecordsArchived(f"the records of match {match_id.hex()} are archived")
            found.append(record)
        return found

    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """As `Store.find_request`."""
        check_key(match_id, kind, seat, request_id)
        match = self._find(match_id)
        return None if match is None else match.requests.get((kind, seat, request_id))

    async def display_names(self, match_id: bytes) -> dict[int, str]:
        """As `Store.display_names`."""
        match = self._find(match_id)
        return {} if match is None else dict(match.names)

    async def list_matches(
        self,
        *,
        status: int | None,
        game: str | None,
        after: Cursor | None,
        limit: int,
        free_seats: bool = False,
        owner: str | None = None,
    ) -> Sequence[MatchRow]:
        """As `Store.list_matches`."""
        check_listing(status, game, after, limit, owner)
        self._check_open()
        end = len(self._order) if after is None else bisect_left(self._order, (after.created_us, after.match_id))
        page: list[MatchRow] = []
        for index in range(end - 1, -1, -1):
            if len(page) == limit:
                break
            row = self._matches[self._order[index][1]].row
            if status is not None and row.status != status:
                continue
            if game is not None and row.game != game:
                continue
            if free_seats and row.joined >= row.seats:
                continue
            if row.private if owner is None else not owner or row.owner != owner:
                continue
            page.append(opened(self.seal, row))
        return page

    async def count_matches(self, owner: str, statuses: Collection[int]) -> int:
        """As `Store.count_matches`."""
        check_statuses(owner, statuses)
        self._check_open()
        if not owner:
            return 0
        return sum(match.row.owner == owner and match.row.status in statuses for match in self._matches.values())

    async def bots(self, match_id: bytes) -> dict[int, str]:
        """As `Store.bots`."""
        match = self._find(match_id)
        return {} if match is None else dict(match.bots)

    async def matches_with_bots(self, statuses: Collection[int]) -> Sequence[bytes]:
        """As `Store.matches_with_bots`."""
        check_statuses("", statuses)
        self._check_open()
        found = (self._matches[match_id] for _, match_id in self._order)
        return [match.row.match_id for match in found if match.bots and match.row.status in statuses]

    async def match_ids(self, statuses: Collection[int], *, after: bytes | None, limit: int) -> Sequence[bytes]:
        """As `Store.match_ids`."""
        check_match_ids(statuses, after, limit)
        self._check_open()
        found = sorted(match_id for match_id, match in self._matches.items() if match.row.status in statuses)
        start = 0 if after is None else bisect_right(found, after)
        return found[start : start + limit]

    async def erase_names(self, match_id: bytes | None, seat: int | None, name: str | None) -> int:
        """As `Store.erase_names`."""
        check_erasure(match_id, seat, name)
        self._check_open()
        erased = 0
        for found_id, match in self._matches.items():
            if match_id in (None, found_id):
                fitting = [each for each, kept in match.names.items() if seat in (None, each) and name in (None, kept)]
                for each in fitting:
                    del match.names[each]
                erased += len(fitting)
        return erased

    async def kept_secrets(self, *, after: bytes | None, limit: int) -> Sequence[tuple[bytes, bytes]]:
        """As `Store.kept_secrets`."""
        check_secrets_page(after, limit)
        self._check_open()
        found = sorted(match_id for match_id in self._matches if after is None or match_id > after)[:limit]
        return [(match_id, self._matches[match_id].row.root_secret) for match_id in found]

    async def replace_secret(self, match_id: bytes, before: bytes, after: bytes) -> bool:
        """As `Store.replace_secret`."""
        match = self._find(match_id)
        if match is None or match.row.root_secret != before:
            return False
        match.row = replace(match.row, root_secret=after)
        return True

    async def archivable(self, status: int, before_us: int, *, after: Cursor | None, limit: int) -> Sequence[Cursor]:
        """As `Store.archivable`."""
        check_archivable(status, before_us, after, limit)
        self._check_open()
        start = 0 if after is None else bisect_right(self._order, (after.created_us, after.match_id))
        end = bisect_left(self._order, (before_us, b""))
        rows = (self._matches[match_id].row for _, match_id in self._order[start:end])
        found = [Cursor(row.created_us, row.match_id) for row in rows if row.status == status and not row.archived]
        return found[:limit]

    async def archive(self, match_id: bytes, records: int, last_hash: bytes) -> bool:
        """As `Store.archive`."""
        check_archive(match_id, records, last_hash)
        match = self._find(match_id)
        if match is None or len(match.records) != records:
            return False
        if match.row.archived:
            return match.row.archived_hash == last_hash
        match.records[1:] = [None] * (records - 1)
        match.row = replace(match.row, archived=records, archived_hash=last_hash)
        return True

    async def unarchive(self, match_id: bytes, records: Sequence[bytes]) -> bool:
        """As `Store.unarchive`."""
        check_unarchive(match_id, records)
        match = self._find(match_id)
        if match is None or len(match.records) != len(records):
            return False
        if match.row.archived:
            match.records[1:] = records[1:]
            match.row = replace(match.row, archived=0, archived_hash=b"")
        return True

    async def deadlines(self, *, after: Due | None, limit: int) -> Sequence[Due]:
        """As `Store.deadlines`."""
        check_deadlines(after, limit)
        self._check_open()
        start = 0 if after is None else bisect_right(self._due, after)
        return self._due[start : start + limit]

    def token_floor(self, match_id: bytes, seat: int) -> int:
        """As `Store.token_floor`."""
        return self._floors.get((match_id, seat), 0)

    async def raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        """As `Store.raise_floor`."""
        check_floor(match_id, seat, floor)
        self._check_open()
        self._raise_floor(match_id, seat, floor)

    def _raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        self._floors[match_id, seat] = max(floor.generation, self._floors.get((match_id, seat), 0))

    async def put_api_key(self, row: ApiKeyRow) -> None:
        """As `Store.put_api_key`."""
        check_api_key(row)
        self._check_open()
        self._keys[row.id] = row

    async def api_keys(self) -> Sequence[ApiKeyRow]:
        """As `Store.api_keys`."""
        self._check_open()
        return sorted(self._keys.values(), key=lambda row: (row.created_us, row.id))

    def _find(self, match_id: bytes) -> _Match | None:
        check_id("match_id", match_id)
        self._check_open()
        return self._matches.get(match_id)

    def _check_open(self) -> None:
        if not self._open:
            raise StoreError("the store is not open")
