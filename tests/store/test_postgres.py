"""What only the PostgreSQL store can get wrong: lost connections, lost answers, other processes, unsafe servers."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import asyncpg
import pytest
from sixledger.service.store import (
    Appended,
    PostgresSettings,
    RequestTaken,
    SeqTaken,
    StoreError,
    TokenFloor,
    UnknownOutcome,
    open_store,
    postgres_wakeups,
    postgres_writer,
)
from sixledger.service.store.postgres import PostgresStore
from sixledger.service.store.postgres_link import Trouble, told, trouble
from sixledger.service.store.postgres_reader import Reader
from sixledger.service.store.postgres_wakeups import decode, encode
from support.postgres import VARIABLE, PostgresProxy, PostgresServer, ask
from support.store_contract import new_entry, new_match, new_row

QUICK = PostgresSettings(retry_s=0.3, connect_timeout_s=0.5)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(postgres_url) as store:
        yield store


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[PostgresProxy]:
    async with PostgresProxy(postgres_url) as proxy:
        yield proxy


async def until_kept(store: PostgresStore, match_id: bytes, records: int) -> None:
    """Wait until the match has so many records."""
    for _ in range(500):
        if len(await store.records(match_id, 0, 99)) == records:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"there are not {records} records after five seconds")


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until the condition holds."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"it is not so after {seconds} seconds")


async def end_sessions(url: str) -> None:
    """End every session of the database but the own one."""
    await ask(
        url,
        lambda connection: connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ),
    )


# -- many at once ----------------------------------------------------------------------------------


async def test_batches_of_several_processes_meet_in_many_matches_and_never_lock_each_other(
    postgres_url: str, store: PostgresStore
) -> None:
    rows = [(await new_match(store))[0] for _ in range(60)]
    async with PostgresStore(postgres_url) as second, PostgresStore(postgres_url) as third:
        for seq in range(1, 6):
            attempts = []
            for at, each in enumerate((store, second, third)):
                turned = rows[at * 20 :] + rows[: at * 20]  # each in an order of its own
                attempts.append([each.append(replace(new_entry(row.match_id, seq), status=seq)) for row in turned])
            results = await asyncio.gather(*(asyncio.gather(*each) for each in attempts))
            assert sum(result.count(Appended()) for result in results) == 60
            assert sum(result.count(SeqTaken()) for result in results) == 120
    for row in rows:
        assert len(await store.records(row.match_id, 0, 99)) == 6


async def test_a_request_that_two_processes_take_at_once_is_recorded_once(
    postgres_url: str, store: PostgresStore
) -> None:
    async with PostgresStore(postgres_url) as other:
        for _ in range(20):
            row, _ = await new_match(store)
            entry = new_entry(row.match_id, 1)
            later = replace(new_entry(row.match_id, 1), request_id=entry.request_id)
            results = await asyncio.gather(store.append(entry), other.append(later))
            assert sorted(map(repr, results)) == sorted(map(repr, (Appended(), RequestTaken(1))))


async def test_matches_that_grow_are_told_to_other_processes_and_not_to_oneself(
    postgres_url: str, store: PostgresStore
) -> None:
    async with PostgresStore(postgres_url) as other:
        heard: asyncio.Queue[bytes] = asyncio.Queue()
        own: list[object] = []

        def hear(match_ids: object) -> None:
            assert isinstance(match_ids, list)
            for match_id in match_ids:
                heard.put_nowait(match_id)

        other.on_foreign, store.on_foreign = hear, own.append
        for each in (store, other):
            assert each._session is not None
            assert each._session._wakeups is not None
            await asyncio.wait_for(each._session._wakeups.listening.wait(), 5)
        row, _ = await new_match(store)
        assert await asyncio.wait_for(heard.get(), 5) == row.match_id
        await store.append(new_entry(row.match_id, 1))
        assert await asyncio.wait_for(heard.get(), 5) == row.match_id
        assert await store.append(new_entry(row.match_id, 1)) == SeqTaken()
        await asyncio.sleep(0.05)
        assert heard.empty()
        assert own == []


def test_wake_ups_name_matches_or_any() -> None:
    ids = [os.urandom(16) for _ in range(360)]
    assert decode(encode(ids)) == ids
    assert len(encode(ids)) < 8000
    for unreadable in ("*", "", "AAAA", "é", "ab=c"):
        assert decode(unreadable) is None


async def test_a_token_that_one_process_makes_worthless_is_so_for_all_within_a_second(
    postgres_url: str, store: PostgresStore
) -> None:
    row, _ = await new_match(store)
    async with PostgresStore(postgres_url) as other:
        await store.raise_floor(row.match_id, 1, TokenFloor(3, 2**62))
        await store.append(replace(new_entry(row.match_id, 1), floor=TokenFloor(5, 2**62)))
        await until(lambda: (other.token_floor(row.match_id, 1), other.token_floor(row.match_id, 2)) == (3, 5), 1.5)


async def test_a_floor_that_another_process_has_just_raised_can_be_looked_up(
    postgres_url: str, store: PostgresStore
) -> None:
    """By whoever must not make a token that is worthless already."""
    row, _ = await new_match(store)
    async with PostgresStore(postgres_url, PostgresSettings(floor_tick_s=3600)) as other:
        assert await other.look_up_floor(row.match_id, 1) == 0
        await store.raise_floor(row.match_id, 1, TokenFloor(3, 2**62))
        assert other.token_floor(row.match_id, 1) == 0
        assert await other.look_up_floor(row.match_id, 1) == 3
        assert other.token_floor(row.match_id, 1) == 3


async def test_floors_of_others_are_known_again_after_the_database_was_away_for_long(
    postgres_url: str, proxy: PostgresProxy, store: PostgresStore
) -> None:
    """For longer than reads wait for it."""
    row, _ = await new_match(store)
    settings = replace(QUICK, retry_s=0.05, floor_tick_s=0.05, wakeups=False)
    async with PostgresStore(proxy.url, settings) as other:
        proxy.closed = True
        proxy.cut()
        with pytest.raises(StoreError):
            await other.match(row.match_id)
        await asyncio.sleep(0.5)
        proxy.closed = False
        await store.raise_floor(row.match_id, 1, TokenFloor(3, 2**62))
        await until(lambda: other.token_floor(row.match_id, 1) == 3)


# -- lost connections ------------------------------------------------------------------------------


async def test_reads_and_writes_go_on_after_every_session_was_ended(postgres_url: str, store: PostgresStore) -> None:
    row, _ = await new_match(store)
    await asyncio.gather(*(store.match(row.match_id) for _ in range(8)))
    for seq in range(1, 4):
        await end_sessions(postgres_url)
        assert await store.append(new_entry(row.match_id, seq)) == Appended()
        assert len(await store.records(row.match_id, 0, 9)) == seq + 1


async def test_an_append_whose_answer_was_lost_is_looked_up_and_confirmed_once(
    proxy: PostgresProxy, store: PostgresStore
) -> None:
    async with PostgresStore(proxy.url) as cut_off:
        row, _ = await new_match(cut_off)
        other, _ = await new_match(cut_off)
        await cut_off.append(replace(new_entry(other.match_id, 1), joined=2))  # so that the statement is prepared
        proxy.lose = True
        entry = new_entry(row.match_id, 1)
        appending = asyncio.gather(
            cut_off.append(entry), cut_off.append(replace(new_entry(other.match_id, 2), joined=3))
        )
        await until_kept(store, row.match_id, 2)
        assert not appending.done()
        proxy.lose = False
        proxy.cut()
        assert list(await appending) == [Appended(), Appended()]
        assert await store.records(row.match_id, 1, 9) == [entry.record]
        assert await store.match(other.match_id) == replace(other, joined=3)


async def test_a_creation_whose_answer_was_lost_is_confirmed(proxy: PostgresProxy, store: PostgresStore) -> None:
    async with PostgresStore(proxy.url) as cut_off:
        await new_match(cut_off)
        row = new_row()
        proxy.lose = True
        creating = asyncio.ensure_future(cut_off.create(row, new_entry(row.match_id, 0)))
        await until_kept(store, row.match_id, 1)
        proxy.lose = False
        proxy.cut()
        assert await creating is True
        assert await cut_off.create(row, new_entry(row.match_id, 0)) is False


async def test_an_append_that_never_arrived_is_made_after_all(proxy: PostgresProxy) -> None:
    async with PostgresStore(proxy.url) as store:
        row, _ = await new_match(store)
        proxy.closed = True
        proxy.cut()
        appending = asyncio.ensure_future(store.append(new_entry(row.match_id, 1)))
        await asyncio.sleep(0.1)
        assert not appending.done()
        proxy.closed = False
        assert await appending == Appended()


async def test_an_outcome_that_cannot_be_learned_is_said_to_be_unknown_and_never_confirmed(
    proxy: PostgresProxy, store: PostgresStore
) -> None:
    async with PostgresStore(proxy.url, QUICK) as cut_off:
        row, _ = await new_match(cut_off, records=2)
        proxy.lose = True
        entry = new_entry(row.match_id, 2)
        appending = asyncio.ensure_future(cut_off.append(entry))
        await until_kept(store, row.match_id, 3)
        proxy.closed = True
        proxy.cut()
        with pytest.raises(UnknownOutcome, match="may have been made"):
            await appending
        # What comes later was surely not made.
        with pytest.raises(StoreError, match="nothing was changed") as caught:
            await cut_off.append(new_entry(row.match_id, 3))
        assert not isinstance(caught.value, UnknownOutcome)
        with pytest.raises(StoreError, match="could not read"):
            await cut_off.match(row.match_id)
        # The key tells, once the database is back.
        proxy.closed = proxy.lose = False
        assert await cut_off.append(entry) == RequestTaken(2)
    assert await store.records(row.match_id, 2, 9) == [entry.record]


@asynccontextmanager
async def waiting_for_a_standby(server: PostgresServer) -> AsyncIterator[None]:
    """While this lasts, every commit of the server waits for a standby that is not there."""
    if os.environ.get(VARIABLE):
        pytest.skip(f"the settings of the server that {VARIABLE} names are not ours to change")

    async def name(standbys: str) -> None:
        async def change(connection: Any) -> None:
            await connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standbys}'")
            await connection.execute("SELECT pg_reload_conf()")

        await ask(server.url, change)

    await name("nobody")
    await asyncio.sleep(0.1)
    try:
        yield
    finally:
        await name("")


IMPATIENT = replace(QUICK, statement_timeout_s=0.3, retry_s=0.5, wakeups=False)


async def test_an_append_whose_standby_does_not_answer_is_neither_confirmed_nor_shown(
    postgres_server: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled wait would let everybody see what one machine alone has."""
    monkeypatch.setattr(postgres_writer, "_PATIENCE_S", 0.2)
    async with PostgresStore(postgres_url, IMPATIENT) as store:
        row, _ = await new_match(store)
        entry = new_entry(row.match_id, 1)
        async with waiting_for_a_standby(postgres_server):
            with pytest.raises(UnknownOutcome):
                await store.append(entry)
            assert len(await store.records(row.match_id, 0, 9)) == 1
        await until_kept(store, row.match_id, 2)
        assert await store.append(entry) == RequestTaken(1)


async def test_a_lost_answer_is_not_confirmed_by_what_no_standby_has(
    postgres_server: PostgresServer, postgres_url: str, proxy: PostgresProxy
) -> None:
    """A wait that somebody has cancelled, or a primary that has crashed, leaves such a record."""
    async with PostgresStore(proxy.url, IMPATIENT) as store, PostgresStore(postgres_url) as other:
        row, _ = await new_match(store)
        entry = new_entry(row.match_id, 1)
        async with waiting_for_a_standby(postgres_server):
            appending = asyncio.ensure_future(store.append(entry))
            await asyncio.sleep(0.2)
            proxy.lose = True
            cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            await ask(postgres_url, lambda connection: connection.execute(cancel))
            await until_kept(other, row.match_id, 2)
            proxy.lose = False
            proxy.cut()
            with pytest.raises(UnknownOutcome):
                await appending


async def test_nothing_confirmed_is_lost_when_the_database_restarts_under_load(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    confirmed: dict[bytes, list[bytes]] = {}
    stop = asyncio.Event()

    async def play(store: PostgresStore) -> None:
        row, (first,) = await new_match(store)
        kept = confirmed[row.match_id] = [first.record]
        while not stop.is_set():
            entry = new_entry(row.match_id, len(kept))
            while True:
                try:
                    result = await store.append(entry)
                except StoreError:
                    await asyncio.sleep(0.05)
                    continue
                # The same entry again: its key may tell that an attempt was made before.
                assert result in (Appended(), RequestTaken(entry.seq))
                break
            kept.append(entry.record)

    def more_than(records: int) -> bool:
        return sum(map(len, confirmed.values())) > records

    async with PostgresStore(postgres_url, PostgresSettings(retry_s=0.5)) as store:
        players = [asyncio.create_task(play(store)) for _ in range(16)]
        await asyncio.sleep(0.2)
        await asyncio.to_thread(postgres_server.restart)
        await until(partial(more_than, sum(map(len, confirmed.values())) + 100), 20)
        stop.set()
        await asyncio.gather(*players)
        for match_id, kept in confirmed.items():
            assert await store.records(match_id, 0, 10**6) == kept


async def test_a_listener_that_was_cut_off_listens_again_and_says_that_anything_may_be_new(
    postgres_url: str, store: PostgresStore
) -> None:
    async with PostgresStore(postgres_url) as other:
        assert other._session is not None
        assert other._session._wakeups is not None
        listening = other._session._wakeups.listening
        heard: list[object] = []
        other.on_foreign = heard.append
        await asyncio.wait_for(listening.wait(), 5)
        await end_sessions(postgres_url)
        await until(lambda: None in heard)
        row, _ = await new_match(store)
        await until(lambda: [row.match_id] in heard)


async def test_a_listener_whose_connection_fell_silent_notices_and_listens_again(
    proxy: PostgresProxy, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine between has forgotten is neither closed nor answered."""
    monkeypatch.setattr(postgres_wakeups, "_SILENCE_S", 0.1)
    monkeypatch.setattr(postgres_wakeups, "_ANSWER_S", 0.2)
    async with PostgresStore(proxy.url) as other:
        assert other._session is not None
        assert other._session._wakeups is not None
        heard: list[object] = []
        other.on_foreign = heard.append
        await asyncio.wait_for(other._session._wakeups.listening.wait(), 5)
        await asyncio.sleep(0.3)  # asked and answered: nothing is lost
        assert heard == []
        proxy.lose = True
        await until(lambda: not other._session._wakeups.listening.is_set())  # type: ignore[union-attr]
        proxy.lose = False
        await until(lambda: None in heard)
        row, _ = await new_match(store)
        await until(lambda: [row.match_id] in heard)


# -- a result for each -----------------------------------------------------------------------------


async def test_one_append_that_the_database_refuses_does_not_fail_its_batch(
    postgres_url: str, store: PostgresStore
) -> None:
    rows = [(await new_match(store))[0] for _ in range(20)]
    poison = rows[7].match_id
    check = f"CHECK (seq = 0 OR match_id <> '\\x{poison.hex()}')"
    await ask(postgres_url, lambda c: c.execute(f"ALTER TABLE records ADD CONSTRAINT poison {check}"))
    try:
        results = await asyncio.gather(
            *(store.append(new_entry(row.match_id, 1)) for row in rows), return_exceptions=True
        )
    finally:
        await ask(postgres_url, lambda c: c.execute("ALTER TABLE records DROP CONSTRAINT poison"))
    failure = results.pop(7)
    assert results == [Appended()] * 19
    assert isinstance(failure, StoreError)
    assert str(failure) == "the store could not write, nothing was changed: CheckViolationError (SQLSTATE 23514)"


async def test_a_statement_that_takes_too_long_fails_and_changes_nothing(
    postgres_url: str, store: PostgresStore
) -> None:
    row, _ = await new_match(store)
    async with PostgresStore(postgres_url, PostgresSettings(statement_timeout_s=0.2)) as hasty:

        async def hold(connection: Any) -> None:
            async with connection.transaction():
                await connection.execute("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
                with pytest.raises(StoreError, match="nothing was changed: canceling statement due to statement time"):
                    await hasty.append(new_entry(row.match_id, 1))

        await ask(postgres_url, hold)
        assert await hasty.append(new_entry(row.match_id, 1)) == Appended()


async def test_no_key_of_the_largest_batch_is_looked_up_by_reading_a_whole_table(
    store: PostgresStore,
) -> None:
    rows = [(await new_match(store))[0] for _ in range(300)]
    for seq in range(1, 4):
        changes = [replace(new_entry(row.match_id, seq), next_deadline_us=seq) for row in rows]
        assert await asyncio.gather(*map(store.append, changes)) == [Appended()] * 300
    assert store._session is not None
    writer = store._session._writer._connection
    assert writer is not None
    await writer.execute("SELECT pg_stat_force_next_flush()")
    read = await writer.fetchval("SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'records'")
    before = int(read or 0)
    changes = [replace(new_entry(row.match_id, 4), next_deadline_us=4) for row in rows]
    assert await asyncio.gather(*map(store.append, changes)) == [Appended()] * 300
    await writer.execute("SELECT pg_stat_force_next_flush()")
    assert (
        await writer.fetchval("SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'records'") == before
    )


_PRIVATE = """
INSERT INTO matches (
    match_id, game, seats, created_us, root_secret, status, joined, owner, private, no_spectators, rematch_of,
    next_deadline_us
)
SELECT decode(md5(i::text), 'hex'), 'nimmt', 2, i, '', 4, 2, '', true, false, '', 0 FROM generate_series(1, 5000) i
"""


@pytest.mark.parametrize("status", [None, 4])
@pytest.mark.parametrize("game", [None, "nimmt"])
async def test_a_list_for_everybody_passes_over_no_private_matches(
    postgres_url: str, store: PostgresStore, status: int | None, game: str | None
) -> None:
    """They may be millions; what a page costs must not grow with them."""

    class Explaining:
        def __init__(self, connection: Any) -> None:
            self._connection = connection
            self.plan = ""

        async def fetch(self, statement: str, *values: object) -> list[Any]:
            lines = await self._connection.fetch(f"EXPLAIN {statement}", *values)
            self.plan = "\n".join(line[0] for line in lines)
            return []

    async def explain(connection: Any) -> str:
        await connection.execute(_PRIVATE)
        await connection.execute("ANALYZE matches")
        explaining = Explaining(connection)
        await Reader(cast("Any", explaining)).list_matches(status, game, None, 50, False, None)
        await connection.execute("DELETE FROM matches")
        return explaining.plan

    plan = await ask(postgres_url, explain)
    assert "public_matches_by_" in plan
    assert "Filter" not in plan


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "strict", "message"),
    [
        ("synchronous_commit = off", False, "set synchronous_commit = on"),
        ("synchronous_commit = local", True, "no synchronous standby"),
        ("synchronous_commit = on", True, "set synchronous_standby_names"),
    ],
)
async def test_a_database_that_may_lose_what_it_confirmed_is_refused(
    postgres_url: str, setting: str, strict: bool, message: str
) -> None:
    name = await ask(postgres_url, lambda c: c.fetchval("SELECT current_database()"))
    await ask(postgres_url, lambda c: c.execute(f"ALTER DATABASE {name} SET {setting}"))
    try:
        with pytest.raises(StoreError, match=message):
            await PostgresStore(postgres_url, PostgresSettings(require_synchronous_standby=strict)).open()
    finally:
        await ask(postgres_url, lambda c: c.execute(f"ALTER DATABASE {name} RESET ALL"))


async def test_a_server_that_cannot_be_reached_is_named_without_its_password() -> None:
    url = "postgresql://someone:hunter2@127.0.0.1:1/nowhere"
    store = open_store(url, postgres=QUICK)
    assert "hunter2" not in repr(store) + repr(store.__dict__)
    with pytest.raises(StoreError, match="cannot open the store: no connection to the database") as caught:
        await store.open()
    chain: BaseException | None = caught.value
    while chain is not None:
        assert "hunter2" not in repr(chain) + str(chain)
        chain = chain.__cause__ or chain.__context__


async def test_a_url_that_the_driver_does_not_understand_is_not_repeated() -> None:
    with pytest.raises(StoreError, match="the driver does not understand the URL") as caught:
        await PostgresStore("postgresql://u:hunter2@host/db?sslmode=hunter2").open()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:hunter2@host:port/db", "postgres://u:hunter2@[::1/db", "http://hunter2"]
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="the URL of a PostgreSQL database is") as caught:
        PostgresStore(url)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ValueError, match="the URL of a PostgreSQL database is"):
        PostgresStore("postgresql://host/db", PostgresSettings(direct=url))


def test_an_error_of_the_database_is_told_without_the_values_of_rows() -> None:
    error = asyncpg.NotNullViolationError("null value; failing row contains (\\x5ec2e7)")
    assert told(error) == "NotNullViolationError (SQLSTATE 23502)"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (asyncpg.AdminShutdownError, Trouble.LOST),
        (asyncpg.CannotConnectNowError, Trouble.LOST),
        (asyncpg.ReadOnlySQLTransactionError, Trouble.LOST),
        (asyncpg.StatementCompletionUnknownError, Trouble.LOST),
        (asyncpg.ConnectionDoesNotExistError, Trouble.LOST),
        (ConnectionResetError, Trouble.LOST),
        (TimeoutError, Trouble.LOST),
        (asyncpg.InterfaceError, Trouble.LOST),
        (ssl.SSLCertVerificationError, Trouble.LOST),
        (asyncpg.SerializationError, Trouble.COLLISION),
        (asyncpg.DeadlockDetectedError, Trouble.COLLISION),
        (asyncpg.CheckViolationError, Trouble.VALUE),
        (asyncpg.DiskFullError, Trouble.REFUSED),
        (asyncpg.QueryCanceledError, Trouble.REFUSED),
        (asyncpg.InsufficientPrivilegeError, Trouble.REFUSED),
        (asyncpg.ClientConfigurationError, Trouble.REFUSED),
    ],
)
def test_what_a_failure_means_follows_from_its_state(make: Callable[[str], Exception], expected: Trouble) -> None:
    assert trouble(make("x")) is expected


@pytest.mark.parametrize("change", [{"max_batch": 0}, {"readers": 0}, {"retry_s": -1}, {"statement_timeout_s": 0}])
def test_settings_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        PostgresSettings(**change)
