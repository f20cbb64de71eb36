"""A seat that joined with a key: whatever it does has to be signed with that key, by whichever call it comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import hashing, keys
from sixledger.ledger.keys import ActKind
from sixledger.v1 import error_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import HostedTable, Player, create, failing, serving

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
OTHER = Ed25519PrivateKey.generate()


def players(count: int = 2) -> list[Player]:
    """Everybody signs and contributes."""
    return [Player(seat, Ed25519PrivateKey.generate(), contributes=True) for seat in range(count)]


Call = tuple[Callable[[Any], Awaitable[Any]], Any]


async def gathering(table: HostedTable, seat: int) -> None:
    """One seat has joined."""
    player = table.players[seat]
    reply = await table.client.match.JoinMatch(table.join_request(player))
    player.token, table.seen = reply.token, reply.record.hash


def commitment(table: HostedTable, player: Player) -> bytes:
    return hashing.contribution_commitment(table.match_id, player.seat, player.contribution)


async def commit(table: HostedTable, player: Player) -> Call:
    await table.join()
    value = commitment(table, player)
    act = table.act(player, ActKind.COMMITMENT, value)
    return table.client.match.CommitContribution, pb.CommitContributionRequest(act=act, commitment=value)


async def reveal(table: HostedTable, player: Player) -> Call:
    await table.join()
    for each in table.players:
        value = commitment(table, each)
        request = pb.CommitContributionRequest(act=table.act(each, ActKind.COMMITMENT, value), commitment=value)
        table.seen = (await table.client.match.CommitContribution(request)).record.hash
    act = table.act(player, ActKind.CONTRIBUTION, player.contribution)
    request_ = pb.RevealContributionRequest(act=act, contribution=player.contribution)
    return table.client.match.RevealContribution, request_


async def leave(table: HostedTable, player: Player) -> Call:
    await gathering(table, player.seat)
    return table.client.match.LeaveMatch, pb.LeaveMatchRequest(act=table.act(player, ActKind.LEAVE, b""))


async def ready(table: HostedTable, player: Player) -> Call:
    await gathering(table, player.seat)
    return table.client.match.DeclareReady, pb.DeclareReadyRequest(act=table.act(player, ActKind.READY, b""))


async def resign(table: HostedTable, player: Player) -> Call:
    await table.join()
    await table.contribute()
    return table.client.match.ResignMatch, pb.ResignMatchRequest(act=table.act(player, ActKind.RESIGN, b""))


async def play(table: HostedTable, player: Player) -> Call:
    await table.join()
    await table.contribute()
    legal = await table.legal(player)
    return table.client.match.SubmitCommand, table.command_request(player, legal.commands[0], legal.decision)


async def last_hash(table: HostedTable) -> bytes:
    return (await table.records())[-1].hash


def lies(table: HostedTable, request: Any) -> list[Any]:
    """The request without its signature, without the head too, and signed with another key over the same bytes."""
    good: pb.Act = request.act
    unsigned, bare, foreign = (type(request).FromString(request.SerializeToString()) for _ in range(3))
    for bad in (unsigned, bare):
        bad.act.ClearField("signature")
    bare.act.ClearField("observed_head")
    kind, payload, decision = signed(request)
    message = keys.act_message(table.match_id, 0, kind, decision, good.observed_head, good.request_id, payload)
    own = table.players[0].private_key
    assert own is not None
    assert own.sign(message) == good.signature, "so the lie differs by its key alone"
    foreign.act.signature = OTHER.sign(message)
    return [unsigned, bare, foreign]


def signed(request: Any) -> tuple[ActKind, bytes, int]:
    """Kind, payload and decision of the act of a request."""
    if isinstance(request, pb.SubmitCommandRequest):
        return ActKind.COMMAND, request.command, request.decision
    if isinstance(request, pb.CommitContributionRequest):
        return ActKind.COMMITMENT, request.commitment, 0
    if isinstance(request, pb.RevealContributionRequest):
        return ActKind.CONTRIBUTION, request.contribution, 0
    kinds = {pb.LeaveMatchRequest: ActKind.LEAVE, pb.DeclareReadyRequest: ActKind.READY}
    return kinds.get(type(request), ActKind.RESIGN), b"", 0


@pytest.mark.parametrize("prepare", [leave, ready, commit, reveal, play, resign])
async def test_no_act_of_a_signing_seat_is_taken_without_its_signature(
    prepare: Callable[[HostedTable, Player], Awaitable[Call]],
) -> None:
    """The token alone is not enough: not without a signature, nor with one by another key. Nothing is logged."""
    async with serving() as (_, client):
        extra: dict[str, Any] = {"ready_seats": 2} if prepare is ready else {}
        table = await create(client, players(), mode=COMMIT_REVEAL, **extra)
        call, request = await prepare(table, table.players[0])
        before = await last_hash(table)
        for bad in lies(table, request):
            refused = await failing(call(bad))
            assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "BAD_SIGNATURE")
        assert await last_hash(table) == before
        reply = await call(request)
        assert reply.record.hash == await last_hash(table) != before


async def test_joining_with_a_key_takes_the_signature_of_that_key() -> None:
    """Nobody joins with the key of somebody else, of which only the public part is known."""
    async with serving() as (_, client):
        table = await create(client, players(), mode=COMMIT_REVEAL)
        good = table.join_request(table.players[0])
        unsigned, foreign, moved = (pb.JoinMatchRequest.FromString(good.SerializeToString()) for _ in range(3))
        unsigned.ClearField("signature")
        foreign.public_key = keys.public_bytes(OTHER)
        moved.seat = 1
        for bad in (unsigned, foreign, moved):
            refused = await failing(client.match.JoinMatch(bad))
            assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "BAD_SIGNATURE")
        assert len(await table.records()) == 1
        await client.match.JoinMatch(good)


async def test_batches_and_streams_are_no_way_around_it() -> None:
    async with serving() as (_, client):
        table = await create(client, players(), mode=COMMIT_REVEAL)
        _, request = await play(table, table.players[0])
        before = await last_hash(table)
        bad = lies(table, request)
        batch = await client.match.SubmitCommands(pb.SubmitCommandsRequest(commands=bad))
        assert [each.failure.reason for each in batch.results] == [error_pb2.REASON_BAD_SIGNATURE] * 3
        stream = client.match.Play()
        orders = [pb.PlayOrder(tag=tag, command=each) for tag, each in enumerate([*bad, request], 1)]
        await stream.write(pb.PlayRequest(orders=orders))
        answers: dict[int, Any] = {}
        while len(answers) < 4:
            answers |= {item.tag: item for item in (await stream.read()).items}
        stream.cancel()
        assert [answers[tag].failure.reason for tag in (1, 2, 3)] == [error_pb2.REASON_BAD_SIGNATURE] * 3
        assert answers[4].HasField("played")
        records = await table.records()
        assert (records[-2].hash, len(records)) == (before, answers[4].played.seq + 1)


async def test_a_seat_without_a_key_cannot_be_given_one_later() -> None:
    """Else a server could sign for a seat that never had a key."""
    async with serving() as (_, client):
        table = await create(client, [Player(0), Player(1)])
        await table.join()
        legal = await table.legal(table.players[0])
        request = table.command_request(table.players[0], legal.commands[0], legal.decision)
        request.act.observed_head, request.act.signature = table.seen, OTHER.sign(b"anything")
        assert (await failing(client.match.SubmitCommand(request))).reason == "BAD_SIGNATURE"
