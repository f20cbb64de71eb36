"""Stopping a server: what was begun is finished, what follows is turned away, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sixledger.service.keyring import Keyring
from sixledger.service.server import Server
from sixledger.service.store import Entry, MemoryStore
from sixledger.v1 import catalog_service_pb2, catalog_service_pb2_grpc
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import StoreAround
from support.servers import HostedTable, client_of, create, failing, failure, memory_settings, serving, start, watched

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")


async def test_a_running_call_finishes_and_later_ones_are_turned_away() -> None:
    """The store is slow when the server stops: the command in it is answered; a new call hears UNAVAILABLE."""
    async with (
        StoreAround(MemoryStore()) as store,
        Server(memory_settings(), store=store) as server,
        client_of(server) as client,
    ):
        table = await start(client)
        request = await table.next_request(Random(1))
        reached, free = asyncio.Event(), asyncio.Event()

        async def slow(entry: Entry) -> None:
            reached.set()
            await free.wait()

        store.before_append = slow
        running = asyncio.ensure_future(client.match.SubmitCommand(request))
        await reached.wait()
        stopping = asyncio.create_task(server.stop(10))
        await asyncio.sleep(0.05)
        refused = await failing(client.match.GetMatch(pb.GetMatchRequest(match_id=table.match_id)))
        assert (refused.code, refused.reason, refused.retry) == (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE", True)
        free.set()
        reply = await running
        await stopping
        stored = await store.records(table.match_id, 0, 100)
        assert reply.record.body in stored[-1]


async def test_watches_end_with_unavailable_and_can_be_resumed_elsewhere() -> None:
    """Two servers on one store: a watch of the first ends, and goes on at the second without a gap."""
    keyring = Keyring.generate()
    async with (
        StoreAround(MemoryStore()) as store,
        Server(memory_settings(), store=store, keyring=keyring) as first,
        Server(memory_settings(), store=store, keyring=keyring) as second,
        client_of(first) as client,
        client_of(second) as other,
    ):
        table = await start(client)
        items: list[pb.WatchMatchResponse] = []
        ended = None
        call = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
        items += await watched(call, 4)
        stopping = asyncio.create_task(first.stop(5))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            items += await watched(call)
        ended = failure(caught.value)
        assert (ended.code, ended.reason) == (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE")
        await stopping
        seen = [item.record for item in items if item.HasField("record")]
        moved = HostedTable(other, table.match_id, table.owner_token, table.first_hash, table.players)
        await moved.play(Random(1))
        resumed = other.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id, first_seq=len(seen)))
        seen += [item.record for item in await watched(resumed) if item.HasField("record")]
        assert [record.record for record in seen][-1].hash == (await moved.records())[-1].hash
        assert len(seen) == (await moved.info()).record_count


async def test_a_call_that_does_not_finish_is_cut_off_after_the_grace() -> None:
    """The store hangs: stopping takes the grace and not longer."""
    async with (
        StoreAround(MemoryStore()) as store,
        Server(memory_settings(), store=store) as server,
        client_of(server) as client,
    ):
        table = await start(client)
        request = await table.next_request(Random(1))
        reached = asyncio.Event()

        async def hang(entry: Entry) -> None:
            reached.set()
            await asyncio.sleep(60)

        store.before_append = hang
        running = asyncio.ensure_future(client.match.SubmitCommand(request))
        await reached.wait()
        async with asyncio.timeout(5):
            await server.stop(0.1)
        with pytest.raises(grpc.aio.AioRpcError):
            await running


async def test_health_says_when_the_server_stops() -> None:
    """SERVING for the server and each service; a health watch sees NOT_SERVING before the connection ends."""
    async with Server(memory_settings()) as server, client_of(server) as client:
        stub = health_pb2_grpc.HealthStub(client.channel)
        for name in ("", "sixledger.v1.MatchService", "sixledger.v1.EngineService"):
            reply = await stub.Check(health_pb2.HealthCheckRequest(service=name))
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        stopping = asyncio.create_task(server.stop(1))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch.cancel()
        await stopping


async def test_stopping_twice_is_harmless() -> None:
    """Both callers return once it has stopped."""
    async with serving() as (server, client):
        await create(client, 2)
        await asyncio.gather(server.stop(), server.stop())
        await server.wait()


async def test_reflection_lists_the_services() -> None:
    """Tools find what there is."""
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    async with serving() as (_, client):
        stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
        call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        replies = [reply async for reply in call]
        names = {service.name for service in replies[0].list_services_response.service}
        assert {f"sixledger.v1.{name}Service" for name in ("Match", "Engine", "Catalog", "Replay")} < names


_SERVE = """
import sys
from pathlib import Path
from sixledger.service.config import Settings
from sixledger.service.process import run
settings = Settings(listen="127.0.0.1:0", data_dir=Path(sys.argv[1]), origin="test.example")
run(settings, started=lambda server: print(server.address, flush=True))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_serves_until_a_signal_and_keeps_its_keys(tmp_path: Path) -> None:
    """SIGTERM ends it with status 0; started again on its folder it has the same identity."""
    keys = []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(tmp_path / "data")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with grpc.insecure_channel(address) as channel:
                stub = catalog_service_pb2_grpc.CatalogServiceStub(channel)
                keys.append(stub.GetOrigin(catalog_service_pb2.GetOriginRequest(), timeout=10).verifier_key)
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert '"event":"stopped"' in errors
    assert keys[0] == keys[1]
    assert (tmp_path / "data" / "keys.json").stat().st_mode & 0o777 == 0o600


#: A server that never gets further than one of its methods, which says so.
_STUCK = """
import asyncio, sys
from sixledger.service.config import Settings
from sixledger.service.process import run
from sixledger.service.readiness import Readiness
from sixledger.service.store import MemoryStore

async def stuck(_):
    print("here", flush=True)
    await asyncio.sleep(60)

place = {"Readiness": Readiness, "MemoryStore": MemoryStore}[sys.argv[1]]
setattr(place, sys.argv[2], stuck)
run(Settings(listen="127.0.0.1:0", store="memory:"), started=lambda server: print("started", flush=True))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("place", [("MemoryStore", "open"), ("Readiness", "start")], ids=["store", "answering"])
def test_a_signal_ends_a_start_in_order(place: tuple[str, str]) -> None:
    """While the store opens, and when calls are answered already; a hangup ends nothing."""
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK, *place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (0, "")
    assert '"event":"stopped"' in errors
    assert "Traceback" not in errors
