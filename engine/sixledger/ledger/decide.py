"""Deciding: what the next record is, given an act. The one place where records come from.

The service decides and appends; the verifier decides again and compares. Nothing here changes the match
that it is given: the result carries the match as it stands afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from sixledger.engine.errors import IllegalCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED
from sixledger.ledger import clocks, hashing, keys
from sixledger.ledger.acts import STALE, act_fault
from sixledger.ledger.draft import Draft, Watched, closing_fault
from sixledger.ledger.faults import (
    BadSignature,
    ContributionMismatch,
    MalformedAct,
    Paused,
    SeatTaken,
    StaleDecision,
    TimerDue,
    WrongPhase,
)
from sixledger.ledger.match import Match
from sixledger.ledger.opening import COMMIT_REVEAL, SERVER_ONLY, check_request_id, check_time
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.v1 import engine_service_pb2, record_pb2

SEAT, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE
TIMER = record_pb2.CAUSE_KIND_TIMER


def decide(
    match: Match, action: engine_service_pb2.Action, seeds: SeedChain, *, check_signatures: bool = True
) -> Draft:
    """The draft of the record that `action` adds to `match`.

    `seeds` knows the epochs that the action deals or reveals. Raises Refused, MalformedCommand,
    IllegalCommand, or EpochSealed if `seeds` does not know enough; then nothing has changed.
    """
    draft = prepare(match, action)
    carry_out(draft, match, action, seeds, check_signatures=check_signatures)
    return draft


def prepare(match: Match, action: engine_service_pb2.Action, *, in_place: bool = False) -> Draft:
    """The empty draft of the record that `action` is to add. Raises MalformedAct.

    `in_place` lets the draft change `match` itself: for whoever needs it no more, even if the act fails.
    """
    given = action.cause
    check_request_id(given.request_id)
    check_time(action.time_us)
    cause = record_pb2.Cause(kind=given.kind, request_id=given.request_id)
    after = match if in_place else match.copy()
    return Draft(cause, max(action.time_us, match.time_us), after, match.decision, match.epoch)


def carry_out(
    draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, *, check_signatures: bool = True
) -> None:
    """Fill `draft`, as `prepare` made it, with what `action` causes. Raises what `decide` raises.

    If `seeds` does not know enough, the draft keeps what happened before the draw. Whoever has read the
    command may leave it in `draft.command`.
    """
    given, cause = action.cause, draft.cause
    kind = action.WhichOneof("action")
    if kind is None:
        raise MalformedAct("action", "is missing")
    # A command may be one of the table, too: once it is read, that is seen.
    allowed = _CAUSES.get(kind, _SEAT_ALONE)
    if given.kind not in allowed:
        names = " or ".join(map(record_pb2.CauseKind.Name, allowed))
        raise MalformedAct("cause.kind", f"must be {names} for {kind}")
    if given.kind == SEAT:
        if given.seat >= len(match.seats):
            raise MalformedAct("cause.seat", f"there is no seat {given.seat}")
        cause.seat = given.seat
    # In place, the draft changes the match: what depends on where it stood is asked first.
    late = _late(match, action, draft.time_us) if given.kind != TIMER else None
    _ACTS[kind](draft, match, action, seeds, check_signatures)
    if late is not None:
        raise late
    draft.reveal_ended_epochs(seeds)


def _late(match: Match, action: engine_service_pb2.Action, time_us: int) -> Exception | None:
    """Why an act is refused that comes later than the first deadline; None if it does not."""
    if time_us <= match.first_deadline_us:
        return None
    own = next((timer for timer in match.timers() if timer.HasField("seat") and timer.seat == action.cause.seat), None)
    if action.WhichOneof("action") == "command" and own is not None and time_us > own.deadline_us:
        return IllegalCommand("too_late", f"the time of seat {own.seat} ended at {own.deadline_us}")
    timer = match.timers()[0]
    name = record_pb2.TimerKind.Name(timer.kind).removeprefix("TIMER_KIND_")
    return TimerDue(f"the timer {name} is due since {timer.deadline_us}: let it fire first")


def _sign(
    draft: Draft, match: Match, action: engine_service_pb2.Action, kind: keys.ActKind, payload: bytes, check: bool
) -> None:
    """Take the signature of an act into the draft, if it is right. Raises BadSignature or StaleDecision."""
    given, cause = action.cause, draft.cause
    key = payload if kind is keys.ActKind.JOIN else match.seats[given.seat].public_key
    if kind is keys.ActKind.COMMAND:
        cause.decision = given.decision
    if key:
        cause.key_id = keys.key_id(key)
    if given.observed_head:
        cause.observed_head = given.observed_head
    draft.signature = given.signature
    if not check:
        return
    if given.key_id and given.key_id != cause.key_id:
        raise BadSignature("the act names another key than the seat's")
    if fault := act_fault(match, cause, kind, payload, key, given.signature, draft.verify):
        if fault == STALE and kind is keys.ActKind.COMMAND and given.decision != draft.decision_before:
            raise StaleDecision(given.decision, draft.decision_before)
        if fault == STALE and kind in (keys.ActKind.COMMITMENT, keys.ActKind.CONTRIBUTION):
            _check_contributing(match, given.seat)  # the seat did not see yet that it is too late
        raise BadSignature(fault)


def _join(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat, join = action.cause.seat, action.join
    if join.public_key:
        try:
            keys.load_public_key(join.public_key)
        except keys.BadKey as error:
            raise MalformedAct("join.public_key", str(error)) from error
    if join.contributes and match.opened.mode == SERVER_ONLY:
        raise MalformedAct("join.contributes", "the match takes no contributions")
    if join.hosted and (join.public_key or join.contributes):
        raise MalformedAct("join.hosted", "a seat that the operator plays neither signs nor contributes")
    _sign(draft, match, action, keys.ActKind.JOIN, join.public_key, check)
    if match.over:
        raise WrongPhase("the match is over")
    if match.seats[seat].joined:
        raise SeatTaken(f"seat {seat} is taken")
    joined = record_pb2.SeatJoined(seat=seat, public_key=join.public_key, contributes=join.contributes)
    if join.hosted:
        joined.hosted = True
    draft.step(joined=joined)
    draft.close_if_complete(seeds)


def _leave(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    _sign(draft, match, action, keys.ActKind.LEAVE, b"", check)
    _check_gathering(match, action.cause.seat)
    draft.step(left=record_pb2.SeatLeft(seat=action.cause.seat))
    draft.close_if_complete(seeds)


def _ready(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat = action.cause.seat
    _sign(draft, match, action, keys.ActKind.READY, b"", check)
    _check_gathering(match, seat)
    if not match.opened.HasField("ready_seats"):
        raise WrongPhase("the table does not ask for readiness")
    if match.seats[seat].ready or match.seats[seat].hosted:
        raise WrongPhase(f"seat {seat} is ready already")
    draft.step(ready=record_pb2.SeatReady(seat=seat))
    draft.close_if_complete(seeds)


def _check_gathering(match: Match, seat: int) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.closed:
        raise WrongPhase("the seats are closed")
    if not match.seats[seat].joined:
        raise WrongPhase(f"seat {seat} is not taken")


def _close(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.closed:
        raise WrongPhase("the seats are closed")
    if fault := closing_fault(match, by_itself=False):
        raise WrongPhase(f"the seats cannot be closed: {fault}")
    draft.close(seeds)


def _commit(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat, value = match.seats[action.cause.seat], action.commitment
    if len(value) != 32:
        raise MalformedAct("commitment", "must be 32 bytes")
    _sign(draft, match, action, keys.ActKind.COMMITMENT, value, check)
    _check_contributing(match, action.cause.seat)
    if match.opened.mode != COMMIT_REVEAL:
        raise WrongPhase("contributions of this match are given in one step, without a commitment")
    if seat.commitment:
        raise WrongPhase(f"seat {action.cause.seat} has committed already")
    draft.step(committed=record_pb2.ContributionCommitted(seat=action.cause.seat, commitment=value))


def _contribute(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    number, value = action.cause.seat, action.contribution
    if len(value) != 32:
        raise MalformedAct("contribution", "must be 32 bytes")
    _sign(draft, match, action, keys.ActKind.CONTRIBUTION, value, check)
    _check_contributing(match, number)
    if match.seats[number].contribution:
        raise WrongPhase(f"seat {number} has contributed already")
    if match.opened.mode == COMMIT_REVEAL:
        if missing := clocks.missing(match, clocks.CONTRIBUTE):
            raise WrongPhase(f"the commitments of seats {missing} are missing")
        if match.seats[number].commitment != hashing.contribution_commitment(match.match_id, number, value):
            raise ContributionMismatch("contribution", "does not fit the commitment of the seat")
    draft.step(contributed=record_pb2.ContributionRevealed(seat=number, contribution=value))
    draft.start_if_contributed(seeds)


def _check_contributing(match: Match, seat: int) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if not match.closed:
        raise WrongPhase("the seats are not closed yet")
    if match.state is not None:
        raise WrongPhase("the game has started")
    if not match.seats[seat].contributes:
        raise WrongPhase(f"seat {seat} said when joining that it does not contribute")
    if match.seats[seat].withheld:
        raise WrongPhase(f"the match goes on without seat {seat}, which was too late")


def _play(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    game, given = match.game, action.cause
    command = draft.command
    if command is None:
        draft.spelled = spelling_of(game.schema).command(action.command)
        command = draft.spelled.message
    of_seat = given.kind == SEAT
    if of_seat:
        _sign(draft, match, action, keys.ActKind.COMMAND, action.command, check)
    elif type(command) not in game.table_commands:
        raise MalformedAct("cause.kind", "must be CAUSE_KIND_SEAT: the table cannot give this command")
    if match.over:
        raise IllegalCommand("finished", "the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started")
    if of_seat and given.decision != draft.decision_before:
        raise StaleDecision(given.decision, draft.decision_before)
    if match.paused:
        raise Paused("the match is paused")
    draft.command, draft.command_bytes = command, action.command
    chance = Watched(seeds.chance(match.entropy))
    draft.take(game.play(draft.after.state, given.seat if of_seat else None, command, chance), chance)


def _resign(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    _sign(draft, match, action, keys.ActKind.RESIGN, b"", check)
    if match.over:
        raise WrongPhase("the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started; its owner can abort it")
    draft.step(resigned=record_pb2.Resigned(seat=action.cause.seat))
    draft.take(match.game.leave(draft.after.state, RESIGNED, action.cause.seat))


def _abort(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    draft.step(aborted=record_pb2.Aborted())
    if match.state is not None:
        draft.take(match.game.leave(draft.after.state, ABORTED, None))


def _pause(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started")
    if match.paused:
        raise Paused("the match is paused already")
    draft.step(paused=record_pb2.Paused())


def _resume(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if not match.paused:
        raise WrongPhase("the match is not paused")
    draft.step(resumed=record_pb2.Resumed())


def _fire(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    given, cause, armed = action.cause, draft.cause, match.timers()
    if fault := clocks.timer_fault(armed[0] if armed else None, given, draft.time_us):
        raise MalformedAct(*fault)
    timer = armed[0]
    cause.seat, cause.timer, cause.armed_seq = timer.seat, timer.kind, timer.armed_seq
    step = clocks.consequence(match, timer)
    if step is None:
        _play_first_legal(draft, match, timer.seat, seeds)
        return
    draft.lifecycle.append(step)
    draft.after.take_step(step)
    if step.HasField("withheld"):
        draft.start_if_contributed(seeds)
    if step.HasField("forfeited"):
        draft.take(match.game.leave(draft.after.state, FORFEIT, timer.seat))


def _play_first_legal(draft: Draft, match: Match, seat: int, seeds: SeedChain) -> None:
    """Play for a seat that ran out of time."""
    game = match.game
    command = game.legal(match.state, seat)[0]
    draft.cause.decision = draft.decision_before
    draft.command = command
    draft.command_bytes = game.schema.commands.pack(command).SerializeToString(deterministic=True)
    chance = Watched(seeds.chance(match.entropy))
    draft.take(game.play(draft.after.state, seat, command, chance), chance)


_ACTS: dict[str, Callable[[Draft, Match, engine_service_pb2.Action, SeedChain, bool], None]] = {
    "join": _join,
    "commitment": _commit,
    "contribution": _contribute,
    "command": _play,
    "resign": _resign,
    "abort": _abort,
    "leave": _leave,
    "ready": _ready,
    "close": _close,
    "pause": _pause,
    "resume": _resume,
    "fire": _fire,
}
#: What can cause an act, if not a seat alone.
_CAUSES = {
    "command": (SEAT, TABLE),
    "fire": (TIMER,),
    "abort": (TABLE,),
    "close": (TABLE,),
    "pause": (TABLE,),
    "resume": (TABLE,),
}
_SEAT_ALONE = (SEAT,)
