"""Several servers on one PostgreSQL database: any of them serves any match, and none of them is special."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from statistics import median
from typing import Any

import pytest
from sixledger.client import AsyncClient, AsyncWatchedMatch, Recorded
from sixledger.ledger import clocks
from sixledger.ledger.verify import verify_records
from sixledger.service.config import Settings
from sixledger.service.errors import ServiceError
from sixledger.service.matches import wall_clock
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore, PostgresSettings, Store, StoreError
from sixledger.service.store.postgres import PostgresStore
from sixledger.service.store.postgres_wakeups import Wakeups
from sixledger.service.watch import WatchTiming
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2, replay_service_pb2
from support.hosts import KEYRING, Clock, Replica, StartedMatch, replica, request_id
from support.servers import ONE_ROUND, TWO_ROUNDS

VALID = replay_service_pb2.VERDICT_VALID
SECOND = 1_000_000


@asynccontextmanager
async def servers(url: str, count: int = 2, **changes: Any) -> AsyncIterator[list[Server]]:
    """Running servers on one database, with the same keys."""
    values: dict[str, Any] = {"listen": "127.0.0.1:0", "store": url, "origin": "test.example"}
    settings = Settings(**(values | changes))
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Server(settings, keyring=KEYRING)) for _ in range(count)]


@asynccontextmanager
async def replicas(url: str, count: int = 2, **arguments: Any) -> AsyncIterator[list[Replica]]:
    """Hosts with stores of their own on one database, whose clocks are set by hand."""
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(PostgresStore(url)) for _ in range(count)]
        yield [replica(store, Clock(), **arguments) for store in stores]


async def ledger(store: Store, match_id: bytes) -> list[record_pb2.Record]:
    """The stored records of a match."""
    return [record_pb2.Record.FromString(data) for data in await store.records(match_id, 0, 100_000)]


def causes(records: list[record_pb2.Record]) -> list[record_pb2.Cause]:
    return [record_pb2.Body.FromString(record.body).cause for record in records]


def nothing_wrong(records: list[record_pb2.Record]) -> bool:
    """True if the ledger is sound, whole or as far as it goes."""
    verdicts = (replay_service_pb2.VERDICT_VALID, replay_service_pb2.VERDICT_INCOMPLETE)
    return verify_records(records).verdict in verdicts


async def listening(server: Server) -> None:
    """Wait until a server hears the others."""
    session = server.host.store._session  # type: ignore[attr-defined]
    await asyncio.wait_for(session._wakeups.listening.wait(), 10)


async def play_and_watch(here: Server, there: Server) -> tuple[AsyncWatchedMatch, list[float], int]:
    """A match played at one server and watched at the other: what was seen, seconds from reply to arrival, records."""
    async with AsyncClient(here.address) as players, AsyncClient(there.address) as looking:
        created = await players.matches.create("nimmt", seats=2, options=ONE_ROUND.nimmt)
        seats = [await players.matches.join(created.match_id, seat) for seat in range(2)]
        arrived: dict[int, float] = {}
        replied: dict[int, float] = {}

        async def watch(watched: AsyncWatchedMatch) -> list[int]:
            seen = []
            async for item in watched.watch():
                if isinstance(item, Recorded):
                    arrived[item.seq] = time.perf_counter()
                    seen.append(item.seq)
            return seen

        async with await looking.matches.watch_match(created.match_id) as watched:
            following = asyncio.create_task(watch(watched))
            random, turn = Random(3), 0
            while not seats[0].match.over:
                player = seats[turn % 2]
                turn += 1
                await player.refresh()
                if player.match.over or not player.may_act:
                    continue
                recorded = await player.play(random.choice(player.legal()))
                replied[recorded.seq] = time.perf_counter()
                await asyncio.sleep(0.005)
            seen = await asyncio.wait_for(following, 10)
            assert seen == list(range(len(seen))), "a watcher saw a gap"
            assert (await watched.verify()).verdict == VALID
            delays = [max(arrived[seq] - when, 0.0) for seq, when in replied.items()]
            return watched, delays, len(seen)


async def test_records_of_another_server_arrive_within_50_ms_at_the_median(postgres_url: str) -> None:
    """By wake-ups alone: the servers themselves look every hour."""
    async with servers(postgres_url, watch_tick_s=3600.0) as (here, there):
        await listening(here)
        await listening(there)
        _, delays, count = await play_and_watch(here, there)
        assert len(delays) >= 20
        assert count == len(await ledger(here.host.store, _.match_id))
        assert median(delays) < 0.05


async def test_lost_wake_ups_delay_records_and_lose_none(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of four wake-ups are dropped on purpose; looking finds what they would have told."""
    told, dropped, publish = 0, 0, Wakeups.publish

    def sometimes(self: Wakeups, match_ids: Collection[bytes]) -> None:
        nonlocal told, dropped
        told += 1
        if told % 4:
            dropped += 1
            return
        publish(self, match_ids)

    monkeypatch.setattr(Wakeups, "publish", sometimes)
    async with servers(postgres_url, watch_tick_s=0.05) as (here, there):
        _, _, count = await play_and_watch(here, there)
        assert dropped > count / 2


async def test_servers_without_wake_ups_look_for_records(postgres_url: str) -> None:
    async with servers(postgres_url, watch_tick_s=0.05, postgres_wakeups="no") as (here, there):
        await play_and_watch(here, there)


async def test_two_replicas_that_decide_at_once_make_one_ledger(postgres_url: str) -> None:
    """Each seat plays at another replica, at the same time: conflicts are decided again, and nothing forks."""
    async with replicas(postgres_url) as tables:
        match = await tables[0].start(options=TWO_ROUNDS)
        while not (await tables[0].host.fresh(match.match_id)).match.over:
            stands = (await tables[0].host.fresh(match.match_id)).match
            requests = [await tables[0].request(match, index=index) for index in range(len(stands.to_act))]
            await asyncio.gather(
                *(tables[at % 2].servicer.SubmitCommand(request) for at, request in enumerate(requests))
            )
        heads = {(await each.host.fresh(match.match_id)).match.hash for each in tables}
        assert len(heads) == 1
        records = await ledger(tables[0].host.store, match.match_id)
        assert nothing_wrong(records)


async def test_a_request_sent_to_every_replica_at_once_is_played_once(postgres_url: str) -> None:
    async with replicas(postgres_url, 3) as tables:
        match = await tables[0].start()
        for _ in range(6):
            request = await tables[0].request(match)
            replies = await asyncio.gather(*(each.servicer.SubmitCommand(request) for each in tables))
            assert len({reply.record.hash for reply in replies}) == 1
        keys = Counter(
            (c.kind, c.seat, c.request_id) for c in causes(await ledger(tables[0].host.store, match.match_id))
        )
        assert set(keys.values()) == {1}


async def test_different_commands_for_one_decision_at_two_replicas_leave_one(postgres_url: str) -> None:
    async with replicas(postgres_url) as tables:
        match = await tables[0].start()
        for _ in range(5):
            requests = [await each.request(match, choice=choice) for choice, each in enumerate(tables)]
            results = await asyncio.gather(
                *(each.servicer.SubmitCommand(request) for each, request in zip(tables, requests, strict=True)),
                return_exceptions=True,
            )
            refused = [result for result in results if isinstance(result, BaseException)]
            assert len(refused) == 1
            assert isinstance(refused[0], ServiceError), refused
            if (await tables[0].host.fresh(match.match_id)).match.over:
                break
        assert nothing_wrong(await ledger(tables[1].host.store, match.match_id))


async def start_with_clock(table: Replica) -> StartedMatch:
    """A match with turns of ten seconds."""
    created = await table.servicer.CreateMatch(
        pb.CreateMatchRequest(
            game="nimmt",
            options=ONE_ROUND,
            seats=2,
            mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
            clock=record_pb2.Clock(turn_us=10 * SECOND),
            timeout_policy=clocks.FIRST_LEGAL,
        )
    )
    joins = [pb.JoinMatchRequest(match_id=created.match_id, seat=seat) for seat in range(2)]
    return StartedMatch(created.match_id, "", [(await table.servicer.JoinMatch(join)).token for join in joins])


async def test_a_token_made_right_after_a_revocation_at_another_replica_is_good_and_the_one_before_is_not(
    postgres_url: str,
) -> None:
    """Replicas hear of what others revoke a little later; whoever makes or replaces a token must know at once."""
    late = PostgresSettings(floor_tick_s=3600)
    async with PostgresStore(postgres_url, late) as first, PostgresStore(postgres_url, late) as second:
        here, there = replica(first, Clock()), replica(second, Clock())
        match = await here.start()
        match_id, stolen = match.match_id, match.tokens[0]
        token = (
            await here.servicer.RevokeTokens(
                pb.RevokeTokensRequest(match_id=match_id, token=stolen, own=pb.OwnTokens())
            )
        ).token
        with pytest.raises(ServiceError, match="was revoked"):
            await there.servicer.RefreshToken(pb.RefreshTokenRequest(match_id=match_id, token=stolen))
        with pytest.raises(ServiceError, match="was revoked"):
            await there.servicer.RevokeTokens(
                pb.RevokeTokensRequest(match_id=match_id, token=stolen, own=pb.OwnTokens())
            )
        await here.servicer.RevokeTokens(
            pb.RevokeTokensRequest(match_id=match_id, token=match.tokens[1], own=pb.OwnTokens())
        )
        last = (
            await there.servicer.RevokeTokens(
                pb.RevokeTokensRequest(match_id=match_id, token=token, own=pb.OwnTokens())
            )
        ).token
        with pytest.raises(ServiceError, match="was revoked"):
            await there.servicer.RefreshToken(pb.RefreshTokenRequest(match_id=match_id, token=token))
        fresh = (await here.servicer.RefreshToken(pb.RefreshTokenRequest(match_id=match_id, token=last))).token
        assert fresh == last


async def test_a_seat_that_was_given_up_at_one_replica_is_taken_at_another_with_a_token_that_is_good(
    postgres_url: str,
) -> None:
    late = PostgresSettings(floor_tick_s=3600)
    async with PostgresStore(postgres_url, late) as first, PostgresStore(postgres_url, late) as second:
        here, there = replica(first, Clock()), replica(second, Clock())
        created = await here.servicer.CreateMatch(pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=2))
        join = pb.JoinMatchRequest(match_id=created.match_id)
        before = (await here.servicer.JoinMatch(join)).token
        act = pb.Act(match_id=created.match_id, token=before, request_id=request_id())
        await here.servicer.LeaveMatch(pb.LeaveMatchRequest(act=act))
        token = (await there.servicer.JoinMatch(join)).token
        refresh = pb.RefreshTokenRequest(match_id=created.match_id, token=token)
        assert (await here.servicer.RefreshToken(refresh)).token == token


async def test_an_invitation_made_after_a_revocation_at_another_replica_is_good(postgres_url: str) -> None:
    late = PostgresSettings(floor_tick_s=3600)
    async with PostgresStore(postgres_url, late) as first, PostgresStore(postgres_url, late) as second:
        here, there = replica(first, Clock()), replica(second, Clock())
        created = await here.servicer.CreateMatch(
            pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=2, private=True)
        )
        await here.servicer.RevokeTokens(
            pb.RevokeTokensRequest(match_id=created.match_id, token=created.owner_token, invitations=pb.Invitations())
        )
        invited = await there.servicer.CreateInvitation(
            pb.CreateInvitationRequest(match_id=created.match_id, owner_token=created.owner_token)
        )
        join = pb.JoinMatchRequest(match_id=created.match_id, invitation=invited.invitation)
        assert (await here.servicer.JoinMatch(join)).token


async def test_a_deadline_is_met_by_any_replica_and_makes_one_record(postgres_url: str) -> None:
    """The replica that armed the timers has gone; two others, which never saw the match, fire them at once."""
    async with replicas(postgres_url, 3) as tables:
        match = await start_with_clock(tables[0])
        for table in tables:
            table.clock.now_us += 11 * SECOND
        fired = await asyncio.gather(*(table.host.fire_due(match.match_id) for table in tables[1:]))
        assert sum(fired) == 2, "one record for each seat"
        records = await ledger(tables[0].host.store, match.match_id)
        by_timer = [cause for cause in causes(records) if cause.kind == record_pb2.CAUSE_KIND_TIMER]
        assert [cause.seat for cause in by_timer] == [0, 1]
        assert nothing_wrong(records)


async def test_running_servers_fire_a_deadline_once(postgres_url: str) -> None:
    """By the clock of the wall, each server by itself."""
    async with servers(postgres_url, deadline_tick_s=0.05) as (here, there):
        async with AsyncClient(here.address) as client:
            created = await client.matches.create(
                "nimmt",
                seats=2,
                options=ONE_ROUND.nimmt,
                clock=record_pb2.Clock(turn_us=SECOND // 5),
                on_timeout=clocks.FIRST_LEGAL,
                mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
            )
            for seat in range(2):
                await client.matches.join(created.match_id, seat)
            begun = wall_clock()
            async with await client.matches.watch_match(created.match_id) as watched:
                async with asyncio.timeout(10):
                    async for item in watched.watch():
                        if isinstance(item, Recorded) and wall_clock() - begun > 0.9 * SECOND:
                            break
        for each in (here, there):
            records = await ledger(each.host.store, created.match_id)
            assert nothing_wrong(records)
        fired = [cause for cause in causes(records) if cause.kind == record_pb2.CAUSE_KIND_TIMER]
        assert len(fired) >= 4
        assert len({(cause.seat, cause.request_id) for cause in fired}) == len(fired)


async def test_a_hub_passes_on_only_what_somebody_follows() -> None:
    """Wake-ups name every match of the database."""
    async with MemoryStore() as store:
        server = Server(Settings(listen="127.0.0.1:0", store="memory:"), store=store)
        async with server:
            table = replica(store, timing=WatchTiming(tick_s=3600, heartbeat_s=3600))
            match = await table.start()
            news: list[object] = []
            table.host.hub.on_news = news.append
            table.host.hub.heard([bytes(16)])
            table.host.hub.heard(None)
            assert news == []
            live = table.watch(match.match_id)
            await anext(live)
            table.host.hub.heard([bytes(16), match.match_id])
            table.host.hub.heard(None)
            assert [list(each) for each in news] == [[match.match_id], [match.match_id]]  # type: ignore[call-overload]
            await live.aclose()


async def test_a_server_says_plainly_why_it_cannot_start(postgres_url: str) -> None:
    settings = Settings(
        listen="127.0.0.1:0", store=postgres_url, postgres_require_synchronous_standby="yes", origin="test.example"
    )
    with pytest.raises(StoreError, match="set synchronous_standby_names in the database"):
        await Server(settings, keyring=KEYRING).start()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"postgres_wakeups": "perhaps"}, "postgres_wakeups must be yes or no"),
        ({"postgres_readers": 0}, "postgres_readers must be between 1 and 1000"),
    ],
)
def test_settings_of_the_store_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**change)


def test_settings_never_show_a_password() -> None:
    url = "postgresql://u:hunter2@host/db"
    settings = Settings(store=url, postgres_direct=url)
    assert settings.postgres == PostgresSettings(direct=url)
    assert "hunter2" not in repr(settings) + repr(settings.postgres)
