"""Clocks for callers of EngineService, who own the match and its time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from random import Random

import pytest
from sixledger.ledger import clocks
from sixledger.ledger.keys import ActKind
from sixledger.ledger.verify import verify_records
from sixledger.service.checkpoint import from_checkpoint, to_checkpoint
from sixledger.service.engine_servicer import EngineServicer
from sixledger.service.errors import ServiceError
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import error_pb2, record_pb2, replay_service_pb2
from support.hosts import START_US, request_id
from support.ledgers import COMMIT_REVEAL, SEATS, Table
from support.servers import ONE_ROUND

SECOND = 1_000_000
SECRET = bytes(range(32))
ENGINE = EngineServicer()


def opening() -> pb.StartMatchRequest:
    """A match for two whose cards are dealt, with two seconds for each act."""
    return pb.StartMatchRequest(
        match_id=bytes(16),
        root_secret=SECRET,
        game="nimmt",
        options=ONE_ROUND,
        seats=2,
        request_id=request_id(),
        time_us=START_US,
        immediate=True,
        clock=record_pb2.Clock(turn_us=2 * SECOND, bank_us=9 * SECOND, increment_us=SECOND),
        timeout_policy=clocks.FIRST_LEGAL,
    )


async def apply(checkpoint: pb.Checkpoint, action: pb.Action) -> pb.ApplyActionResponse:
    state = pb.EngineState(checkpoint=checkpoint)
    return await ENGINE.ApplyAction(pb.ApplyActionRequest(state=state, root_secret=SECRET, action=action))


async def test_a_whole_match_by_checkpoints_and_timers() -> None:
    """Every second act is a timer's: what a checkpoint keeps is enough for the next deadline."""
    reply = await ENGINE.StartMatch(opening())
    records, checkpoint, timers = [reply.record], reply.checkpoint, list(reply.timers)
    time_us, random = START_US, Random(1)
    while not checkpoint.ended:
        first = timers[0]
        if random.random() < 0.5 or time_us + 100_000 > first.deadline_us:
            time_us = max(time_us, first.deadline_us + 7)
            action = clocks.fire(first, time_us)
        else:
            time_us += 100_000
            state = pb.EngineState(checkpoint=checkpoint)
            legal = await ENGINE.ListEngineLegalCommands(
                pb.ListEngineLegalCommandsRequest(state=state, seat=first.seat)
            )
            cause = record_pb2.Cause(
                kind=record_pb2.CAUSE_KIND_SEAT, seat=first.seat, request_id=request_id(), decision=legal.decision
            )
            action = pb.Action(cause=cause, time_us=time_us, command=legal.commands[-1].SerializeToString())
        applied = await apply(checkpoint, action)
        records.append(applied.record)
        checkpoint, timers = applied.checkpoint, list(applied.timers)
    assert timers == []
    assert verify_records(records).verdict == replay_service_pb2.VERDICT_VALID


async def test_an_act_later_than_a_deadline_waits_for_the_timer() -> None:
    reply = await ENGINE.StartMatch(opening())
    cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=request_id())
    late = pb.Action(cause=cause, time_us=START_US + 2 * SECOND + 1, pause=pb.PauseAction())
    with pytest.raises(ServiceError) as caught:
        await apply(reply.checkpoint, late)
    assert caught.value.reason == error_pb2.REASON_TIMER_DUE
    early = clocks.fire(reply.timers[0], START_US)
    with pytest.raises(ServiceError) as caught:
        await apply(reply.checkpoint, early)
    assert caught.value.reason == error_pb2.REASON_MALFORMED
    assert caught.value.violations[0][0] == "action.time_us"


async def test_a_session_tells_the_timers() -> None:
    async def requests(steps: Sequence[pb.SessionStep]) -> AsyncIterator[pb.SessionRequest]:
        yield pb.SessionRequest(steps=steps)

    cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=request_id())
    pause = pb.Action(cause=cause, time_us=START_US + 1, pause=pb.PauseAction())
    steps = [pb.SessionStep(start=opening()), pb.SessionStep(ping=pb.SessionPing()), pb.SessionStep(action=pause)]
    (response,) = [response async for response in ENGINE.Session(requests(steps))]
    started, ping, paused = response.results
    assert [timer.seat for timer in started.timers] == [0, 1]
    assert ping.timers == started.timers
    assert list(paused.timers) == []


@pytest.mark.parametrize("mode", [COMMIT_REVEAL, SEATS])
def test_a_checkpoint_of_any_moment_has_the_same_timers(mode: record_pb2.ContributionMode.ValueType) -> None:
    clock = record_pb2.Clock(
        turn_us=SECOND, bank_us=9 * SECOND, join_us=SECOND, contribute_us=SECOND, reveal_us=SECOND, pause_us=SECOND
    )
    both = frozenset({0, 1})
    table = Table(mode=mode, contributing=both, clock=clock, policy=clocks.FORFEIT, name="moments", at=0)
    table.start()
    table.play(3)
    table.pause()
    table.resume()
    table.fire()
    for match in table.matches:
        loaded = from_checkpoint(to_checkpoint(match), "checkpoint")
        assert loaded.clocks == match.clocks
        assert loaded.timers() == match.timers()
        assert loaded.paused == match.paused


@pytest.mark.parametrize("given", [(0,), (0, 1)])
def test_a_checkpoint_keeps_who_withheld(given: tuple[int, ...]) -> None:
    """Seats that did not commit, or did not reveal: from the checkpoint the match goes on to the same record."""
    clock = record_pb2.Clock(contribute_us=SECOND, reveal_us=SECOND, withheld=clocks.GO_ON)
    both = frozenset({0, 1})
    table = Table(mode=COMMIT_REVEAL, contributing=both, clock=clock, name="withheld", at=0)
    for seat in both:
        table.join(seat)
    for seat in given:
        table.commit(seat)
    if 1 in given:
        table.reveal(0)
    table.fire()
    loaded = from_checkpoint(to_checkpoint(table.match), "checkpoint")
    assert [seat.withheld for seat in loaded.seats] == [False, True]
    assert loaded.seats == table.match.seats
    if 1 not in given:
        table.at = SECOND + 2
        action = table.action(0, ActKind.CONTRIBUTION, contribution=table.contribution(0))
        assert table.author.act(loaded, action)[1] == table.act(action)
    assert table.match.state is not None


def test_a_checkpoint_whose_clocks_cannot_be_is_refused() -> None:
    table = Table(clock=record_pb2.Clock(turn_us=SECOND), policy=clocks.FORFEIT, name="lies", at=0)
    table.start()

    def without(checkpoint: pb.Checkpoint) -> None:
        checkpoint.ClearField("clocks")

    def resting(checkpoint: pb.Checkpoint) -> None:
        checkpoint.clocks.seats[0].running = False

    def ahead(checkpoint: pb.Checkpoint) -> None:
        checkpoint.clocks.seats[0].since_us += 1

    def short(checkpoint: pb.Checkpoint) -> None:
        del checkpoint.clocks.seats[1]

    for lie in (without, resting, ahead, short):
        checkpoint = to_checkpoint(table.match)
        lie(checkpoint)
        with pytest.raises(ServiceError) as caught:
            from_checkpoint(checkpoint, "checkpoint")
        assert caught.value.violations[0][0].startswith("checkpoint.clocks")
