"""Commands of the table over a socket: its owner gives them, once, and nobody else can."""

from __future__ import annotations

from random import Random

import grpc
from sixledger.engine.piece import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from sixledger.ledger.records import read
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import START_US, request_id
from support.servers import Client, HostedTable, failing, serving, start

CLOCK = game_pb2.Options(piece=piece_pb2.Options(time_mode=piece_pb2.TIME_MODE_CLOCK))
TIME_UP = game_pb2.Command(piece=piece_pb2.Command(time_up=piece_pb2.TimeUp()))
DECLINE = game_pb2.Command(piece=piece_pb2.Command(decline=piece_pb2.Decline()))


async def clocked(client: Client) -> HostedTable:
    """A match of 6piece that is played until the table says that time is up."""
    return await start(client, 2, game="piece", options=CLOCK)


def request(table: HostedTable, command: game_pb2.Command = TIME_UP) -> pb.SubmitTableCommandRequest:
    """A new request of the owner."""
    return pb.SubmitTableCommandRequest(
        match_id=table.match_id,
        owner_token=table.owner_token,
        request_id=request_id(),
        command=command.SerializeToString(),
    )


async def test_the_owner_says_that_time_is_up_once() -> None:
    """The command is in the ledger as the table's, the same request gets the same reply, a second one is illegal."""
    async with serving() as (_, client):
        table = await clocked(client)
        await table.play(Random(1), 3)
        before = await table.info()
        first = request(table)
        reply = await client.match.SubmitTableCommand(first)
        body = record_pb2.Body.FromString(reply.record.body)
        assert (body.cause.kind, body.cause.seat) == (record_pb2.CAUSE_KIND_TABLE, 0)
        assert body.command == first.command
        assert [type(event) for event in read(reply.record, GAME.schema).events] == [piece_pb2.TimeCalled]
        after = await table.info()
        assert (after.record_count, after.decision) == (before.record_count + 1, before.decision)
        assert await client.match.SubmitTableCommand(first) == reply
        refused = await failing(client.match.SubmitTableCommand(request(table)))
        assert (refused.code, refused.metadata["rule"]) == (grpc.StatusCode.FAILED_PRECONDITION, "already_chosen")
        await table.play(Random(2))
        assert (await table.info()).status == pb.MATCH_STATUS_ENDED
        assert await client.match.SubmitTableCommand(first) == reply
        refused = await failing(client.match.SubmitTableCommand(request(table)))
        assert refused.metadata["rule"] == "finished"


async def test_a_refusal_shows_what_a_spectator_sees() -> None:
    """The table holds no cards: the error carries its command and the view of nobody's seat."""
    async with serving() as (_, client):
        table = await start(client, 2, game="piece", options=game_pb2.Options())
        refused = await failing(client.match.SubmitTableCommand(request(table)))
        assert (refused.reason, refused.metadata["rule"]) == ("ILLEGAL_COMMAND", "wrong_phase")
        assert refused.illegal is not None
        assert refused.illegal.command == TIME_UP
        seen = await client.match.GetView(pb.GetViewRequest(match_id=table.match_id))
        assert refused.illegal.view == seen.view
        assert not refused.illegal.view.piece.legal


async def test_the_table_gives_its_own_commands_only() -> None:
    """A seat's command, another game's, or bytes that are none are malformed; a seat cannot give the table's."""
    async with serving() as (_, client):
        table = await clocked(client)
        other = game_pb2.Command(nimmt=nimmt_pb2.Command(take_row=nimmt_pb2.TakeRow(row=1)))
        for command in (DECLINE, other, game_pb2.Command()):
            refused = await failing(client.match.SubmitTableCommand(request(table, command)))
            assert (refused.code, refused.violations) == (grpc.StatusCode.INVALID_ARGUMENT, ["command"])
        broken = request(table)
        broken.command = b"\xff"
        assert (await failing(client.match.SubmitTableCommand(broken))).violations == ["command"]
        broken.command = bytes(16_385)
        assert (await failing(client.match.SubmitTableCommand(broken))).violations == ["command"]
        broken = request(table)
        broken.request_id = b"short"
        assert (await failing(client.match.SubmitTableCommand(broken))).violations == ["request_id"]
        info = await table.info()
        by_seat = table.command_request(table.players[info.to_act[0]], TIME_UP, info.decision)
        refused = await failing(client.match.SubmitCommand(by_seat))
        assert refused.code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)
        assert (await table.info()).record_count == info.record_count


async def test_only_the_owner_speaks_for_the_table() -> None:
    """A seat's token is the wrong one, no token is none, and the owner of another match owns that match only."""
    async with serving() as (_, client):
        table, other = await clocked(client), await clocked(client)
        wrong = request(table)
        for token, reason in (
            (table.players[0].token, "FOREIGN_SEAT"),
            (other.owner_token, "FOREIGN_SEAT"),
            ("", "BAD_TOKEN"),
        ):
            wrong.owner_token = token
            assert (await failing(client.match.SubmitTableCommand(wrong))).reason == reason


async def test_the_engine_service_takes_commands_of_the_table() -> None:
    """Whoever owns the match gives TABLE as the cause; a refusal carries the view of a spectator."""
    async with serving() as (_, client):
        secret = bytes(range(32))
        opened = await client.engine.StartMatch(
            engine_service_pb2.StartMatchRequest(
                game="piece",
                seats=2,
                options=CLOCK,
                root_secret=secret,
                match_id=bytes(16),
                request_id=request_id(),
                time_us=START_US,
                immediate=True,
                mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
            )
        )
        state = engine_service_pb2.EngineState(checkpoint=opened.checkpoint)

        def apply(state: engine_service_pb2.EngineState) -> engine_service_pb2.ApplyActionRequest:
            cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=request_id())
            action = engine_service_pb2.Action(cause=cause, time_us=START_US, command=TIME_UP.SerializeToString())
            return engine_service_pb2.ApplyActionRequest(state=state, root_secret=secret, action=action)

        reply = await client.engine.ApplyAction(apply(state))
        assert not reply.record.seals
        again = engine_service_pb2.EngineState(checkpoint=reply.checkpoint)
        refused = await failing(client.engine.ApplyAction(apply(again)))
        assert refused.metadata["rule"] == "already_chosen"
        assert refused.illegal is not None
        view = await client.engine.GetEngineView(engine_service_pb2.GetEngineViewRequest(state=again))
        assert refused.illegal.view == view.view
