"""Play streams: every order is answered, an error ends one item, and nobody can make the server hold much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from sixledger.ledger import wire
from sixledger.service.hub import NO_MATCH
from sixledger.service.play import play_item
from sixledger.service.server import Server
from sixledger.service.store import Entry, MemoryStore
from sixledger.v1 import error_pb2, game_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import Replica, StartedMatch, StoreAround, hosting
from support.servers import (
    TWO_ROUNDS,
    HostedTable,
    client_of,
    create,
    failing,
    memory_settings,
    serving,
    start,
    watched,
)

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")


class Stream:
    """A play stream of a servicer, orders in and items out."""

    def __init__(self, table: Replica) -> None:
        self._orders: asyncio.Queue[pb.PlayRequest | None] = asyncio.Queue()
        self._replies = table.servicer.Play(self._requests())
        self._items: list[pb.PlayItem] = []
        self.taken = 0

    async def _requests(self) -> AsyncIterator[pb.PlayRequest]:
        while (request := await self._orders.get()) is not None:
            self.taken += 1
            yield request

    def order(self, *orders: pb.PlayOrder) -> None:
        self._orders.put_nowait(pb.PlayRequest(orders=orders))

    def half_close(self) -> None:
        self._orders.put_nowait(None)

    async def item(self) -> pb.PlayItem:
        async with asyncio.timeout(10):
            while not self._items:
                self._items = list((await anext(self._replies)).items)
        return self._items.pop(0)

    async def rest(self) -> list[pb.PlayItem]:
        """Every item until the stream ends."""
        async with asyncio.timeout(10):
            items, self._items = self._items, []
            async for response in self._replies:
                items += response.items
        return items

    async def close(self) -> None:
        await self._replies.aclose()


def command(request: pb.SubmitCommandRequest, tag: int = 0, **more: Any) -> pb.PlayOrder:
    return pb.PlayOrder(tag=tag, command=request, **more)


def follow(match: StartedMatch, tag: int = 0, **arguments: Any) -> pb.PlayOrder:
    return pb.PlayOrder(tag=tag, follow=pb.WatchMatchRequest(match_id=match.match_id, **arguments))


async def test_a_command_on_a_stream_makes_the_record_of_a_call() -> None:
    """With the same openings; sent again it finds the same record, on a stream or in a call."""
    async with hosting() as (table, _):
        match = await table.start()
        request = await table.request(match)
        stream = Stream(table)
        stream.order(command(request, 7, with_head=True))
        item = await stream.item()
        assert (item.tag, item.match_id) == (7, match.match_id)
        again = await table.servicer.SubmitCommand(request)
        assert item.played.record == again.record
        assert item.played.head == again.head
        stream.order(command(request, 8))
        repeated = await stream.item()
        assert (repeated.played.seq, repeated.played.record) == (item.played.seq, again.record)
        assert not repeated.played.head  # unasked at most once a second
        stream.half_close()
        assert await stream.rest() == []


async def test_orders_of_many_matches_go_in_one_message() -> None:
    """Each is answered with its tag and match; those of one match in their order."""
    async with hosting() as (table, _):
        matches = [await table.start() for _ in range(10)]
        orders = [command(await table.request(match, index=0), tag) for tag, match in enumerate(matches)]
        orders += [command(await table.request(match, index=1), 10 + tag) for tag, match in enumerate(matches)]
        stream = Stream(table)
        stream.order(*orders)
        stream.half_close()
        items = await stream.rest()
        assert sorted(item.tag for item in items) == list(range(20))
        for item in items:
            assert item.match_id == matches[item.tag % 10].match_id
        first = {item.match_id: item.played.seq for item in items if item.tag < 10}
        assert all(item.played.seq == first[item.match_id] + 1 for item in items if item.tag >= 10)


async def test_an_error_ends_one_item_and_says_what_the_status_of_a_call_would() -> None:
    async with serving() as (_, client):
        table = await start(client)
        legal = await table.legal(table.players[0])
        held = {command.nimmt.select_card.card for command in legal.commands}
        wrong = game_pb2.Command()
        wrong.nimmt.select_card.card = next(card for card in range(1, 105) if card not in held)
        illegal = table.command_request(table.players[0], wrong, legal.decision)
        stale = table.command_request(table.players[0], legal.commands[0], 99)
        unread = table.command_request(table.players[0], legal.commands[0], legal.decision)
        unread.command = b"\xff"
        forged = table.command_request(table.players[0], legal.commands[0], legal.decision)
        forged.act.token = "forged"
        good = table.command_request(table.players[0], legal.commands[0], legal.decision)
        refused = [illegal, stale, unread, forged]
        statuses = [await failing(client.match.SubmitCommand(request)) for request in refused]

        call = client.match.Play()
        orders = [command(each, tag) for tag, each in enumerate([*refused, good])]
        await call.write(pb.PlayRequest(orders=[*orders, pb.PlayOrder(tag=9)]))
        await call.done_writing()
        items = {item.tag: item async for response in call for item in response.items}
        assert sorted(items) == [0, 1, 2, 3, 4, 9]
        assert items[4].HasField("played")
        assert items[9].failure.reason == error_pb2.REASON_MALFORMED
        for tag, status in enumerate(statuses):
            found = items[tag].failure
            assert error_pb2.Reason.Name(found.reason) == f"REASON_{status.reason}"
            assert found.message == status.message
            assert dict(found.metadata) == status.metadata
            assert [violation.field for violation in found.violations] == status.violations
        assert items[0].failure.illegal_command == statuses[0].illegal
        assert items[0].failure.illegal_command.view.nimmt.seats[0].hand
        assert await call.code() is grpc.StatusCode.OK


async def test_a_followed_match_shows_what_a_watch_shows() -> None:
    """For seats and spectators, beside each other on one stream, from any record on."""
    async with hosting() as (table, _):
        match = await table.start(options=TWO_ROUNDS)
        stream = Stream(table)
        sights = [("", 0), (match.tokens[0], 3), (match.tokens[1], 0)]
        stream.order(*(follow(match, tag, token=token, first_seq=first) for tag, (token, first) in enumerate(sights)))
        found: dict[int, list[pb.WatchMatchResponse]] = {tag: [] for tag in range(3)}

        async def look() -> None:
            while sum(bool(items) and items[-1].HasField("ended") for items in found.values()) < 3:
                item = await stream.item()
                assert item.HasField("followed")
                found[item.tag].append(item.followed)

        looking = asyncio.create_task(look())
        await asyncio.sleep(0)
        await table.play(match)
        await looking
        for tag, (token, first) in enumerate(sights):
            whole = await watched(table.watch(match.match_id, token=token, first_seq=first))
            records = [item.record for item in found[tag] if item.HasField("record")]
            for record in records:
                record.ClearField("head")
            assert records == [item.record for item in whole if item.HasField("record")]
        stream.half_close()
        assert await stream.rest() == []
        assert not table.host.hub.watched(match.match_id)


async def test_a_record_that_is_followed_does_not_come_twice() -> None:
    """The answer to an own command then only names it, unless the record is wanted."""
    async with hosting() as (table, _):
        match = await table.start()
        stream = Stream(table)
        stream.order(follow(match, 1, token=match.tokens[0], snapshot=True))
        assert (await stream.item()).followed.HasField("snapshot")
        assert (await stream.item()).followed.HasField("caught_up")
        stream.order(command(await table.request(match), 2))
        record, played = await stream.item(), await stream.item()
        assert record.followed.HasField("record")
        assert not played.played.HasField("record")
        stream.order(command(await table.request(match), 3, with_record=True))
        items = {item.tag: item for item in (await stream.item(), await stream.item())}
        assert items[1].followed.HasField("record")
        assert items[3].played.HasField("record")  # of the other seat, which nobody follows
        await stream.close()


async def test_a_match_is_followed_no_longer_after_unfollow() -> None:
    """Following it again starts anew; a match that does not exist is an error of the item."""
    async with hosting() as (table, _):
        match = await table.start()
        stream = Stream(table)
        stream.order(follow(match, 1, snapshot=True))
        assert [(await stream.item()).tag for _ in range(2)] == [1, 1]
        stream.order(pb.PlayOrder(tag=2, unfollow=pb.UnfollowOrder(match_id=match.match_id)))
        assert (await stream.item()).HasField("unfollowed")
        await table.play(match, 1)
        stream.order(pb.PlayOrder(tag=3, head=pb.HeadOrder(match_id=match.match_id)))
        assert (await stream.item()).head
        stream.order(pb.PlayOrder(tag=4, follow=pb.WatchMatchRequest(match_id=b"n" * 16)))
        assert (await stream.item()).failure.reason == error_pb2.REASON_UNKNOWN_MATCH
        stream.order(follow(match, 5, first_seq=99))
        assert (await stream.item()).failure.reason == error_pb2.REASON_MALFORMED
        stream.order(follow(match, 6, first_seq=3), follow(match, 7, first_seq=3))
        assert (await stream.item()).tag == 7
        await stream.close()
        assert not table.host.hub.watched(match.match_id)
        assert not table.host.hub.watched(NO_MATCH)


async def test_a_stream_follows_a_bounded_number_of_matches() -> None:
    async with serving(memory_settings(play_followed=2)) as (_, client):
        tables = [await create(client, 2) for _ in range(3)]
        call = client.match.Play()
        orders = [
            pb.PlayOrder(tag=tag, follow=pb.WatchMatchRequest(match_id=table.match_id, snapshot=True))
            for tag, table in enumerate(tables)
        ]
        await call.write(pb.PlayRequest(orders=orders))
        await call.done_writing()
        items = [item async for response in call for item in response.items]
        (failed,) = [item for item in items if item.HasField("failure")]
        assert (failed.failure.reason, dict(failed.failure.metadata)) == (error_pb2.REASON_TOO_LARGE, {"limit": "2"})


async def test_half_closing_finishes_what_is_in_flight() -> None:
    """The store is slow; the client has said everything and gets every answer."""
    async with hosting() as (table, store):
        match = await table.start()
        requests = [await table.request(match, index=0), await table.request(match, index=1)]
        free = asyncio.Event()

        async def slow(entry: Entry) -> None:
            await free.wait()

        store.before_append = slow
        stream = Stream(table)
        stream.order(*(command(request, tag) for tag, request in enumerate(requests)))
        stream.half_close()
        resting = asyncio.create_task(stream.rest())
        await asyncio.sleep(0.05)
        assert not resting.done()
        free.set()
        assert [item.tag for item in await resting] == [0, 1]


async def test_a_stopping_server_answers_what_is_in_flight_and_says_so() -> None:
    """Then comes a failure without tag and match, and the stream ends with OK."""
    async with (
        StoreAround(MemoryStore()) as store,
        Server(memory_settings(), store=store) as server,
        client_of(server) as client,
    ):
        table = await start(client)
        legal = await table.legal(table.players[0])
        request = table.command_request(table.players[0], legal.commands[0], legal.decision)
        reached, free = asyncio.Event(), asyncio.Event()

        async def slow(entry: Entry) -> None:
            reached.set()
            await free.wait()

        store.before_append = slow
        call, idle = client.match.Play(), client.match.Play()
        await idle.write(pb.PlayRequest())
        await call.write(pb.PlayRequest(orders=[command(request, 1)]))
        await reached.wait()
        stopping = asyncio.create_task(server.stop(10))
        await asyncio.sleep(0.05)
        free.set()
        for stream, tags in ((call, [1, 0]), (idle, [0])):
            items = [item async for response in stream for item in response.items]
            assert [item.tag for item in items] == tags
            assert items[-1].failure.reason == error_pb2.REASON_UNAVAILABLE
            assert items[-1].failure.retry_after_ms > 0
            assert await stream.code() is grpc.StatusCode.OK
        await stopping


async def test_a_client_that_never_reads_stops_itself() -> None:
    """It may send thousands of orders: the server takes as many as may be in flight, and no more."""
    async with hosting() as (table, _):
        match = await table.start()
        request = await table.request(match)
        stream = Stream(table)
        for tag in range(1000):
            stream.order(command(request, tag))
        first = asyncio.create_task(stream.item())  # opens the stream and takes one message, then nothing
        await asyncio.sleep(0.2)
        assert (await first).tag == 0
        await asyncio.sleep(0.2)
        assert stream.taken <= 2 * 128 + 1
        stream.half_close()
        tags = [item.tag for item in await stream.rest()]  # whoever reads again gets every answer
        assert tags == list(range(1, 1000))


async def test_a_flood_over_a_socket_leaves_others_their_turn() -> None:
    """One stream sends orders without reading an answer; a call of somebody else is answered at once."""
    async with serving() as (server, client):
        table, other = await start(client), await start(client)
        legal = await table.legal(table.players[0])
        request = table.command_request(table.players[0], legal.commands[0], legal.decision)
        message = pb.PlayRequest(orders=[command(request, tag) for tag in range(50)])
        call = client.match.Play()

        async def flood() -> None:
            for _ in range(2000):
                await call.write(message)

        flooding = asyncio.create_task(flood())
        await asyncio.sleep(0.3)
        async with client_of(server) as friend:
            async with asyncio.timeout(5):
                calm = HostedTable(friend, other.match_id, other.owner_token, other.first_hash, other.players)
                assert (await calm.info()).record_count > 1
        assert not flooding.done()  # the transport holds it back
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
        call.cancel()


async def test_bytes_that_are_no_request_end_the_stream() -> None:
    async with serving() as (_, client):
        call = client.channel.stream_stream("/sixledger.v1.MatchService/Play")()
        await call.write(b"\xff\xff\xff")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_silence_is_filled_with_heartbeats() -> None:
    async with serving(memory_settings(heartbeat_s=0.05)) as (_, client):
        call = client.match.Play()
        await call.write(pb.PlayRequest())
        for _ in range(2):
            response = await call.read()
            assert [item.WhichOneof("item") for item in response.items] == ["heartbeat"]
        call.cancel()


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with serving() as (server, client):
        table = await start(client)
        call = client.match.Play()
        order = pb.PlayOrder(tag=1, follow=pb.WatchMatchRequest(match_id=table.match_id))
        await call.write(pb.PlayRequest(orders=[order]))
        await call.read()
        assert server.host.hub.watched(table.match_id)
        call.cancel()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not server.host.hub.watched(table.match_id) and not server.host.hub.watched(NO_MATCH):
                break
        assert not server.host.hub.watched(table.match_id)
        assert not server.host.hub.watched(NO_MATCH)


# -- batches -------------------------------------------------------------------------------------------


async def test_each_command_of_a_batch_has_its_own_result() -> None:
    """In order; one that is refused spoils no other, and the batch can be repeated."""
    async with hosting() as (table, _):
        matches = [await table.start() for _ in range(3)]
        requests = [await table.request(match) for match in matches]
        requests.append(await table.request(matches[0], index=1))
        requests[1].decision = 99
        batch = pb.SubmitCommandsRequest(commands=requests)
        reply = await table.servicer.SubmitCommands(batch)
        assert [result.WhichOneof("result") for result in reply.results] == ["reply", "failure", "reply", "reply"]
        assert reply.results[1].failure.reason == error_pb2.REASON_STALE_DECISION
        for number in (0, 2, 3):
            assert reply.results[number].reply == await table.servicer.SubmitCommand(requests[number])
        assert await table.servicer.SubmitCommands(batch) == reply


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_1_to_100_commands(count: int) -> None:
    async with serving() as (_, client):
        request = pb.SubmitCommandsRequest(commands=[pb.SubmitCommandRequest()] * count)
        refused = await failing(client.match.SubmitCommands(request))
        assert (refused.reason, refused.violations) == ("MALFORMED", ["commands"])


# -- bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", [0, 1, 127, 128, 2**64 - 1])
@pytest.mark.parametrize("size", [0, 1, 127, 128, 70_000])
def test_items_put_together_from_bytes_are_those_of_the_schema(tag: int, size: int) -> None:
    played = pb.PlayedCommand(head="h" * size)
    item = pb.PlayItem(tag=tag, match_id=b"m" * 16, played=played)
    number = pb.PlayItem.PLAYED_FIELD_NUMBER
    made = play_item(tag, b"m" * 16, number, played.SerializeToString())
    assert made == item.SerializeToString()
    assert wire.repeated(1, [made, made]) == pb.PlayResponse(items=[item, item]).SerializeToString()
