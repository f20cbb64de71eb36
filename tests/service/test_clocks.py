"""Timers of hosted matches: who fires them, when, and that exactly one record results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sixledger.ledger import clocks
from sixledger.ledger.verify import verify_records
from sixledger.service.errors import ServiceError
from sixledger.service.store import Entry, MemoryStore, SqliteStore, StoreError
from sixledger.service.timekeeper import Timekeeper
from sixledger.v1 import engine_service_pb2, error_pb2, record_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import Clock, Replica, StartedMatch, StoreAround, hosting, ledger_of, replica, request_id
from support.servers import ONE_ROUND, client_of, failing, memory_settings, serving

SECOND = 1_000_000
TURNS = record_pb2.Clock(turn_us=10 * SECOND)
TIMER = record_pb2.CAUSE_KIND_TIMER


async def create(table: Replica, seats: int = 2, **fields: Any) -> pb.CreateMatchResponse:
    request = pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=seats, **fields)
    return await table.servicer.CreateMatch(request)


async def start(
    table: Replica, seats: int = 2, *, policy: Any = clocks.FIRST_LEGAL, clock: Any = TURNS
) -> StartedMatch:
    """A match that has started, with a clock."""
    mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
    created = await create(table, seats, mode=mode, clock=clock, timeout_policy=policy)
    joins = [pb.JoinMatchRequest(match_id=created.match_id, seat=seat) for seat in range(seats)]
    tokens = [(await table.servicer.JoinMatch(join)).token for join in joins]
    return StartedMatch(created.match_id, created.owner_token, tokens)


async def until(condition: Callable[[], Awaitable[Any]]) -> None:
    """Wait until something holds, five seconds at most."""
    for _ in range(500):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


async def bodies(store: StoreAround, match_id: bytes) -> list[record_pb2.Body]:
    stored = await ledger_of(store, match_id)
    return [record_pb2.Body.FromString(record_pb2.Record.FromString(data).body) for data in stored]


async def timers(store: StoreAround, match_id: bytes) -> list[record_pb2.Body]:
    """The records that timers caused."""
    return [body for body in await bodies(store, match_id) if body.cause.kind == TIMER]


async def verdict(store: StoreAround, match_id: bytes) -> int:
    stored = [record_pb2.Record.FromString(data) for data in await ledger_of(store, match_id)]
    return verify_records(stored).verdict


async def refused(call: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await call
    return caught.value


# -- firing ----------------------------------------------------------------------------------------


async def test_a_seat_that_does_not_act_in_time_is_played_for() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        keeper = Timekeeper(table.host)
        table.clock.now_us += 10 * SECOND
        await keeper.tick()
        assert await timers(store, match.match_id) == []  # at the deadline itself the seat is in time
        await table.servicer.SubmitCommand(await table.request(match))
        table.clock.now_us += 1
        await keeper.tick()
        (body,) = await timers(store, match.match_id)
        assert (body.cause.seat, body.time_us) == (1, table.clock.now_us)


async def test_a_late_command_is_refused_and_the_timer_comes_first() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        request = await table.request(match)
        table.clock.now_us += 10 * SECOND + 1
        error = await refused(table.servicer.SubmitCommand(request))
        assert error.reason == error_pb2.REASON_ILLEGAL_COMMAND
        assert error.metadata["rule"] == "too_late"
        assert [body.cause.seat for body in await timers(store, match.match_id)] == [0, 1]
        again = await refused(table.servicer.SubmitCommand(request))
        assert again.reason in (error_pb2.REASON_STALE_DECISION, error_pb2.REASON_ILLEGAL_COMMAND)


async def test_a_command_that_was_in_time_is_found_again_after_the_deadline() -> None:
    async with hosting() as (table, _):
        match = await start(table)
        request = await table.request(match)
        first = await table.servicer.SubmitCommand(request)
        table.clock.now_us += 60 * SECOND
        assert (await table.servicer.SubmitCommand(request)).record == first.record


async def test_the_seats_that_are_late_forfeit_before_another_seat_acts() -> None:
    async with hosting() as (table, store):
        match = await start(table, 3, policy=clocks.FORFEIT)
        request = await table.request(match, index=2)
        table.clock.now_us += 11 * SECOND
        error = await refused(table.servicer.SubmitCommand(request))
        assert error.reason == error_pb2.REASON_ILLEGAL_COMMAND
        assert [body.lifecycle[0].forfeited.seat for body in await timers(store, match.match_id)] == [0]
        assert (await table.servicer.GetMatch(pb.GetMatchRequest(match_id=match.match_id))).match.status == (
            pb.MATCH_STATUS_ENDED
        )
        assert await verdict(store, match.match_id) == replay_service_pb2.VERDICT_VALID


async def test_two_replicas_that_fire_at_once_make_one_record() -> None:
    async with hosting() as (table, store):
        other = replica(store, table.clock)
        match = await start(table)
        await other.host.fresh(match.match_id)
        table.clock.now_us += 11 * SECOND
        keepers = [Timekeeper(table.host), Timekeeper(other.host), Timekeeper(replica(store, table.clock).host)]
        await asyncio.gather(*(keeper.tick() for keeper in keepers))
        assert [body.cause.seat for body in await timers(store, match.match_id)] == [0, 1]


async def test_whoever_was_slower_is_in_time_for_the_next_timer() -> None:
    """Two looks at once, of one process or of two: the one that finds nothing left to do does not turn away."""
    async with hosting() as (table, store):
        await start(table)
        one, two = Timekeeper(table.host), Timekeeper(replica(store, table.clock).host)
        for turn in range(4):
            table.clock.now_us += 11 * SECOND
            await asyncio.gather(one.tick(), one.tick(), two.tick())
            table.clock.now_us += 11 * SECOND
            await (one, two)[turn % 2].tick()
            (due,) = await store.deadlines(after=None, limit=9)
            assert due.deadline_us > table.clock.now_us


async def test_a_replica_that_loses_the_race_goes_on_from_the_record_of_the_other() -> None:
    """Between deciding and appending another replica fires the same timer, with another time."""
    async with hosting() as (table, store):
        other = replica(store.inner, Clock())
        match = await start(table)
        other.clock.now_us = table.clock.now_us + 30 * SECOND
        table.clock.now_us += 11 * SECOND

        async def other_first(entry: Entry) -> None:
            store.before_append = None
            await other.host.fire_due(match.match_id)

        store.before_append = other_first
        assert await table.host.fire_due(match.match_id) == 0
        fired = await timers(store, match.match_id)
        assert [(body.cause.seat, body.time_us) for body in fired] == [(0, other.clock.now_us), (1, other.clock.now_us)]


async def test_a_crash_before_the_commit_loses_nothing() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        table.clock.now_us += 11 * SECOND

        async def crash(entry: Entry) -> None:
            raise StoreError("gone")

        store.before_append = crash
        await Timekeeper(table.host).tick()  # it is logged, and tried again
        assert await timers(store, match.match_id) == []
        store.before_append = None
        await Timekeeper(replica(store, table.clock).host).tick()
        assert len(await timers(store, match.match_id)) == 2


async def test_a_store_that_was_away_delays_a_timer_by_a_tick_and_no_more() -> None:
    """It is no fault of the match, whose time has come as soon as the store is back."""
    async with hosting() as (table, store):
        match = await start(table)
        table.clock.now_us += 11 * SECOND

        async def away(entry: Entry) -> None:
            raise StoreError("the store is away")

        store.before_append = away
        keeper = Timekeeper(table.host, tick_s=0.01)
        await keeper.tick()
        assert await timers(store, match.match_id) == []
        store.before_append = None
        await asyncio.sleep(0.02)
        await keeper.tick()
        assert [body.cause.seat for body in await timers(store, match.match_id)] == [0, 1]


async def test_a_crash_after_the_commit_does_not_fire_twice() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        table.clock.now_us += 11 * SECOND

        async def crash(entry: Entry) -> None:
            store.after_append = None
            raise StoreError("the answer got lost")

        store.after_append = crash
        await Timekeeper(table.host).tick()
        assert len(await timers(store, match.match_id)) == 1
        await Timekeeper(table.host).tick()
        await Timekeeper(replica(store, table.clock).host).tick()
        assert [body.cause.seat for body in await timers(store, match.match_id)] == [0, 1]


async def test_a_store_that_is_opened_again_knows_its_deadlines(tmp_path: Path) -> None:
    clock = Clock()
    async with SqliteStore(tmp_path / "matches.db") as store:
        match = await start(replica(store, clock))
    clock.now_us += 3600 * SECOND
    async with StoreAround(SqliteStore(tmp_path / "matches.db")) as store:
        await Timekeeper(replica(store, clock).host).tick()
        assert len(await timers(store, match.match_id)) == 2


async def test_the_store_keeps_the_first_deadline_and_forgets_it_at_the_end() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        stands = (await table.host.hosted(match.match_id)).match
        assert [due.deadline_us for due in await store.deadlines(after=None, limit=9)] == [stands.first_deadline_us]
        await table.play(match)
        assert await store.deadlines(after=None, limit=9) == []


async def test_a_match_that_cannot_be_read_does_not_keep_others_from_their_time() -> None:
    async with hosting() as (table, store):
        broken, fine = await start(table), await start(table)
        other = replica(store, table.clock)
        table.clock.now_us += 11 * SECOND
        store.inner._matches[broken.match_id].records[1] = b"\xff"  # type: ignore[attr-defined]
        keeper = Timekeeper(other.host)
        await keeper.tick()
        await keeper.tick()
        assert len(await timers(store, fine.match_id)) == 2


async def test_more_matches_than_a_page_are_due_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixledger.service.timekeeper._PAGE", 3)
    async with hosting() as (table, store):
        matches = [await start(table, policy=clocks.FORFEIT) for _ in range(8)]
        table.clock.now_us += 11 * SECOND
        await Timekeeper(table.host).tick()
        assert [len(await timers(store, match.match_id)) for match in matches] == [1] * 8


async def test_the_task_wakes_in_time_for_a_deadline_that_was_set_here() -> None:
    """Without waiting for the next look at the store, which is an hour away."""
    async with hosting() as (table, store):
        started = asyncio.get_running_loop().time()
        table.host.clock = lambda: 1_700_000_000_000_000 + int((asyncio.get_running_loop().time() - started) * SECOND)
        keeper = Timekeeper(table.host, tick_s=3600)
        keeper.start()
        await asyncio.sleep(0.01)
        match = await start(table, clock=record_pb2.Clock(turn_us=50_000), policy=clocks.FORFEIT)
        await until(lambda: timers(store, match.match_id))
        await keeper.close()
        (body,) = await timers(store, match.match_id)
        assert body.time_us > (await bodies(store, match.match_id))[-2].time_us + 50_000


# -- before the start ------------------------------------------------------------------------------

BEFORE = record_pb2.Clock(join_us=60 * SECOND, contribute_us=30 * SECOND, reveal_us=20 * SECOND)


async def abandoned(joined: int, committed: int = 0) -> record_pb2.MissedDeadline:
    """What happens when so many of two seats join, and so many of them commit, and all then leave."""
    async with hosting() as (table, store):
        created = await create(table, clock=BEFORE)
        for seat in range(joined):
            await table.servicer.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=seat, contributes=True))
        for seat in range(committed):
            cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=request_id())
            commitment = bytes([seat]) * 32
            action = engine_service_pb2.Action(cause=cause, time_us=table.clock(), commitment=commitment)
            await table.host.act(created.match_id, action)
        table.clock.now_us += 61 * SECOND
        await Timekeeper(table.host).tick()
        (body,) = await timers(store, created.match_id)
        assert (await table.host.hosted(created.match_id)).match.status == pb.MATCH_STATUS_ABORTED
        assert await verdict(store, created.match_id) == replay_service_pb2.VERDICT_VALID
        error = await refused(
            table.servicer.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=1, secret=b"x" * 32))
        )
        assert error.reason == error_pb2.REASON_WRONG_PHASE
        return body.lifecycle[0].aborted.missed


@pytest.mark.parametrize(
    ("joined", "committed", "timer", "seats"),
    [
        (1, 0, clocks.JOIN, []),
        (2, 0, clocks.CONTRIBUTE, [0, 1]),
        (2, 1, clocks.CONTRIBUTE, [1]),
        (2, 2, clocks.REVEAL, [0, 1]),
    ],
)
async def test_an_abandoned_table_is_aborted_and_names_who_withheld(
    joined: int, committed: int, timer: int, seats: list[int]
) -> None:
    missed = await abandoned(joined, committed)
    assert (missed.timer, list(missed.seats)) == (timer, seats)


@pytest.mark.parametrize("policy", [clocks.FIRST_LEGAL, clocks.FORFEIT])
async def test_a_table_that_all_have_left_ends(policy: Any) -> None:
    async with hosting() as (table, store):
        match = await start(table, 3, policy=policy, clock=record_pb2.Clock(bank_us=5 * SECOND))
        keeper = Timekeeper(table.host)
        for _ in range(100):
            table.clock.now_us += 6 * SECOND
            await keeper.tick()
        assert (await table.host.hosted(match.match_id)).match.status == pb.MATCH_STATUS_ENDED
        assert await verdict(store, match.match_id) == replay_service_pb2.VERDICT_VALID


async def test_bots_of_the_server_wait_while_the_match_is_paused() -> None:
    async with hosting() as (table, _):
        created = await create(table, clock=TURNS, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
        match_id, owner = created.match_id, created.owner_token
        await table.servicer.JoinMatch(pb.JoinMatchRequest(match_id=match_id, seat=0))
        await table.servicer.SeatBot(
            pb.SeatBotRequest(match_id=match_id, owner_token=owner, seat=1, request_id=request_id())
        )
        await table.servicer.PauseMatch(
            pb.PauseMatchRequest(match_id=match_id, owner_token=owner, request_id=request_id())
        )
        await asyncio.sleep(0.05)
        match = (await table.host.hosted(match_id)).match
        assert match.paused
        assert match.to_act == (0, 1)
        await table.servicer.ResumeMatch(
            pb.ResumeMatchRequest(match_id=match_id, owner_token=owner, request_id=request_id())
        )

        async def bot_has_chosen() -> bool:
            return (await table.host.hosted(match_id)).match.to_act == (0,)

        await until(bot_has_chosen)
        await table.servicer.bots.close()


# -- pausing ---------------------------------------------------------------------------------------


async def test_the_owner_pauses_and_resumes_and_each_act_is_idempotent() -> None:
    async with hosting() as (table, store):
        match = await start(table)
        request = await table.request(match)
        pause = pb.PauseMatchRequest(match_id=match.match_id, owner_token=match.owner_token, request_id=request_id())
        table.clock.now_us += 9 * SECOND
        first = await table.servicer.PauseMatch(pause)
        assert (await table.servicer.PauseMatch(pause)).record == first.record
        table.clock.now_us += 1800 * SECOND
        await Timekeeper(table.host).tick()
        assert await timers(store, match.match_id) == []
        assert (await refused(table.servicer.SubmitCommand(request))).reason == error_pb2.REASON_PAUSED
        assert await store.deadlines(after=None, limit=9) == []
        resume = pb.ResumeMatchRequest(match_id=match.match_id, owner_token=match.owner_token, request_id=request_id())
        second = await table.servicer.ResumeMatch(resume)
        assert (await table.servicer.ResumeMatch(resume)).record == second.record
        table.clock.now_us += 1 * SECOND
        await table.servicer.SubmitCommand(request)
        table.clock.now_us += 1
        await Timekeeper(table.host).tick()
        assert [body.cause.seat for body in await timers(store, match.match_id)] == [1]


async def test_only_the_owner_pauses() -> None:
    async with hosting() as (table, _):
        match = await start(table)
        match_id, token = match.match_id, match.tokens[0]
        pause = pb.PauseMatchRequest(match_id=match_id, owner_token=token, request_id=request_id())
        resume = pb.ResumeMatchRequest(match_id=match_id, owner_token=token, request_id=request_id())
        assert (await refused(table.servicer.PauseMatch(pause))).reason == error_pb2.REASON_FOREIGN_SEAT
        assert (await refused(table.servicer.ResumeMatch(resume))).reason == error_pb2.REASON_FOREIGN_SEAT


# -- what is shown ---------------------------------------------------------------------------------


async def test_views_show_how_the_clocks_stand() -> None:
    async with hosting() as (table, _):
        match = await start(table, clock=record_pb2.Clock(turn_us=10 * SECOND, bank_us=60 * SECOND))
        await table.servicer.SubmitCommand(await table.request(match))
        table.clock.now_us += 4 * SECOND
        view = await table.servicer.GetView(pb.GetViewRequest(match_id=match.match_id))
        info = (await table.servicer.GetMatch(pb.GetMatchRequest(match_id=match.match_id))).match
        items = [item async for item in _until_caught_up(table, match.match_id)]
        assert view.clock == info.clock == items[0].snapshot.clock
        assert items[1].caught_up.time_us == view.clock.time_us == table.clock.now_us
        assert [seat.running for seat in view.clock.seats] == [False, True]
        assert [seat.remaining_us for seat in view.clock.seats] == [10 * SECOND, 6 * SECOND]
        assert [seat.bank_us for seat in view.clock.seats] == [60 * SECOND, 56 * SECOND]
        assert view.clock.deadline_us == table.clock.now_us + 6 * SECOND
        assert view.clock.timer == clocks.TURN


async def _until_caught_up(table: Replica, match_id: bytes) -> AsyncIterator[pb.WatchMatchResponse]:
    items = table.watch(match_id, snapshot=True)
    async for item in items:
        yield item
        if item.HasField("caught_up"):
            break
    await items.aclose()


async def test_a_match_without_limits_shows_no_clock() -> None:
    async with hosting() as (table, _):
        match = await table.start()
        assert not (await table.servicer.GetView(pb.GetViewRequest(match_id=match.match_id))).HasField("clock")


async def test_the_same_creation_has_the_same_clock() -> None:
    async with hosting() as (table, _):
        first = await create(table, secret=b"s" * 32, clock=TURNS)
        assert (await create(table, secret=b"s" * 32, clock=TURNS, timeout_policy=clocks.NONE)).record == first.record
        other = record_pb2.Clock(turn_us=5)
        others: list[dict[str, Any]] = [{"clock": other}, {}, {"clock": TURNS, "timeout_policy": clocks.FORFEIT}]
        for fields in others:
            error = await refused(create(table, secret=b"s" * 32, **fields))
            assert error.reason == error_pb2.REASON_REQUEST_ID_REUSED


async def test_limits_that_make_no_sense_are_malformed() -> None:
    async with hosting() as (table, _):
        error = await refused(create(table, clock=record_pb2.Clock(increment_us=5)))
        assert error.reason == error_pb2.REASON_MALFORMED
        assert error.violations == (("clock.increment_us", "needs a bank_us to be added to"),)


# -- over a socket ---------------------------------------------------------------------------------


async def test_two_servers_on_one_store_fire_once() -> None:
    clock = Clock()
    async with MemoryStore() as store:
        settings = memory_settings(deadline_tick_s=0.02)
        async with (
            serving(settings, store=store, clock=clock) as (_, client),
            serving(settings, store=store, clock=clock) as (second, _),
            client_of(second) as other,
        ):
            request = pb.CreateMatchRequest(
                game="nimmt",
                seats=2,
                options=ONE_ROUND,
                mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
                clock=TURNS,
                timeout_policy=clocks.FORFEIT,
            )
            match_id = (await client.match.CreateMatch(request)).match_id
            for seat in range(2):
                await client.match.JoinMatch(pb.JoinMatchRequest(match_id=match_id, seat=seat))
            items = other.match.WatchMatch(pb.WatchMatchRequest(match_id=match_id))
            clock.now_us += 11 * SECOND
            async with asyncio.timeout(10):
                kinds = [item.WhichOneof("item") async for item in items]
            assert kinds[-1] == "ended"
            stored = await store.records(match_id, 0, 99)
            found = [record_pb2.Body.FromString(record_pb2.Record.FromString(data).body) for data in stored]
            assert sum(body.cause.kind == TIMER for body in found) == 1
            late = pb.PauseMatchRequest(match_id=match_id, owner_token="x", request_id=bytes(16))
            assert (await failing(client.match.PauseMatch(late))).reason == "BAD_TOKEN"
