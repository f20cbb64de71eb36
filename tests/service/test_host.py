"""The match host on a store that fails, loses and lies on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sixledger.engine.registry import Registry
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import wire
from sixledger.ledger.records import redact
from sixledger.service.errors import ServiceError
from sixledger.service.store import Entry, MemoryStore, SqliteStore, Store, StoreError
from sixledger.v1 import error_pb2, game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import Clock, Replica, StartedMatch, hosting, ledger_of, replica
from support.servers import TWO_ROUNDS


async def standing(table: Replica, match: StartedMatch) -> tuple[int, bytes, bytes]:
    """Number and hash of the last record, and the whole position."""
    stands = (await table.host.hosted(match.match_id)).match
    return stands.seq, stands.hash, stands.game.position(stands.state).SerializeToString()


async def reason(call: object) -> int:
    """Why a call fails."""
    with pytest.raises(ServiceError) as caught:
        await call  # type: ignore[misc]
    return caught.value.reason


async def test_a_failed_append_leaves_no_trace() -> None:
    """The store refuses: the caller hears UNAVAILABLE's cause, nothing has changed, the same request then works."""
    async with hosting() as (table, store):
        match = await table.start()
        before = await standing(table, match)
        request = await table.request(match)

        async def fail(entry: Entry) -> None:
            raise StoreError("disk full")

        store.before_append = fail
        with pytest.raises(StoreError):
            await table.servicer.SubmitCommand(request)
        assert await standing(table, match) == before
        store.before_append = None
        await table.servicer.SubmitCommand(request)
        assert (await standing(table, match))[0] == before[0] + 1


async def test_an_exception_while_deciding_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the rules after some events: the match stands where it stood, and can go on."""
    async with hosting() as (table, _):
        match = await table.start()
        await table.servicer.SubmitCommand(await table.request(match))
        before = await standing(table, match)
        request = await table.request(match)
        game = (await table.host.hosted(match.match_id)).match.game
        evolve, calls = game.evolve, 0

        def fail(state: object, event: object) -> None:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise RuntimeError("a defect")
            evolve(state, event)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(type(game), "evolve", lambda self, state, event: fail(state, event))
            with pytest.raises(RuntimeError):
                await table.servicer.SubmitCommand(request)
        assert calls == 3
        assert await standing(table, match) == before
        await table.servicer.SubmitCommand(request)


async def test_a_lost_race_is_decided_again_on_what_was_read() -> None:
    """Another replica appends first: the loser's record follows it, chained to it."""
    async with hosting() as (table, store):
        other = replica(store.inner, table.clock)
        match = await table.start()
        request, rival = await table.request(match, index=0), await table.request(match, index=1)

        async def lose(entry: Entry) -> None:
            store.before_append = None
            await other.servicer.SubmitCommand(rival)

        store.before_append = lose
        before = (await standing(table, match))[0]
        await table.servicer.SubmitCommand(request)
        assert (await standing(table, match))[0] == before + 2
        await other.host.fresh(match.match_id)
        assert await standing(table, match) == await standing(other, match)


async def test_losing_all_the_time_ends_with_unavailable() -> None:
    """The number of attempts is bounded, and the caller may come back with the same request."""
    async with hosting() as (table, store):
        match = await table.start()
        request = await table.request(match)

        async def lie(entry: Entry) -> None:
            object.__setattr__(entry, "seq", entry.seq + 1)

        store.before_append = lie
        assert await reason(table.servicer.SubmitCommand(request)) == error_pb2.REASON_UNAVAILABLE
        assert 1 < store.appends - 2 < 50
        store.before_append = None
        await table.servicer.SubmitCommand(request)


async def test_a_caller_that_leaves_after_the_commit_finds_its_record() -> None:
    """The append became durable although the call was cancelled: the repetition gets that record."""
    async with hosting() as (table, store):
        match = await table.start()
        request = await table.request(match)
        committed = asyncio.Event()

        async def hang(entry: Entry) -> None:
            committed.set()
            await asyncio.sleep(60)

        store.after_append = hang
        call = asyncio.create_task(table.servicer.SubmitCommand(request))
        await committed.wait()
        call.cancel()
        await asyncio.wait({call})
        store.after_append = None
        count = len(await ledger_of(store, match.match_id))
        reply = await table.servicer.SubmitCommand(request)
        assert record_pb2.Body.FromString(reply.record.body).seq == count - 1
        assert len(await ledger_of(store, match.match_id)) == count


@pytest.fixture(params=["memory", "sqlite"])
async def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A store that two hosts share."""
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "matches.db")
    async with store:
        yield store


async def test_two_replicas_racing_make_one_record_for_each_choice(shared_store: Store) -> None:
    """Both seats send each choice to both replicas at once; the ledger has each once, and both replies are equal."""
    one, two = replica(shared_store), replica(shared_store)
    match = await one.start(options=TWO_ROUNDS)
    acts = 0
    while not (stands := (await one.host.fresh(match.match_id)).match).over:
        requests = [await one.request(match, index=index) for index in range(len(stands.to_act))]
        calls = [side.servicer.SubmitCommand(request) for request in requests for side in (one, two)]
        replies = await asyncio.gather(*calls)
        for index in range(len(requests)):
            assert replies[2 * index].SerializeToString() == replies[2 * index + 1].SerializeToString()
        acts += len(requests)
    assert stands.seq + 1 == 1 + 2 + acts
    await two.host.fresh(match.match_id)
    assert await standing(one, match) == await standing(two, match)


async def test_two_different_choices_of_one_seat_give_one_record(shared_store: Store) -> None:
    """The seat's client is confused and sends two cards at once through two replicas: one of them counts."""
    one, two = replica(shared_store), replica(shared_store)
    match = await one.start()
    before = (await standing(one, match))[0]
    calls = [
        one.servicer.SubmitCommand(await one.request(match, choice=0)),
        two.servicer.SubmitCommand(await one.request(match, choice=1)),
    ]
    replies = await asyncio.gather(*calls, return_exceptions=True)
    failed = [reply for reply in replies if isinstance(reply, ServiceError)]
    assert [error.reason for error in failed] == [error_pb2.REASON_ILLEGAL_COMMAND]
    assert failed[0].metadata["rule"] == "already_chosen"
    assert (await one.host.fresh(match.match_id)).match.seq == before + 1


async def test_a_replica_reads_what_it_lacks_before_it_refuses() -> None:
    """A command for the newest decision is accepted by a replica that knew only an older one."""
    async with hosting() as (table, store):
        late = replica(store, table.clock)
        match = await table.start()
        await late.host.hosted(match.match_id)
        await table.play(match, 2)
        await late.servicer.SubmitCommand(await table.request(match))


async def test_a_match_that_left_the_cache_is_read_again() -> None:
    """With room for one match, two matches are played alternately."""
    async with hosting(cached_matches=1) as (table, _):
        matches = [await table.start(), await table.start()]
        for _ in range(5):
            for match in matches:
                await table.play(match, 1)
        assert len(table.host._cache) == 1


async def test_time_never_runs_backwards_in_a_ledger() -> None:
    """The clock is set back: records keep the last time."""
    async with hosting() as (table, store):
        match = await table.start()
        table.clock.now_us -= 1_000_000
        await table.play(match, 2)
        bodies = [record_pb2.Record.FromString(data).body for data in await ledger_of(store, match.match_id)]
        times = [record_pb2.Body.FromString(body).time_us for body in bodies]
        assert times == sorted(times)


@pytest.mark.parametrize("damage", ["flip", "cut", "drop"])
async def test_a_broken_ledger_is_data_loss(damage: str) -> None:
    """A stored record was changed: whoever reads the match hears LEDGER_BROKEN, other matches go on."""
    async with hosting() as (table, store):
        match, sound = await table.start(), await table.start()
        await table.play(match, 3)
        inner = store.inner
        assert isinstance(inner, MemoryStore)
        records = inner._matches[match.match_id].records
        kept = records[3]
        assert kept is not None, "nothing is archived"
        if damage == "flip":
            records[3] = kept[:-5] + bytes([kept[-5] ^ 1]) + kept[-4:]
        elif damage == "cut":
            records[3] = kept[:-5]
        else:
            del records[3]
        fresh = replica(store, Clock())
        view = pb.GetViewRequest(match_id=match.match_id)
        assert await reason(fresh.servicer.GetView(view)) == error_pb2.REASON_LEDGER_BROKEN
        await fresh.play(sound, 2)


@pytest.mark.parametrize("garbage", [b"\xff", wire.field(3, b"\x08\x63")], ids=["no record", "opening without seal"])
async def test_a_record_that_broke_after_it_was_folded_is_data_loss(garbage: bytes) -> None:
    """Old records are not kept in memory: whoever reads them hears LEDGER_BROKEN, the match itself goes on."""
    async with hosting() as (table, store):
        rounds = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=6)
        match = await table.start(options=game_pb2.Options(nimmt=rounds))
        await table.play(match, 100)
        assert (await table.host.hosted(match.match_id)).kept(3, 5) is None
        inner = store.inner
        assert isinstance(inner, MemoryStore)
        inner._matches[match.match_id].records[3] = garbage
        wanted = pb.ListRecordsRequest(match_id=match.match_id, first_seq=3, page_size=2)
        assert await reason(table.servicer.ListRecords(wanted)) == error_pb2.REASON_LEDGER_BROKEN
        await table.play(match, 2)


async def test_the_store_lists_status_and_taken_seats() -> None:
    """Status, number of joined seats and names change together with the records."""
    async with hosting() as (table, store):
        created = await table.servicer.CreateMatch(
            pb.CreateMatchRequest(game="nimmt", seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
        )
        row = await store.match(created.match_id)
        assert row is not None
        assert (row.status, row.joined) == (pb.MATCH_STATUS_OPEN, 0)
        for seat in range(2):
            await table.servicer.JoinMatch(
                pb.JoinMatchRequest(match_id=created.match_id, seat=seat, display_name=f"Player {seat}")
            )
        row = await store.match(created.match_id)
        assert row is not None
        assert (row.status, row.joined) == (pb.MATCH_STATUS_RUNNING, 2)
        assert await store.display_names(created.match_id) == {0: "Player 0", 1: "Player 1"}
        await table.servicer.AbortMatch(
            pb.AbortMatchRequest(match_id=created.match_id, owner_token=created.owner_token, request_id=bytes(16))
        )
        row = await store.match(created.match_id)
        assert row is not None
        assert row.status == pb.MATCH_STATUS_ABORTED


async def test_a_ruleset_of_another_release_is_not_called_broken() -> None:
    """A replica of an older release cannot play the match, but the ledger is whole."""
    async with hosting() as (table, store):
        match = await table.start()
        older = replica(store, table.clock, registry=Registry([]))
        view = pb.GetViewRequest(match_id=match.match_id)
        assert await reason(older.servicer.GetView(view)) == error_pb2.REASON_UNKNOWN_GAME


async def test_an_answer_is_byte_for_byte_the_message_of_what_the_seat_may_see() -> None:
    """Whether nothing is withheld, some openings are, or older ones come late; and again when it is asked for again."""
    async with hosting() as (table, store):
        match = await table.start(options=TWO_ROUNDS)
        asked: list[tuple[pb.SubmitCommandRequest, pb.SubmitCommandResponse]] = []
        withheld = late = 0
        while not (await table.host.fresh(match.match_id)).match.over:
            request = await table.request(match)
            data = await table.servicer.SubmitCommandEncoded(request)
            reply = pb.SubmitCommandResponse.FromString(data)
            assert reply.SerializeToString(deterministic=True) == data
            whole = record_pb2.Record.FromString((await ledger_of(store, match.match_id))[-1])
            assert (reply.record.body, reply.record.hash) == (whole.body, whole.hash)
            seat, hosted = match.tokens.index(request.act.token), await table.host.hosted(match.match_id)
            assert reply.record == redact(whole, seat, hosted.match.revealed)
            withheld += len(reply.record.openings) < len(whole.openings)
            late += len(reply.late_openings) > 0
            asked.append((request, reply))
        assert withheld
        assert late
        table.host._cache.drop(match.match_id)  # so that all is read from the store
        for request, reply in asked:
            assert await table.servicer.SubmitCommand(request) == reply
