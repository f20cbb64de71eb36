"""The store for many processes on many machines: a PostgreSQL database.

    sixledger serve --store postgresql://sixledger@db.example/sixledger

Needs the extra `postgres`. Any process serves any match; a record's keys decide who was first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, TypeVar

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
from sixledger.service.store.postgres_archive import archive, unarchive
from sixledger.service.store.postgres_link import DATABASE_ERRORS, Link, told
from sixledger.service.store.postgres_reader import Reader
from sixledger.service.store.postgres_session import Session
from sixledger.service.store.postgres_settings import PostgresSettings
from sixledger.service.store.postgres_sql import ERASE_NAMES, PUT_API_KEY, RAISE_FLOOR, RESEAL
from sixledger.service.store.postgres_writer import Job
from sixledger.service.store.sealing import listed, opened, sealed

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Pooled

T = TypeVar("T")


class PostgresStore(Store):
    """A store in a PostgreSQL database.

    Appends of all matches gather and go in one statement (DESIGN 8); reads have a pool of connections. A lost
    connection is made anew, for `retry_s` seconds; a write whose answer was lost is looked up, never guessed.
    """

    def __init__(self, url: str, settings: PostgresSettings | None = None) -> None:
        """Raise ValueError for a URL that cannot be one; its text is never repeated, it may hold a password."""
        self._settings = settings or PostgresSettings()
        self._link = Link(url, self._settings)
        self._session: Session | None = None
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """As `Store.open`. The tables must be those of this release, or `migrate` must be set."""
        if self._session is not None:
            raise StoreError("the store is open already")
        session = Session(self._link, self._hear, self._flushed)
        try:
            await session.start()
        except DATABASE_ERRORS as error:
            raise StoreError(f"cannot open the store: {told(error)}") from error
        self.remarks = session.remarks
        self._session = session
        self._closing = None

    async def close(self) -> None:
        """As `Store.close`."""
        if self._session is None:
            return
        if self._closing is None:
            self._session.commits.refuse()
            self._closing = asyncio.create_task(self._stop(self._session))
        # A caller that is cancelled leaves; the closing goes on.
        await asyncio.shield(self._closing)

    async def create(self, row: MatchRow, first: Entry) -> bool:
        """As `Store.create`."""
        check_creation(row, first)
        result = await self._opened().commits.submit(
            row.match_id, Job(first, sealed(self.seal, row)), len(first.record)
        )
        return isinstance(result, Appended)

    async def append(self, entry: Entry) -> AppendResult:
        """As `Store.append`."""
        check_entry(entry)
        session = self._opened()
        result = await session.commits.submit(entry.match_id, Job(entry, None), len(entry.record))
        if entry.floor is not None and isinstance(result, Appended):
            session.floors.raised(entry.match_id, entry.seat, entry.floor)
        return result

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
        """As `Store.erase_names`. One that runs twice, since its answer was lost, counts what the second one erased."""
        check_erasure(match_id, seat, name)
        session = self._opened()
        try:
            erased: int = await session.run(lambda link: link.fetchval(ERASE_NAMES, match_id, seat, name))
        except DATABASE_ERRORS as error:
            raise StoreError(f"the store could not write: {told(error)}") from error
        return erased

    async def kept_secrets(self, *, after: bytes | None, limit: int) -> Sequence[tuple[bytes, bytes]]:
        """As `Store.kept_secrets`."""
        check_secrets_page(after, limit)
        return await self._read(lambda reader: reader.kept_secrets(after, limit))

    async def replace_secret(self, match_id: bytes, before: bytes, after: bytes) -> bool:
        """As `Store.replace_secret`."""
        check_id("match_id", match_id)
        await self._execute(RESEAL, match_id, before, after)
        row = await self._read(lambda reader: reader.match(match_id))
        return row is not None and row.root_secret == after

    async def archivable(self, status: int, before_us: int, *, after: Cursor | None, limit: int) -> Sequence[Cursor]:
        """As `Store.archivable`."""
        check_archivable(status, before_us, after, limit)
        return await self._read(lambda reader: reader.archivable(status, before_us, after, limit))

    async def archive(self, match_id: bytes, records: int, last_hash: bytes) -> bool:
        """As `Store.archive`."""
        check_archive(match_id, records, last_hash)
        return await self._move(lambda connection: archive(connection, match_id, records, last_hash))

    async def unarchive(self, match_id: bytes, records: Sequence[bytes]) -> bool:
        """As `Store.unarchive`."""
        check_unarchive(match_id, records)
        return await self._move(lambda connection: unarchive(connection, match_id, records))

    async def deadlines(self, *, after: Due | None, limit: int) -> Sequence[Due]:
        """As `Store.deadlines`."""
        check_deadlines(after, limit)
        return await self._read(lambda reader: reader.deadlines(after, limit))

    def token_floor(self, match_id: bytes, seat: int) -> int:
        """As `Store.token_floor`. What other processes raise is known within `floor_tick_s`."""
        return self._opened().floors.get(match_id, seat)

    async def look_up_floor(self, match_id: bytes, seat: int) -> int:
        """As `Store.look_up_floor`."""
        check_floor(match_id, seat, TokenFloor(0, 0))
        generation = await self._read(lambda reader: reader.floor(match_id, seat))
        floors = self._opened().floors
        floors.raised(match_id, seat, TokenFloor(generation, 0))
        return floors.get(match_id, seat)

    async def raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        """As `Store.raise_floor`."""
        check_floor(match_id, seat, floor)
        await self._execute(RAISE_FLOOR, match_id, seat, floor.generation, floor.until_us)
        self._opened().floors.raised(match_id, seat, floor)

    async def put_api_key(self, row: ApiKeyRow) -> None:
        """As `Store.put_api_key`."""
        check_api_key(row)
        await self._execute(PUT_API_KEY, *astuple(row))

    async def api_keys(self) -> Sequence[ApiKeyRow]:
        """As `Store.api_keys`."""
        return await self._read(lambda reader: reader.api_keys())

    async def _read(self, query: Callable[[Reader], Awaitable[T]]) -> T:
        session = self._opened()
        try:
            return await session.run(lambda connection: query(Reader(connection)))
        except DATABASE_ERRORS as error:
            raise StoreError(f"the store could not read: {told(error)}") from error

    async def _move(self, work: Callable[[Pooled], Awaitable[bool]]) -> bool:
        """Let records leave or come back. It may run twice, and then finds that it is done."""
        session = self._opened()
        try:
            return await session.run(work)
        except DATABASE_ERRORS as error:
            raise StoreError(f"the store could not write: {told(error)}") from error

    async def _execute(self, statement: str, *values: object) -> None:
        """Run a statement that may run twice."""
        session = self._opened()
        try:
            await session.run(lambda connection: connection.execute(statement, *values))
        except DATABASE_ERRORS as error:
            raise StoreError(f"the store could not write: {told(error)}") from error

    async def _stop(self, session: Session) -> None:
        try:
            await session.stop()
        finally:
            self._session = None

    def _hear(self, match_ids: Collection[bytes] | None) -> None:
        if self.on_foreign is not None:
            self.on_foreign(match_ids)

    def _flushed(self, appends: int, seconds: float) -> None:
        if self.on_flush is not None:
            self.on_flush(appends, seconds)

    def _opened(self) -> Session:
        if self._session is None or self._closing is not None:
            raise StoreError("the store is not open")
        return self._session
