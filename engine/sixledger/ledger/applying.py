"""Applying the next record to a match: what it says is read, checked as far as it is open, and made so.

What nobody may believe is refused, however little of it is open: a broken chain, a clock that runs backwards, a seal
for the wrong seat or epoch, a seed that does not lead to the commitment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sixledger.engine.errors import EngineError
from sixledger.ledger import clocks as clocks_
from sixledger.ledger import hashing, life
from sixledger.ledger.acts import check_cause, signature_fault
from sixledger.ledger.faults import BAD_SIGNATURE, ILLEGAL_COMMAND, RULES_DIVERGENCE, LedgerFault, tampered
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.ordinary import read_shut
from sixledger.ledger.records import Facts, Parts, check_shape, has_shape, read, read_body
from sixledger.ledger.spelling import audience
from sixledger.v1 import engine_service_pb2, record_pb2

if TYPE_CHECKING:
    from sixledger.ledger.match import Match


def apply(
    match: Match,
    record: record_pb2.Record,
    *,
    check_signatures: bool,
    before: Callable[[Facts], None] | None,
    body: record_pb2.Body | None,
) -> Facts:
    """Apply the next record, as `Match.apply` says. Raises LedgerFault."""
    body = body if body is not None else read_body(record)
    facts = read_shut(match, record, body)
    if facts is None:
        return _apply_any(match, record, body, check_signatures=check_signatures, before=before)
    if check_signatures:
        check_signature(match, facts)
    if before is not None:
        before(facts)
    decision = match.open_decision.number
    _check_command_seal(match, facts)
    _evolve(match, facts)
    _check_reveals(match)
    match.finish_record(record.hash, body.time_us, decision, body.cause.seat)
    return facts


def _apply_any(
    match: Match,
    record: record_pb2.Record,
    body: record_pb2.Body,
    *,
    check_signatures: bool,
    before: Callable[[Facts], None] | None,
) -> Facts:
    """As `apply`, for any record."""
    parts = Parts.of(record)
    check_chain(match, record, body, parts)
    facts = read(record, match.game.schema, body, parts)
    if check_signatures:
        check_signature(match, facts)
    check_cause(facts, match.game)
    cause = body.cause
    if match.clocks is not None or match.paused or cause.kind == record_pb2.CAUSE_KIND_TIMER:
        check_time(match, facts)
    if before is not None:
        before(facts)
    decision = match.open_decision.number
    _check_command_seal(match, facts)
    for step in body.lifecycle:
        if match.seq >= 0 or step.WhichOneof("step") != "opened":
            match.take_step(step)
    if facts.events and match.state is None:
        raise tampered("rules", "an event before the start")
    _evolve(match, facts)
    if body.reveals:
        match.learn(body)
    _check_reveals(match)
    if body.lifecycle and match.closed and match.state is None and not match.over:
        life.expect(bool(clocks_.missing(match, clocks_.REVEAL)), "nothing is missing, and the game does not begin")
    match.finish_record(record.hash, body.time_us, decision, cause.seat if body.command else None)
    return facts


def _check_command_seal(match: Match, facts: Facts) -> None:
    """A sealed command is sealed for its seat, in the epoch in which it is given. Raises LedgerFault."""
    if facts.owners and facts.owners[0] < 0:
        epoch = 0 if match.state is None else match.game.epoch(match.state)
        if facts.seals[0][:2] != (1 << facts.body.cause.seat, epoch):
            raise _bad_seal()


def _evolve(match: Match, facts: Facts) -> None:
    """Apply the events of a record, and see that each is sealed as it must be. Raises LedgerFault."""
    game, state, owners, seals = match.game, match.state, facts.owners, facts.seals
    evolve = game.evolve
    at = 1 if owners and owners[0] < 0 else 0
    sealed = owners[at] if at < len(owners) else None
    for index, event in enumerate(facts.events):
        if index == sealed:
            if seals[at][:2] != (audience(event), game.epoch(state)):
                raise _bad_seal()
            at += 1
            sealed = owners[at] if at < len(owners) else None
        try:
            evolve(state, event)
        except (EngineError, ValueError, LookupError, AssertionError, TypeError) as error:
            raise tampered("rules", f"the event {event.DESCRIPTOR.name} cannot happen here") from error


def check_time(match: Match, facts: Facts) -> None:
    """A timer's record is that of the first armed timer; any other comes before every deadline.

    Raises LedgerFault.
    """
    body, cause = facts.body, facts.body.cause
    if cause.kind != record_pb2.CAUSE_KIND_TIMER:
        if body.time_us > match.first_deadline_us:
            raise late(match, body)
        if body.command and match.paused:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", "a command while the match is paused")
        return
    armed = match.timers()
    check_timer(armed[0] if armed else None, body)
    step = clocks_.consequence(match, armed[0])
    # What follows from it in the same record, that the game begins, is checked with the contributions.
    if list(body.lifecycle)[:1] != ([step] if step is not None else []):
        raise LedgerFault(RULES_DIVERGENCE, "clocks", "the timer has another consequence than the record says")
    if facts.command is not None:
        if cause.decision != match.decision:
            raise LedgerFault(RULES_DIVERGENCE, "clocks", "the command of the timer answers no open decision")
        _check_first_legal(match, facts)


def _check_first_legal(match: Match, facts: Facts) -> None:
    """A command played for a seat is its first legal one, as far as that can be told here."""
    if facts.command_bytes is None:
        return
    try:
        legal = match.game.legal(match.state, facts.body.cause.seat)
    except ValueError:
        return  # the hand of the seat is sealed
    if not legal or facts.command != legal[0]:
        message = "the timer played another command than the first legal one of the seat"
        raise LedgerFault(RULES_DIVERGENCE, "rules", message)


def _check_reveals(match: Match) -> None:
    """An epoch is revealed by the record that ends it, and not before."""
    due, known, state = 0, match.seeds.known, match.state
    if state is not None:
        epoch = match.game.epoch(state)
        ended = match.over or match.game.outcome(state) is not None
        due = epoch if ended or not epoch else epoch - 1
    if known != due:
        message = f"the epochs up to {known} are revealed where those up to {due} should be"
        raise LedgerFault(RULES_DIVERGENCE, "rules", message)


def check_chain(match: Match, record: record_pb2.Record, body: record_pb2.Body, parts: Parts) -> None:
    """Number, time and hash of the next record are right. Raises LedgerFault."""
    if body.time_us > MAX_TIME_US or not has_shape(parts.seals):
        check_shape(parts, body)
    if body.match_id != match.match_id:
        raise tampered("chain", "the record is of another match")
    if body.seq != match.seq + 1:
        raise tampered("chain", f"record {body.seq} stands where record {match.seq + 1} should")
    if parts.hash != hashing.chain_hash(match.match_id, body.seq, match.hash, record.body, parts.seals):
        raise tampered("chain", "the hash does not fit the record and the one before")
    if body.time_us < match.time_us:
        raise tampered("clocks", "the record is older than the one before")


def check_signature(match: Match, facts: Facts) -> None:
    """Check the signature of an act of a seat, if the seat signs and it is open. Raises LedgerFault."""
    body = facts.body
    if body.cause.kind != record_pb2.CAUSE_KIND_SEAT or (-1 in facts.owners and facts.command_bytes is None):
        return
    fault = signature_fault(match, facts)
    if fault:
        raise LedgerFault(BAD_SIGNATURE, "rules", fault)


def _bad_seal() -> LedgerFault:
    return tampered("openings", "a seal is for other seats or another epoch than the rules say")


def late(match: Match, body: record_pb2.Body) -> LedgerFault:
    """The fault of a record that comes later than the first deadline, and is not the record of its timer."""
    timer = match.timers()[0]
    name = record_pb2.TimerKind.Name(timer.kind).removeprefix("TIMER_KIND_")
    message = f"the record is later than the deadline {timer.deadline_us} of the timer {name}, which did not fire"
    if timer.HasField("seat"):
        message = f"{message} for seat {timer.seat}"
    fault = LedgerFault(ILLEGAL_COMMAND, "clocks", message)
    fault.differences = [("time_us", str(body.time_us), f"at most {timer.deadline_us}")]
    return fault


def check_timer(timer: engine_service_pb2.Timer | None, body: record_pb2.Body) -> None:
    """A record that a timer is said to cause is that of `timer`, the first armed one. Raises LedgerFault."""
    if found := clocks_.timer_fault(timer, body.cause, body.time_us):
        raise LedgerFault(ILLEGAL_COMMAND, "clocks", f"the timer cannot have caused the record: {found[0]} {found[1]}")
