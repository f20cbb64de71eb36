"""`sixledger serve --workers 2` on a real PostgreSQL: two processes behind one address, any of them for any match."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest
from sixledger.client import AsyncClient, Recorded, ServiceError, run_bot_async
from sixledger.engine.bots import random_policy
from sixledger.engine.registry import installed
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.verify import verify
from sixledger.service import key_life
from sixledger.service.keyring import Keyring
from sixledger.v1 import replay_service_pb2
from support.operators import page_at
from support.processes import free_port
from support.workers import WorkersProcess

VALID = replay_service_pb2.VERDICT_VALID
WORKERS = ("1", "2")


def rounds(number: int) -> nimmt_pb2.Options:
    return nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=number)


#: Options with which a match is short.
SHORT = {"nimmt": rounds(1)}


@contextmanager
def workers(url: str, folder: Path) -> Iterator[WorkersProcess]:
    """Two workers. Those who follow a match hear of the other worker's records by wake-ups alone."""
    with WorkersProcess(folder, url, watch_tick_s="60") as process:
        asyncio.run(process.ready(3))
        yield process


@pytest.fixture(scope="module")
def serving(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersProcess]:
    """Two workers for all tests that leave them alive."""
    with workers(postgres_url, tmp_path_factory.mktemp("workers")) as process:
        yield process


@pytest.fixture
def mortal(postgres_url: str, tmp_path: Path) -> Iterator[WorkersProcess]:
    """Two workers for one test."""
    with workers(postgres_url, tmp_path) as process:
        yield process


async def check(client: AsyncClient, match_id: bytes, path: Path) -> None:
    """The exported ledger is valid."""
    exported = await client.matches.export(match_id, path)
    report = verify(exported, trusted=[await client.catalog.origin()])
    assert report.verdict == VALID, report.summary


def requests_of(records: tuple[Recorded, ...]) -> Counter[tuple[int, int, bytes]]:
    causes = [record.body.cause for record in records]
    return Counter((cause.kind, cause.seat, cause.request_id) for cause in causes)


async def acts(serving: WorkersProcess) -> dict[str, float]:
    """Commands whose record is durable, by worker."""
    seen = await serving.metrics()
    return {worker: seen.of("sixledger_acts_total", worker=worker, action="command") for worker in WORKERS}


async def test_many_clients_play_every_game_over_both_workers(serving: WorkersProcess, tmp_path: Path) -> None:
    """Each seat has a connection of its own, wherever it leads; whoever watches at either worker misses nothing."""
    games = installed().all()

    async def play(match_id: bytes, seat: int) -> object:
        async with serving.client() as own:
            return await run_bot_async(own, match_id, seat, random_policy, random=Random(seat))

    async def watch(client: AsyncClient, match_id: bytes) -> list[int]:
        async with await client.matches.watch_match(match_id) as table:
            seqs = [item.seq async for item in table.watch() if isinstance(item, Recorded)]
            assert (await table.verify()).verdict == VALID
            assert set(requests_of(table.records).values()) == {1}
            return seqs

    async with await serving.client_at("1") as one, await serving.client_at("2") as two:
        tables = [
            (await one.matches.create(game.id, seats=game.min_seats, options=SHORT.get(game.id))).match_id
            for game in games
            for _ in range(2)
        ]
        seats = [(table, seat) for at, table in enumerate(tables) for seat in range(games[at // 2].min_seats)]
        async with asyncio.timeout(60):
            watching = [asyncio.create_task(watch(client, table)) for table in tables for client in (one, two)]
            played = await asyncio.gather(*(play(table, seat) for table, seat in seats))
            seen = await asyncio.gather(*watching)
        assert None not in played
        for at, table in enumerate(tables):
            of_one, of_two = seen[2 * at], seen[2 * at + 1]
            assert of_one == of_two == list(range(len(of_one)))
            await check(two, table, tmp_path / f"{at}.ledger.jsonl")
    assert all(count > 0 for count in (await acts(serving)).values()), "both workers have worked"


async def test_records_of_one_worker_are_seen_at_the_other_as_soon_as_they_are_made(serving: WorkersProcess) -> None:
    async with await serving.client_at("1") as one, await serving.client_at("2") as two:
        created = await one.matches.create("nimmt", seats=2, options=rounds(1))
        seats = [await one.matches.join(created.match_id, seat) for seat in range(2)]
        assert all(await asyncio.gather(*(seat.turn() for seat in seats)))
        async with await two.matches.watch_match(created.match_id) as table:
            watching = table.watch()
            for _ in range(4):
                for seat in seats:
                    await seat.refresh()
                player = next(seat for seat in seats if seat.may_act)
                recorded = await player.play(player.legal()[0])
                async with asyncio.timeout(5):
                    while not any(record.seq == recorded.seq for record in table.records):
                        await anext(watching)
            await watching.aclose()  # type: ignore[attr-defined]


async def test_a_match_that_both_workers_are_pressed_to_write_never_forks(
    serving: WorkersProcess, tmp_path: Path
) -> None:
    """Each seat plays at both workers at once, whatever it thinks is right; what one keeps is what the other has."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(await serving.client_at("1"))
        two = await stack.enter_async_context(await serving.client_at("2"))
        created = await one.matches.create("nimmt", seats=3, options=rounds(2))
        tables = []
        for seat in range(3):
            joined = await stack.enter_async_context(await one.matches.join(created.match_id, seat))
            tables += [joined, await stack.enter_async_context(await two.matches.resume(joined.credentials))]
        random, refused, accepted = Random(3), 0, 0
        while not tables[0].match.over:
            await asyncio.gather(*(table.refresh() for table in tables))
            able = [table for table in tables if table.may_act]
            plays = (table.play(random.choice(table.legal())) for table in able)
            for result in await asyncio.gather(*plays, return_exceptions=True):
                assert isinstance(result, Recorded | ServiceError), result
                refused += isinstance(result, ServiceError)
                accepted += isinstance(result, Recorded)
        assert refused > 0
        ends = []
        for client in (one, two):
            async with await client.matches.watch_match(created.match_id) as table:
                await table.refresh()
                assert (await table.verify()).verdict == VALID
                ends.append([record.record.hash for record in table.records])
                commands = [record for record in table.records if record.body.cause.decision and record.facts.command]
        assert ends[0] == ends[1]
        assert len(commands) == accepted
        await check(two, created.match_id, tmp_path / "match.ledger.jsonl")
    seen = await serving.metrics()
    assert sum(seen.of("sixledger_store_conflicts_total", worker=worker) for worker in WORKERS) > 0


async def test_clients_of_a_killed_worker_go_on_by_themselves_and_it_is_started_again(
    serving: WorkersProcess, tmp_path: Path
) -> None:
    seats = 4
    async with await serving.client_at("1") as one, await serving.client_at("2") as two:
        created = await two.matches.create("nimmt", seats=seats, options=rounds(3))

        async def play(seat: int) -> object:
            """Two seats begin at each worker."""
            async with await serving.client_at(WORKERS[seat % 2]) as own:
                return await run_bot_async(own, created.match_id, seat, random_policy, random=Random(seat))

        bots = [asyncio.create_task(play(seat)) for seat in range(seats)]
        kills, before, starts = [20, 60], serving.pids(), len(serving.told("member_ready", "pid"))
        async with asyncio.timeout(60), await one.matches.watch_match(created.match_id) as spectator:
            seqs = []
            async for item in spectator.watch():
                if isinstance(item, Recorded):
                    seqs.append(item.seq)
                    if kills and item.seq >= kills[0]:
                        kills.pop(0)
                        os.kill(serving.pids()[WORKERS[len(kills)]], signal.SIGKILL)
            assert not kills
            assert seqs == list(range(len(spectator.records)))
            assert await asyncio.gather(*bots) == [spectator.outcome()] * seats
            assert set(requests_of(spectator.records).values()) == {1}
        await check(two, created.match_id, tmp_path / "match.ledger.jsonl")
    await serving.ready(starts + 2)
    after = serving.pids()
    assert all(before[worker] != after[worker] for worker in WORKERS)
    assert before["operator"] == after["operator"]
    assert serving.told("member_died", "how") == ["signal SIGKILL"] * 2
    seen = await serving.metrics()
    assert [seen.of("sixledger_worker_up", worker=worker) for worker in WORKERS] == [1, 1]


async def test_a_signal_stops_every_process_in_order(mortal: WorkersProcess) -> None:
    """To whomever of them a terminal or a service manager sends it as well. Then the port is free again."""
    async with mortal.client() as client:
        created = await client.matches.create("nimmt", seats=2, options=rounds(1))
        table = await client.matches.watch_match(created.match_id)
        await anext(table.watch())
        members = mortal.pids()
        for number in (signal.SIGINT, signal.SIGHUP):
            os.kill(members["1"], number)  # what a terminal does
        mortal.signal(signal.SIGTERM)
        for name in WORKERS:
            os.kill(members[name], signal.SIGTERM)  # what a service manager may do
        assert await asyncio.to_thread(mortal.wait) == 0
    for pid in members.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert mortal.log().count('"event":"stopped"') == 2
    assert "killed" not in mortal.log()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*mortal.address.split(":"))


async def test_workers_take_up_changed_keys(postgres_url: str, tmp_path: Path) -> None:
    """At a hangup of the supervisor; a worker that is started again later, too. What is printed is the key in use."""
    path = tmp_path / "data" / "keys.json"
    now = time.time_ns() // 1000
    first = key_life.rotate(Keyring.generate(), "e2e.test", now + 3_600_000_000, now).keyring
    first.save(path)
    old = first.signed_list("e2e.test").content.signing(now)
    assert old is not None
    with WorkersProcess(tmp_path, postgres_url, key_tick_s="1000") as process:
        await process.ready(3)
        async with asyncio.timeout(10):
            while "Ctrl-C" not in process.out():  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(0.02)
        assert str(old.key) in process.out()
        now = time.time_ns() // 1000
        changed = key_life.rotate(first, "e2e.test", now, now)
        changed.keyring.save(path, over=True)
        process.signal(signal.SIGHUP)
        async with asyncio.timeout(10):
            while process.log().count('"event":"keys_changed"') < 2:  # noqa: ASYNC110  # other processes write it
                await asyncio.sleep(0.02)
        members = process.pids()
        os.kill(members["1"], signal.SIGKILL)
        await process.ready(4)
        for name in WORKERS:
            async with await process.client_at(name) as client:
                await client.catalog.key_list()
                assert await client.catalog.origin() == changed.successor
        process.signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait) == 0


async def test_workers_stop_when_their_supervisor_has_been_killed(mortal: WorkersProcess) -> None:
    """Nobody would start them again, or stop them."""
    mortal.process.kill()
    mortal.wait()
    async with asyncio.timeout(15):
        while mortal.log().count('"event":"stopped"') < 2:  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(0.05)


async def test_every_line_of_the_log_names_its_worker_and_the_supervisor_stays_single(serving: WorkersProcess) -> None:
    """One thread: to fork from several, or after gRPC was used, is not safe."""
    assert {line["worker"] for line in serving.lines()} == {"1", "2", "supervisor"}
    assert serving.threads() in (0, 1)
    assert "workers        2" in serving.out()
    assert serving.address in serving.out()


async def test_the_whole_is_ready_only_while_every_worker_is(serving: WorkersProcess) -> None:
    """A worker that hangs is told by name, and its metrics are missing."""
    stopped = serving.pids()["2"]
    os.kill(stopped, signal.SIGSTOP)
    try:
        ready, live, seen = await asyncio.gather(
            page_at(serving.operator, "/readyz"), page_at(serving.operator, "/livez"), serving.metrics()
        )
        assert ready == (503, "worker 2: does not answer\n")
        assert live == (200, "live\n")
        assert [seen.of("sixledger_worker_up", worker=worker) for worker in WORKERS] == [1, 0]
        assert [seen.of("sixledger_ready", worker=worker) for worker in WORKERS] == [1, 0]
    finally:
        os.kill(stopped, signal.SIGCONT)
    await serving.ready()


async def test_a_port_that_is_taken_is_refused_and_port_0_is_one_for_all(postgres_url: str, tmp_path: Path) -> None:
    with WorkersProcess(tmp_path / "one", postgres_url, listen="127.0.0.1:0", origin="") as first:
        await first.ready(3)
        (address,) = set(first.told("started", "address"))
        async with asyncio.timeout(20):
            while "Ctrl-C" not in first.out():  # noqa: ASYNC110 - its last line comes once all are ready
                await asyncio.sleep(0.05)
        assert address in first.out()
        assert not address.endswith(":0")
        with WorkersProcess(tmp_path / "two", postgres_url, listen=address) as second:
            assert await asyncio.to_thread(second.wait) == 1
            assert f"cannot listen on {address}" in second.log()


async def test_what_is_wrong_with_the_database_is_said_once_and_ends_everything(tmp_path: Path) -> None:
    store = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with WorkersProcess(tmp_path, store) as process:
        assert await asyncio.to_thread(process.wait) == 1
    assert process.log().splitlines()[-1].startswith("sixledger: cannot open the store: no connection to the database")
