"""Connections whose other end has gone without a word: both sides notice, give back what they held, and go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import grpc
import pytest
from sixledger.client import AsyncClient
from sixledger.client import Settings as ClientSettings
from sixledger.client.core.recorded import Recorded
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2
from support.play import ONE_ROUND
from support.servers import Client, memory_settings, serving, start
from support.silence import silent_relay

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

RUNNING = pb.MATCH_STATUS_RUNNING
#: Dead connections are noticed at once, so that nobody waits for them here.
IMPATIENT = {"keepalive_s": 0.2, "keepalive_timeout_s": 0.2}


async def until(condition: Callable[[], bool], within_s: float = 15) -> None:
    """Wait for it; fail if it does not come."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.02)


async def test_the_server_gives_back_what_a_vanished_client_held() -> None:
    async with serving(memory_settings(**IMPATIENT)) as (server, client), silent_relay(server.port) as (relay, address):
        table = await start(client)
        async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            other = Client(channel)
            watching = other.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
            playing = other.match.Play()
            follow = pb.PlayOrder(tag=1, follow=pb.WatchMatchRequest(match_id=table.match_id))
            await playing.write(pb.PlayRequest(orders=[follow]))
            assert await watching.read()
            assert await playing.read()
            assert (server.host.hub.watchers, server.gate.running) == (2, 2)
            relay.fall_silent()
            await until(lambda: server.host.hub.watchers == 0 and server.gate.running == 0)
            # Whoever is still there is not troubled.
            assert (await client.match.GetMatch(pb.GetMatchRequest(match_id=table.match_id))).match.status == RUNNING
            watching.cancel()
            playing.cancel()


@pytest.mark.parametrize("play_stream", [False, True])
async def test_a_client_whose_connection_fell_silent_goes_on_over_another(play_stream: bool) -> None:
    """It misses no record, although neither side was told that the connection is dead."""
    settings = ClientSettings(
        play_stream=play_stream, keepalive=0.2, keepalive_timeout=0.2, first_pause=0.01, longest_pause=0.1, timeout=2
    )
    async with (
        serving(memory_settings(**IMPATIENT)) as (server, _),
        silent_relay(server.port) as (relay, address),
        AsyncClient(address, settings=settings) as client,
    ):
        mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        created = await client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
        players = [await client.matches.join(created.match_id, seat) for seat in range(2)]
        seen: list[int] = []

        async def look() -> None:
            async with await client.matches.watch_match(created.match_id) as spectator:
                async for item in spectator.watch():
                    seen.extend([item.seq] if isinstance(item, Recorded) else [])

        looking = asyncio.create_task(look())
        await until(lambda: len(seen) > 1)
        before, connections = len(seen), relay.connections
        relay.fall_silent()
        await players[0].refresh()
        await players[0].resign()
        await asyncio.wait_for(looking, 30)
        assert seen == list(range(len(seen)))
        assert len(seen) > before
        assert relay.connections > connections
        for player in players:
            await player.close()
