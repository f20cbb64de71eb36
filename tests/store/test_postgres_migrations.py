"""The tables are made and changed once, and a server starts only on those of its release."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sixledger.service.store import PostgresSettings, StoreError, open_store
from sixledger.service.store.postgres import PostgresStore
from sixledger.service.store.postgres_migrations import Migration, known, migrate, status
from support.postgres import PostgresServer, ask, drop_database, new_database
from support.store_contract import new_entry, new_match, new_row

NEXT = Migration(len(known()) + 1, "next", "CREATE TABLE next (id bigint); INSERT INTO next VALUES (1);")


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database without tables."""
    url = new_database(postgres_server, migrated=False)
    yield url
    drop_database(postgres_server, url)


async def test_matches_of_the_first_tables_are_kept_and_can_leave_afterwards(url: str) -> None:
    await ask(url, lambda connection: migrate(connection, known()[:1]))
    row = new_row()
    first, second = new_entry(row.match_id, 0), new_entry(row.match_id, 1)
    values = (row.match_id, row.game, row.seats, row.created_us, row.root_secret, row.status, row.joined)

    async def fill(connection: Any) -> None:
        await connection.execute(
            "INSERT INTO matches VALUES ($1, $2, $3, $4, $5, $6, $7, '', false, false, '', 0)", *values
        )
        for entry in (first, second):
            key = (entry.match_id, entry.seq, entry.kind, entry.seat, entry.request_id, entry.record)
            await connection.execute("INSERT INTO records VALUES ($1, $2, $3, $4, $5, $6)", *key)

    await ask(url, fill)
    assert [each.version for each in await ask(url, migrate)] == [each.version for each in known()[1:]]
    async with PostgresStore(url) as store:
        assert await store.match(row.match_id) == row
        assert await store.records(row.match_id, 0, 9) == [first.record, second.record]
        assert await store.archive(row.match_id, 2, bytes(32))


def test_migrations_are_numbered_without_gaps_and_their_checksums_never_change() -> None:
    assert [(each.version, each.name, each.checksum) for each in known()] == [
        (1, "tables", "df270223082f0744f69848b415e537d0c5067752ef7782dddc23c6db64f02d88"),
        (2, "archive", "e7cb0ea9c54a4aac2b679de6b3302111384ab56b3a64fe86f9b8d5912d10ca8b"),
        (3, "public_lists", "2ec5968f93ea4f8d285010cf07fce76a2d402fac253aa9abbd9216c53cce264c"),
    ]


async def test_the_tables_are_made_once_and_their_status_is_told(url: str) -> None:
    before = await ask(url, status)
    assert (before.version, [each.version for each in before.pending]) == (0, [each.version for each in known()])
    assert [each.version for each in await ask(url, migrate)] == [each.version for each in known()]
    assert await ask(url, migrate) == ()
    after = await ask(url, status)
    assert [(each.version, each.checksum) for each in after.applied] == [(e.version, e.checksum) for e in known()]
    assert (after.version, after.pending) == (len(known()), ())


async def test_of_many_servers_that_start_at_once_one_migrates_and_all_start(url: str) -> None:
    stores = [PostgresStore(url, PostgresSettings(migrate=True, readers=1)) for _ in range(6)]
    await asyncio.gather(*(store.open() for store in stores))
    row, _ = await new_match(stores[0])
    assert await stores[5].match(row.match_id) == row
    await asyncio.gather(*(store.close() for store in stores))
    assert await ask(url, lambda c: c.fetchval("SELECT count(*) FROM sixledger_migrations")) == len(known())


async def test_a_migration_that_fails_leaves_everything_as_it_was(url: str) -> None:
    await ask(url, migrate)
    broken = replace(NEXT, sql=NEXT.sql + "SELECT 1 / 0;")
    with pytest.raises(Exception, match="division by zero"):
        await ask(url, lambda c: migrate(c, [*known(), broken]))
    assert (await ask(url, status)).version == len(known())
    assert await ask(url, lambda c: c.fetchval("SELECT to_regclass('next')")) is None
    assert await ask(url, lambda c: migrate(c, [*known(), NEXT])) == (NEXT,)


async def test_a_server_does_not_start_on_a_database_without_tables(url: str) -> None:
    with pytest.raises(
        StoreError, match=f"has no tables yet, this release needs version {len(known())}: run `sixledger"
    ):
        await open_store(url).open()


async def test_a_server_does_not_start_on_tables_that_are_too_old(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(url, migrate)
    monkeypatch.setattr("sixledger.service.store.postgres_migrations.known", lambda: (*known(), NEXT))
    with pytest.raises(
        StoreError, match=f"have version {NEXT.version - 1}, this release needs version {NEXT.version}: run `"
    ):
        await open_store(url).open()
    async with PostgresStore(url, PostgresSettings(migrate=True)) as store:
        await new_match(store)


async def test_a_server_does_not_start_on_tables_that_are_too_new(url: str) -> None:
    await ask(url, lambda c: migrate(c, [*known(), NEXT]))
    for settings in (PostgresSettings(), PostgresSettings(migrate=True)):
        with pytest.raises(
            StoreError, match=rf"have version {NEXT.version}, this release knows {len(known())}: .* upgrade"
        ):
            await PostgresStore(url, settings).open()


async def test_a_migration_that_was_changed_after_it_was_applied_is_noticed(url: str) -> None:
    await ask(url, lambda c: migrate(c, [replace(known()[0], sql=known()[0].sql + "-- changed\n")]))
    with pytest.raises(StoreError, match=r"migration 1 \(tables\) of the database differs"):
        await open_store(url).open()
