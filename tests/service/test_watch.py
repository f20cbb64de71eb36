"""Following a match: nothing gets lost, and what is sent depends on ledger and viewer alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from sixledger.ledger.folding import begin
from sixledger.ledger.heads import SignedHead
from sixledger.ledger.whole import WholeRecord
from sixledger.service import redaction
from sixledger.service import watch as watching
from sixledger.service.errors import ServiceError
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.hub import Hub
from sixledger.service.watch import WatchTiming
from sixledger.v1 import error_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import hosting, replica
from support.openings import add_openings
from support.servers import TWO_ROUNDS, memory_settings, serving, start, watched

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")


def records_of(items: list[pb.WatchMatchResponse]) -> list[bytes]:
    """The records of a watch with what came with them, without heads."""
    found = []
    for item in items:
        if item.HasField("record"):
            item.record.ClearField("head")
            found.append(item.record.SerializeToString())
    return found


def kinds_of(items: list[pb.WatchMatchResponse]) -> list[str]:
    """The kinds of the items that are no records."""
    return [str(kind) for item in items if (kind := item.WhichOneof("item")) != "record"]


async def caught_up(watch: AsyncGenerator[pb.WatchMatchResponse, None]) -> list[pb.WatchMatchResponse]:
    """The items of a watch until it has caught up: what follows is live."""
    items = [await anext(watch)]
    while not items[-1].HasField("caught_up"):
        items.append(await anext(watch))
    return items


async def test_resuming_at_every_record_gives_the_same_suffix() -> None:
    """For every viewer and every first record, live or later, from memory or from the store."""
    async with hosting() as (table, store):
        match = await table.start(options=TWO_ROUNDS)
        viewers = ["", *match.tokens]
        live = [table.watch(match.match_id, token=token) for token in viewers]
        items = [await caught_up(watch) for watch in live]
        following = [asyncio.create_task(watched(watch)) for watch in live]
        while not (await table.host.hosted(match.match_id)).match.over:
            await table.play(match, 1)
            await asyncio.sleep(0)
        complete = [records_of(past + await future) for past, future in zip(items, following, strict=True)]
        count = len(complete[0])
        fresh = replica(store, table.clock)
        for token, expected in zip(viewers, complete, strict=True):
            for first in range(count + 1):
                for side in (table, fresh):
                    again = await watched(side.watch(match.match_id, token=token, first_seq=first))
                    assert records_of(again) == expected[first:]
                    assert kinds_of(again) == ["caught_up", "ended"]


async def test_records_and_late_openings_add_up_to_what_can_be_read_now() -> None:
    """After the match a watcher holds exactly what ListRecords gives: the whole ledger."""
    async with hosting() as (table, _):
        match = await table.start(options=TWO_ROUNDS)
        await table.play(match)
        for token in ("", match.tokens[0]):
            held: list[record_pb2.Record] = []
            async for item in table.watch(match.match_id, token=token):
                if item.HasField("record"):
                    held.append(item.record.record)
                    for late in item.record.late_openings:
                        add_openings(held[late.seq], list(late.openings))
            request = pb.ListRecordsRequest(match_id=match.match_id, token=token, page_size=1000)
            assert list((await table.servicer.ListRecords(request)).records) == held
            assert all(len(record.openings) == len(record.seals) for record in held)


async def test_a_snapshot_shows_the_view_and_goes_on_after_it() -> None:
    """The first item is the viewer's view now; then come the records after it, and no older ones."""
    async with hosting() as (table, _):
        match = await table.start()
        await table.play(match, 5)
        seq = (await table.host.hosted(match.match_id)).match.seq
        watch = table.watch(match.match_id, token=match.tokens[1], snapshot=True)
        first = await anext(watch)
        assert first.snapshot.seq == seq
        view = await table.servicer.GetView(pb.GetViewRequest(match_id=match.match_id, token=match.tokens[1]))
        assert first.snapshot.view == view.view
        assert SignedHead.parse(first.snapshot.head).head.count == seq + 1
        assert (await anext(watch)).HasField("caught_up")
        await table.play(match, 1)
        live = await anext(watch)
        assert record_pb2.Body.FromString(live.record.record.body).seq == seq + 1
        await watch.aclose()


async def test_a_watch_of_a_seat_can_be_folded() -> None:
    """A client that applies each record as it comes accepts every one of them."""
    async with hosting() as (table, _):
        match = await table.start(options=TWO_ROUNDS)
        await table.play(match)
        stands = None
        async for item in table.watch(match.match_id, token=match.tokens[0]):
            if item.HasField("record"):
                stands = stands or begin(item.record.record)
                stands.apply(item.record.record)
        assert stands is not None
        assert stands.over


async def test_a_lost_hint_delays_a_record_and_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hint arrives at all: the tick finds every record."""
    monkeypatch.setattr(Hub, "hint", lambda self, match_id: None)
    async with hosting() as (table, _):
        match = await table.start()
        live = table.watch(match.match_id)
        items = await caught_up(live)
        following = asyncio.create_task(watched(live))
        await asyncio.sleep(0.01)
        await table.play(match)
        async with asyncio.timeout(10):
            items += await following
        count = (await table.host.hosted(match.match_id)).match.seq + 1
        assert len(records_of(items)) == count


async def test_a_hint_brings_a_record_at_once() -> None:
    """With a tick of an hour the watcher of the same process still gets every record."""
    async with hosting(timing=WatchTiming(tick_s=3600, heartbeat_s=3600)) as (table, _):
        match = await table.start()
        live = table.watch(match.match_id)
        items = await caught_up(live)
        following = asyncio.create_task(watched(live))
        await asyncio.sleep(0.01)
        await table.play(match)
        async with asyncio.timeout(10):
            items += await following
        assert kinds_of(items) == ["caught_up", "ended"]


async def test_records_of_another_replica_arrive() -> None:
    """The watcher is at one replica, the players at another: the watcher's replica reads the store."""
    async with hosting() as (table, store):
        other = replica(store, table.clock)
        match = await table.start()
        live = other.watch(match.match_id)
        items = await caught_up(live)
        following = asyncio.create_task(watched(live))
        await asyncio.sleep(0.01)
        await table.play(match)
        async with asyncio.timeout(10):
            items += await following
        assert len(records_of(items)) == (await table.host.hosted(match.match_id)).match.seq + 1


async def test_a_watcher_who_does_not_read_gets_everything_later() -> None:
    """Nothing is queued for a watcher who takes one item and then nothing until the match is over."""
    async with hosting() as (table, _):
        match = await table.start()
        slow = table.watch(match.match_id)
        first = await anext(slow)
        await table.play(match)
        items = [first, *[item async for item in slow]]
        assert records_of(items) == records_of(await watched(table.watch(match.match_id)))


async def test_silence_is_filled_with_heartbeats() -> None:
    """A match in which nothing happens sends heartbeats with the server's time."""
    async with serving(memory_settings(heartbeat_s=0.05)) as (_, client):
        table = await start(client)
        call = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id, snapshot=True))
        items = await watched(call, 4)
        assert kinds_of(items) == ["snapshot", "caught_up", "heartbeat", "heartbeat"]
        assert items[3].heartbeat.time_us > items[2].heartbeat.time_us
        call.cancel()


async def test_watching_from_beyond_the_end_is_malformed() -> None:
    """The next record may be asked for, one after it may not."""
    async with hosting() as (table, _):
        match = await table.start()
        count = (await table.host.hosted(match.match_id)).match.seq + 1
        watch = table.watch(match.match_id, first_seq=count)
        assert (await anext(watch)).HasField("caught_up")
        await watch.aclose()
        with pytest.raises(ServiceError) as caught:
            await anext(table.watch(match.match_id, first_seq=count + 1))
        assert caught.value.reason == error_pb2.REASON_MALFORMED
        assert caught.value.violations[0][0] == "first_seq"


async def test_nothing_stays_registered() -> None:
    """A watch that ends, or whose client leaves, is forgotten."""
    async with serving() as (server, client):
        table = await start(client)
        call = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
        await watched(call, 2)
        assert server.host.hub.watched(table.match_id)
        call.cancel()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not server.host.hub.watched(table.match_id):
                break
        assert not server.host.hub.watched(table.match_id)


async def test_an_item_is_made_once_for_all_who_may_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty spectators and both seats follow a match live: each record is redacted once for each of the three."""
    made: list[tuple[int, int | None]] = []
    original = redaction.item_for

    async def counted(
        host: MatchHost, hosted: Hosted, seq: int, record: WholeRecord, viewer: int | None, *, with_head: bool
    ) -> bytes:
        made.append((seq, viewer))
        return await original(host, hosted, seq, record, viewer, with_head=with_head)

    monkeypatch.setattr(watching, "item_for", counted)
    async with hosting(timing=WatchTiming(tick_s=0.02, heartbeat_s=5, head_s=3600)) as (table, _):
        match = await table.start()
        live = [table.watch(match.match_id, snapshot=True) for _ in range(30)]
        live += [table.watch(match.match_id, token=token, snapshot=True) for token in match.tokens]
        for watch in live:
            await caught_up(watch)
        following = [asyncio.create_task(watched(watch)) for watch in live]
        while not (await table.host.hosted(match.match_id)).match.over:
            await table.play(match, 1)
            await asyncio.sleep(0)
        items = await asyncio.gather(*following)
        assert records_of(items[0])
        assert all(records_of(each) == records_of(items[0]) for each in items[:30])
        assert len(made) == len(set(made)) == 3 * len(records_of(items[0]))
