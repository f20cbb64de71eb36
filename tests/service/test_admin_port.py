"""The operator port: HTTP and gRPC on one address, live and ready, and what it does with nonsense."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from sixledger.service.config import Settings
from sixledger.service.server import Server
from sixledger.service.store import MatchRow, MemoryStore, StoreError
from sixledger.v1 import access_service_pb2, access_service_pb2_grpc, catalog_service_pb2, replay_service_pb2
from support.hosts import StoreAround
from support.operators import page, scrape
from support.postgres import PostgresProxy
from support.servers import client_of, failing, memory_settings, serving

#: Services whose health is told; the first is the server as a whole.
NAMES = ("", "sixledger.v1.MatchService", "sixledger.v1.ReplayService")
WITH_PORT = memory_settings(admin_listen="127.0.0.1:0")


async def raw(server: Server, data: bytes) -> bytes:
    """What the port answers to some bytes."""
    assert server.admin is not None
    reader, writer = await asyncio.open_connection(*server.admin.address.rsplit(":", 1))
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


async def test_a_running_server_is_live_and_ready_and_other_pages_are_not_there() -> None:
    async with serving(WITH_PORT) as (server, _):
        assert await page(server, "/healthz") == (200, "live\n")
        assert await page(server, "/readyz") == (200, "ready\n")
        status, text = await page(server, "/elsewhere")
        assert status == 404
        assert "/metrics" in text


async def test_a_stopping_server_is_live_but_not_ready() -> None:
    """As long as a call runs, for which it waits."""
    async with serving(WITH_PORT) as (server, client):
        upload = client.replay.VerifyLedger()
        await upload.write(replay_service_pb2.VerifyLedgerRequest(chunk=b"{"))
        async with asyncio.timeout(5):
            while not server.gate.running:
                await page(server, "/healthz")
        stopping = asyncio.ensure_future(server.stop(5))
        await asyncio.sleep(0)
        ready, live = await page(server, "/readyz"), await page(server, "/healthz")
        upload.cancel()
        await stopping
    assert ready == (503, "stopping\n")
    assert live == (200, "live\n")


class Unreachable(StoreAround):
    """A store that can be away."""

    away = ""

    async def match(self, match_id: bytes) -> MatchRow | None:
        if self.away == "refuses":
            raise StoreError("the database has gone")
        if self.away == "hangs":
            await asyncio.Event().wait()
        return await super().match(match_id)


@pytest.mark.parametrize("away", ["refuses", "hangs"])
async def test_a_server_whose_store_is_away_is_live_but_not_ready_until_it_is_back(
    away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sixledger.service.readiness._PATIENCE_S", 0.05)
    settings = memory_settings(admin_listen="127.0.0.1:0", ready_tick_s=0.02)
    serving_status = health_pb2.HealthCheckResponse
    async with (
        Unreachable(MemoryStore()) as store,
        Server(settings, store=store) as server,
        client_of(server) as client,
    ):
        assert server.admin is not None
        async with grpc.aio.insecure_channel(server.admin.address) as channel:
            seen = []
            for state in ("", away, ""):
                store.away = state
                await asyncio.sleep(0.3)
                health = [health_pb2_grpc.HealthStub(each) for each in (client.channel, channel)]
                answers = [
                    await each.Check(health_pb2.HealthCheckRequest(service=name)) for each in health for name in NAMES
                ]
                sample = await scrape(server)
                seen.append(
                    (await page(server, "/readyz"), {each.status for each in answers}, sample.of("sixledger_ready"))
                )
                assert await page(server, "/livez") == (200, "live\n")
    up = ((200, "ready\n"), {serving_status.SERVING}, 1)
    assert seen == [up, ((503, "the store does not answer\n"), {serving_status.NOT_SERVING}, 0), up]


async def test_a_server_that_loses_its_database_is_not_ready_until_it_is_found_again(
    postgres_url: str, tmp_path: Path
) -> None:
    async with PostgresProxy(postgres_url) as proxy:
        settings = memory_settings(
            admin_listen="127.0.0.1:0", ready_tick_s=0.1, store=proxy.url, data_dir=tmp_path, postgres_retry_s=0.2
        )
        async with Server(settings) as server:
            assert await page(server, "/readyz") == (200, "ready\n")
            for closed, expected in ((True, 503), (False, 200)):
                proxy.closed = closed
                proxy.cut()
                async with asyncio.timeout(15):
                    while (await page(server, "/readyz"))[0] != expected:
                        assert (await page(server, "/livez"))[0] == 200
                        await asyncio.sleep(0.05)


async def test_a_server_that_stops_is_not_serving() -> None:
    """By the health service of both ports, and by the metric, while a call still runs."""
    async with serving(WITH_PORT) as (server, client):
        assert server.admin is not None
        upload = client.replay.VerifyLedger()
        await upload.write(replay_service_pb2.VerifyLedgerRequest(chunk=b"{"))
        async with asyncio.timeout(5):
            while not server.gate.running:
                await page(server, "/livez")
        stopping = asyncio.ensure_future(server.stop(5))
        await asyncio.sleep(0.05)
        async with grpc.aio.insecure_channel(server.admin.address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answers = [await stub.Check(health_pb2.HealthCheckRequest(service=name)) for name in NAMES]
        sample = await scrape(server)
        upload.cancel()
        await stopping
    assert {each.status for each in answers} == {health_pb2.HealthCheckResponse.NOT_SERVING}
    assert sample.of("sixledger_ready") == 0


async def test_channelz_and_the_metrics_share_the_port() -> None:
    async with serving(WITH_PORT) as (server, client):
        assert server.admin is not None
        await client.catalog.ListGames(catalog_service_pb2.ListGamesRequest())
        async with grpc.aio.insecure_channel(server.admin.address) as channel:
            stub = channelz_pb2_grpc.ChannelzStub(channel)
            found = await stub.GetServers(channelz_pb2.GetServersRequest())
            seen = await scrape(server)
        calls = [each.data.calls_succeeded for each in found.server]
    assert sum(calls) >= 1
    assert seen.of("sixledger_calls_total", method="/sixledger.v1.CatalogService/ListGames", code="OK") == 1


async def test_the_operator_port_manages_keys_and_names_what_it_offers() -> None:
    async with serving(WITH_PORT) as (server, _):
        assert server.admin is not None
        async with grpc.aio.insecure_channel(server.admin.address) as channel:
            keys = access_service_pb2_grpc.AccessServiceStub(channel)
            failure = await failing(keys.ListApiKeys(access_service_pb2.ListApiKeysRequest()))
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
            reply = await call.read()
            call.cancel()
    assert failure.reason == "BAD_API_KEY"
    names = {service.name for service in reply.list_services_response.service}
    assert {"grpc.channelz.v1.Channelz", "sixledger.v1.AccessService"} <= names
    assert "sixledger.v1.MatchService" not in names


async def test_nonsense_ends_the_connection_and_nothing_else() -> None:
    async with serving(WITH_PORT) as (server, _):
        assert (await raw(server, b"POST /metrics HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
        assert b"200 OK" in await raw(server, b"HEAD /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert not (await raw(server, b"HEAD /metrics HTTP/1.1\r\n\r\n")).rpartition(b"\r\n\r\n")[2]
        assert (await raw(server, b"\xff\x00\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
        assert await raw(server, b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n") == b""
        with suppress(ConnectionResetError):  # it was not read to its end
            assert await raw(server, b"x" * 200_000) == b""
        assert await page(server, "/healthz") == (200, "live\n")


async def test_a_server_stops_although_somebody_is_connected_and_silent() -> None:
    async with serving(WITH_PORT) as (server, _):
        assert server.admin is not None
        reader, writer = await asyncio.open_connection(*server.admin.address.rsplit(":", 1))
        await asyncio.wait_for(server.stop(), 5)
        assert await reader.read() == b""
        writer.close()


async def test_a_taken_address_is_an_error_that_names_it_and_leaves_nothing_behind() -> None:
    async with serving(WITH_PORT) as (server, _):
        assert server.admin is not None
        taken = server.admin.address
        with pytest.raises(OSError, match=f"cannot listen on {taken}"):
            await Server(memory_settings(admin_listen=taken)).start()
    with pytest.raises(OSError, match="neither HOST:PORT nor unix:PATH"):
        await Server(memory_settings(admin_listen="nowhere")).start()


async def test_a_unix_socket_will_do(tmp_path: Path) -> None:
    async with serving(memory_settings(admin_listen=f"unix:{tmp_path / 'admin'}")):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "admin")
        writer.write(b"GET /readyz HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"ready\n")
        writer.close()


def test_the_environment_sets_the_port_and_the_traces() -> None:
    given = {"SIXLEDGER_ADMIN_LISTEN": "127.0.0.1:9090", "SIXLEDGER_TRACE_RATIO": "0.5"}
    settings = Settings.from_environment(given)
    assert (settings.admin_listen, settings.trace_ratio) == ("127.0.0.1:9090", 0.5)
    with pytest.raises(ValueError, match="trace_ratio must be between 0 and 1"):
        Settings(trace_ratio=1.5)
