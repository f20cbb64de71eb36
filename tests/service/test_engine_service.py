"""EngineService: the caller owns the match. The same calls make the same bytes as a hosted match."""

from __future__ import annotations

from random import Random
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import error_pb2, game_pb2, match_service_pb2, record_pb2
from support.hosts import START_US, Clock, StoreAround, request_id, root_secrets
from support.servers import ONE_ROUND, TWO_ROUNDS, Client, Player, client_of, create, failing, memory_settings, serving

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

SECRET = bytes(range(32))
SEAT = record_pb2.CAUSE_KIND_SEAT


async def begun(client: Client, **changes: Any) -> pb.StartMatchResponse:
    """A match for two, with its cards dealt."""
    arguments: dict[str, Any] = {
        "match_id": bytes(range(16)),
        "root_secret": SECRET,
        "game": "nimmt",
        "options": ONE_ROUND,
        "seats": 2,
        "request_id": request_id(),
        "time_us": START_US,
        "immediate": True,
    }
    reply: pb.StartMatchResponse = await client.engine.StartMatch(pb.StartMatchRequest(**(arguments | changes)))
    return reply


async def next_action(client: Client, state: pb.EngineState, random: Random) -> pb.Action | None:
    """A random legal command, or None if the match is over."""
    for seat in random.sample(range(2), 2):
        legal = await client.engine.ListEngineLegalCommands(pb.ListEngineLegalCommandsRequest(state=state, seat=seat))
        if legal.commands:
            command = random.choice(list(legal.commands)).SerializeToString()
            cause = record_pb2.Cause(kind=SEAT, seat=seat, request_id=request_id(), decision=legal.decision)
            return pb.Action(cause=cause, time_us=START_US, command=command)
    return None


async def test_a_hosted_match_and_the_engine_make_the_same_bytes() -> None:
    """The acts of a hosted match with signing, contributing and plain seats, given to the engine: equal records."""
    clock = Clock()
    players = [Player(0, Ed25519PrivateKey.generate(), contributes=True), Player(1, contributes=True), Player(2)]
    async with StoreAround(MemoryStore()) as store:
        server = Server(memory_settings(), store=store, clock=clock, root_secret=root_secrets())
        async with server, client_of(server) as client:
            table = await create(client, players, options=TWO_ROUNDS, mode=record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL)
            await table.join()
            await table.contribute()
            for step in range(10_000):
                if (await table.info()).status != match_service_pb2.MATCH_STATUS_RUNNING:
                    break
                clock.now_us += 1_000 * (step % 3)
                await table.play(Random(step), 1)
            hosted = [record_pb2.Record.FromString(data) for data in await store.records(table.match_id, 0, 100_000)]
            made = await replayed(client, table.match_id, hosted)
            assert [record.SerializeToString(deterministic=True) for record in made] == [
                record.SerializeToString(deterministic=True) for record in hosted
            ]


async def replayed(client: Client, match_id: bytes, hosted: list[record_pb2.Record]) -> list[record_pb2.Record]:
    """The records that the engine makes of the acts in a ledger, by checkpoint."""
    first = record_pb2.Body.FromString(hosted[0].body)
    opened = first.lifecycle[0].opened
    secret = root_secrets()()
    start = await client.engine.StartMatch(
        pb.StartMatchRequest(
            match_id=match_id,
            root_secret=secret,
            game=opened.ruleset.id,
            options=opened.options,
            seats=opened.seats,
            mode=opened.mode,
            request_id=first.cause.request_id,
            time_us=first.time_us,
        )
    )
    made, checkpoint = [start.record], start.checkpoint
    for record in hosted[1:]:
        action = action_in(record)
        state = pb.EngineState(checkpoint=checkpoint)
        reply = await client.engine.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=secret, action=action))
        made.append(reply.record)
        checkpoint = reply.checkpoint
    assert checkpoint.ended
    return made


def action_in(record: record_pb2.Record) -> pb.Action:
    """The act that a whole record tells of."""
    body = record_pb2.Body.FromString(record.body)
    action = pb.Action(cause=body.cause, time_us=body.time_us)
    action.cause.ClearField("key_id")
    if body.command:
        command = body.command
        if record.seals and record.seals[0].audience == 1 << body.cause.seat and not body.cause.signature:
            public = game_pb2.Command.FromString(body.command)
            if public.nimmt.HasField("select_card"):
                sealed = record_pb2.SealedCommand.FromString(record.openings[0].value)
                command, action.cause.signature = sealed.command, sealed.signature
        action.command = command
        return action
    step = body.lifecycle[0]
    if step.HasField("joined"):
        action.join.public_key, action.join.contributes = step.joined.public_key, step.joined.contributes
        action.join.SetInParent()
    elif step.HasField("committed"):
        action.commitment = step.committed.commitment
    else:
        action.contribution = step.contributed.contribution
    return action


async def test_ledger_and_checkpoint_are_the_same_state() -> None:
    """Whichever the caller sends, the next record, the legal commands and the views are equal, at every record."""
    async with serving() as (_, client):
        started = await begun(client)
        records, checkpoint = [started.record], started.checkpoint
        random = Random(7)
        while True:
            by_ledger = pb.EngineState(ledger=pb.Ledger(records=records))
            by_checkpoint = pb.EngineState(checkpoint=checkpoint)
            action = await next_action(client, by_checkpoint, random)
            if action is None:
                break
            for seat in (None, 0, 1):
                views = [
                    await client.engine.GetEngineView(pb.GetEngineViewRequest(state=state, seat=seat))
                    for state in (by_ledger, by_checkpoint)
                ]
                assert views[0] == views[1]
            replies = [
                await client.engine.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=SECRET, action=action))
                for state in (by_ledger, by_checkpoint)
            ]
            assert replies[0] == replies[1]
            records.append(replies[0].record)
            checkpoint = replies[0].checkpoint
        assert checkpoint.ended
        assert len(records) > 20


async def test_a_view_of_the_engine_shows_one_hand() -> None:
    """The caller may show it to the seat: no other hand is in it, and a spectator's has none."""
    async with serving() as (_, client):
        state = pb.EngineState(checkpoint=(await begun(client)).checkpoint)
        for seat, expected in ((None, [0, 0]), (0, [10, 0]), (1, [0, 10])):
            view = (await client.engine.GetEngineView(pb.GetEngineViewRequest(state=state, seat=seat))).view
            assert [len(each.hand) for each in view.nimmt.seats] == expected


def _cut(checkpoint: pb.Checkpoint) -> None:
    checkpoint.hash = checkpoint.hash[:-1]


def _other_id(checkpoint: pb.Checkpoint) -> None:
    checkpoint.match_id = b"x"


def _no_game(checkpoint: pb.Checkpoint) -> None:
    checkpoint.opened.ruleset.id = "chess"


def _other_digest(checkpoint: pb.Checkpoint) -> None:
    checkpoint.opened.ruleset.digest = bytes([1]) * 32


def _fewer_seats(checkpoint: pb.Checkpoint) -> None:
    del checkpoint.seats[0]


def _many_epochs(checkpoint: pb.Checkpoint) -> None:
    checkpoint.opened.epochs = 2**31


def _far_epoch(checkpoint: pb.Checkpoint) -> None:
    checkpoint.revealed = 99


def _no_position(checkpoint: pb.Checkpoint) -> None:
    checkpoint.position.nimmt.ClearField("rows")


def _twice(checkpoint: pb.Checkpoint) -> None:
    checkpoint.position.nimmt.seats[0].hand[:] = [7] * 10


def _huge_card(checkpoint: pb.Checkpoint) -> None:
    checkpoint.position.nimmt.seats[0].hand[0] = 4_000_000_000


def _gap(checkpoint: pb.Checkpoint) -> None:
    checkpoint.seq += 5


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _other_id,
        _no_game,
        _other_digest,
        _fewer_seats,
        _many_epochs,
        _far_epoch,
        _no_position,
        _twice,
        _huge_card,
        _gap,
    ],
)
async def test_a_bad_checkpoint_is_an_invalid_argument(damage: Any) -> None:
    """Each names a field below `state.checkpoint`; none is a defect, and none repeats a card."""
    async with serving() as (_, client):
        checkpoint = (await begun(client)).checkpoint
        action = await next_action(client, pb.EngineState(checkpoint=checkpoint), Random(1))
        damage(checkpoint)
        state = pb.EngineState(checkpoint=checkpoint)
        request = pb.ApplyActionRequest(state=state, root_secret=SECRET, action=action)
        refused = await failing(client.engine.ApplyAction(request))
        assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED")
        assert refused.violations[0].startswith("state")


async def test_a_bad_ledger_is_an_invalid_argument() -> None:
    """A changed, a redacted, a reordered and an empty ledger; the first three name the record."""
    async with serving() as (_, client):
        started = await begun(client)
        state = pb.EngineState(checkpoint=started.checkpoint)
        action = await next_action(client, state, Random(1))
        reply = await client.engine.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=SECRET, action=action))

        async def refused(*records: record_pb2.Record) -> list[str]:
            ledger = pb.EngineState(ledger=pb.Ledger(records=records))
            request = pb.ApplyActionRequest(state=ledger, root_secret=SECRET, action=action)
            found = await failing(client.engine.ApplyAction(request))
            assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED")
            return found.violations

        changed, closed = record_pb2.Record(), record_pb2.Record()
        changed.CopyFrom(reply.record)
        changed.body = changed.body[:-1] + bytes([changed.body[-1] ^ 1])
        closed.CopyFrom(reply.record)
        closed.ClearField("openings")
        assert await refused(started.record, changed) == ["state.ledger.records[1]"]
        assert await refused(started.record, closed) == ["state.ledger.records[1]"]
        assert await refused(reply.record, started.record) == ["state.ledger.records[0]"]
        assert await refused() == ["state"]


async def test_bad_acts_name_their_fields() -> None:
    """Another secret, a missing act, a kind that does not fit, a seat that is not there, a far future."""
    async with serving() as (_, client):
        state = pb.EngineState(checkpoint=(await begun(client)).checkpoint)
        good = await next_action(client, state, Random(1))
        assert good is not None

        async def refused(secret: bytes = SECRET, **changes: Any) -> list[str]:
            action = pb.Action()
            action.CopyFrom(good)
            for name, value in changes.items():
                target, field = (action.cause, name.removeprefix("cause_")) if "cause_" in name else (action, name)
                setattr(target, field, value)
            request = pb.ApplyActionRequest(state=state, root_secret=secret, action=action)
            found = await failing(client.engine.ApplyAction(request))
            assert found.reason == "MALFORMED"
            return found.violations

        assert await refused(bytes(32)) == ["root_secret"]
        assert await refused(b"x") == ["root_secret"]
        assert await refused(cause_kind=record_pb2.CAUSE_KIND_TABLE) == ["action.cause.kind"]
        assert await refused(cause_seat=2) == ["action.cause.seat"]
        assert await refused(cause_request_id=b"") == ["action.cause.request_id"]
        assert await refused(time_us=2**63) == ["action.time_us"]
        assert await refused(command=b"\xff") == ["action.command"]


async def test_an_illegal_command_to_the_engine_carries_the_view() -> None:
    """As for a hosted match."""
    async with serving() as (_, client):
        state = pb.EngineState(checkpoint=(await begun(client)).checkpoint)
        command = game_pb2.Command(nimmt=nimmt_pb2.Command(take_row=nimmt_pb2.TakeRow(row=0)))
        cause = record_pb2.Cause(kind=SEAT, seat=0, request_id=request_id(), decision=1)
        action = pb.Action(cause=cause, command=command.SerializeToString())
        refused = await failing(
            client.engine.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=SECRET, action=action))
        )
        assert refused.metadata["rule"] == "wrong_phase"
        assert isinstance(refused.illegal, error_pb2.IllegalCommandDetail)
        assert refused.illegal.view.nimmt.viewer == 0


async def test_starting_wrongly_is_typed() -> None:
    """Lengths, modes, games, options."""
    async with serving() as (_, client):

        async def refused(**changes: Any) -> tuple[str, list[str]]:
            found = await failing(begun(client, **changes))
            return found.reason, found.violations

        assert await refused(match_id=b"x") == ("MALFORMED", ["match_id"])
        assert await refused(root_secret=b"x") == ("MALFORMED", ["root_secret"])
        assert await refused(request_id=b"x") == ("MALFORMED", ["request_id"])
        assert await refused(time_us=2**63) == ("MALFORMED", ["time_us"])
        assert await refused(mode=99) == ("MALFORMED", ["mode"])
        assert await refused(mode=record_pb2.CONTRIBUTION_MODE_SEATS) == ("MALFORMED", ["immediate"])
        assert await refused(game="chess") == ("UNKNOWN_GAME", [])
        assert await refused(seats=1) == ("ILLEGAL_OPTIONS", ["seats"])
