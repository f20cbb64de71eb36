"""The embedded store: one SQLite file, used by one process at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

from sixledger.service.store.base import (
    ApiKeyRow,
    Appended,
    AppendResult,
    Cursor,
    Due,
    Entry,
    MatchRow,
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
from sixledger.service.store.sealing import listed, opened, sealed
from sixledger.service.store.sqlite_archive import Leave, Return
from sixledger.service.store.sqlite_engine import SqliteEngine
from sixledger.service.store.sqlite_reader import Reader
from sixledger.service.store.sqlite_settings import SqliteSettings
from sixledger.service.store.sqlite_writer import (
    ERASE_NAMES,
    PUT_API_KEY,
    RAISE_FLOOR,
    RESEAL,
    Aside,
    Job,
)

T = TypeVar("T")


class SqliteStore(Store):
    """A store in the file `path`, with `-wal`, `-shm` and `.lock` beside it.

    Appends of all matches meet in one writer, which commits whatever has gathered (DESIGN 8): on the loop while the
    disk is quick, else on a thread. Reads have connections of their own and never wait for it. A commit is on the
    disk when its appends return (WAL with `synchronous=FULL`).
    """

    def __init__(self, path: str | Path, settings: SqliteSettings | None = None) -> None:
        #: The file of the database.
        self.path = Path(path)
        self._settings = settings or SqliteSettings()
        self._engine: SqliteEngine | None = None
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """As `Store.open`."""
        if self._engine is not None:
            raise StoreError("the store is open already")
        engine = SqliteEngine(self.path, self._settings, self._flushed)
        starting = asyncio.ensure_future(asyncio.to_thread(engine.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread cannot be stopped: wait for it and undo what it did.
            await asyncio.wait({starting})
            if starting.exception() is None:
                await asyncio.to_thread(engine.stop)
            raise
        self._engine = engine
        self._closing = None

    async def close(self) -> None:
        """As `Store.close`."""
        if self._engine is None:
            return
        if self._closing is None:
            self._engine.commits.refuse()
            self._closing = asyncio.create_task(self._stop(self._engine))
        # A caller that is cancelled leaves; the closing goes on.
        await asyncio.shield(self._closing)

    async def create(self, row: MatchRow, first: Entry) -> bool:
        """As `Store.create`."""
        check_creation(row, first)
        job = Job(first, sealed(self.seal, row))
        result = await self._opened().commits.submit(row.match_id, job, len(first.record))
        return isinstance(result, Appended)

    async def append(self, entry: Entry) -> AppendResult:
        """As `Store.append`."""
        check_entry(entry)
        return await self._opened().commits.submit(entry.match_id, Job(entry, None), len(entry.record))

    async def match(self, match_id: bytes) -> MatchRow | None:
        """As `Store.match`."""
        check_id("match_id", match_id)
        row = await self._read(lambda reader: reader.match(match_id))
        return None if row is None else opened(self.seal, row)

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As `Store.records`."""
        check_id("match_id", match_id)
        check_page(first, limit)
        return await self._read(lambda reader: reader.records(match_id, first, limit))

    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """As `Store.find_request`."""
        check_key(match_id, kind, seat, request_id)
        return await self._read(lambda reader: reader.find_request(match_id, kind, seat, request_id))

    async def display_names(self, match_id: bytes) -> dict[int, str]:
        """As `Store.display_names`."""
        check_id("match_id", match_id)
        return await self._read(lambda reader: reader.display_names(match_id))

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
        rows = await self._read(lambda reader: reader.list_matches(status, game, after, limit, free_seats, owner))
        return [listed(self.seal, row) for row in rows]

    async def count_matches(self, owner: str, statuses: Collection[int]) -> int:
        """As `Store.count_matches`."""
        check_statuses(owner, statuses)
        return await self._read(lambda reader: reader.count_matches(owner, list(statuses)))

    async def bots(self, match_id: bytes) -> dict[int, str]:
        """As `Store.bots`."""
        check_id("match_id", match_id)
        return await self._read(lambda reader: reader.bots(match_id))

    async def matches_with_bots(self, statuses: Collection[int]) -> Sequence[bytes]:
        """As `Store.matches_with_bots`."""
        check_statuses("", statuses)
        return await self._read(lambda reader: reader.matches_with_bots(list(statuses)))

    async def match_ids(self, statuses: Collection[int], *, after: bytes | None, limit: int) -> Sequence[bytes]:
        """As `Store.match_ids`."""
        check_match_ids(statuses, after, limit)
        return await self._read(lambda reader: reader.match_ids(list(statuses), after, limit))

    async def erase_names(self, match_id: bytes | None, seat: int | None, name: str | None) -> int:
        """As `Store.erase_names`."""
        check_erasure(match_id, seat, name)
        # Counted beforehand: the writer answers with no more than that it has written.
        found = await self._read(lambda reader: reader.count_names(match_id, seat, name))
        if found:
            await self._aside(Aside(ERASE_NAMES, (match_id, match_id, seat, seat, name, name)))
        return found

    async def kept_secrets(self, *, after: bytes | None, limit: int) -> Sequence[tuple[bytes, bytes]]:
        """As `Store.kept_secrets`."""
        check_secrets_page(after, limit)
        return await self._read(lambda reader: reader.kept_secrets(after, limit))

    async def replace_secret(self, match_id: bytes, before: bytes, after: bytes) -> bool:
        """As `Store.replace_secret`."""
        check_id("match_id", match_id)
        await self._aside(Aside(RESEAL, (after, match_id, before)))
        # The writer answers with no more than that it has written.
        row = await self._read(lambda reader: reader.match(match_id))
        return row is not None and row.root_secret == after

    async def archivable(self, status: int, before_us: int, *, after: Cursor | None, limit: int) -> Sequence[Cursor]:
        """As `Store.archivable`."""
        check_archivable(status, before_us, after, limit)
        return await self._read(lambda reader: reader.archivable(status, before_us, after, limit))

    async def archive(self, match_id: bytes, records: int, last_hash: bytes) -> bool:
        """As `Store.archive`."""
        check_archive(match_id, records, last_hash)
        result = await self._opened().commits.submit(match_id, Leave(match_id, records, last_hash), 200)
        return isinstance(result, Appended)

    async def unarchive(self, match_id: bytes, records: Sequence[bytes]) -> bool:
        """As `Store.unarchive`."""
        check_unarchive(match_id, records)
        job = Return(match_id, list(records))
        return isinstance(await self._opened().commits.submit(match_id, job, sum(map(len, records))), Appended)

    async def deadlines(self, *, after: Due | None, limit: int) -> Sequence[Due]:
        """As `Store.deadlines`."""
        check_deadlines(after, limit)
        return await self._read(lambda reader: reader.deadlines(after, limit))

    def token_floor(self, match_id: bytes, seat: int) -> int:
        """As `Store.token_floor`."""
        return self._opened().floors.get((match_id, seat), 0)

    async def raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        """As `Store.raise_floor`."""
        check_floor(match_id, seat, floor)
        values = (match_id, seat, floor.generation, floor.until_us)
        await self._aside(Aside(RAISE_FLOOR, values, (match_id, seat, floor)))

    async def put_api_key(self, row: ApiKeyRow) -> None:
        """As `Store.put_api_key`."""
        check_api_key(row)
        await self._aside(Aside(PUT_API_KEY, astuple(row)))

    async def api_keys(self) -> Sequence[ApiKeyRow]:
        """As `Store.api_keys`."""
        return await self._read(lambda reader: reader.api_keys())

    async def _aside(self, aside: Aside) -> None:
        await self._opened().commits.submit(b"", aside, 200)

    async def _read(self, query: Callable[[Reader], T]) -> T:
        engine = self._opened()
        try:
            return await asyncio.get_running_loop().run_in_executor(engine.threads, engine.read, query)
        except sqlite3.Error as error:
            raise StoreError(f"the store could not read: {error}") from error

    async def _stop(self, engine: SqliteEngine) -> None:
        try:
            await asyncio.to_thread(engine.stop)
        finally:
            self._engine = None

    def _flushed(self, appends: int, seconds: float) -> None:
        if self.on_flush is not None:
            self.on_flush(appends, seconds)

    def _opened(self) -> SqliteEngine:
        if self._engine is None or self._closing is not None:
            raise StoreError("the store is not open")
        return self._engine
