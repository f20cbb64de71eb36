"""Engine sessions make the same bytes as single calls, and keep one match for the length of the stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random

import grpc
import pytest
from sixledger.engine.nimmt import GAME
from sixledger.ledger.author import Author
from sixledger.ledger.match import Match
from sixledger.service.engine_servicer import EngineServicer
from sixledger.service.errors import ServiceError
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import error_pb2, record_pb2
from support.servers import ONE_ROUND, serving

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

SECRET = b"s" * 32
START = pb.StartMatchRequest(
    match_id=b"m" * 16,
    root_secret=SECRET,
    game="nimmt",
    options=ONE_ROUND,
    seats=2,
    request_id=b"o" * 16,
    time_us=1,
    immediate=True,
)


def script() -> tuple[record_pb2.Record, list[pb.Action], list[record_pb2.Record]]:
    """Record 0 of a match, the actions that play it to its end, and their records."""
    author, match, first = Author.open(
        GAME,
        2,
        GAME.schema.options.unpack(ONE_ROUND),
        root_secret=SECRET,
        match_id=START.match_id,
        request_id=START.request_id,
        time_us=1,
        immediate=True,
    )
    random, actions, records = Random(1), [], []
    while not match.over:
        actions.append(action(match, random))
        match, record = author.act(match, actions[-1])
        records.append(record)
    return first, actions, records


def action(match: Match, random: Random) -> pb.Action:
    seat = match.to_act[0]
    command = GAME.schema.commands.pack(random.choice(GAME.legal(match.state, seat)))
    cause = record_pb2.Cause(
        kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=random.randbytes(16), decision=match.decision
    )
    return pb.Action(cause=cause, time_us=match.time_us + 1, command=command.SerializeToString())


def step(**kind: object) -> pb.SessionStep:
    return pb.SessionStep(**kind)  # type: ignore[arg-type]  # the case names are the keywords


async def done(*messages: Sequence[pb.SessionStep]) -> list[list[pb.SessionResult]]:
    """What a session of a servicer answers to each message."""

    async def requests() -> AsyncIterator[pb.SessionRequest]:
        for steps in messages:
            yield pb.SessionRequest(steps=steps)

    return [list(response.results) async for response in EngineServicer().Session(requests())]


async def test_a_session_makes_the_bytes_of_single_calls() -> None:
    """One action a message, or all in one; the checkpoint after each is that of the call."""
    first, actions, records = script()
    results = await done([step(start=START)], *([step(action=each)] for each in actions))
    assert [result[0].record for result in results] == [first, *records]
    (together,) = await done([step(start=START), *(step(action=each) for each in actions)])
    assert [result.record for result in together] == [first, *records]
    servicer = EngineServicer()
    checkpoint = (await servicer.StartMatch(START)).checkpoint
    (wanted,) = await done([step(start=START), *(step(action=each, with_checkpoint=True) for each in actions)])
    for each, result in zip(actions, wanted[1:], strict=True):
        state = pb.EngineState(checkpoint=checkpoint)
        reply = await servicer.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=SECRET, action=each))
        checkpoint = reply.checkpoint
        assert (result.record, result.checkpoint) == (reply.record, checkpoint)


@pytest.mark.parametrize("cut", [0, 1, 7, 15])
async def test_a_session_goes_on_from_a_ledger_or_a_checkpoint(cut: int) -> None:
    """From any record on, in the same way."""
    first, actions, records = script()
    ledger = pb.EngineState(ledger=pb.Ledger(records=[first, *records[:cut]]))
    ((loaded, kept),) = await done(
        [step(load=pb.SessionLoad(state=ledger, root_secret=SECRET)), step(ping=pb.SessionPing(), with_checkpoint=True)]
    )
    assert loaded.loaded.seq == cut
    checkpoint = pb.EngineState(checkpoint=kept.checkpoint)
    for state in (ledger, checkpoint):
        load = step(load=pb.SessionLoad(state=state, root_secret=SECRET))
        (results,) = await done([load, *(step(action=each) for each in actions[cut:])])
        assert [result.record for result in results[1:]] == records[cut:]


async def test_views_and_legal_commands_are_those_of_the_match() -> None:
    _, actions, _ = script()
    legal, view, spectator = (
        step(legal=pb.SessionLegal(seat=1)),
        step(view=pb.SessionView(seat=1)),
        step(view=pb.SessionView()),
    )
    (results,) = await done([step(start=START), legal, view, spectator, step(action=actions[0]), legal])
    assert len(results[1].legal.commands) == 10
    assert len(results[2].view.view.nimmt.seats[1].hand) == 10
    assert not results[3].view.view.nimmt.seats[1].hand
    assert results[5].legal.decision == results[1].legal.decision


async def test_a_step_that_fails_ends_its_message_and_changes_nothing() -> None:
    """What follows in the message is not done; the next message goes on where the match stood."""
    _, actions, records = script()
    wrong = pb.Action()
    wrong.CopyFrom(actions[1])
    wrong.cause.decision = 99
    results = await done(
        [step(start=START), step(action=actions[0]), step(action=wrong), step(action=actions[1])],
        [step(action=actions[1])],
    )
    assert [result.WhichOneof("result") for result in results[0]] == ["record", "record", "failure"]
    assert results[0][2].failure.reason == error_pb2.REASON_STALE_DECISION
    assert results[1][0].record == records[1]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (step(), error_pb2.REASON_MALFORMED),
        (step(action=pb.Action()), error_pb2.REASON_WRONG_PHASE),
        (step(legal=pb.SessionLegal()), error_pb2.REASON_WRONG_PHASE),
        (step(view=pb.SessionView()), error_pb2.REASON_WRONG_PHASE),
        (step(start=pb.StartMatchRequest(game="chess")), error_pb2.REASON_UNKNOWN_GAME),
        (step(load=pb.SessionLoad()), error_pb2.REASON_MALFORMED),
        (step(load=pb.SessionLoad(root_secret=SECRET)), error_pb2.REASON_MALFORMED),
    ],
    ids=lambda value: value.WhichOneof("step") if isinstance(value, pb.SessionStep) else "",
)
async def test_what_cannot_be_done_is_a_failure_and_the_session_lives(
    wrong: pb.SessionStep, reason: error_pb2.Reason.ValueType
) -> None:
    results = await done([wrong], [step(ping=pb.SessionPing())], [])
    assert [result.failure.reason for result in results[0]] == [reason]
    assert results[1][0].HasField("pong")
    assert results[2] == []


async def test_an_illegal_action_comes_with_the_view_of_its_seat() -> None:
    _, actions, _ = script()
    taken = pb.Action()
    taken.CopyFrom(actions[0])
    taken.cause.request_id = b"n" * 16
    (results,) = await done([step(start=START), step(action=actions[0]), step(action=taken)])
    failed = results[2].failure
    assert failed.reason == error_pb2.REASON_ILLEGAL_COMMAND
    assert failed.illegal_command.rule == failed.metadata["rule"]
    assert failed.illegal_command.view.nimmt.seats


async def test_a_session_ends_when_the_client_has_half_closed_or_the_server_stops() -> None:
    """OK after half-closing; a failure UNAVAILABLE, and then OK, when the server stops."""
    async with serving() as (server, client):
        short, long = client.engine.Session(), client.engine.Session()
        for call in (short, long):
            await call.write(pb.SessionRequest(steps=[step(start=START)]))
            assert (await call.read()).results[0].record.body
        await short.done_writing()
        assert await short.read() is grpc.aio.EOF
        assert await short.code() is grpc.StatusCode.OK
        async with asyncio.timeout(5):
            await server.stop(3)
            assert (await long.read()).results[0].failure.reason == error_pb2.REASON_UNAVAILABLE
            assert await long.code() is grpc.StatusCode.OK


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with serving() as (server, client):
        call = client.engine.Session()
        await call.write(pb.SessionRequest(steps=[step(start=START)]))
        await call.read()
        call.cancel()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not server.gate.running:
                break
        assert not server.gate.running
        assert not server.host.hub.watched(b"")


async def test_a_request_that_cannot_be_read_ends_the_session() -> None:
    async def requests() -> AsyncIterator[pb.SessionRequest]:
        raise ServiceError(error_pb2.REASON_MALFORMED, "cannot be read")
        yield pb.SessionRequest()

    with pytest.raises(ServiceError):
        await anext(EngineServicer().Session(requests()))
