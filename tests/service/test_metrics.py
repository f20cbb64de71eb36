"""What the metrics say is what happened, and nothing secret."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from random import Random

import grpc.aio
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client.metrics import MetricWrapperBase
from sixledger.service.keyring import Keyring
from sixledger.service.metrics import Metrics
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import Clock, replica, root_secrets
from support.operators import page, scrape
from support.servers import TWO_ROUNDS, Player, client_of, failing, memory_settings, serving, start, watched
from support.spelling import spellings

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "observe.md"
SECOND = 1_000_000
MATCHES = "/sixledger.v1.MatchService/"
WITH_PORT = memory_settings(admin_listen="127.0.0.1:0")


async def test_calls_are_counted_by_method_and_code_and_refusals_by_reason() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        stale = await table.next_request(Random(1))
        stale.decision = 99
        await failing(client.match.SubmitCommand(stale))
        await table.play(Random(1), 5)
        seen = await scrape(server)
    submit = f"{MATCHES}SubmitCommand"
    assert seen.of("sixledger_calls_total", method=submit, code="OK") == 5
    assert seen.of("sixledger_calls_total", method=submit, code="ABORTED") == 1
    assert seen.of("sixledger_call_seconds_count", method=submit) == 6
    assert seen.of("sixledger_rejected_total", reason="STALE_DECISION") == 1
    assert seen.of("sixledger_rejected_total", reason="MALFORMED") == 0


async def test_a_refused_item_of_a_play_stream_is_counted_like_a_refused_call() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        stale = await table.next_request(Random(1))
        stale.decision = 99
        stream = client.match.Play()
        await stream.write(pb.PlayRequest(orders=[pb.PlayOrder(tag=1, command=stale)]))
        reply = await stream.read()
        during = await scrape(server)
        await stream.done_writing()
        assert await stream.read() is grpc.aio.EOF
        after = await scrape(server)
    assert reply.items[0].HasField("failure")
    assert during.of("sixledger_rejected_total", reason="STALE_DECISION") == 1
    assert during.of("sixledger_streams", method=f"{MATCHES}Play") == 1
    assert after.of("sixledger_streams", method=f"{MATCHES}Play") == 0
    assert after.of("sixledger_calls_total", method=f"{MATCHES}Play", code="OK") == 1


async def test_watchers_come_and_go_and_a_stream_that_its_client_ends_is_cancelled() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        watch = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
        await watch.read()
        during = await scrape(server)
        watch.cancel()
        async with asyncio.timeout(5):
            while True:
                after = await scrape(server)
                if not after.of("sixledger_watchers"):
                    break
    method = f"{MATCHES}WatchMatch"
    assert during.of("sixledger_watchers") == during.of("sixledger_streams", method=method) == 1
    assert after.of("sixledger_streams", method=method) == 0
    assert after.of("sixledger_calls_total", method=method, code="CANCELLED") == 1


async def test_each_phase_of_an_act_and_each_batch_of_the_store_is_measured(tmp_path: Path) -> None:
    settings = memory_settings(admin_listen="127.0.0.1:0", store=f"sqlite:{tmp_path / 'm.db'}", data_dir=tmp_path)
    async with serving(settings) as (server, client):
        table = await start(client)
        await table.play(Random(1), 5)
        seen = await scrape(server)
    acts = 2 + 5
    for phase in ("decide", "store"):
        assert seen.of("sixledger_act_seconds_count", phase=phase) == acts
        assert seen.of("sixledger_act_seconds_sum", phase=phase) > 0
    assert seen.of("sixledger_act_seconds_count", phase="sign") >= acts
    assert seen.of("sixledger_store_batch_appends_sum") == acts + 1  # with record 0
    assert seen.of("sixledger_store_flush_seconds_count") == seen.of("sixledger_store_batch_appends_count") == acts + 1
    assert 0 < seen.of("sixledger_store_flush_seconds_sum") < 5


async def test_a_race_between_replicas_is_a_conflict_and_their_caches_look_the_match_up() -> None:
    async with MemoryStore() as store:
        keys = Keyring.generate()
        one, two = (Server(WITH_PORT, store=store, keyring=keys) for _ in range(2))
        async with one, two, client_of(one) as client, client_of(two) as other:
            table = await start(client)
            await other.match.GetMatch(pb.GetMatchRequest(match_id=table.match_id))
            requests = []
            for player in table.players:
                legal = await table.legal(player)
                requests.append(table.command_request(player, legal.commands[0], legal.decision))
            await client.match.SubmitCommand(requests[0])
            await other.match.SubmitCommand(requests[1])
            seen = await scrape(two)
    assert seen.of("sixledger_store_conflicts_total") == 1
    assert seen.of("sixledger_cache_lookups_total", result="miss") == 1
    assert seen.of("sixledger_cache_lookups_total", result="hit") >= 1


async def test_matches_are_counted_by_status() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        running = await scrape(server)
        await table.play(Random(1))
        ended = await scrape(server)
    assert running.of("sixledger_matches", status="running") == 1
    assert ended.of("sixledger_matches", status="running") == 0
    assert ended.of("sixledger_matches", status="ended") == 1
    for status in ("open", "running", "ended"):
        assert ended.of("sixledger_match_changes_total", status=status) == 1


async def test_verifications_are_counted_by_verdict() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        await table.play(Random(1))
        export = client.match.ExportLedger(pb.ExportLedgerRequest(match_id=table.match_id))
        ledger = b"".join([piece.chunk async for piece in export])
        for data in (ledger, ledger.replace(b'"body":"C', b'"body":"D', 1)):
            await client.replay.VerifyLedger(iter([replay_service_pb2.VerifyLedgerRequest(chunk=data)]))
        seen = await scrape(server)
    assert seen.of("sixledger_verifications_total", verdict="valid") == 1
    assert seen.of("sixledger_verification_seconds_count") == 2
    assert seen.of("sixledger_verification_seconds_sum") > 0


async def test_acts_are_counted_by_what_was_done() -> None:
    async with serving(WITH_PORT) as (server, client):
        table = await start(client)
        await table.play(Random(1), 3)
        seen = await scrape(server)
    assert seen.of("sixledger_acts_total", action="join") == 2
    assert seen.of("sixledger_acts_total", action="command") == 3
    assert seen.of("sixledger_acts_total", action="fire") == 0


async def test_a_timer_that_fires_is_an_act_and_its_lag_is_measured() -> None:
    clock = Clock()
    metrics = Metrics()
    async with MemoryStore() as store:
        one = replica(store, clock, metrics=metrics)
        created = await one.servicer.CreateMatch(
            pb.CreateMatchRequest(
                game="nimmt",
                options=TWO_ROUNDS,
                seats=2,
                mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
                clock=record_pb2.Clock(turn_us=SECOND),
                timeout_policy=record_pb2.TIMEOUT_POLICY_FIRST_LEGAL,
            )
        )
        for seat in range(2):
            await one.servicer.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=seat))
        clock.now_us += 3 * SECOND
        fired = await one.host.fire_due(created.match_id)
    assert fired >= 1
    assert metrics.registry.get_sample_value("sixledger_acts_total", {"action": "fire"}) == fired
    assert metrics.registry.get_sample_value("sixledger_timer_lag_seconds_count") == fired
    assert metrics.registry.get_sample_value("sixledger_timer_lag_seconds_sum") == pytest.approx(2 * fired)


async def test_matches_that_leave_memory_for_others_are_counted() -> None:
    async with MemoryStore() as store:
        metrics = Metrics()
        one = replica(store, cached_matches=2, metrics=metrics)
        for _ in range(5):
            await one.start()
        metrics.refresh()
        assert metrics.registry.get_sample_value("sixledger_cache_evictions_total") == 3


@pytest.mark.parametrize("found_by", ["wakeup", "look"])
async def test_how_late_records_of_other_servers_come_is_measured(found_by: str) -> None:
    """What was found there 0.7 seconds after it was made, for somebody who follows the match; and only that."""
    async with MemoryStore() as store:
        metrics, clock = Metrics(), Clock()
        one, two = replica(store, clock), replica(store, clock, metrics=metrics)
        match = await one.start()
        await two.host.fresh(match.match_id, news=found_by)  # read for the first time: no news
        await one.play(match, 1)
        clock.now_us += 700_000
        await two.host.fresh(match.match_id, news=found_by)
        await two.host.fresh(match.match_id, news=found_by)
        await one.play(match, 1)
        await two.host.fresh(match.match_id)  # not on behalf of those who follow
        seen = metrics.registry.get_sample_value
        labels = {"found_by": found_by}
        assert seen("sixledger_news_lag_seconds_count", labels) == 1
        assert seen("sixledger_news_lag_seconds_sum", labels) == pytest.approx(0.7)


async def test_records_of_another_server_are_measured_as_they_wake_those_who_follow(
    postgres_url: str, tmp_path: Path
) -> None:
    """Two servers that look every hour, on one database: what comes, comes by wake-ups, and at once."""
    settings = memory_settings(
        admin_listen="127.0.0.1:0", store=postgres_url, data_dir=tmp_path, watch_tick_s=3600.0, postgres_wakeups="yes"
    )
    keys = Keyring.generate()
    one, two = (Server(settings, keyring=keys) for _ in range(2))
    async with one, two, client_of(one) as client, client_of(two) as other:
        table = await start(client)
        await asyncio.sleep(0.3)  # until both listen
        following = asyncio.ensure_future(
            watched(other.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id)))
        )
        await asyncio.sleep(0.1)
        await table.play(Random(1))
        await asyncio.wait_for(following, 10)
        seen, quiet = await scrape(two), await scrape(one)
    found, took = (seen.of(f"sixledger_news_lag_seconds_{each}", found_by="wakeup") for each in ("count", "sum"))
    assert found >= 5
    assert 0 < took / found < 0.5
    assert seen.of("sixledger_news_lag_seconds_count", found_by="look") == 0
    assert quiet.of("sixledger_news_lag_seconds_count", found_by="wakeup") == 0  # they were its own


async def test_no_metric_holds_a_secret_an_id_or_a_name() -> None:
    """After a match with refusals: no key, seed, salt, token, hand, match id, name or address in /metrics."""
    keyring = Keyring.generate()
    players = [Player(0, Ed25519PrivateKey.generate(), contributes=True), Player(1, contributes=True)]
    async with (
        MemoryStore() as store,
        Server(WITH_PORT, store=store, keyring=keyring, root_secret=root_secrets()) as server,
        client_of(server) as client,
    ):
        mode = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
        table = await start(client, players, options=TWO_ROUNDS, mode=mode)
        for step in range(12):
            request = await table.next_request(Random(step))
            for field, value in (("command", b"\xff\x01"), ("decision", 99)):
                wrong = pb.SubmitCommandRequest()
                wrong.CopyFrom(request)
                setattr(wrong, field, value)
                await failing(client.match.SubmitCommand(wrong))
            await table.submit(request)
        _, text = await page(server, "/metrics")
        hosted = await server.host.hosted(table.match_id)
        stored = [record_pb2.Record.FromString(data) for data in await store.records(table.match_id, 0, 1000)]
        secrets = [keyring.head_key, keyring.token_key, root_secrets()(), hosted.author._salt_key, table.match_id]
        secrets += [hosted.author.seeds.element(epoch) for epoch in range(1, hosted.author.seeds.known + 1)]
        secrets += [opening.salt for record in stored for opening in record.openings]
        secrets += [player.secret for player in players]
        assert "STALE_DECISION" in text
        for secret in secrets:
            assert not [spelling for spelling in spellings(secret) if spelling in text]
        for word in (table.owner_token, *(player.token for player in players), "127.0.0.1", "test.example"):
            assert word not in text
        for hand in hosted.match.state.hands:
            assert str(list(hand)) not in text


def test_the_page_for_operators_lists_the_metrics_that_exist() -> None:
    """Name, type and labels of each, and no other."""
    rows = re.findall(r"^\| `(sixledger_\w+)` \| (\w+) \| ([^|]*)\|", PAGE.read_text(), re.MULTILINE)
    documented = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    metrics = Metrics()
    meter = metrics.call("/a/B")
    meter.opened(1)
    existing = {}
    for family in metrics.registry.collect():
        if family.name.startswith("sixledger_"):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            existing[name] = (family.type, labels)
    assert documented == existing


def test_children_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first call of a method, counting looks no child up."""
    metrics = Metrics()
    meter = metrics.call("/a/B")
    meter.ended("ABORTED")
    meter.opened(1)
    looked_up: list[object] = []
    monkeypatch.setattr(MetricWrapperBase, "labels", lambda *given, **_: looked_up.append(given))
    for _ in range(3):
        meter.ended()
        meter.ended("ABORTED")
        meter.opened(-1)
        meter.observe(0.001)
        metrics.acted("command", 0.001, 0.002)
        metrics.signed(0.001)
        metrics.flushed(3, 0.001)
        metrics.rejected(error_pb2.REASON_MALFORMED)
        metrics.changed(pb.MATCH_STATUS_ENDED)
        metrics.verified(replay_service_pb2.VERDICT_VALID, 1.0)
        metrics.conflict()
        metrics.fired(0.001)
        metrics.news("wakeup", 0.001)
        metrics.ready(True)
        metrics.refresh()
    assert looked_up == []


async def test_without_an_operator_port_nothing_is_counted() -> None:
    async with serving() as (server, _):
        assert server.metrics is None
        assert server.admin is None
