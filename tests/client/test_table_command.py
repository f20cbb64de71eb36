"""The owner of a table gives its commands; who follows the match takes them for what they are."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from sixledger.client import AsyncClient, Client, errors
from sixledger.client.core.tracker import Tracker
from sixledger.engine.piece import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2 as pb
from sixledger.ledger import records
from sixledger.v1 import game_pb2, record_pb2, replay_service_pb2
from support.ledgers import KEYS, Table, forge
from support.play import RunningServer

CLOCK = pb.Options(time_mode=pb.TIME_MODE_CLOCK)
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
TIME_UP = pb.Command(time_up=pb.TimeUp())


@pytest.mark.parametrize(
    "command", [TIME_UP.time_up, TIME_UP, game_pb2.Command(piece=TIME_UP)], ids=["concrete", "of-game", "envelope"]
)
def test_the_owner_gives_a_command_of_the_table(server: RunningServer, command: Message) -> None:
    with Client(server.address) as client:
        created = client.matches.create("piece", seats=2, options=CLOCK, mode=SERVER_ONLY)
        owned = created.match_id, created.owner_token
        seats = [client.matches.join(created.match_id, seat) for seat in range(2)]
        for seat in seats:
            seat.refresh()
        record = client.matches.table_command(*owned, command, request_id=b"r" * 16)
        assert client.matches.table_command(*owned, command, request_id=b"r" * 16) == record
        with pytest.raises(errors.IllegalCommand) as caught:
            client.matches.table_command(*owned, command)
        assert (caught.value.rule, caught.value.command) == ("already_chosen", game_pb2.Command(piece=TIME_UP))
        assert caught.value.view == client.matches.view(created.match_id).view
        while not seats[0].over:
            for seat in seats:
                seat.refresh()
                if seat.may_act:
                    seat.play(seat.legal()[0])
        assert record in [recorded.record for recorded in seats[1].records]
        assert seats[1].verify().verdict == replay_service_pb2.VERDICT_VALID
        for seat in seats:
            seat.close()


async def test_the_asyncio_client_gives_it_as_well(server: RunningServer) -> None:
    async with AsyncClient(server.address) as client:
        created = await client.matches.create("piece", seats=2, options=CLOCK, mode=SERVER_ONLY)
        owned = created.match_id, created.owner_token
        with pytest.raises(errors.WrongPhase):
            await client.matches.table_command(*owned, pb.TimeUp())
        with pytest.raises(ValueError, match="no command of this game"):
            await client.matches.table_command(*owned, nimmt_pb2.TakeRow(row=1))
        with pytest.raises(errors.Malformed):
            await client.matches.table_command(*owned, pb.Decline())
        for seat in range(2):
            await client.matches.join(created.match_id, seat)
        record = await client.matches.table_command(*owned, pb.TimeUp())
        assert record_pb2.Body.FromString(record.body).cause.kind == record_pb2.CAUSE_KIND_TABLE


@pytest.mark.parametrize(
    ("liar", "error"),
    [(record_pb2.CAUSE_KIND_TABLE, errors.ForgedAct), (record_pb2.CAUSE_KIND_TIMER, errors.RulesBroken)],
)
def test_a_seat_s_command_in_the_name_of_another_is_forged(
    liar: record_pb2.CauseKind.ValueType, error: type[errors.ServerCheated]
) -> None:
    def change(body: record_pb2.Body) -> None:
        body.cause.kind = liar
        body.cause.seat = 0

    table = Table(options=CLOCK, game=GAME).play(2)
    tracker = Tracker(table.match.match_id, KEYS[0])
    *honest, last = forge(table.records, len(table.records) - 1, change)
    for record in honest:
        tracker.receive(records.redact(record, None, 0))
    with pytest.raises(error):
        tracker.receive(records.redact(last, None, 0))


def test_a_command_of_the_table_is_believed() -> None:
    table = Table(options=CLOCK, game=GAME).play(2)
    table.act(table.table_command(pb.TimeUp()))
    tracker = Tracker(table.match.match_id, KEYS[0])
    for record in table.records:
        tracker.receive(records.redact(record, None, 0))
    assert tracker.view().time_up
