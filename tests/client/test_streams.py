"""Playing and following over one stream: as over calls of their own, also when the stream breaks at any message."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from sixledger.client import (
    AsyncClient,
    AsyncSeatedMatch,
    Client,
    SeatedMatch,
    Settings,
    errors,
    run_bot,
    run_bot_async,
)
from sixledger.client.core import streams
from sixledger.client.core.recorded import Recorded
from sixledger.engine.bots import random_policy
from sixledger.service import play
from sixledger.service.server import Server
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2
from support.cutting import Relay, relaying
from support.play import ONE_ROUND, RunningServer
from support.servers import memory_settings

VALID = replay_service_pb2.VERDICT_VALID
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
#: Everything over one stream, and quick to try again.
STREAMING = Settings(play_stream=True, first_pause=0.001, longest_pause=0.01)


# -- cut at every message ------------------------------------------------------------------------------


@pytest.fixture
async def relay() -> AsyncIterator[tuple[Relay, str]]:
    async with Server(memory_settings()) as server, relaying(server.address) as (relay, address):
        yield relay, address


async def play_through(client: AsyncClient, records: int) -> list[int]:
    """Two seats and a spectator play a match over the client's stream; the records that the spectator got.

    Whoever is on turn after so many records resigns.
    """
    created = await client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=SERVER_ONLY)
    players = [await client.matches.join(created.match_id, seat) for seat in range(2)]
    seen: list[int] = []

    async def look() -> None:
        async with await client.matches.watch_match(created.match_id) as spectator:
            items = [item async for item in spectator.watch()]
            seen.extend(item.seq for item in items if isinstance(item, Recorded))
            assert (await spectator.verify()).verdict == VALID

    async def play(player: AsyncSeatedMatch) -> int:
        played = 0
        while await player.turn():
            if player.match.seq >= records:
                with contextlib.suppress(errors.WrongPhase):  # the other was first
                    await player.resign()
                break
            recorded = await player.play(player.legal()[0])
            assert recorded.body.cause.seat == player.seat
            played += 1
        return played

    looking = asyncio.create_task(look())
    async with asyncio.timeout(20):
        played = await asyncio.gather(*(play(player) for player in players))
        await looking
    for player in players:
        await player.refresh()
        by_seat = Counter(each.body.cause.seat for each in player.records if each.body.command)
        assert [by_seat[seat] for seat in range(2)] == played  # nothing was lost, nothing played twice
        assert [each.seq for each in player.records] == list(range(len(player.records)))
        await player.close()
    return seen


@pytest.mark.parametrize("items", [64, 1], ids=["many items a message", "few items a message"])
async def test_a_stream_cut_at_every_message_loses_repeats_and_doubles_nothing(
    relay: tuple[Relay, str], monkeypatch: pytest.MonkeyPatch, items: int
) -> None:
    """Each message in turn, up or down, is lost with its stream: a whole match with all its commands and records."""
    through, address = relay
    monkeypatch.setattr(streams, "_MOST", items)
    monkeypatch.setattr(play, "_MAX_ITEMS", 2 * items)
    async with AsyncClient(address, settings=STREAMING) as client:
        await play_through(client, 100)
        total = through.messages
        assert total > (20 if items > 1 else 60)
        for cut_at in range(total + 4):
            through.messages, through.cut_at, before = 0, cut_at, through.cuts
            seen = await play_through(client, 100)
            assert seen == list(range(len(seen)))
            # How orders gather in messages varies; most numbers are reached in every run.
            assert through.cuts == before + (1 if cut_at < through.messages else 0)
        assert through.cuts > total // 2


async def test_a_whole_match_survives_a_stream_that_breaks_all_the_time(relay: tuple[Relay, str]) -> None:
    """Every seventh message cuts the stream, to the very end of the match."""
    through, address = relay
    passes = through._passes
    through._passes = lambda: passes() and bool(through.messages % 7)  # type: ignore[method-assign]
    async with AsyncClient(address, settings=STREAMING) as client:
        seen = await play_through(client, 100)
        assert seen == list(range(len(seen)))


# -- as over calls of their own ------------------------------------------------------------------------


async def test_many_matches_share_one_stream(relay: tuple[Relay, str]) -> None:
    """Bots of five matches over one stream: one call of Play for all of them."""
    _, address = relay
    async with AsyncClient(address, settings=STREAMING) as client:
        created = [await client.matches.create("nimmt", seats=2, options=ONE_ROUND) for _ in range(5)]
        outcomes = await asyncio.gather(
            *(
                run_bot_async(client, each.match_id, seat, random_policy, random=Random(seat))
                for each in created
                for seat in range(2)
            )
        )
        assert all(outcome is not None for outcome in outcomes)
        assert client.matches._hosting.stream is not None
        assert next(client.matches._hosting.stream._tags) > 100


def test_the_blocking_client_plays_over_a_stream(server: RunningServer) -> None:
    with Client(server.address, settings=STREAMING) as client:
        created = client.matches.create("nimmt", seats=3, options=ONE_ROUND)
        with client.matches.watch_match(created.match_id) as spectator, ThreadPoolExecutor(3) as pool:
            games = [
                pool.submit(run_bot, client, created.match_id, seat, random_policy, random=Random(seat))
                for seat in range(3)
            ]
            items = list(spectator.watch())
            assert [game.result() for game in games] == [spectator.outcome()] * 3
            assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(len(spectator.records)))
            assert isinstance(items[-1], match_service_pb2.WatchEnded)
            assert spectator.verify().verdict == VALID


def seated(client: Client, count: int) -> list[list[SeatedMatch]]:
    """Both seats of several matches, ready for the first turn."""
    tables = []
    for _ in range(count):
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=SERVER_ONLY)
        tables.append([client.matches.join(created.match_id, seat) for seat in range(2)])
    for table in tables:
        for player in table:
            assert player.turn()
    return tables


@pytest.mark.parametrize("settings", [Settings(), STREAMING], ids=["batch", "stream"])
def test_commands_of_many_matches_go_together(server: RunningServer, settings: Settings) -> None:
    """In one message; a command that is refused spoils no other."""
    with Client(server.address, settings=settings) as client:
        tables = seated(client, 5)
        first = [table[0] for table in tables]
        moves = [(player, player.legal()[0]) for player in first]
        foreign = tables[2][1].legal()[0]
        moves[2] = (first[2], foreign)
        results = client.matches.play_all(moves)
        assert [isinstance(result, Recorded) for result in results] == [True, True, False, True, True]
        assert isinstance(results[2], errors.IllegalCommand)
        assert results[2].rule == "not_in_hand"
        assert results[2].view is not None
        assert client.matches.play_all([]) == []
        for table in tables:
            for player in table:
                player.close()


def test_a_stream_of_its_own_beside_ordinary_calls(server: RunningServer) -> None:
    """`stream()` plays and follows over one stream; after its end its tables are closed, the client is not."""
    with Client(server.address) as client:
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=SERVER_ONLY)
        with client.matches.stream() as stream:
            players = [stream.join(created.match_id, seat) for seat in range(2)]
            spectator = stream.watch_match(created.match_id)
            assert all(player.turn() for player in players)
            moves = [(player, player.legal()[0]) for player in players]
            assert all(isinstance(result, Recorded) for result in stream.play_all(moves))
            spectator.refresh()
            assert spectator.match.seq == players[1].match.seq
            with pytest.raises(errors.StaleDecision):
                players[0].play(moves[0][1], decision=1)
            credentials = players[0].credentials
        with pytest.raises(errors.Closed):
            players[0].play(moves[0][1], decision=1)
        with pytest.raises(errors.Closed):
            list(spectator.watch(spectator.match.seq + 1))
        with client.matches.stream() as stream, stream.resume(credentials) as again:
            assert again.resign().body.lifecycle


def test_errors_of_single_items_are_those_of_the_calls(server: RunningServer) -> None:
    with Client(server.address, settings=STREAMING) as client:
        (table,) = seated(client, 1)
        with pytest.raises(errors.UnknownMatch):
            next(client.matches.watch_match(b"n" * 16).watch())
        token = table[0].credentials.token
        table[0].credentials.token = table[1].credentials.token
        with pytest.raises(errors.ClientError) as caught:
            table[0].play(table[0].legal()[0])
        assert isinstance(
            caught.value, (errors.BadSignature, errors.ForeignSeat, errors.ForgedAct, errors.IllegalCommand)
        )
        table[0].credentials.token = token
        for player in table:
            player.close()


def test_a_server_that_is_not_there_is_a_transport_error() -> None:
    """Also over a stream, once the patience is used up."""
    with Client("127.0.0.1:1", settings=Settings(play_stream=True, patience=0.2)) as client:
        with pytest.raises(errors.TransportError) as caught:
            client.catalog.games()
        assert caught.value.code == "UNAVAILABLE"


def test_a_restarted_server_is_found_again(server: RunningServer) -> None:
    """Between two commands of a match the server stops and starts: the stream and its followed match go on."""
    with Client(server.address, settings=STREAMING) as client:
        (players,) = seated(client, 1)
        players[0].play(players[0].legal()[0])
        server.stop()
        server.start()
        players[1].play(players[1].legal()[0])
        for player in players:
            player.refresh()
            assert player.match.seq == players[1].match.seq
            player.close()


def test_the_page_about_streams_runs(server: RunningServer) -> None:
    """Each block of code, in the order of the page."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "play-over-streams.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block.replace("127.0.0.1:7655", server.address), "play-over-streams.md", "exec"), {})
