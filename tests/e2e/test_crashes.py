"""Servers and players are killed while a match runs; clients carry on by themselves, and the ledger proves it.

Nothing acknowledged is lost, nothing is played twice, and no client needs help.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from sixledger.client import AsyncClient, AsyncWatchedMatch, Client, Recorded, Settings, run_bot, run_bot_async
from sixledger.engine.bots import random_policy
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.verify import verify
from sixledger.v1 import replay_service_pb2
from support.processes import LossyProxy, ServerProcess, kill_process

VALID = replay_service_pb2.VERDICT_VALID
HAND = 10


def rounds(number: int) -> nimmt_pb2.Options:
    return nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=number)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path) as process:
        yield process


def check_ledger(records: tuple[Recorded, ...], seats: int, number_of_rounds: int) -> None:
    """Every seat played exactly its cards, and no request made two records."""
    requests = Counter(
        (record.body.cause.kind, record.body.cause.seat, record.body.cause.request_id) for record in records
    )
    assert set(requests.values()) == {1}
    played = Counter(
        (record.body.cause.seat, record.facts.command.card)
        for record in records
        if isinstance(record.facts.command, nimmt_pb2.SelectCard)
    )
    for seat in range(seats):
        assert sum(count for (by, _), count in played.items() if by == seat) == HAND * number_of_rounds


async def check_evidence(client: AsyncClient, table: AsyncWatchedMatch, path: Path) -> None:
    """What the spectator saw, its receipts, and what the service exports agree and verify."""
    assert (await table.verify()).verdict == VALID
    exported = await client.matches.export(table.match_id, path)
    report = verify(exported, trusted=[await client.catalog.origin()], receipts=table.receipts.values())
    assert report.verdict == VALID, report.summary
    assert report.record_count == len(table.records)


async def test_a_server_killed_at_any_instant_loses_and_doubles_nothing(server: ServerProcess, tmp_path: Path) -> None:
    random, seats, number_of_rounds = Random(20240601), 3, 8
    kills = sorted(random.sample(range(4, 240), 5))  # the records after which the server is killed
    address = f"127.0.0.1:{server.port}"
    async with AsyncClient(address) as client:
        created = await client.matches.create("nimmt", seats=seats, options=rounds(number_of_rounds))

        async def play(seat: int) -> object:
            async with AsyncClient(address) as own:
                return await run_bot_async(own, created.match_id, seat, random_policy, random=Random(seat))

        bots = [asyncio.create_task(play(seat)) for seat in range(seats)]
        async with await client.matches.watch_match(created.match_id) as spectator:
            seqs = []
            async for item in spectator.watch():
                if not isinstance(item, Recorded):
                    continue
                seqs.append(item.seq)
                if kills and item.seq >= kills[0]:
                    kills.pop(0)
                    await asyncio.sleep(random.uniform(0.0, 0.03))
                    await asyncio.to_thread(server.kill)
                    await asyncio.to_thread(server.start)
            assert not kills
            assert seqs == list(range(len(spectator.records)))
            outcomes = await asyncio.gather(*bots)
            assert outcomes == [spectator.outcome()] * seats
            check_ledger(spectator.records, seats, number_of_rounds)
            await check_evidence(client, spectator, tmp_path / "match.ledger.jsonl")


async def test_a_command_whose_reply_is_lost_with_the_server_is_played_once(
    server: ServerProcess, tmp_path: Path
) -> None:
    random = Random(7)
    settings = Settings(timeout=3.0)
    async with (
        LossyProxy(server.port) as proxy,
        AsyncClient(f"127.0.0.1:{proxy.port}", settings=settings) as client,
        AsyncClient(f"127.0.0.1:{server.port}") as direct,
    ):
        created = await client.matches.create("nimmt", seats=2, options=rounds(1))
        first, second = [await client.matches.join(created.match_id, seat) for seat in range(2)]
        assert all(await asyncio.gather(first.turn(), second.turn()))
        watching = await direct.matches.watch_match(created.match_id)
        for turn in range(3):
            for player in (first, second, watching):
                await player.refresh()
            player = first if first.may_act else second
            behind = len(watching.records)
            proxy.lose = True
            playing = asyncio.create_task(player.play(random.choice(player.legal())))
            async for item in watching.watch(behind):
                if isinstance(item, Recorded):  # the command is in the ledger
                    break
            assert not playing.done()
            await asyncio.to_thread(server.kill)
            proxy.lose = False
            await proxy.cut()
            await asyncio.to_thread(server.start)
            recorded = await playing
            assert recorded.seq == behind, f"turn {turn}"
        assert proxy.lost > 0
        await first.resign()
        async with watching:
            await watching.refresh()
            assert len(watching.records) == first.match.seq + 1
            await check_evidence(direct, watching, tmp_path / "match.ledger.jsonl")


def test_a_player_killed_at_any_instant_goes_on_from_its_file(server: ServerProcess, tmp_path: Path) -> None:
    random, number_of_rounds = Random(11), 6
    kills = [1, *sorted(random.sample(range(4, 110), 3))]  # the records after which the player is killed
    address = f"127.0.0.1:{server.port}"
    with Client(address) as client:
        created = client.matches.create("nimmt", seats=2, options=rounds(number_of_rounds))
        script = Path(__file__).with_name("bot_process.py")
        path = tmp_path / "seat.json"
        command = [sys.executable, str(script), address, created.match_id.hex(), "0", str(path)]
        with client.matches.watch_match(created.match_id) as spectator:
            opponent = subprocess.Popen([*command[:4], "1", str(tmp_path / "other.json")])
            player = subprocess.Popen(command)
            try:
                for item in spectator.watch():
                    if kills and isinstance(item, Recorded) and item.seq >= kills[0]:
                        kills.pop(0)
                        time.sleep(random.uniform(0.0, 0.02))
                        kill_process(player)
                        player = subprocess.Popen(command)
                assert not kills
                assert player.wait(timeout=30) == 0
                assert opponent.wait(timeout=30) == 0
            finally:
                kill_process(player)
                kill_process(opponent)
            check_ledger(spectator.records, 2, number_of_rounds)
            assert spectator.verify().verdict == VALID


def test_a_server_stopped_in_order_and_started_again_goes_on(server: ServerProcess) -> None:
    address = f"127.0.0.1:{server.port}"
    with Client(address) as client:
        created = client.matches.create("nimmt", seats=2, options=rounds(1))
        with client.matches.join(created.match_id, 0) as first:
            server.stop()
            server.start()
            second = Thread(target=run_bot, args=(client, created.match_id, 1, random_policy))
            second.start()
            while first.turn():
                first.play(first.legal()[0])
            second.join()
            assert first.outcome() is not None
            assert first.verify().verdict == VALID
