"""Lying players against an honest server: each gets its typed error, and the ledger stays as it was.

`PLAYERS` names for each attack of a player what refuses it; where that is tested elsewhere as well, its test.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from adversary.attacks import ATTACKS
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import hashing, keys
from sixledger.v1 import game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import Client, HostedTable, Player, create, failing, serving, start

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
CLOCK = record_pb2.Clock(turn_us=60_000_000)


def signing_players() -> list[Player]:
    """Two that sign and contribute."""
    return [Player(seat, Ed25519PrivateKey.generate(), contributes=True) for seat in (0, 1)]


async def first_request(table: HostedTable) -> pb.SubmitCommandRequest:
    """An honest command."""
    return await table.next_request(Random(1))


def seat_of(table: HostedTable, request: pb.SubmitCommandRequest) -> int:
    """The seat whose token a request carries."""
    return next(player.seat for player in table.players if player.token == request.act.token)


def sign(table: HostedTable, request: pb.SubmitCommandRequest, key: Ed25519PrivateKey, **other: Any) -> None:
    """Sign a request with a key, over other things than it says if given."""
    match_id, seat = other.get("match_id", table.match_id), other.get("seat", seat_of(table, request))
    kind, payload = other.get("kind", keys.ActKind.COMMAND), other.get("payload", request.command)
    message = keys.act_message(
        match_id, seat, kind, request.decision, request.act.observed_head, request.act.request_id, payload
    )
    request.act.signature = key.sign(message)


# -- commands ------------------------------------------------------------------------------------

Attack = Callable[[Client, HostedTable, pb.SubmitCommandRequest], Awaitable[object]]
ATTEMPTS: list[tuple[str, str, Attack]] = []


def tries(slug: str, reason: str) -> Callable[[Attack], Attack]:
    """Register what a lying player does to an honest request, and the reason of the refusal."""
    assert slug in ATTACKS, slug

    def register(attack: Attack) -> Attack:
        ATTEMPTS.append((slug, reason, attack))
        return attack

    return register


@tries("command-other-match", "BAD_SIGNATURE")
async def signed_for_another_match(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    sign(table, request, key, match_id=bytes(16))


@tries("command-other-match", "FOREIGN_SEAT")
async def with_the_token_of_another_match(client: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    other = await start(client, signing_players(), mode=COMMIT_REVEAL)
    request.act.token = other.players[seat_of(table, request)].token


@tries("command-other-seat", "BAD_SIGNATURE")
async def with_the_token_of_another_seat(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    request.act.token = table.players[1 - seat_of(table, request)].token


@tries("command-other-seat", "BAD_SIGNATURE")
async def signed_for_another_seat(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    seat = seat_of(table, request)
    key = table.players[seat].private_key
    assert key is not None
    sign(table, request, key, seat=1 - seat)


@tries("command-other-decision", "STALE_DECISION")
async def for_a_decision_to_come(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    request.decision += 1
    sign(table, request, key)


@tries("command-other-decision", "BAD_SIGNATURE")
async def signed_for_another_decision(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    request.decision += 1


@tries("forge-signature", "BAD_SIGNATURE")
async def signed_with_another_key(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    sign(table, request, Ed25519PrivateKey.generate())


@tries("forge-signature", "BAD_SIGNATURE")
async def a_signature_of_zeros(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    request.act.signature = bytes(64)


@tries("strip-signature", "BAD_SIGNATURE")
async def without_a_signature(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    request.act.ClearField("signature")
    request.act.ClearField("observed_head")


@tries("signature-other-kind", "BAD_SIGNATURE")
async def a_resignation_as_a_command(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    sign(table, request, key, kind=keys.ActKind.RESIGN, payload=b"")


@tries("signature-other-payload", "BAD_SIGNATURE")
async def signed_over_another_command(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    sign(table, request, key, payload=request.command + b"\0")


@tries("malleable-signature", "BAD_SIGNATURE")
async def with_the_order_of_the_group_added(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    signature = request.act.signature
    scalar = int.from_bytes(signature[32:], "little") + order
    request.act.signature = signature[:32] + scalar.to_bytes(32, "little")


@tries("foreign-observed-head", "BAD_SIGNATURE")
async def over_a_head_that_never_was(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    request.act.observed_head = b"\x07" * 32
    sign(table, request, key)


@tries("stale-observed-head", "BAD_SIGNATURE")
async def over_the_head_before_the_deal(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    request.act.observed_head = table.first_hash
    sign(table, request, key)


@tries("unknown-fields", "MALFORMED")
async def a_command_with_a_field_more(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    key = table.players[seat_of(table, request)].private_key
    assert key is not None
    request.command += bytes([0xF8, 0x3F, 1])
    sign(table, request, key)


@tries("illegal-command", "ILLEGAL_COMMAND")
async def a_card_of_somebody_else(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    player = table.players[seat_of(table, request)]
    assert player.private_key is not None
    own = {each.nimmt.select_card.card for each in (await table.legal(player)).commands}
    command = game_pb2.Command()
    command.nimmt.select_card.card = next(card for card in range(1, 105) if card not in own)
    request.command = command.SerializeToString()
    sign(table, request, player.private_key)


@tries("pad-fields", "MALFORMED")
async def a_command_longer_than_any(_: Client, table: HostedTable, request: pb.SubmitCommandRequest) -> None:
    request.command = request.command * 40_000


@pytest.mark.parametrize(("slug", "reason", "attack"), ATTEMPTS, ids=[f"{s}-{a.__name__}" for s, _, a in ATTEMPTS])
async def test_a_lying_player_is_refused_and_nothing_has_changed(slug: str, reason: str, attack: Attack) -> None:
    """The honest command is accepted afterwards: nothing of the attempt is left."""
    async with serving() as (_, client):
        table = await start(client, signing_players(), mode=COMMIT_REVEAL)
        honest = await first_request(table)
        request = pb.SubmitCommandRequest()
        request.CopyFrom(honest)
        before = await table.records()
        await attack(client, table, request)
        refused = await failing(client.match.SubmitCommand(request))
        assert refused.reason == reason, slug
        for player in table.players:
            for held in (player.token, player.secret.hex(), player.contribution.hex()):
                assert held not in refused.message + str(refused.metadata)
        assert await table.records() == before
        await client.match.SubmitCommand(honest)
        assert len(await table.records()) == len(before) + 1


# -- what needs more than one request ------------------------------------------------------------


async def test_a_command_under_the_id_of_a_timer_to_come_does_not_stop_the_timer() -> None:
    """Requests are kept by who caused them: the id of a timer is only taken by the timer."""
    now = [1_700_000_000_000_000]
    async with serving(clock=lambda: now[0]) as (server, client):
        table = await start(client, 2, clock=CLOCK, timeout_policy=record_pb2.TIMEOUT_POLICY_FIRST_LEGAL)
        match = (await server.host.fresh(table.match_id)).match
        timer = match.timers()[0]
        timer_id = hashing.timer_request_id(table.match_id, timer.armed_seq, timer.kind, timer.seat)
        request = await first_request(table)
        rival = next(player for player in table.players if player.token == request.act.token)
        request.act.request_id = timer_id
        await client.match.SubmitCommand(request)  # an id is an id
        now[0] += 61_000_000
        await server.timekeeper.tick()
        bodies = [record_pb2.Body.FromString(record.body) for record in await table.records()]
        assert [body.cause.kind for body in bodies[-2:]] == [record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TIMER]
        assert bodies[-1].cause.seat == 1 - rival.seat


async def test_a_request_id_serves_one_command() -> None:
    """`test_acts.test_a_request_id_with_another_command_tells_nothing`: here with a seat that signs both."""
    async with serving() as (_, client):
        table = await start(client, signing_players(), mode=COMMIT_REVEAL)
        honest = await first_request(table)
        player = table.players[seat_of(table, honest)]
        legal = await table.legal(player)
        await client.match.SubmitCommand(honest)
        before = await table.records()
        other = pb.SubmitCommandRequest()
        other.CopyFrom(honest)
        other.command = next(data for each in legal.commands if (data := each.SerializeToString()) != honest.command)
        assert player.private_key is not None
        sign(table, other, player.private_key)
        assert (await failing(client.match.SubmitCommand(other))).reason == "REQUEST_ID_REUSED"
        assert await table.records() == before


@pytest.mark.parametrize(
    ("slug", "key", "reason"),
    [
        ("small-order-key", bytes(31) + b"\x80", "MALFORMED"),
        ("small-order-key", b"\x01" + bytes(31), "MALFORMED"),
        ("noncanonical-key", (2**255 - 19 + 3).to_bytes(32, "little"), "MALFORMED"),
        (
            "forge-signature",
            keys.public_bytes(Ed25519PrivateKey.from_private_bytes(b"another person's very own secret"[:32])),
            "BAD_SIGNATURE",
        ),
    ],
)
async def test_nobody_joins_with_a_key_that_is_not_its_own(slug: str, key: bytes, reason: str) -> None:
    """A key that fits every signature, one with two spellings, and one that somebody else holds."""
    assert slug in ATTACKS
    async with serving() as (_, client):
        table = await create(client, 2)
        join = pb.JoinMatchRequest(
            match_id=table.match_id,
            seat=0,
            secret=secrets.token_bytes(32),
            public_key=key,
            observed_head=table.first_hash,
            signature=bytes(64),
        )
        assert (await failing(client.match.JoinMatch(join))).reason == reason
        assert len(await table.records()) == 1


async def test_nobody_acts_for_the_server_or_gives_two_contributions() -> None:
    """A contribution before all commitments are in, another one than the commitment, and one more."""
    async with serving() as (_, client):
        table = await create(client, signing_players(), mode=COMMIT_REVEAL)
        await table.join()
        one, two = table.players

        async def commit(player: Player) -> None:
            value = hashing.contribution_commitment(table.match_id, player.seat, player.contribution)
            act = table.act(player, keys.ActKind.COMMITMENT, value)
            reply = await client.match.CommitContribution(pb.CommitContributionRequest(act=act, commitment=value))
            table.seen = reply.record.hash

        async def refused(player: Player, contribution: bytes) -> str:
            act = table.act(player, keys.ActKind.CONTRIBUTION, contribution)
            request = pb.RevealContributionRequest(act=act, contribution=contribution)
            return (await failing(client.match.RevealContribution(request))).reason

        await commit(one)
        count = len(await table.records())
        assert await refused(one, one.contribution) == "WRONG_PHASE"
        assert len(await table.records()) == count
        await commit(two)
        count = len(await table.records())
        assert await refused(one, secrets.token_bytes(32)) == "MALFORMED"
        assert len(await table.records()) == count
        value = one.contribution
        act = table.act(one, keys.ActKind.CONTRIBUTION, value)
        await client.match.RevealContribution(pb.RevealContributionRequest(act=act, contribution=value))
        assert await refused(one, value) in ("WRONG_PHASE", "BAD_SIGNATURE")
        assert len(await table.records()) == count + 1
