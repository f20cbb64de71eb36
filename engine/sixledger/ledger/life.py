"""Steps in the life of a match: seats that are taken and closed, contributions, the start, pauses, the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sixledger.engine.errors import EngineError
from sixledger.engine.game import Setup
from sixledger.ledger import clocks, hashing
from sixledger.ledger.faults import SEED_MISMATCH, LedgerFault, tampered
from sixledger.ledger.seats import Seat
from sixledger.v1 import record_pb2

if TYPE_CHECKING:
    from sixledger.ledger.match import Match


def take_step(match: Match, step: record_pb2.Lifecycle) -> None:
    """Apply one step in the life of the match. Raises LedgerFault if it cannot follow."""
    kind = step.WhichOneof("step")
    gathering = match.state is None and not match.over
    if kind == "joined":
        seat = _seat(match, step.joined.seat)
        expect(gathering and not match.closed and not seat.joined, "the seat cannot be taken")
        seat.joined, seat.since = True, match.seq + 1
        seat.public_key, seat.contributes = step.joined.public_key, step.joined.contributes
        seat.hosted = step.joined.hosted
    elif kind == "left":
        _seat(match, step.left.seat)
        taken = match.seats[step.left.seat].joined
        expect(gathering and not match.closed and taken, "the seat cannot be given up")
        match.seats[step.left.seat] = Seat()
    elif kind == "ready":
        seat = _seat(match, step.ready.seat)
        expect(gathering and not match.closed and seat.joined and not seat.ready, "the seat cannot become ready")
        seat.ready = True
    elif kind == "closed":
        recorded = [(seat.public_key, seat.contributes, seat.hosted) for seat in step.closed.seats]
        actual = [(seat.public_key, seat.contributes, seat.hosted) for seat in match.seats[: len(recorded)]]
        rest = match.seats[len(recorded) :]
        fits = recorded == actual and not any(seat.joined for seat in rest)
        expect(gathering and not match.closed and fits, "the closed seats are not the joined ones")
        _close_seats(match, len(recorded))
    elif kind == "committed":
        seat = _seat(match, step.committed.seat)
        owes = seat.contributes and not seat.withheld
        expect(gathering and owes and not seat.commitment, "the seat cannot commit")
        seat.commitment = step.committed.commitment
    elif kind == "contributed":
        expect(gathering, "the seat cannot contribute")
        _contribute(match, step.contributed.seat, step.contributed.contribution)
    elif kind == "sealed":
        expect(gathering and match.closed, "the entropy cannot be sealed")
        if missing := clocks.missing(match, clocks.REVEAL):
            seats = ", ".join(map(str, missing))
            raise LedgerFault(SEED_MISMATCH, "seeds", f"the entropy is sealed without what seats owe to it: {seats}")
        if step.sealed.entropy != match.expected_entropy():
            raise LedgerFault(SEED_MISMATCH, "seeds", "the entropy does not follow from the contributions")
        match.entropy = step.sealed.entropy
        match.state = match.game.blank()
    elif kind == "withheld":
        expect(gathering and match.closed and bool(step.withheld.seats), "no seat can withhold anything")
        for number in step.withheld.seats:
            _seat(match, number).withheld = True
    else:
        _take_late_step(match, kind, step)


def _take_late_step(match: Match, kind: str | None, step: record_pb2.Lifecycle) -> None:
    """Apply a step that stops, resumes or ends the match."""
    expect(not match.over, "the match is over")
    running = match.state is not None
    if kind == "resigned":
        _seat(match, step.resigned.seat)
        expect(running, "nobody can resign")
        match.over = True
    elif kind == "aborted":
        match.over = match.aborted = True
    elif kind == "paused":
        expect(running and not match.paused, "the match cannot be paused")
        match.paused = True
    elif kind == "resumed":
        expect(match.paused, "the match cannot be resumed")
        match.paused = False
    elif kind == "forfeited":
        _seat(match, step.forfeited.seat)
        expect(running, "nobody can forfeit")
        match.over = True
    else:
        raise tampered("rules", "a step of the match's life that cannot follow here")


def setup_for(match: Match, seats: int) -> Setup:
    """The setup with which so many seats play under the options of record 0. Raises LedgerFault."""
    if seats == match.setup.seats:
        return match.setup
    try:
        setup = match.game.complete(seats, match.setup.options)
    except EngineError as error:
        raise tampered("rules", f"the options of the match are not for {seats} seats: {error}") from error
    if setup.options != match.setup.options or match.game.epochs(setup) > match.opened.epochs:
        raise tampered("rules", f"the options of the match are not for {seats} seats")
    return setup


def _close_seats(match: Match, count: int) -> None:
    """Fix the first `count` seats as those that play. Raises LedgerFault if the options are not for so many."""
    match.setup = setup_for(match, count)
    del match.seats[count:]
    for seat in match.seats:
        seat.joined = True
    match.closed = True


def _seat(match: Match, number: int) -> Seat:
    if number >= len(match.seats):
        raise tampered("rules", f"there is no seat {number}")
    return match.seats[number]


def _contribute(match: Match, number: int, contribution: bytes) -> None:
    seat = _seat(match, number)
    owes = seat.contributes and not seat.withheld
    expect(owes and not seat.contribution, "the seat cannot contribute")
    if match.opened.mode == record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL:
        expected = hashing.contribution_commitment(match.match_id, number, contribution)
        if seat.commitment != expected:
            message = f"the contribution of seat {number} does not fit its commitment"
            raise LedgerFault(SEED_MISMATCH, "seeds", message)
    seat.contribution = contribution


def expect(condition: bool, message: str) -> None:
    """Raise LedgerFault unless the step can follow."""
    if not condition:
        raise tampered("rules", f"a step of the match's life that cannot follow here: {message}")
