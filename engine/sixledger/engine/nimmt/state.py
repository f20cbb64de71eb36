"""The state of a match.

The outer lists belong to the state alone; the tuples in them are never changed but replaced, so a copy
shares them. A state folded from redacted events knows less: a hand is then only a count, a sealed choice
only the fact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


@dataclass(slots=True)
class State:
    """One match. `evolve` alone changes it. Holds secrets: its repr shows none."""

    players: int = 0
    #: All options that apply. Shared between copies, never changed.
    options: pb.Options = field(default_factory=pb.Options)
    phase: pb.Phase.ValueType = pb.PHASE_UNSPECIFIED
    round: int = 0
    turn: int = 0
    pack_size: int = 0
    hand_size: int = 0
    #: The number of the current decision.
    decision: int = 0
    #: Cards first to last; index 0 to 3.
    rows: list[tuple[int, ...]] = field(default_factory=list)
    #: Cards of each hand, ascending; fewer than `hand_counts` says if they are not known here.
    hands: list[tuple[int, ...]] = field(default_factory=list, repr=False)
    hand_counts: list[int] = field(default_factory=list)
    #: The sealed choice of each seat: None before it, 0 if the card is not known here.
    chosen: list[int | None] = field(default_factory=list, repr=False)
    #: Collected cards in the order of collection.
    piles: list[tuple[int, ...]] = field(default_factory=list)
    round_points: list[int] = field(default_factory=list)
    #: Totals after the last scored round.
    totals: list[int] = field(default_factory=list)
    #: Revealed plays that wait to be placed, as (card, seat), so that sorting gives the order of placement.
    queue: list[tuple[int, int]] = field(default_factory=list)
    #: True while the seat of the first play of the queue must choose a row.
    choosing_row: bool = False
    #: The pack that is left, top first; empty if it is not known here.
    undealt: tuple[int, ...] = field(default=(), repr=False)
    undealt_count: int = 0
    result: pb.MatchEnded | None = None

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.players,
            self.options,
            self.phase,
            self.round,
            self.turn,
            self.pack_size,
            self.hand_size,
            self.decision,
            self.rows[:],
            self.hands[:],
            self.hand_counts[:],
            self.chosen[:],
            self.piles[:],
            self.round_points[:],
            self.totals[:],
            self.queue[:],
            self.choosing_row,
            self.undealt,
            self.undealt_count,
            self.result,
        )

    def to_act(self) -> tuple[int, ...]:
        """The seats that may act now, ascending."""
        if self.phase == pb.PHASE_SELECTION:
            return tuple([seat for seat, card in enumerate(self.chosen) if card is None])
        if self.phase == pb.PHASE_PLACING and self.choosing_row:
            return (self.queue[0][1],)
        return ()
