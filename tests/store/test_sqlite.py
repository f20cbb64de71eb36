"""What a store in a file promises beyond the contract."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from sixledger.service.store import Appended, RequestTaken, SqliteSettings, SqliteStore, StoreError, sqlite_schema
from sixledger.service.store.sqlite_reader import Reader
from sixledger.service.store.sqlite_schema import connect
from support.store_contract import RUNNING, new_entry, new_match, new_row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "matches.db"


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


async def test_everything_is_there_after_closing_and_opening(path: Path) -> None:
    async with SqliteStore(path) as store:
        row, entries = await new_match(store, records=3)
        last = replace(new_entry(row.match_id, 3), status=RUNNING, display_name="Ada")
        await store.append(last)
    async with SqliteStore(path) as store:
        assert await store.match(row.match_id) == replace(row, status=RUNNING)
        assert await store.records(row.match_id, 0, 9) == [entry.record for entry in [*entries, last]]
        assert await store.display_names(row.match_id) == {2: "Ada"}
        assert await store.find_request(row.match_id, 1, 2, entries[1].request_id) == 1
        other, _ = await new_match(store, records=2)
        assert await store.append(new_entry(row.match_id, 4)) == Appended()
        assert len(await store.records(other.match_id, 0, 9)) == 2


async def test_closing_leaves_one_file_to_copy(path: Path) -> None:
    async with SqliteStore(path) as store:
        await new_match(store)
    assert sorted(file.name for file in path.parent.iterdir()) == ["matches.db", "matches.db.lock"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
async def test_only_the_owner_may_read_the_files(path: Path) -> None:
    before = os.umask(0)
    try:
        async with SqliteStore(path) as store:
            await new_match(store)
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["matches.db", "matches.db-wal", "matches.db-shm", "matches.db.lock"], 0o600)


def test_connections_sync_every_commit_and_only_the_writer_writes(path: Path) -> None:
    for writes in (True, False):
        connection = connect(path, cache_kib=100, writes=writes)
        try:
            pragmas = ("synchronous", "wal_autocheckpoint", "temp_store", "query_only")
            values = [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
        finally:
            connection.close()
        assert values == [2, 0, 2, 0 if writes else 1]


async def test_a_newer_schema_is_refused(path: Path) -> None:
    async with SqliteStore(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="schema version 99, this release knows"):
        await SqliteStore(path).open()


async def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = content(path)
    with pytest.raises(StoreError, match="database of something else"):
        await SqliteStore(path).open()
    assert content(path) == before


async def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"dear diary " * 500)
    with pytest.raises(StoreError, match="not a database"):
        await SqliteStore(path).open()


async def test_a_folder_that_does_not_exist_is_named(path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot open the store .*missing"):
        await SqliteStore(path.parent / "missing" / "matches.db").open()


async def test_an_old_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match=r"too old, 3\.35\.0 or newer"):
        await SqliteStore(path).open()
    assert content(path) == b""


async def test_a_store_that_could_not_be_opened_can_be_opened_later(path: Path) -> None:
    waiting = SqliteStore(path)
    async with SqliteStore(path) as store:
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            await waiting.open()
        await new_match(store)
    async with waiting:
        await new_match(waiting)


async def test_a_second_process_is_refused_by_whatever_name(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    program = (
        "import asyncio, sys; from sixledger.service.store import SqliteStore; "
        "asyncio.run(SqliteStore(sys.argv[1]).open())"
    )
    async with SqliteStore(path) as store:
        for name in (path, link):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, str(name), stderr=asyncio.subprocess.PIPE
            )
            _, errors = await process.communicate()
            assert process.returncode == 1
            assert f"in use by process {os.getpid()}" in errors.decode()
        await new_match(store)


async def test_a_full_database_fails_the_append_and_the_store_goes_on(path: Path) -> None:
    async with SqliteStore(path, SqliteSettings(max_database_bytes=400_000)) as store:
        row, entries = await new_match(store, records=3)
        change = replace(new_entry(row.match_id, 3, bytes(500_000)), status=RUNNING, display_name="Ada")
        with pytest.raises(StoreError, match="full"):
            await store.append(change)
        assert await store.match(row.match_id) == row
        assert await store.display_names(row.match_id) == {}
        assert await store.records(row.match_id, 0, 9) == [entry.record for entry in entries]
        assert await store.append(replace(change, record=b"small")) == Appended()
        assert await store.records(row.match_id, 3, 9) == [b"small"]


async def test_a_write_that_the_system_refuses_fails_every_append_of_the_batch(path: Path) -> None:
    async with SqliteStore(path) as store:
        matches = [await new_match(store) for _ in range(10)]
        entries = [new_entry(row.match_id, 1, os.urandom(20_000)) for row, _ in matches]
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = path.with_name("matches.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            results = await asyncio.gather(*map(store.append, entries), return_exceptions=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [type(result) for result in results] == [StoreError] * 10
        assert len({id(result) for result in results}) == 10
        for row, _ in matches:
            assert len(await store.records(row.match_id, 0, 9)) == 1
        assert await asyncio.gather(*map(store.append, entries)) == [Appended()] * 10


async def test_errors_and_reprs_show_no_secret(path: Path) -> None:
    async with SqliteStore(path, SqliteSettings(max_database_bytes=400_000)) as store:
        row = replace(new_row(), root_secret=b"\xabKEEP-THIS-ROOT-SECRET-SAFE-ABC\xab")
        await new_match(store, row=row)
        entry = new_entry(row.match_id, 1, b"THE-HAND" * 100_000)
        with pytest.raises(StoreError) as caught:
            await store.append(entry)
    shown = "".join(map(repr, (caught.value, caught.value.__cause__, row, entry)))
    assert "SECRET-SAFE" not in shown
    assert "THE-HAND" not in shown


async def test_a_batch_of_the_largest_size_gets_each_its_result(path: Path) -> None:
    async with SqliteStore(path, SqliteSettings(max_batch=4096)) as store:
        matches = await asyncio.gather(*(new_match(store, records=2) for _ in range(4096)))
        fine = [new_entry(row.match_id, 2) for row, _ in matches]
        entries = [
            replace(entry, request_id=old[1].request_id) if number % 3 else entry
            for number, (entry, (_, old)) in enumerate(zip(fine, matches, strict=True))
        ]
        expected = [RequestTaken(1) if number % 3 else Appended() for number in range(4096)]
        assert await asyncio.gather(*map(store.append, entries)) == expected


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="max_batch must be between 1 and 4096, not 0"):
        SqliteSettings(max_batch=0)
    with pytest.raises(ValueError, match="readers must be at least 1"):
        SqliteSettings(readers=0)


async def test_reads_do_not_wait_for_the_writer(path: Path) -> None:
    async with SqliteStore(path) as store:
        row, (first,) = await new_match(store)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            append = asyncio.create_task(store.append(new_entry(row.match_id, 1)))
            await asyncio.sleep(0.05)
            assert await asyncio.wait_for(store.records(row.match_id, 0, 9), 2) == [first.record]
            assert not append.done()
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert await append == Appended()


async def test_the_lock_of_another_program_does_not_stop_the_loop(path: Path) -> None:
    async with SqliteStore(path) as store:
        row, _ = await new_match(store)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        appending = asyncio.ensure_future(store.append(new_entry(row.match_id, 1)))
        begun, longest = time.perf_counter(), 0.0
        while time.perf_counter() - begun < 0.5:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - before)
        assert not appending.done()
        other.execute("ROLLBACK")
        other.close()
        assert await appending == Appended()
    assert longest < 0.4, "the loop waited for the lock"


async def test_the_log_does_not_grow_for_ever_under_load(path: Path) -> None:
    settings = SqliteSettings(checkpoint_bytes=300_000, wal_restart_bytes=600_000)
    async with SqliteStore(path, settings) as store:
        matches = [(await new_match(store))[0] for _ in range(32)]

        async def play(match_id: bytes) -> None:
            for seq in range(1, 151):
                assert await store.append(new_entry(match_id, seq, bytes(2000))) == Appended()

        await asyncio.gather(*(play(row.match_id) for row in matches))
        # 4800 records of 2 kB: without checkpoints the log would be longer than the database.
        assert len(content(path.with_name("matches.db-wal"))) < 5_000_000
        assert len(content(path)) > 8_000_000


async def test_open_and_close_survive_the_cancellation_of_their_caller(path: Path) -> None:
    store = SqliteStore(path)
    opening = asyncio.create_task(store.open())
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait({opening})
    await store.open()
    await new_match(store)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    await store.close()
    async with SqliteStore(path):
        pass


def _write_until_killed(path: Path, seconds: float) -> dict[str, dict[int, str]]:
    """Records that a writer confirmed before it was killed, by match and number."""
    confirmed: dict[str, dict[int, str]] = defaultdict(dict)
    output = path.with_suffix(".out")
    with output.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash_writer.py")), str(path)], stdout=stdout
        )
        deadline = time.monotonic() + 20
        while not output.stat().st_size and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
        assert process.wait() == -9, "the writer ended by itself"
    lines = output.read_text().split("\n")[:-1]  # what follows the last newline was cut short
    for line in lines:
        match_id, seq, record = line.split()
        confirmed[match_id][int(seq)] = record
    assert confirmed, "the writer confirmed nothing"
    return confirmed


async def test_what_was_confirmed_survives_a_kill_and_no_ledger_has_a_gap(path: Path) -> None:
    confirmed: dict[str, dict[int, str]] = {}
    for number in range(5):
        confirmed |= await asyncio.to_thread(_write_until_killed, path, 0.15 + 0.07 * number)
        async with SqliteStore(path) as store:
            rows = await store.list_matches(status=None, game=None, after=None, limit=1000)
            assert {row.match_id.hex() for row in rows} >= confirmed.keys()
            for row in rows:
                records = [record.hex() for record in await store.records(row.match_id, 0, 10**6)]
                mine = confirmed.get(row.match_id.hex(), {})
                assert {seq: records[seq] for seq in mine} == mine
                # The row and the idempotency key are those of the last record, and no number is missing below it.
                last = len(records) - 1
                assert (row.status, row.joined) == (last, last)
                assert await store.find_request(row.match_id, 1, last % 5, bytes.fromhex(records[last])[:16]) == last
                assert await store.append(new_entry(row.match_id, last + 2)) != Appended()
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        gaps = """SELECT count(*) FROM
            (SELECT id >> 32 AS match, count(*) AS n, max(id & 4294967295) AS last FROM places GROUP BY 1)
            JOIN (SELECT match, count(*) AS keys, max(seq) AS seq FROM requests GROUP BY 1) USING (match)
            WHERE n <> last + 1 OR keys <> n OR seq <> last"""
        assert connection.execute(gaps).fetchall() == [(0,)]
        connection.close()


@pytest.mark.parametrize("status", [None, 4])
@pytest.mark.parametrize("game", [None, "nimmt"])
async def test_a_list_for_everybody_passes_over_no_private_matches(
    path: Path, status: int | None, game: str | None
) -> None:
    """They may be millions; what a page costs must not grow with them."""

    class Explaining:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection
            self.plan = ""

        def execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
            found = self._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            self.plan = "\n".join(row[3] for row in found)
            return self._connection.execute("SELECT 1 WHERE 0")

    async with SqliteStore(path):
        pass
    connection = sqlite3.connect(path)
    explaining = Explaining(connection)
    Reader(cast("Any", explaining)).list_matches(status, game, None, 50, False, None)
    connection.close()
    assert "public_matches_by_" in explaining.plan
    assert "TEMP B-TREE" not in explaining.plan


async def test_a_store_of_the_first_schema_is_brought_up_to_date(path: Path) -> None:
    """What it keeps stays, and it takes more; a second opening finds nothing to do."""
    row = new_row()
    first = new_entry(row.match_id, 0)
    connection = sqlite3.connect(path)
    connection.executescript(
        f"PRAGMA journal_mode = WAL; {sqlite_schema._TABLES} "
        f"PRAGMA application_id = {sqlite_schema.APPLICATION_ID}; PRAGMA user_version = 1;"
    )
    values = (row.match_id, row.game, row.seats, row.created_us, row.root_secret, row.status, row.joined)
    connection.execute("INSERT INTO matches VALUES (1, ?, ?, ?, ?, ?, ?, ?)", values)
    connection.execute("INSERT INTO records VALUES (1, ?)", (first.record,))
    connection.execute("INSERT INTO places VALUES (?, 1)", (1 << sqlite_schema.SEQ_BITS,))
    connection.commit()
    connection.close()
    for number in (1, 2):
        async with SqliteStore(path) as store:
            assert await store.match(row.match_id) == row
            assert (await store.records(row.match_id, 0, 9))[0] == first.record
            assert await store.append(new_entry(row.match_id, number)) == Appended()
            await new_match(store)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (sqlite_schema.SCHEMA_VERSION,)
    connection.close()
