"""The state of a match.

The outer lists belong to the state alone; the tuples in them are never changed but replaced, so a copy
shares them. A state folded from redacted events knows less: a hand is then only a count, a sealed choice
only the fact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

if TYPE_CHECKING:  # the rules work on the state, the state merely says which rules are played
    from sixledger.engine.nimmt.core import Variant

#: What a match in phase placing waits for: nothing, or one seat's choice of a row to collect, of an end of
#: a row, of the first card of its pair, or of the cards it keeps.
NOTHING, ROW, END, ORDER, KEEP = range(5)


@dataclass(slots=True)
class State:
    """One match. The handlers of its events alone change it. Holds secrets: its repr shows none."""

    #: The variant that is played.
    rules: Variant = field(repr=False)
    players: int = 0
    #: All options that apply. Shared between copies, never changed.
    options: pb.Options = field(default_factory=pb.Options)
    #: The highest card of the match.
    highest: int = 0
    phase: pb.Phase.ValueType = pb.PHASE_UNSPECIFIED
    round: int = 0
    turn: int = 0
    #: The number of the current decision.
    decision: int = 0
    #: The seat that must act, where only one may; else without meaning.
    on_turn: int = -1
    #: Who begins the draft, the turn or the cycle, in variants that have a starter; else -1.
    starter: int = -1
    #: Cards first to last; index 0 to 3. Equal neighbours are twins: one position.
    rows: list[tuple[int, ...]] = field(default_factory=list)
    #: Cards of each hand, ascending; fewer or more than `hand_counts` says if they are not known here.
    hands: list[tuple[int, ...]] = field(default_factory=list, repr=False)
    hand_counts: list[int] = field(default_factory=list)
    #: Cards that everybody knows to be in a hand or sealed by its seat; no lists in variants without any.
    public_hands: list[tuple[int, ...]] = field(default_factory=list, repr=False)
    #: The sealed cards of each seat: None before it has chosen, empty if they are not known here.
    chosen: list[tuple[int, ...] | None] = field(default_factory=list, repr=False)
    #: Collected cards in the order of collection.
    piles: list[tuple[int, ...]] = field(default_factory=list)
    #: Cards that two seats collected together.
    common_pile: tuple[int, ...] = ()
    round_points: list[int] = field(default_factory=list)
    #: Totals after the last scored round.
    totals: list[int] = field(default_factory=list)
    #: Open cards that wait to be placed, as (card, seat), in the order of placement.
    queue: list[tuple[int, int]] = field(default_factory=list)
    #: NOTHING, ROW, END, ORDER or KEEP: the choice that `on_turn` has while cards are placed.
    pending: int = NOTHING
    #: The collected row while its cards are divided.
    pending_row: int = -1
    #: The pack that is left, top first; empty if it is not known here.
    undealt: tuple[int, ...] = field(default=(), repr=False)
    undealt_count: int = 0
    #: Cards that can still be drafted, ascending.
    pool: tuple[int, ...] = ()
    #: The drafted hands that go round in a tournament.
    hand_lists: tuple[tuple[int, ...], ...] = ()
    result: pb.MatchEnded | None = None

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.rules,
            self.players,
            self.options,
            self.highest,
            self.phase,
            self.round,
            self.turn,
            self.decision,
            self.on_turn,
            self.starter,
            self.rows[:],
            self.hands[:],
            self.hand_counts[:],
            self.public_hands[:],
            self.chosen[:],
            self.piles[:],
            self.common_pile,
            self.round_points[:],
            self.totals[:],
            self.queue[:],
            self.pending,
            self.pending_row,
            self.undealt,
            self.undealt_count,
            self.pool,
            self.hand_lists,
            self.result,
        )

    def to_act(self) -> tuple[int, ...]:
        """The seats that may act now, ascending."""
        if self.phase == pb.PHASE_SELECTION:
            return tuple([seat for seat, cards in enumerate(self.chosen) if cards is None])
        if self.phase == pb.PHASE_PLACING:
            return (self.on_turn,) if self.pending else ()
        return () if self.phase in (pb.PHASE_UNSPECIFIED, pb.PHASE_ENDED) else (self.on_turn,)

    def turns_completed(self) -> int:
        """Turns completed in the match, in variants whose rounds have a fixed number of turns."""
        return self.rules.turns * (self.round - 1) + self.turn - 1
