"""Records leave every store for an archive, and come back, in the same way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sixledger.service.store import (
    Appended,
    Cursor,
    MatchRow,
    MemoryStore,
    RecordsArchived,
    RequestTaken,
    SeqTaken,
    SqliteSettings,
    SqliteStore,
    Store,
    postgres,
)
from sixledger.service.store import postgres_archive as moving
from sixledger.service.store.postgres import PostgresStore
from support.postgres import empty
from support.store_contract import OPEN, SEAT, new_entry, new_match, new_row

ENDED = 4
HASH = bytes(range(32))


class ArchiveContract:
    """Subclass it with a fixture `store` that yields an open store."""

    async def test_records_behind_the_first_leave_and_the_row_says_so(self, store: Store) -> None:
        row, entries = await new_match(store, records=5)
        other, others = await new_match(store, records=3)
        assert await store.archive(row.match_id, 5, HASH)
        assert await store.match(row.match_id) == replace(row, archived=5, archived_hash=HASH)
        assert await store.records(row.match_id, 0, 1) == [entries[0].record]
        for first, limit in ((0, 2), (0, 99), (1, 1), (4, 9)):
            with pytest.raises(RecordsArchived, match=row.match_id.hex()):
                await store.records(row.match_id, first, limit)
        assert await store.records(row.match_id, 5, 9) == []
        assert await store.records(other.match_id, 0, 9) == [entry.record for entry in others]

    async def test_idempotency_keys_stay_for_ever(self, store: Store) -> None:
        row, entries = await new_match(store, records=4)
        assert await store.archive(row.match_id, 4, HASH)
        for entry in entries:
            assert await store.find_request(row.match_id, SEAT, 2, entry.request_id) == entry.seq
            again = replace(new_entry(row.match_id, entry.seq or 4), request_id=entry.request_id)
            assert await store.append(again) == RequestTaken(entry.seq)
        assert await store.create(row, entries[0]) is False

    async def test_nothing_is_appended_to_an_archived_match(self, store: Store) -> None:
        row, _ = await new_match(store, records=3)
        assert await store.append(new_entry(row.match_id, 3)) == Appended()  # the store knows its head
        assert await store.archive(row.match_id, 4, HASH)
        for seq in (1, 3, 4, 5):
            assert await store.append(replace(new_entry(row.match_id, seq), status=OPEN, joined=3)) == SeqTaken()
        assert await store.match(row.match_id) == replace(row, archived=4, archived_hash=HASH)

    async def test_what_came_back_is_what_left(self, store: Store) -> None:
        row, entries = await new_match(store, records=5)
        records = [entry.record for entry in entries]
        assert await store.archive(row.match_id, 5, HASH)
        between, _ = await new_match(store, records=3)  # takes what numbers have become free
        assert await store.unarchive(row.match_id, records)
        assert await store.match(row.match_id) == row
        assert await store.records(row.match_id, 0, 9) == records
        assert await store.append(new_entry(row.match_id, 5)) == Appended()
        assert await store.append(new_entry(between.match_id, 3)) == Appended()
        assert len(await store.records(between.match_id, 0, 9)) == 4

    async def test_both_are_harmless_when_repeated(self, store: Store) -> None:
        row, entries = await new_match(store, records=3)
        records = [entry.record for entry in entries]
        assert await store.unarchive(row.match_id, records)  # it never left
        for _ in range(2):
            assert await asyncio.gather(*(store.archive(row.match_id, 3, HASH) for _ in range(4))) == [True] * 4
            assert (await store.match(row.match_id)) == replace(row, archived=3, archived_hash=HASH)
            assert await asyncio.gather(*(store.unarchive(row.match_id, records) for _ in range(4))) == [True] * 4
            assert await store.records(row.match_id, 0, 9) == records

    async def test_what_does_not_fit_changes_nothing(self, store: Store) -> None:
        row, entries = await new_match(store, records=3)
        records = [entry.record for entry in entries]
        assert not await store.archive(os.urandom(16), 3, HASH)
        assert not await store.unarchive(os.urandom(16), records)
        assert not await store.archive(row.match_id, 2, HASH)
        assert not await store.archive(row.match_id, 4, HASH)
        assert await store.records(row.match_id, 0, 9) == records
        assert not await store.unarchive(row.match_id, records[:2])
        assert await store.archive(row.match_id, 3, HASH)
        assert not await store.archive(row.match_id, 3, bytes(32))
        assert not await store.unarchive(row.match_id, [*records, b"more"])
        assert await store.match(row.match_id) == replace(row, archived=3, archived_hash=HASH)

    async def test_arguments_that_no_store_takes_are_refused(self, store: Store) -> None:
        row, (first,) = await new_match(store)
        for call, words in (
            (store.archive(row.match_id, 1, HASH), "records must be at least 2"),
            (store.archive(b"short", 2, HASH), "match_id must be 16 bytes"),
            (store.archive(row.match_id, 2, b"short"), "last_hash must be 32 bytes"),
            (store.unarchive(row.match_id, [first.record]), "records must be at least 2"),
            (store.archivable(ENDED, -1, after=None, limit=1), "before_us must be between"),
            (store.create(replace(new_row(), archived=3), first), "archived must be 0"),
        ):
            with pytest.raises(ValueError, match=words):
                await call

    @pytest.mark.parametrize("limit", [1, 2, 50])
    async def test_what_may_leave_is_listed_oldest_first_without_what_has_left(self, store: Store, limit: int) -> None:
        rows = [new_row(created_us=number // 2, status=(ENDED, ENDED, OPEN)[number % 3]) for number in range(12)]
        for row in rows:
            await new_match(store, records=2, row=row)
        rows.sort(key=lambda row: (row.created_us, row.match_id))
        ended = [row for row in rows if row.status == ENDED]
        assert await store.archive(ended[1].match_id, 2, HASH)
        expected = [Cursor(r.created_us, r.match_id) for r in ended if r.created_us < 5 and r is not ended[1]]
        seen: list[Cursor] = []
        while page := await store.archivable(ENDED, 5, after=seen[-1] if seen else None, limit=limit):
            seen += page
        assert seen == expected
        assert await store.unarchive(ended[1].match_id, [b"0", b"1"])
        assert len(await store.archivable(ENDED, 5, after=None, limit=50)) == len(expected) + 1

    async def test_names_secrets_and_lists_are_as_before(self, store: Store) -> None:
        row, _ = await new_match(store, records=2)
        named = replace(new_entry(row.match_id, 2), display_name="Ada", status=ENDED)
        assert await store.append(named) == Appended()
        assert await store.archive(row.match_id, 3, HASH)
        gone = replace(row, status=ENDED, archived=3, archived_hash=HASH)
        assert list(await store.list_matches(status=ENDED, game="nimmt", after=None, limit=9)) == [gone]
        assert await store.display_names(row.match_id) == {2: "Ada"}
        assert await store.erase_names(row.match_id, None, None) == 1


class TestMemoryStore(ArchiveContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        async with MemoryStore() as store:
            yield store


class TestSqliteStore(ArchiveContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        async with SqliteStore(tmp_path / "matches.db", SqliteSettings(readers=1)) as store:
            yield store


class TestPostgresStore(ArchiveContract):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[Store]:
        await empty(postgres_url)
        async with PostgresStore(postgres_url) as store:
            yield store


class TestPostgresStoreInSmallSteps(TestPostgresStore):
    @pytest.fixture(autouse=True)
    def small_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(moving, "_ROWS", 2)


async def test_what_was_done_before_the_answer_was_lost_is_found_done(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks when the transaction has been committed; it is sent again."""
    await empty(postgres_url)
    async with PostgresStore(postgres_url) as store:
        row, entries = await new_match(store, records=4)
        records = [entry.record for entry in entries]
        moves: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("archive", store.archive, (4, HASH)),
            ("unarchive", store.unarchive, (records,)),
        ]
        for move, call, arguments in moves:
            done = getattr(moving, move)
            calls: list[str] = []

            async def lost(*given: Any, done: Any = done, calls: list[str] = calls) -> bool:
                result: bool = await done(*given)
                calls.append("done")
                if len(calls) == 1:
                    raise ConnectionResetError
                return result

            monkeypatch.setattr(postgres, move, lost)
            assert await call(row.match_id, *arguments)
            assert calls == ["done"] * 2
        assert await store.records(row.match_id, 0, 9) == records


async def test_numbers_that_are_given_again_after_a_restart_show_no_other_match(tmp_path: Path) -> None:
    """The newest records leave, the store is opened anew, and their numbers go to a new match."""
    path = tmp_path / "matches.db"
    async with SqliteStore(path) as store:
        row, entries = await new_match(store, records=4)
        assert await store.archive(row.match_id, 4, HASH)
    async with SqliteStore(path) as store:
        other, others = await new_match(store, records=6)
        with pytest.raises(RecordsArchived):
            await store.records(row.match_id, 0, 9)
        assert await store.append(new_entry(row.match_id, 4)) == SeqTaken()
        assert await store.unarchive(row.match_id, [entry.record for entry in entries])
    async with SqliteStore(path) as store:
        assert await store.records(row.match_id, 0, 9) == [entry.record for entry in entries]
        assert await store.records(other.match_id, 0, 9) == [entry.record for entry in others]


async def test_a_row_of_an_archived_match_repeats_no_secret() -> None:
    row = MatchRow(bytes(16), "nimmt", 2, 0, b"s" * 32, ENDED, 2, archived=2, archived_hash=HASH)
    assert "sss" not in repr(row)
