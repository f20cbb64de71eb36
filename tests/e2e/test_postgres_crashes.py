"""Servers on one PostgreSQL are killed, and the database is restarted, while matches run: nothing acknowledged is lost.

Two servers share the matches. A client whose server was killed goes on with the same address; what it sends again is
recorded once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from sixledger.client import AsyncClient, Recorded, Settings, run_bot_async
from sixledger.engine.bots import random_policy
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.verify import verify
from sixledger.service.keyring import Keyring
from sixledger.v1 import replay_service_pb2
from support.postgres import PostgresServer
from support.processes import LossyProxy, ServerProcess

VALID = replay_service_pb2.VERDICT_VALID


def rounds(number: int) -> nimmt_pb2.Options:
    return nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=number)


@pytest.fixture
def pair(tmp_path: Path, postgres_url: str) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two servers on one database, with the same keys."""
    keys = tmp_path / "keys.json"
    Keyring.generate().save(keys)
    with (
        ServerProcess(tmp_path / "one", postgres_url, keys=keys) as one,
        ServerProcess(tmp_path / "two", postgres_url, keys=keys) as two,
    ):
        yield one, two


async def test_servers_killed_and_a_database_restarted_lose_and_double_nothing(
    pair: tuple[ServerProcess, ServerProcess], postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Seats play through either server; a spectator sees every record once and in order."""
    random, seats = Random(5), 3
    addresses = [f"127.0.0.1:{each.port}" for each in pair]
    troubles = {25: "one", 60: "database", 95: "two"}  # by number of the record
    async with AsyncClient(addresses[0]) as client:
        created = await client.matches.create("nimmt", seats=seats, options=rounds(4))

        async def play(seat: int) -> object:
            async with AsyncClient(addresses[seat % 2]) as own:
                return await run_bot_async(own, created.match_id, seat, random_policy, random=Random(seat))

        bots = [asyncio.create_task(play(seat)) for seat in range(seats)]
        async with await client.matches.watch_match(created.match_id) as spectator:
            seqs = []
            async for item in spectator.watch():
                if not isinstance(item, Recorded):
                    continue
                seqs.append(item.seq)
                due = [number for number in troubles if number <= item.seq]
                for what in [troubles.pop(number) for number in due]:
                    await asyncio.sleep(random.uniform(0.0, 0.03))
                    if what == "database":
                        await asyncio.to_thread(postgres_server.restart)
                    else:
                        server = pair[what == "two"]
                        await asyncio.to_thread(server.kill)
                        await asyncio.to_thread(server.start)
            assert not troubles
            assert seqs == list(range(len(spectator.records)))
            assert await asyncio.gather(*bots) == [spectator.outcome()] * seats
            causes = [record.body.cause for record in spectator.records]
            requests = Counter((cause.kind, cause.seat, cause.request_id) for cause in causes)
            assert set(requests.values()) == {1}
            cards = [record.facts.command.card for record in spectator.records if _selects(record)]
            assert len(cards) == seats * 10 * 4, "every card was played once, in every round"
            exported = await client.matches.export(created.match_id, tmp_path / "match.ledger.jsonl")
            report = verify(exported, trusted=[await client.catalog.origin()], receipts=spectator.receipts.values())
            assert report.verdict == VALID, report.summary


def _selects(record: Recorded) -> bool:
    return isinstance(record.facts.command, nimmt_pb2.SelectCard)


async def test_a_command_whose_server_dies_before_the_reply_is_played_once_at_another(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    """The record is durable, the reply is lost, and the server that knew it has gone for good."""
    one, two = pair
    async with (
        LossyProxy(one.port) as proxy,
        AsyncClient(f"127.0.0.1:{proxy.port}", settings=Settings(timeout=3.0)) as client,
        AsyncClient(f"127.0.0.1:{two.port}") as other,
    ):
        created = await client.matches.create("nimmt", seats=2, options=rounds(1))
        first, second = [await client.matches.join(created.match_id, seat) for seat in range(2)]
        assert all(await asyncio.gather(first.turn(), second.turn()))
        watching = await other.matches.watch_match(created.match_id)
        async with watching:
            await watching.refresh()
            behind = len(watching.records)
            proxy.lose = True
            playing = asyncio.create_task(first.play(first.legal()[0]))
            async with asyncio.timeout(20):
                async for item in watching.watch(behind):
                    if isinstance(item, Recorded):  # the command is in the ledger
                        break
            assert not playing.done()
            await asyncio.to_thread(one.kill)
            proxy.lose, proxy.target = False, two.port  # what an address before both would do
            await proxy.cut()
            assert (await playing).seq == behind
            await watching.refresh()
            assert len(watching.records) == behind + 1
    await asyncio.to_thread(one.start)
