"""Matches that came back from a backup can be read and aborted, and nothing else."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sixledger.ledger import clocks
from sixledger.ledger.verify import verify_records
from sixledger.service.bots import UNFINISHED
from sixledger.service.errors import ServiceError
from sixledger.service.restored import is_restored, mark, with_status
from sixledger.service.store import SqliteStore, Store, open_store
from sixledger.service.timekeeper import Timekeeper
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import Clock, Replica, StartedMatch, replica, request_id
from support.postgres import empty
from support.servers import ONE_ROUND

SECOND = 1_000_000
RESTORED = error_pb2.REASON_RESTORED


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty store of each kind."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'matches.db'}"


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    if url.startswith("postgresql"):
        await empty(url)
    async with open_store(url) as opened:
        yield opened


async def refused(call: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await call
    return caught.value


async def records(store: Store, match_id: bytes) -> list[record_pb2.Record]:
    return [record_pb2.Record.FromString(data) for data in await store.records(match_id, 0, 1000)]


async def info(table: Replica, match: StartedMatch) -> pb.MatchInfo:
    return (await table.servicer.GetMatch(pb.GetMatchRequest(match_id=match.match_id))).match


def abort(match: StartedMatch) -> pb.AbortMatchRequest:
    return pb.AbortMatchRequest(match_id=match.match_id, owner_token=match.owner_token, request_id=request_id())


async def test_no_act_gets_a_record_and_none_is_lost(store: Store) -> None:
    table = replica(store)
    match = await table.start()
    await table.play(match, 2)
    again, new = await table.request(match), await table.request(match)
    answered = await table.servicer.SubmitCommand(again)
    await mark(store, match.match_id)
    before = await records(store, match.match_id)
    for token in match.tokens:
        act = pb.Act(match_id=match.match_id, token=token, request_id=request_id())
        assert (await refused(table.servicer.ResignMatch(pb.ResignMatchRequest(act=act)))).reason == RESTORED
    error = await refused(table.servicer.SubmitCommand(new))
    assert error.reason == RESTORED
    assert error.metadata == {"match": match.match_id.hex()}
    pause = pb.PauseMatchRequest(match_id=match.match_id, owner_token=match.owner_token, request_id=request_id())
    assert (await refused(table.servicer.PauseMatch(pause))).reason == RESTORED
    assert await table.servicer.SubmitCommand(again) == answered  # what was recorded is answered as before
    assert await records(store, match.match_id) == before


async def test_it_can_be_read_as_before(store: Store) -> None:
    table = replica(store)
    match = await table.start()
    await table.play(match, 3)
    view = pb.GetViewRequest(match_id=match.match_id, token=match.tokens[0])
    before = await info(table, match), await table.servicer.GetView(view)
    await mark(store, match.match_id)
    after = await info(table, match), await table.servicer.GetView(view)
    assert after[0].restored
    assert not before[0].restored
    after[0].restored = False
    assert after == before
    exported = b"".join(
        [piece.chunk async for piece in table.servicer.ExportLedger(pb.ExportLedgerRequest(match_id=match.match_id))]
    )
    assert exported.count(b'"body"') == len(await records(store, match.match_id))


async def test_its_owner_aborts_it_and_the_ledger_is_valid(store: Store) -> None:
    table = replica(store)
    match = await table.start()
    await table.play(match, 2)
    await mark(store, match.match_id)
    await table.servicer.AbortMatch(abort(match))
    assert (await info(table, match)).status == pb.MATCH_STATUS_ABORTED
    assert verify_records(await records(store, match.match_id)).verdict == replay_service_pb2.VERDICT_VALID
    assert await with_status(store, UNFINISHED) == []


async def test_its_clocks_stand_still_and_cost_nobody_the_match(store: Store) -> None:
    """No timer fires, however late it is, and the abort is not preceded by one."""
    clock = Clock()
    table = replica(store, clock)
    created = await table.servicer.CreateMatch(
        pb.CreateMatchRequest(
            game="nimmt",
            options=ONE_ROUND,
            seats=2,
            mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
            clock=record_pb2.Clock(turn_us=SECOND),
            timeout_policy=clocks.FORFEIT,
        )
    )
    joins = [pb.JoinMatchRequest(match_id=created.match_id, seat=seat) for seat in range(2)]
    match = StartedMatch(
        created.match_id, created.owner_token, [(await table.servicer.JoinMatch(join)).token for join in joins]
    )
    await mark(store, match.match_id)
    before = await records(store, match.match_id)
    clock.now_us += 3600 * SECOND
    await Timekeeper(table.host).tick()
    assert await table.host.fire_due(match.match_id) == 0
    assert await records(store, match.match_id) == before
    await table.servicer.AbortMatch(abort(match))
    kept = await records(store, match.match_id)
    assert len(kept) == len(before) + 1
    assert (await info(table, match)).status == pb.MATCH_STATUS_ABORTED
    assert verify_records(kept).verdict == replay_service_pb2.VERDICT_VALID


async def test_bots_leave_it_alone(store: Store) -> None:
    table = replica(store)
    created = await table.servicer.CreateMatch(
        pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
    )
    await table.servicer.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=0))
    bot = pb.SeatBotRequest(match_id=created.match_id, owner_token=created.owner_token, seat=1, request_id=request_id())
    await table.servicer.SeatBot(bot)
    await table.servicer.bots.close()
    await mark(store, created.match_id)
    before = await records(store, created.match_id)
    again = replica(store)
    again.servicer.bots.start()
    await asyncio.sleep(0.2)
    assert again.servicer.bots.matches == 0
    await again.servicer.bots.close()
    assert await records(store, created.match_id) == before


async def test_finished_matches_and_later_ones_are_not_concerned(store: Store) -> None:
    table = replica(store)
    ended, running = await table.start(), await table.start()
    await table.play(ended)
    for match_id in await with_status(store, UNFINISHED):
        await mark(store, match_id)
    later = await table.start()
    assert [is_restored(store, each.match_id) for each in (ended, running, later)] == [False, True, False]
    await table.play(later)
    assert not (await info(table, ended)).restored


async def test_nobody_is_shown_a_seat_that_cannot_be_taken(store: Store) -> None:
    table = replica(store)
    ask = pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=2)
    created = [(await table.servicer.CreateMatch(ask)).match_id for _ in range(5)]
    for match_id in created[1:4]:
        await mark(store, match_id)
    seen, token = [], ""
    while True:
        request = pb.ListMatchesRequest(free_seats=True, page_size=2, page_token=token)
        page = await table.servicer.ListMatches(request)
        seen += [each.match_id for each in page.matches]
        token = page.next_page_token
        if not token:
            break
    assert sorted(seen) == sorted([created[0], created[4]])
    assert len((await table.servicer.ListMatches(pb.ListMatchesRequest())).matches) == 5
    join = pb.JoinMatchRequest(match_id=created[1], seat=0)
    assert (await refused(table.servicer.JoinMatch(join))).reason == RESTORED


async def test_the_mark_survives_in_the_file_and_a_copy_without_it_is_playable(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "matches.db") as store:
        table = replica(store)
        match = await table.start()
    shutil.copy(tmp_path / "matches.db", tmp_path / "copy.db")
    async with SqliteStore(tmp_path / "matches.db") as store:
        await mark(store, match.match_id)
    async with SqliteStore(tmp_path / "matches.db") as store:
        table = replica(store)
        assert (await refused(table.play(match, 1))).reason == RESTORED
    async with SqliteStore(tmp_path / "copy.db") as store:
        await replica(store).play(match, 1)
