"""A match as a fold of its ledger: everything that later records depend on.

The same fold serves the service (which holds every opening), a client (which holds some) and the verifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sixledger.engine.game import Decision, Game, Setup
from sixledger.ledger import applying, hashing, life
from sixledger.ledger import clocks as clocks_
from sixledger.ledger.clocks import Clocks
from sixledger.ledger.faults import SEED_MISMATCH, LedgerFault
from sixledger.ledger.records import Facts
from sixledger.ledger.seats import Seat
from sixledger.ledger.seeds import SeedChain, SeedMismatch
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2

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
        return applying.apply(self, record, check_signatures=check_signatures, before=before, body=body)

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
