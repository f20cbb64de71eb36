"""Acts over a socket: what is accepted once, what is refused, and with which reason."""

from __future__ import annotations

import secrets
from random import Random

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import hashing
from sixledger.service.tokens import TokenMint
from sixledger.v1 import game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import KEYRING, Clock
from support.servers import ONE_ROUND, Player, create, failing, memory_settings, serving, start

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL


def copy_of(request: pb.SubmitCommandRequest) -> pb.SubmitCommandRequest:
    """A request to be changed."""
    other = pb.SubmitCommandRequest()
    other.CopyFrom(request)
    return other


# -- repetitions ---------------------------------------------------------------------------------


async def test_every_command_of_a_match_can_be_repeated_for_ever() -> None:
    """Sent again at once and after the end of the match, each request gets its first reply, byte for byte."""
    players = [Player(0, Ed25519PrivateKey.generate()), Player(1)]
    async with serving() as (_, client):
        table = await start(client, players)
        sent: list[tuple[pb.SubmitCommandRequest, pb.SubmitCommandResponse]] = []
        while (await table.info()).status == pb.MATCH_STATUS_RUNNING:
            request = await table.next_request(Random(len(sent)))
            sent.append((request, await table.submit(request)))
            assert await client.match.SubmitCommand(request) == sent[-1][1]
        count = (await table.info()).record_count
        for request, reply in sent:
            again = await client.match.SubmitCommand(request)
            assert again.SerializeToString() == reply.SerializeToString()
        assert (await table.info()).record_count == count
        assert any(reply.late_openings for _, reply in sent)


async def test_a_request_id_with_another_command_tells_nothing() -> None:
    """Another card or another decision under a used request id is an error that does not say which card it was."""
    async with serving() as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        await client.match.SubmitCommand(request)
        mine = game_pb2.Command.FromString(request.command).nimmt.select_card.card
        for card in range(1, 105):
            other = copy_of(request)
            command = game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=card)))
            other.command = command.SerializeToString()
            if card != mine:
                assert (await failing(client.match.SubmitCommand(other))).reason == "REQUEST_ID_REUSED"
        other = copy_of(request)
        other.decision += 1
        assert (await failing(client.match.SubmitCommand(other))).code is grpc.StatusCode.ALREADY_EXISTS


async def test_another_seat_cannot_learn_a_choice_by_resending_it() -> None:
    """The request id of seat 0 in the hand of seat 1 is a new request of seat 1."""
    async with serving() as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        await client.match.SubmitCommand(request)
        seat = next(p.seat for p in table.players if p.token == request.act.token)
        rival = table.players[1 - seat]
        stolen = copy_of(request)
        stolen.act.token = rival.token
        refused = await failing(client.match.SubmitCommand(stolen))
        assert (refused.reason, refused.metadata["rule"]) == ("ILLEGAL_COMMAND", "not_in_hand")


async def test_join_and_create_are_repeated_by_their_secret() -> None:
    """The same secret gives the same match, seat and tokens, also later; another request with it is an error."""
    clock = Clock()
    async with serving(clock=clock) as (_, client):
        creation = pb.CreateMatchRequest(
            game="nimmt", options=ONE_ROUND, seats=2, mode=SERVER_ONLY, secret=secrets.token_bytes(32)
        )
        created = await client.match.CreateMatch(creation)
        assert created.match_id == hashing.sha256(b"sixledger/match/1\n", creation.secret)[:16]
        join = pb.JoinMatchRequest(match_id=created.match_id, seat=1, secret=secrets.token_bytes(32), display_name="A")
        joined = await client.match.JoinMatch(join)
        request_id = record_pb2.Body.FromString(joined.record.body).cause.request_id
        assert request_id == hashing.sha256(b"sixledger/join/1\n", created.match_id, join.secret)[:16]
        clock.now_us += 3_600_000_000
        await client.match.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=0))
        assert await client.match.CreateMatch(creation) == created
        assert await client.match.JoinMatch(join) == joined
        creation.seats = 3
        assert (await failing(client.match.CreateMatch(creation))).reason == "REQUEST_ID_REUSED"
        join.contributes = True
        assert (await failing(client.match.JoinMatch(join))).reason == "REQUEST_ID_REUSED"
        other = pb.JoinMatchRequest(match_id=created.match_id, seat=1, secret=secrets.token_bytes(32))
        assert (await failing(client.match.JoinMatch(other))).reason == "SEAT_TAKEN"
        without = pb.JoinMatchRequest(match_id=created.match_id, seat=1)
        assert (await failing(client.match.JoinMatch(without))).reason == "SEAT_TAKEN"


async def test_resigning_and_aborting_can_be_repeated() -> None:
    """A match is resigned, another aborted; each act again gives the same reply, another act the wrong phase."""
    async with serving() as (_, client):
        table = await start(client)
        act = pb.Act(match_id=table.match_id, token=table.players[1].token, request_id=secrets.token_bytes(16))
        resigned = await client.match.ResignMatch(pb.ResignMatchRequest(act=act))
        assert await client.match.ResignMatch(pb.ResignMatchRequest(act=act)) == resigned
        assert resigned.late_openings
        assert (await table.info()).status == pb.MATCH_STATUS_ENDED
        table = await start(client)
        abort = pb.AbortMatchRequest(
            match_id=table.match_id, owner_token=table.owner_token, request_id=secrets.token_bytes(16)
        )
        aborted = await client.match.AbortMatch(abort)
        assert await client.match.AbortMatch(abort) == aborted
        assert (await table.info()).status == pb.MATCH_STATUS_ABORTED
        abort.request_id = secrets.token_bytes(16)
        assert (await failing(client.match.AbortMatch(abort))).reason == "WRONG_PHASE"


# -- refusals ------------------------------------------------------------------------------------


async def test_a_command_for_an_earlier_decision_is_stale() -> None:
    """The click was meant for the turn before: ABORTED, with both numbers."""
    async with serving() as (_, client):
        table = await start(client)
        decision = (await table.info()).decision
        while (await table.info()).decision == decision:
            await table.play(Random(3), 1)
        request = await table.next_request(Random(4))
        request.decision = decision
        refused = await failing(client.match.SubmitCommand(request))
        assert (refused.code, refused.reason) == (grpc.StatusCode.ABORTED, "STALE_DECISION")
        assert refused.metadata["given"] == str(decision)


async def test_an_illegal_command_carries_the_rule_and_the_view_of_its_seat() -> None:
    """A card that is not in the hand: FAILED_PRECONDITION, with the command, and the own hand but no other."""
    async with serving() as (_, client):
        table = await start(client)
        player = table.players[0]
        legal = await table.legal(player)
        own = {command.nimmt.select_card.card for command in legal.commands}
        card = next(card for card in range(1, 105) if card not in own)
        command = game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=card)))
        refused = await failing(client.match.SubmitCommand(table.command_request(player, command, legal.decision)))
        assert (refused.code, refused.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL_COMMAND")
        assert refused.metadata["rule"] == "not_in_hand"
        assert refused.illegal is not None
        assert refused.illegal.command == command
        assert set(refused.illegal.view.nimmt.seats[0].hand) == own
        assert not refused.illegal.view.nimmt.seats[1].hand
        assert (await table.info()).record_count == 3


async def test_after_the_end_every_command_is_illegal() -> None:
    """The rule is `finished`."""
    async with serving() as (_, client):
        table = await start(client)
        last = (await table.play(Random(5)))[-1]
        request = table.command_request(table.players[0], game_pb2.Command.FromString(last.command), last.decision)
        refused = await failing(client.match.SubmitCommand(request))
        assert (refused.reason, refused.metadata["rule"]) == ("ILLEGAL_COMMAND", "finished")


async def test_a_command_before_the_start_is_in_the_wrong_phase() -> None:
    """Seat 0 has joined, seat 1 has not."""
    async with serving() as (_, client):
        table = await create(client, 2)
        player = table.players[0]
        player.token = (await client.match.JoinMatch(table.join_request(player))).token
        command = game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=1)))
        refused = await failing(client.match.SubmitCommand(table.command_request(player, command, 0)))
        assert refused.reason == "WRONG_PHASE"


async def test_tokens_are_for_one_seat_of_one_match() -> None:
    """Missing, garbled, forged, expired: UNAUTHENTICATED. Of another match, or of the owner: PERMISSION_DENIED."""
    clock = Clock()
    settings = memory_settings(token_lifetime_s=60)
    async with serving(settings, clock=clock, keyring=KEYRING) as (_, client):
        table, other = await start(client), await start(client)
        request = await table.next_request(Random(6))
        good = request.act.token
        forged = TokenMint(bytes(32), 60).seat(table.match_id, 0, clock())
        for token in ("", "x", good[:-1], good + "A", good[:-1] + ("A" if good[-1] != "A" else "B"), forged):
            request.act.token = token
            refused = await failing(client.match.SubmitCommand(request))
            assert (refused.code, refused.reason) == (grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN")
            assert token == "" or token not in refused.message + str(refused.metadata) or token == "x"
        for token in (other.players[0].token, table.owner_token):
            request.act.token = token
            refused = await failing(client.match.SubmitCommand(request))
            assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "FOREIGN_SEAT")
        abort = pb.AbortMatchRequest(match_id=table.match_id, owner_token=good, request_id=bytes(16))
        assert (await failing(client.match.AbortMatch(abort))).reason == "FOREIGN_SEAT"
        request.act.token = good
        clock.now_us += 60_000_001
        assert (await failing(client.match.SubmitCommand(request))).reason == "BAD_TOKEN"


async def test_a_signing_seat_must_sign() -> None:
    """No signature, another key's, or one over other bytes: PERMISSION_DENIED; then the right one is accepted."""
    players = [Player(0, Ed25519PrivateKey.generate()), Player(1)]
    async with serving() as (_, client):
        table = await start(client, players)
        legal = await table.legal(players[0])
        good = table.command_request(players[0], legal.commands[0], legal.decision)
        unsigned, other, foreign = copy_of(good), copy_of(good), copy_of(good)
        unsigned.act.ClearField("signature")
        other.command = legal.commands[1].SerializeToString()
        foreign.act.signature = Ed25519PrivateKey.generate().sign(b"")
        for request in (unsigned, other, foreign):
            refused = await failing(client.match.SubmitCommand(request))
            assert (refused.code, refused.reason) == (grpc.StatusCode.PERMISSION_DENIED, "BAD_SIGNATURE")
        await client.match.SubmitCommand(good)


async def test_the_request_id_goes_before_the_signature() -> None:
    """A repetition without its signature still gets its reply: the signature was checked the first time."""
    players = [Player(0, Ed25519PrivateKey.generate()), Player(1)]
    async with serving() as (_, client):
        table = await start(client, players)
        legal = await table.legal(players[0])
        request = table.command_request(players[0], legal.commands[0], legal.decision)
        reply = await client.match.SubmitCommand(request)
        request.act.ClearField("signature")
        assert await client.match.SubmitCommand(request) == reply


# -- opening, and fields -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seats", "options", "field"),
    [
        (1, nimmt_pb2.Options(), "seats"),
        (11, nimmt_pb2.Options(), "seats"),
        (0, nimmt_pb2.Options(), "seats"),
        (2**32 - 1, nimmt_pb2.Options(), "seats"),
        (4, nimmt_pb2.Options(rounds=3), "options.rounds"),
        (4, nimmt_pb2.Options(limit=0), "options.limit"),
        (4, nimmt_pb2.Options(limit=1001), "options.limit"),
    ],
)
async def test_options_that_do_not_fit_name_their_field(seats: int, options: nimmt_pb2.Options, field: str) -> None:
    """Player counts out of range, options that do not apply, values out of range."""
    async with serving() as (_, client):
        request = pb.CreateMatchRequest(game="nimmt", options=game_pb2.Options(nimmt=options), seats=seats)
        refused = await failing(client.match.CreateMatch(request))
        assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "ILLEGAL_OPTIONS")
        assert refused.violations == [field]


async def test_an_unknown_game_is_not_found() -> None:
    """The error tells which games there are."""
    async with serving() as (_, client):
        refused = await failing(client.match.CreateMatch(pb.CreateMatchRequest(game="chess", seats=2)))
        assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_GAME")
        assert "nimmt" in refused.message


async def test_contributions_are_committed_before_any_is_revealed() -> None:
    """Revealing too early, another value than the committed one, and committing twice are refused."""
    players = [Player(0, contributes=True), Player(1, contributes=True)]
    async with serving() as (_, client):
        table = await create(client, players, mode=COMMIT_REVEAL)
        await table.join()

        def act(player: Player) -> pb.Act:
            return pb.Act(match_id=table.match_id, token=player.token, request_id=secrets.token_bytes(16))

        def commitment(player: Player) -> bytes:
            return hashing.contribution_commitment(table.match_id, player.seat, player.contribution)

        def commit(player: Player) -> pb.CommitContributionRequest:
            return pb.CommitContributionRequest(act=act(player), commitment=commitment(player))

        first = commit(players[0])
        reply = await client.match.CommitContribution(first)
        assert await client.match.CommitContribution(first) == reply
        assert (await failing(client.match.CommitContribution(commit(players[0])))).reason == "WRONG_PHASE"
        reveal = pb.RevealContributionRequest(act=act(players[0]), contribution=players[0].contribution)
        assert (await failing(client.match.RevealContribution(reveal))).reason == "WRONG_PHASE"
        await client.match.CommitContribution(commit(players[1]))
        wrong = pb.RevealContributionRequest(act=act(players[0]), contribution=bytes(32))
        refused = await failing(client.match.RevealContribution(wrong))
        assert (refused.reason, refused.violations) == ("MALFORMED", ["contribution"])
        await client.match.RevealContribution(reveal)
        assert (await table.info()).status == pb.MATCH_STATUS_CONTRIBUTING
        last = pb.RevealContributionRequest(act=act(players[1]), contribution=players[1].contribution)
        await client.match.RevealContribution(last)
        assert (await table.info()).status == pb.MATCH_STATUS_RUNNING
