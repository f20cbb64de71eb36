"""A match as a fold of its ledger: everything that later records depend on.

The same fold serves the service (which holds every opening), a client (which holds some) and the
verifier. It refuses what nobody may believe, however little of it is open: a broken chain, a clock that
runs backwards, a seal for the wrong seat or epoch, a seed that does not lead to the commitment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sixledger.engine.errors import EngineError
from sixledger.engine.game import Decision, Game, Setup
from sixledger.ledger import clocks as clocks_
from sixledger.ledger import hashing, life
from sixledger.ledger.acts import check_cause, signature_fault
from sixledger.ledger.clocks import Clocks
from sixledger.ledger.faults import LedgerFault, tampered
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.ordinary import read_shut
from sixledger.ledger.records import Facts, Parts, check_shape, has_shape, read, read_body
from sixledger.ledger.seats import Seat
from sixledger.ledger.seeds import SeedChain, SeedMismatch
from sixledger.ledger.spelling import audience
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2, replay_service_pb2

SEED_MISMATCH = replay_service_pb2.VERDICT_SEED_MISMATCH
ILLEGAL_COMMAND = replay_service_pb2.VERDICT_ILLEGAL_COMMAND
RULES_DIVERGENCE = replay_service_pb2.VERDICT_RULES_DIVERGENCE


_NO_DECISION = Decision(0, ())


@dataclass(slots=True)
class Match:
    """Where a match stands after its last record. `state` holds whatever secrets were open."""

    match_id: bytes
    game: Game[Any]
    setup: Setup
    opened: record_pb2.MatchOpened
    seats: list[Seat]
    #: What is revealed of the seed chain.
    seeds: SeedChain = field(repr=False)
    closed: bool = False
    #: X, 32 bytes; empty before the start.
    entropy: bytes = b""
    #: State of the game; None before the start.
    state: Any = field(default=None, repr=False)
    over: bool = False
    aborted: bool = False
    #: Number, hash and time of the last record; -1 before record 0.
    seq: int = -1
    hash: bytes = hashing.ZERO_HASH
    time_us: int = 0
    first_hash: bytes = b""
    #: The decision that was open after the last record.
    open_decision: Decision = _NO_DECISION
    #: The record that opened it.
    decision_seq: int = 0
    #: Hashes of the records from `decision_seq` to the last: what an act may have observed.
    recent: list[bytes] = field(default_factory=list)
    paused: bool = False
    #: How the clocks stand; None if record 0 has no time limits.
    clocks: Clocks | None = None

    # -- reading ---------------------------------------------------------------------------------

    @property
    def status(self) -> match_service_pb2.MatchStatus.ValueType:
        """Where the match is in its life."""
        if self.aborted:
            return match_service_pb2.MATCH_STATUS_ABORTED
        if self.over:
            return match_service_pb2.MATCH_STATUS_ENDED
        if self.state is not None:
            return match_service_pb2.MATCH_STATUS_RUNNING
        return match_service_pb2.MATCH_STATUS_CONTRIBUTING if self.closed else match_service_pb2.MATCH_STATUS_OPEN

    @property
    def decision(self) -> int:
        """Number of the open decision; 0 before the start."""
        return self.open_decision.number

    @property
    def to_act(self) -> tuple[int, ...]:
        """Seats that may act now; none before the start and after the end."""
        return self.open_decision.seats if not self.over else ()

    @property
    def epoch(self) -> int:
        """The epoch that the match is in; 0 before the start."""
        return self.game.epoch(self.state) if self.state is not None else 0

    @property
    def revealed(self) -> int:
        """The highest revealed epoch."""
        return self.seeds.known

    @property
    def first_deadline_us(self) -> int:
        """The first deadline to pass, `clocks.NEVER` if there is none. Nothing but its timer comes later."""
        return self.clocks.first_us if self.clocks is not None else clocks_.NEVER

    def timers(self) -> list[engine_service_pb2.Timer]:
        """The armed timers, the first to fire first. They follow from the records alone."""
        return clocks_.timers(self)

    def copy(self) -> Match:
        """An independent copy, except for the seed chain, and the seats once nothing about them can change."""
        return Match(
            self.match_id,
            self.game,
            self.setup,
            self.opened,
            self.seats if self.state is not None else [seat.copy() for seat in self.seats],
            self.seeds,
            self.closed,
            self.entropy,
            self.game.copy(self.state) if self.state is not None else None,
            self.over,
            self.aborted,
            self.seq,
            self.hash,
            self.time_us,
            self.first_hash,
            self.open_decision,
            self.decision_seq,
            self.recent.copy(),
            self.paused,
            self.clocks.copy() if self.clocks is not None else None,
        )

    # -- changing --------------------------------------------------------------------------------

    def take_step(self, step: record_pb2.Lifecycle) -> None:
        """Apply one step in the life of the match. Raises LedgerFault if it cannot follow."""
        life.take_step(self, step)

    def setup_for(self, seats: int) -> Setup:
        """The setup with which so many seats play under the options of record 0. Raises LedgerFault."""
        return life.setup_for(self, seats)

    def expected_entropy(self) -> bytes:
        """X as it follows from the contributions so far."""
        given = [seat.contribution or None for seat in self.seats]
        return hashing.entropy(self.match_id, self.seeds.commitment, given)

    def finish_record(
        self,
        record_hash: bytes,
        time_us: int,
        decision_before: int,
        actor: int | None = None,
        decision: Decision | None = None,
    ) -> None:
        """Move on to the record just applied.

        `decision_before` is the decision before it, `actor` the seat whose command it holds, `decision` the one that
        is open now, if that is known already.
        """
        self.seq += 1
        self.hash = record_hash
        self.time_us = time_us
        if self.seq == 0:
            self.first_hash = record_hash
        state = self.state
        if decision is None:
            decision = self.game.decision(state) if state is not None else _NO_DECISION
        self.open_decision = decision
        if decision.number != decision_before:
            self.decision_seq = self.seq
            self.recent.clear()
        self.recent.append(record_hash)
        if state is not None and not decision.seats:
            self.over = True
        if self.clocks is not None:
            self.clocks.move(self, actor)

    def apply(
        self,
        record: record_pb2.Record,
        *,
        check_signatures: bool = True,
        before: Callable[[Facts], None] | None = None,
        body: record_pb2.Body | None = None,
    ) -> Facts:
        """Apply the next record with whatever openings it has. Raises LedgerFault.

        What is sealed stays unchecked; whoever holds every opening and seed uses the verifier. `before` is called with
        what the record says while the match still stands before it; `body`, of `read_body`, saves reading it again.
        """
        body = body if body is not None else read_body(record)
        facts = read_shut(self, record, body)
        if facts is None:
            return self._apply(record, body, check_signatures=check_signatures, before=before)
        if check_signatures:
            self.check_signature(facts)
        if before is not None:
            before(facts)
        decision = self.open_decision.number
        self._evolve(facts)
        self._check_reveals()
        self.finish_record(record.hash, body.time_us, decision, body.cause.seat)
        return facts

    def _apply(
        self,
        record: record_pb2.Record,
        body: record_pb2.Body,
        *,
        check_signatures: bool,
        before: Callable[[Facts], None] | None,
    ) -> Facts:
        """As `apply`, for any record."""
        parts = Parts.of(record)
        self.check_chain(record, body, parts)
        facts = read(record, self.game.schema, body, parts)
        if check_signatures:
            self.check_signature(facts)
        check_cause(facts, self.game)
        cause = body.cause
        if self.clocks is not None or self.paused or cause.kind == record_pb2.CAUSE_KIND_TIMER:
            self.check_time(facts)
        if before is not None:
            before(facts)
        decision, game = self.open_decision.number, self.game
        if facts.owners and facts.owners[0] == -1:
            epoch = 0 if self.state is None else game.epoch(self.state)
            if parts.seals[0][:2] != (1 << cause.seat, epoch):
                raise _bad_seal()
        for step in body.lifecycle:
            if self.seq >= 0 or step.WhichOneof("step") != "opened":
                self.take_step(step)
        if facts.events and self.state is None:
            raise tampered("rules", "an event before the start")
        self._evolve(facts)
        if body.reveals:
            self.learn(body)
        self._check_reveals()
        if body.lifecycle and self.closed and self.state is None and not self.over:
            life.expect(bool(clocks_.missing(self, clocks_.REVEAL)), "nothing is missing, and the game does not begin")
        self.finish_record(record.hash, body.time_us, decision, cause.seat if body.command else None)
        return facts

    def _evolve(self, facts: Facts) -> None:
        """Apply the events of a record, and see that each is sealed as it must be. Raises LedgerFault."""
        game, state, owners, seals = self.game, self.state, facts.owners, facts.seals
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

    def check_time(self, facts: Facts) -> None:
        """A timer's record is that of the first armed timer; any other comes before every deadline.

        Raises LedgerFault.
        """
        body, cause = facts.body, facts.body.cause
        if cause.kind != record_pb2.CAUSE_KIND_TIMER:
            if body.time_us > self.first_deadline_us:
                raise late(self, body)
            if body.command and self.paused:
                raise LedgerFault(ILLEGAL_COMMAND, "rules", "a command while the match is paused")
            return
        armed = self.timers()
        check_timer(armed[0] if armed else None, body)
        step = clocks_.consequence(self, armed[0])
        # What follows from it in the same record, that the game begins, is checked with the contributions.
        if list(body.lifecycle)[:1] != ([step] if step is not None else []):
            raise LedgerFault(RULES_DIVERGENCE, "clocks", "the timer has another consequence than the record says")
        if facts.command is not None:
            if cause.decision != self.decision:
                raise LedgerFault(RULES_DIVERGENCE, "clocks", "the command of the timer answers no open decision")
            self._check_first_legal(facts)

    def _check_first_legal(self, facts: Facts) -> None:
        """A command played for a seat is its first legal one, as far as that can be told here."""
        if facts.command_bytes is None:
            return
        try:
            legal = self.game.legal(self.state, facts.body.cause.seat)
        except ValueError:
            return  # the hand of the seat is sealed
        if not legal or facts.command != legal[0]:
            message = "the timer played another command than the first legal one of the seat"
            raise LedgerFault(RULES_DIVERGENCE, "rules", message)

    def _check_reveals(self) -> None:
        """An epoch is revealed by the record that ends it, and not before."""
        due, known, state = 0, self.seeds.known, self.state
        if state is not None:
            epoch = self.game.epoch(state)
            ended = self.over or self.game.outcome(state) is not None
            due = epoch if ended or not epoch else epoch - 1
        if known != due:
            message = f"the epochs up to {known} are revealed where those up to {due} should be"
            raise LedgerFault(RULES_DIVERGENCE, "rules", message)

    def learn(self, body: record_pb2.Body) -> None:
        """Take the seeds that a record reveals. Raises LedgerFault."""
        if body.reveals:
            self.seeds = self.seeds.copy()  # copies of the match share it
        for reveal in body.reveals:
            try:
                if not self.seeds.known < reveal.epoch <= self.opened.epochs:
                    raise SeedMismatch(f"epoch {reveal.epoch} cannot be revealed here")
                self.seeds.reveal(reveal.epoch, reveal.chain)
            except SeedMismatch as error:
                raise LedgerFault(SEED_MISMATCH, "seeds", str(error)) from error

    def check_chain(self, record: record_pb2.Record, body: record_pb2.Body, parts: Parts) -> None:
        """Number, time and hash of the next record are right. Raises LedgerFault."""
        if body.time_us > MAX_TIME_US or not has_shape(parts.seals):
            check_shape(parts, body)
        if body.match_id != self.match_id:
            raise tampered("chain", "the record is of another match")
        if body.seq != self.seq + 1:
            raise tampered("chain", f"record {body.seq} stands where record {self.seq + 1} should")
        if parts.hash != hashing.chain_hash(self.match_id, body.seq, self.hash, record.body, parts.seals):
            raise tampered("chain", "the hash does not fit the record and the one before")
        if body.time_us < self.time_us:
            raise tampered("clocks", "the record is older than the one before")

    def check_signature(self, facts: Facts) -> None:
        """Check the signature of an act of a seat, if the seat signs and it is open. Raises LedgerFault."""
        body = facts.body
        if body.cause.kind != record_pb2.CAUSE_KIND_SEAT or (-1 in facts.owners and facts.command_bytes is None):
            return
        fault = signature_fault(self, facts)
        if fault:
            raise LedgerFault(replay_service_pb2.VERDICT_BAD_SIGNATURE, "rules", fault)


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
