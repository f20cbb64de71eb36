"""Tables before and after the game, over a socket: leaving, readiness, bots, invitations, spectators, rematches."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import file, keys
from sixledger.ledger.verify import verify
from sixledger.service.server import Server
from sixledger.service.store import AppendResult, Entry, MemoryStore, Store, StoreError
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support import hosts
from support.hosts import StoreAround
from support.servers import (
    ONE_ROUND,
    Client,
    HostedTable,
    Player,
    client_of,
    create,
    failing,
    failure,
    memory_settings,
    serving,
    start,
    watched,
)

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with serving() as (_, connected):
        yield connected


def steps(record: record_pb2.Record) -> list[str | None]:
    return [step.WhichOneof("step") for step in record_pb2.Body.FromString(record.body).lifecycle]


async def leave(table: HostedTable, player: Player) -> pb.LeaveMatchResponse:
    request = pb.LeaveMatchRequest(act=table.act(player, keys.ActKind.LEAVE, b""))
    reply: pb.LeaveMatchResponse = await table.client.match.LeaveMatch(request)
    table.seen = reply.record.hash
    return reply


async def ready(table: HostedTable, player: Player) -> record_pb2.Record:
    reply = await table.client.match.DeclareReady(
        pb.DeclareReadyRequest(act=table.act(player, keys.ActKind.READY, b""))
    )
    table.seen = reply.record.hash
    record: record_pb2.Record = reply.record
    return record


async def join(table: HostedTable, player: Player, invitation: str = "") -> pb.JoinMatchResponse:
    request = table.join_request(player)
    request.invitation = invitation
    reply: pb.JoinMatchResponse = await table.client.match.JoinMatch(request)
    player.token, table.seen = reply.token, reply.record.hash
    return reply


def of_owner(table: HostedTable) -> dict[str, Any]:
    return {"match_id": table.match_id, "owner_token": table.owner_token, "request_id": secrets.token_bytes(16)}


async def seat_bot(table: HostedTable, seat: int, **fields: Any) -> pb.SeatBotResponse:
    reply: pb.SeatBotResponse = await table.client.match.SeatBot(
        pb.SeatBotRequest(**of_owner(table), seat=seat, **fields)
    )
    return reply


async def until_over(table: HostedTable) -> pb.MatchInfo:
    async with asyncio.timeout(20):
        await watched(table.client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id)))
    return await table.info()


async def proved(table: HostedTable, server: Server) -> None:
    """The whole ledger is valid."""
    call = table.client.match.ExportLedger(pb.ExportLedgerRequest(match_id=table.match_id))
    data = b"".join([each.chunk async for each in call])
    report = await asyncio.to_thread(verify, data, trusted=[server.host.signer.verifier_key])
    assert report.verdict == replay_service_pb2.VERDICT_VALID, report.summary
    assert file.load(data).records


# -- leaving and readiness -------------------------------------------------------------------------


async def test_a_seat_that_is_left_is_free_and_its_token_is_worthless(client: Client) -> None:
    table = await create(client, [Player(0, Ed25519PrivateKey.generate()), Player(1)])
    first = table.players[0]
    await join(table, first)
    old_token, old_join = first.token, table.join_request(first)
    request = pb.LeaveMatchRequest(act=table.act(first, keys.ActKind.LEAVE, b""))
    left = await client.match.LeaveMatch(request)
    assert steps(left.record) == ["left"]
    assert await client.match.LeaveMatch(request) == left  # a lost reply comes again
    info = await table.info()
    assert [(seat.joined, seat.public_key) for seat in info.seats] == [(False, b""), (False, b"")]
    table.players[0] = second = Player(0)
    await join(table, second)
    await join(table, table.players[1])
    for call in (client.match.GetView, client.match.ListLegalCommands):
        kind = pb.GetViewRequest if call is client.match.GetView else pb.ListLegalCommandsRequest
        assert (await failing(call(kind(match_id=table.match_id, token=old_token)))).reason == "BAD_TOKEN"
    again = await failing(client.match.JoinMatch(old_join))
    assert again.reason == "WRONG_PHASE"  # repeating the old join does not give the new player's token
    await table.play(Random(1))


async def test_whoever_follows_as_a_seat_that_was_left_is_turned_away(client: Client) -> None:
    table = await create(client, 3)
    await join(table, table.players[0])
    call = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id, token=table.players[0].token))
    assert len(await watched(call, 3)) == 3
    await leave(table, table.players[0])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await watched(call)
    assert failure(caught.value).reason == "BAD_TOKEN"


async def test_a_table_that_asks_begins_when_its_seats_are_ready() -> None:
    async with serving() as (server, client):
        players = [Player(seat, Ed25519PrivateKey.generate() if seat else None, True) for seat in range(3)]
        table = await create(client, [*players, Player(3)], mode=COMMIT_REVEAL, ready_seats=3)
        table.players = players
        await table.join()
        assert steps(await ready(table, players[1])) == ["ready"]
        info = await table.info()
        assert ([seat.ready for seat in info.seats], info.opened.ready_seats) == ([False, True, False, False], 3)
        request = pb.DeclareReadyRequest(act=table.act(players[1], keys.ActKind.READY, b""))
        assert (await failing(client.match.DeclareReady(request))).reason == "WRONG_PHASE"
        await ready(table, players[0])
        assert steps(await ready(table, players[2])) == ["ready", "closed"]
        await table.contribute()
        assert len((await table.info()).seats) == 3
        await table.play(Random(2))
        await proved(table, server)


async def test_the_owner_begins_with_fewer_seats() -> None:
    async with serving() as (server, client):
        table = await create(client, 5)
        table.players = table.players[:2]
        await join(table, table.players[1])
        request = pb.CloseSeatsRequest(**of_owner(table))
        refused = await failing(client.match.CloseSeats(request))
        assert (refused.reason, "seat 0 is free" in refused.message) == ("WRONG_PHASE", True)
        await join(table, table.players[0])
        closed = await client.match.CloseSeats(request)
        assert steps(closed.record) == ["closed", "sealed"]
        assert await client.match.CloseSeats(request) == closed
        (listed,) = (await client.match.ListMatches(pb.ListMatchesRequest())).matches
        assert (listed.seats, listed.joined) == (2, 2)
        await table.play(Random(3))
        await proved(table, server)


async def test_only_the_owner_closes_and_fills_seats(client: Client) -> None:
    table = await create(client, 3)
    await join(table, table.players[0])
    for token, reason in (("", "BAD_TOKEN"), (table.players[0].token, "FOREIGN_SEAT")):
        common: dict[str, Any] = of_owner(table) | {"owner_token": token}
        invite: dict[str, Any] = {"match_id": table.match_id, "owner_token": token}
        for call in (
            client.match.CloseSeats(pb.CloseSeatsRequest(**common)),
            client.match.SeatBot(pb.SeatBotRequest(**common, seat=1)),
            client.match.CreateInvitation(pb.CreateInvitationRequest(**invite)),
        ):
            assert (await failing(call)).reason == reason


async def test_of_a_thousand_joins_at_once_each_seat_gets_one(client: Client) -> None:
    table = await create(client, 10)
    requests = [
        pb.JoinMatchRequest(match_id=table.match_id, seat=n % 10, secret=secrets.token_bytes(32)) for n in range(1000)
    ]
    results = await asyncio.gather(*(client.match.JoinMatch(each) for each in requests), return_exceptions=True)
    won = [
        request.seat
        for request, result in zip(requests, results, strict=True)
        if isinstance(result, pb.JoinMatchResponse)
    ]
    assert sorted(won) == list(range(10))
    reasons = {failure(each).reason for each in results if isinstance(each, grpc.aio.AioRpcError)}
    assert reasons == {"SEAT_TAKEN"}
    assert (await table.info()).record_count == 11


# -- bots of the server ------------------------------------------------------------------------------


async def test_bots_of_the_server_play_like_people_and_are_marked() -> None:
    async with serving() as (server, client):
        table = await create(client, [Player(0, Ed25519PrivateKey.generate(), True), Player(1), Player(2)],
                             mode=COMMIT_REVEAL)  # fmt: skip
        await join(table, table.players[0])
        await seat_bot(table, 1, bot="random", display_name="Ada")
        reply = await seat_bot(table, 2)
        assert steps(reply.record) == ["joined", "closed"]
        table.players = table.players[:1]
        await table.contribute()
        while (await table.info()).status == pb.MATCH_STATUS_RUNNING:
            legal = await table.legal(table.players[0])
            if not legal.commands:
                await asyncio.sleep(0.005)
                continue
            table.seen = (await table.records())[-1].hash
            call = client.match.SubmitCommand(
                table.command_request(table.players[0], legal.commands[0], legal.decision)
            )
            try:
                await call
            except grpc.aio.AioRpcError as error:
                assert failure(error).reason in ("BAD_SIGNATURE", "STALE_DECISION")  # noqa: PT017  # a bot was faster
        info = await table.info()
        assert [(seat.hosted, seat.bot, seat.display_name) for seat in info.seats] == [
            (False, "", ""), (True, "random", "Ada"), (True, "heuristic", ""),
        ]  # fmt: skip
        await proved(table, server)


async def test_bots_go_on_after_a_restart(tmp_path: Path) -> None:
    settings = memory_settings(store=f"sqlite:{tmp_path / 'matches.db'}", key_file=tmp_path / "keys.json")
    async with Server(settings) as server, client_of(server) as client:
        table = await create(client, 3)
        await seat_bot(table, 0)
        await seat_bot(table, 1)
        await join(table, table.players[2])
        await asyncio.sleep(0.1)  # both have chosen; the person has not
        assert list((await table.info()).to_act) == [2]
    async with Server(settings) as server, client_of(server) as client:
        table.client = client
        person = table.players[2]
        async with asyncio.timeout(20):
            while (await table.info()).status == pb.MATCH_STATUS_RUNNING:
                legal = await table.legal(person)
                if legal.commands:
                    request = table.command_request(person, legal.commands[0], legal.decision)
                    await client.match.SubmitCommand(request)
                else:
                    await asyncio.sleep(0.005)
        await proved(table, server)


class Away(StoreAround):
    """A store that can be away."""

    away = False

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        #: Set once a bot has met it.
        self.met = asyncio.Event()

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        if self.away:
            raise StoreError("the store is away")
        return await super().records(match_id, first, limit)

    async def append(self, entry: Entry) -> AppendResult:
        if self.away:
            raise StoreError("the store is away")
        return await super().append(entry)


async def test_bots_go_on_as_soon_as_the_store_is_back() -> None:
    """And not only when the server next looks for bots that somebody has left behind, half a minute later."""
    async with Away(MemoryStore()) as store:
        table = hosts.replica(store)
        mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        request = pb.CreateMatchRequest(game="nimmt", options=ONE_ROUND, seats=2, mode=mode)
        created = await table.servicer.CreateMatch(request)
        match_id = created.match_id
        owner: dict[str, Any] = {"match_id": match_id, "owner_token": created.owner_token}
        await table.servicer.SeatBot(pb.SeatBotRequest(**owner, request_id=hosts.request_id(), seat=0))

        async def vanish(entry: Entry) -> None:
            store.away = entry.seat == 0 and entry.kind == record_pb2.CAUSE_KIND_SEAT
            if store.away:
                store.met.set()
                raise StoreError("the store is away")

        store.before_append = vanish
        await table.servicer.JoinMatch(pb.JoinMatchRequest(match_id=match_id, seat=1))
        try:
            async with asyncio.timeout(5):
                await store.met.wait()
                await asyncio.sleep(0.1)  # the bot has tried again, and has not even been able to read
                store.away, store.before_append = False, None
                async for item in table.watch(match_id):
                    body = record_pb2.Body.FromString(item.record.record.body)
                    if item.HasField("record") and body.cause.kind == record_pb2.CAUSE_KIND_SEAT and body.command:
                        break
                assert tuple((await table.host.fresh(match_id)).match.to_act) == (1,)
        finally:
            await table.servicer.bots.close()


async def test_a_bot_that_fails_or_cheats_plays_the_first_legal_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(view: Any, random: Random) -> Any:
        raise RuntimeError("out of ideas")

    def cheat(view: Any, random: Random) -> Any:
        from sixledger.games.nimmt.v1 import nimmt_pb2

        return nimmt_pb2.SelectCard(card=0)

    policies = {"broken": broken, "cheat": cheat}
    monkeypatch.setattr("sixledger.service.bots.bots_for", lambda game: policies)
    monkeypatch.setattr("sixledger.service.bots.bot", lambda game, name: policies[name])
    async with serving() as (server, client):
        table = await create(client, 2)
        await seat_bot(table, 0, bot="broken")
        await seat_bot(table, 1, bot="cheat")
        assert (await until_over(table)).status == pb.MATCH_STATUS_ENDED
        await proved(table, server)


async def test_a_bot_joins_once_and_only_one_that_exists(client: Client) -> None:
    table = await create(client, 3)
    wrong = await failing(client.match.SeatBot(pb.SeatBotRequest(**of_owner(table), seat=0, bot="hal")))
    assert (wrong.reason, wrong.violations) == ("MALFORMED", ["bot"])
    request = pb.SeatBotRequest(**of_owner(table), seat=0)
    assert await client.match.SeatBot(request) == await client.match.SeatBot(request)
    assert (await failing(client.match.SeatBot(pb.SeatBotRequest(**of_owner(table), seat=0)))).reason == "SEAT_TAKEN"


# -- private tables and spectators -----------------------------------------------------------------


async def invite(table: HostedTable, **fields: Any) -> str:
    request = pb.CreateInvitationRequest(match_id=table.match_id, owner_token=table.owner_token, **fields)
    invitation: str = (await table.client.match.CreateInvitation(request)).invitation
    return invitation


async def test_a_private_table_is_in_no_list_and_is_joined_by_invitation(client: Client) -> None:
    table = await create(client, 3, private=True)
    public = await create(client, 2)
    listed = (await client.match.ListMatches(pb.ListMatchesRequest())).matches
    assert [each.match_id for each in listed] == [public.match_id]
    other = await create(client, 2, private=True)
    for wrong in ("", "sixl_nonsense", await invite(table, seat=1), await invite(other), table.players[0].token):
        request = table.join_request(table.players[0])
        request.invitation = wrong
        refused = await failing(client.match.JoinMatch(request))
        assert refused.reason in ("NOT_INVITED", "BAD_TOKEN", "FOREIGN_SEAT"), wrong
    await join(table, table.players[1], await invite(table, seat=1))
    await join(table, table.players[0], await invite(table))
    await join(table, table.players[2], table.owner_token)
    await table.play(Random(4))


async def test_an_invitation_ends_and_can_be_revoked_but_whoever_came_stays() -> None:
    async with serving() as (server, client):
        table = await create(client, 3, private=True)
        invitation = await invite(table)
        joined = await join(table, table.players[0], invitation)
        target: dict[str, Any] = {"match_id": table.match_id, "token": table.owner_token}
        await client.match.RevokeTokens(pb.RevokeTokensRequest(**target, invitations=pb.Invitations()))
        refused = table.join_request(table.players[1])
        refused.invitation = invitation
        assert (await failing(client.match.JoinMatch(refused))).reason == "BAD_TOKEN"
        again = table.join_request(table.players[0])
        again.invitation = invitation
        assert await client.match.JoinMatch(again) == joined
        short = await invite(table, valid_s=1)
        now = server.host.clock()
        server.host.clock = lambda: now + 2_000_000
        refused.invitation = short
        assert (await failing(client.match.JoinMatch(refused))).reason == "BAD_TOKEN"
        as_viewer = pb.GetViewRequest(match_id=table.match_id, token=invitation)
        assert (await failing(client.match.GetView(as_viewer))).reason in ("BAD_TOKEN", "FOREIGN_SEAT")


async def test_without_spectators_only_seats_look_on(client: Client) -> None:
    table = await start(client, 2, no_spectators=True)
    assert (await table.info()).no_spectators
    first = await client.match.ListRecords(pb.ListRecordsRequest(match_id=table.match_id, page_size=1))
    assert [each.hash for each in first.records] == [table.first_hash]
    for token in ("", table.owner_token):
        common: dict[str, Any] = {"match_id": table.match_id, "token": token}
        for call in (
            client.match.GetView(pb.GetViewRequest(**common)),
            client.match.ListRecords(pb.ListRecordsRequest(**common, first_seq=1, page_size=1)),
            client.match.ListRecords(pb.ListRecordsRequest(**common)),
        ):
            assert (await failing(call)).reason == "NO_SPECTATORS"
        for stream in (
            client.match.WatchMatch(pb.WatchMatchRequest(**common)),
            client.match.ExportLedger(pb.ExportLedgerRequest(**common)),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stream.read()
            assert failure(caught.value).reason == "NO_SPECTATORS"
    order = pb.PlayOrder(tag=7, follow=pb.WatchMatchRequest(match_id=table.match_id))
    play = client.match.Play(iter([pb.PlayRequest(orders=[order])]))
    items = [item async for response in play for item in response.items]
    assert [(item.tag, item.failure.reason) for item in items] == [(7, error_pb2.REASON_NO_SPECTATORS)]
    seat = pb.WatchMatchRequest(match_id=table.match_id, token=table.players[0].token)
    assert len(await watched(client.match.WatchMatch(seat), 4)) == 4


async def test_open_tables_are_found_by_free_seats_and_pages_stay_stable(client: Client) -> None:
    full = await create(client, 2, ready_seats=2)
    await full.join()
    tables = [await create(client, 3) for _ in range(5)]
    await start(client, 2)
    found, token = [], ""
    while True:
        request = pb.ListMatchesRequest(page_size=2, page_token=token, free_seats=True, game="nimmt")
        page = await client.match.ListMatches(request)
        found += [each.match_id for each in page.matches]
        if not token:
            await create(client, 2)  # comes before the first page, and moves no later one
        token = page.next_page_token
        if not token:
            break
    assert found == [each.match_id for each in reversed(tables)]
    other = pb.ListMatchesRequest(page_size=2, page_token=page_token_of(await first_page(client)))
    assert (await failing(client.match.ListMatches(other))).violations == ["page_token"]
    wrong = pb.ListMatchesRequest(free_seats=True, status=pb.MATCH_STATUS_ENDED)
    assert (await failing(client.match.ListMatches(wrong))).violations == ["free_seats"]


async def first_page(client: Client) -> pb.ListMatchesResponse:
    page: pb.ListMatchesResponse = await client.match.ListMatches(pb.ListMatchesRequest(page_size=1, free_seats=True))
    return page


def page_token_of(page: pb.ListMatchesResponse) -> str:
    return page.next_page_token


# -- rematches -------------------------------------------------------------------------------------


async def test_a_rematch_rotates_the_seats_which_the_old_tokens_claim() -> None:
    async with serving() as (server, client):
        table = await create(client, 4, options=ONE_ROUND)
        for player in table.players[:3]:
            await join(table, player)
        await seat_bot(table, 3, bot="random", display_name="Ada")
        early = pb.CreateRematchRequest(match_id=table.match_id, token=table.players[0].token)
        assert (await failing(client.match.CreateRematch(early))).reason == "WRONG_PHASE"
        await client.match.AbortMatch(pb.AbortMatchRequest(**of_owner(table)))
        first = await client.match.CreateRematch(early)
        assert (first.seat, first.owner_token) == (3, "")
        by_owner = await client.match.CreateRematch(
            pb.CreateRematchRequest(match_id=table.match_id, token=table.owner_token)
        )
        assert (by_owner.match_id, by_owner.HasField("seat")) == (first.match_id, False)
        new = HostedTable(client, first.match_id, by_owner.owner_token, first.record.hash,
                          [Player(seat) for seat in (3, 0, 1)])  # fmt: skip
        info = await new.info()
        assert (info.rematch_of, (await table.info()).rematch, info.private) == (table.match_id, new.match_id, True)
        assert [seat.hosted for seat in info.seats] == [False, False, True, False]
        assert info.seats[2].display_name == "Ada"
        tokens = [player.token for player in table.players[:3]]
        for player, token in ((new.players[0], tokens[1]), (new.players[0], ""), (new.players[1], tokens[0])):
            request = new.join_request(player)
            request.invitation = token
            assert (await failing(client.match.JoinMatch(request))).reason == "NOT_INVITED"
        for player, token in zip(new.players, tokens, strict=True):
            await join(new, player, token)
        assert (await new.info()).status == pb.MATCH_STATUS_RUNNING
        await client.match.AbortMatch(pb.AbortMatchRequest(**of_owner(new)))
        await proved(new, server)


# -- tokens ----------------------------------------------------------------------------------------


async def test_tokens_are_refreshed_and_revoked() -> None:
    async with serving() as (server, client):
        table = await start(client, 2)
        person, old = table.players[0], table.players[0].token
        now = server.host.clock()
        server.host.clock = lambda: now + 3_600_000_000
        fresh = await client.match.RefreshToken(pb.RefreshTokenRequest(match_id=table.match_id, token=old))
        assert fresh.expires_us > now + server.settings.token_lifetime_s * 1_000_000
        for token in (old, fresh.token):
            person.token = token
            assert (await table.legal(person)).commands
        own = pb.RevokeTokensRequest(match_id=table.match_id, token=old, own=pb.OwnTokens())
        revoked = await client.match.RevokeTokens(own)
        for token in (old, fresh.token):
            person.token = token
            request = pb.ListLegalCommandsRequest(match_id=table.match_id, token=token)
            assert (await failing(client.match.ListLegalCommands(request))).reason == "BAD_TOKEN"
        person.token = revoked.token
        assert (await table.legal(person)).commands
        # Whoever has the secret of the join gets a token that is good again.
        rejoined = await client.match.JoinMatch(table.join_request(person))
        person.token = rejoined.token
        assert (await table.legal(person)).commands


async def test_the_owner_locks_a_seat_for_ever(tmp_path: Path) -> None:
    settings = memory_settings(store=f"sqlite:{tmp_path / 'matches.db'}", key_file=tmp_path / "keys.json")
    async with Server(settings) as server, client_of(server) as client:
        table = await start(client, 2)
        watching = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id, token=table.players[1].token))
        assert await watched(watching, 4)
        for token, reason in ((table.players[0].token, "FOREIGN_SEAT"), ("", "BAD_TOKEN")):
            request = pb.RevokeTokensRequest(match_id=table.match_id, token=token, seat=1)
            assert (await failing(client.match.RevokeTokens(request))).reason == reason
        lock = pb.RevokeTokensRequest(match_id=table.match_id, token=table.owner_token, seat=1)
        await client.match.RevokeTokens(lock)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await watched(watching)
        assert failure(caught.value).reason == "BAD_TOKEN"
    async with Server(settings) as server, client_of(server) as client:
        legal = pb.ListLegalCommandsRequest(match_id=table.match_id, token=table.players[1].token)
        assert (await failing(client.match.ListLegalCommands(legal))).reason == "BAD_TOKEN"
        assert (await failing(client.match.JoinMatch(table.join_request(table.players[1])))).reason == "BAD_TOKEN"
        await client.match.AbortMatch(pb.AbortMatchRequest(**of_owner(table)))
