"""The asyncio client against a real server: the same matches, and what only tasks can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from random import Random

import pytest
from sixledger.client import AsyncClient, AsyncSeatedMatch, Credentials, Settings, errors, run_bot_async
from sixledger.client.core.recorded import Recorded
from sixledger.engine.bots import bot, random_policy
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.verify import verify
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2, replay_service_pb2
from support.play import ONE_ROUND, TWO_ROUNDS, RunningServer
from support.processes import LossyProxy

ONCE = Settings(patience=0.0)
VALID = replay_service_pb2.VERDICT_VALID


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.address) as client:
        yield client


async def table(client: AsyncClient, seats: int = 2) -> list[AsyncSeatedMatch]:
    """A match that waits for its first turn: every seat has joined and contributed."""
    created = await client.matches.create("nimmt", seats=seats, options=ONE_ROUND)
    players = [await client.matches.join(created.match_id, seat) for seat in range(seats)]
    assert all(await asyncio.gather(*(player.turn() for player in players)))
    return players


@pytest.mark.parametrize("seats", [2, 3, 4])
async def test_bots_play_a_match_to_its_end(client: AsyncClient, seats: int) -> None:
    created = await client.matches.create("nimmt", seats=seats, options=TWO_ROUNDS)
    policies = [random_policy, bot("nimmt", "heuristic")]
    games = [
        run_bot_async(client, created.match_id, seat, policies[seat % 2], random=Random(seat)) for seat in range(seats)
    ]
    async with await client.matches.watch_match(created.match_id) as spectator:

        async def look() -> list[object]:
            return [item async for item in spectator.watch()]

        looking = asyncio.create_task(look())
        results = await asyncio.gather(*games)
        items = await looking
        assert results == [spectator.outcome()] * seats
        assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(len(spectator.records)))
        assert isinstance(items[-1], match_service_pb2.WatchEnded)
        assert (await spectator.verify()).verdict == VALID


async def test_view_and_legal_commands_are_those_of_the_service(client: AsyncClient) -> None:
    players = await table(client)
    while not players[0].over:
        for player in players:
            await player.refresh()
            shown = await client.matches.view(player.match_id, player.credentials.token)
            assert GAME.schema.view.unpack(shown.view) == player.view()
            legal = await client.matches.legal(player.match_id, player.credentials.token)
            assert [GAME.schema.commands.unpack(command) for command in legal.commands] == player.legal()
            if player.may_act:
                await player.play(player.legal()[-1])


def foreign(hand: Iterable[int]) -> int:
    """A card that is not in the hand."""
    return min(set(range(1, 105)) - set(hand))


async def test_a_bot_that_breaks_the_rules_is_stopped(client: AsyncClient) -> None:
    created = await client.matches.create("nimmt", seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
    async with await client.matches.join(created.match_id, 1):
        with pytest.raises(errors.IllegalCommand):
            await run_bot_async(
                client,
                created.match_id,
                0,
                lambda view, _: nimmt_pb2.SelectCard(
                    card=next(c for c in range(1, 105) if c not in view.seats[0].hand)
                ),
            )


async def test_the_catalogue_the_lists_and_the_engine(client: AsyncClient) -> None:
    assert "nimmt" in [game.ruleset.id for game in await client.catalog.games()]
    assert (await client.catalog.game("nimmt")).rules_markdown
    assert (await client.catalog.server()).origin == (await client.catalog.origin()).origin
    created = await client.matches.create("nimmt", seats=2)
    assert created.match_id in [match.match_id for match in await client.matches.list(limit=3)]
    assert (await client.matches.records(created.match_id)).records[0] == created.record
    secret = b"\x05" * 32
    reply = await client.engine.start(
        "nimmt", 2, root_secret=secret, match_id=b"e" * 16, request_id=b"0" * 16, time_us=1, immediate=True
    )
    legal = await client.engine.legal(reply.checkpoint, 0)
    assert list((await client.engine.view(reply.checkpoint, 0)).view.nimmt.legal) == [
        each.nimmt for each in legal.commands
    ]
    step = await client.engine.play(
        reply.checkpoint,
        0,
        legal.commands[0],
        decision=legal.decision,
        root_secret=secret,
        request_id=b"1" * 16,
        time_us=2,
    )
    action = engine_service_pb2.Action(time_us=3, resign=engine_service_pb2.ResignAction())
    action.cause.kind, action.cause.request_id = record_pb2.CAUSE_KIND_SEAT, b"2" * 16
    ended = await client.engine.apply([reply.record, step.record], action, root_secret=secret)
    assert ended.checkpoint.ended


async def test_a_cancelled_wait_loses_nothing(client: AsyncClient) -> None:
    first, second = await table(client)
    await first.play(first.legal()[0])
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await first.turn()
    await second.play(second.legal()[0])
    done, waiting = await asyncio.wait(
        [asyncio.ensure_future(player.turn()) for player in (first, second)],
        timeout=5,
        return_when=asyncio.FIRST_COMPLETED,
    )
    assert all(task.result() for task in done)
    assert done
    for task in waiting:
        task.cancel()
    await first.refresh()
    assert [recorded.seq for recorded in first.records] == list(range(first.match.seq + 1))


async def test_several_tasks_may_follow_one_table(client: AsyncClient) -> None:
    first, second = await table(client)

    async def look() -> list[int]:
        return [item.seq async for item in first.watch() if isinstance(item, Recorded)]

    watchers = [asyncio.create_task(look()) for _ in range(3)]
    for player in (first, second):
        await player.play(player.legal()[0])
    await second.resign()
    seen = await asyncio.gather(*watchers)
    assert seen == [list(range(len(first.records)))] * 3


async def test_closing_a_table_wakes_who_waits_for_it(client: AsyncClient) -> None:
    first, second = await table(client)
    await first.play(first.legal()[0])
    waiting = asyncio.create_task(first.turn())
    await asyncio.sleep(0.05)
    await first.close()
    with pytest.raises(errors.Closed):
        await waiting
    await second.close()


async def test_closing_the_client_wakes_who_waits_for_it(server: RunningServer) -> None:
    async with AsyncClient(server.address) as client:
        created = await client.matches.create("nimmt", seats=2)
        player = await client.matches.join(created.match_id, 0)
        waiting = asyncio.create_task(player.turn())
        await asyncio.sleep(0.05)
    with pytest.raises(errors.Closed):
        await waiting
    with pytest.raises(errors.Closed):
        await client.catalog.games()


async def test_resigning_aborting_and_errors_by_reason(client: AsyncClient) -> None:
    first, second = await table(client)
    with pytest.raises(errors.SeatTaken):
        await client.matches.join(first.match_id, 0)
    with pytest.raises(errors.UnknownMatch):
        await client.matches.get(b"n" * 16)
    foreign = next(card for card in second.legal() if card not in first.legal())
    with pytest.raises(errors.IllegalCommand) as illegal:
        await first.play(foreign)
    assert (illegal.value.rule, illegal.value.reason) == ("not_in_hand", "ILLEGAL_COMMAND")
    assert illegal.value.view is not None
    resigned = await first.resign()
    await second.refresh()
    assert second.records[-1].record == resigned.record
    created = await client.matches.create("nimmt", seats=2)
    await client.matches.abort(created.match_id, created.owner_token)
    async with await client.matches.watch_match(created.match_id) as spectator:
        assert isinstance([item async for item in spectator.watch()][-1], match_service_pb2.WatchEnded)
        assert spectator.match.aborted


async def test_a_service_that_is_not_there_is_a_transport_error() -> None:
    async with AsyncClient("127.0.0.1:1", settings=Settings(patience=0.2)) as client:
        with pytest.raises(errors.TransportError) as caught:
            await client.catalog.games()
        assert caught.value.code == "UNAVAILABLE"


async def test_a_server_too_busy_to_greet_at_once_is_reached_at_the_first_attempt(server: RunningServer) -> None:
    port = int(server.address.rpartition(":")[2])
    async with LossyProxy(port, delay_s=0.4) as proxy, AsyncClient(f"127.0.0.1:{proxy.port}", settings=ONCE) as client:
        assert await client.catalog.games()


async def test_clients_ride_out_a_restart_of_the_server(server: RunningServer, client: AsyncClient) -> None:
    created = await client.matches.create("nimmt", seats=2, options=TWO_ROUNDS)
    games = [asyncio.create_task(run_bot_async(client, created.match_id, seat, random_policy)) for seat in range(2)]
    async with await client.matches.watch_match(created.match_id) as spectator:
        seqs = []
        async for item in spectator.watch():
            if isinstance(item, Recorded):
                seqs.append(item.seq)
                if item.seq in (9, 25):
                    await asyncio.to_thread(server.stop, 0.0)
                    await asyncio.to_thread(server.start)
        assert seqs == list(range(len(spectator.records)))
        assert await asyncio.gather(*games) == [spectator.outcome()] * 2
        assert (await spectator.verify()).verdict == VALID


async def test_a_seat_goes_on_from_its_file_and_exports_verify(
    server: RunningServer, client: AsyncClient, tmp_path: Path
) -> None:
    created = await client.matches.create("nimmt", seats=2, options=ONE_ROUND)
    async with await client.matches.join(created.match_id, 0, save_to=tmp_path / "seat.json"):
        pass
    async with AsyncClient(server.address) as later:
        credentials = Credentials.load(tmp_path / "seat.json")
        await asyncio.gather(
            run_bot_async(later, created.match_id, 0, random_policy, credentials=credentials),
            run_bot_async(client, created.match_id, 1, random_policy),
        )
        async with await later.matches.resume(credentials) as seat:
            path = await seat.export(tmp_path / "own.ledger.jsonl.gz")
            served = await later.matches.export(seat.match_id, tmp_path / "served.jsonl", credentials.token)
            for ledger in (path, served):
                assert verify(ledger, trusted=[await later.catalog.origin()]).verdict == VALID
                assert (await later.replay.verify(ledger)).verdict == VALID
