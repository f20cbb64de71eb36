"""The state of a match.

The outer lists belong to the state alone; what they hold is never changed but replaced, so a copy shares
it. A state folded from redacted events knows less: a hand is then only a count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sixledger.games.forces.v1 import forces_pb2 as pb


class Announced(NamedTuple):
    """What a seat has predicted: `tricks`, and with `flex` one more is right, too."""

    tricks: int
    flex: bool

    @property
    def chips(self) -> int:
        """The chips that it takes."""
        return self.tricks + self.flex


class Trick(NamedTuple):
    """A finished trick: cards in order of play, from the leader on."""

    leader: int
    cards: tuple[int, ...]
    winner: int


@dataclass(slots=True)
class State:
    """One match. `evolve` alone changes it. Holds secrets: its repr shows none."""

    players: int = 0
    #: All options. Shared between copies, never changed.
    options: pb.Options = field(default_factory=pb.Options)
    phase: pb.Phase.ValueType = pb.PHASE_UNSPECIFIED
    deal: int = 0
    #: The seat that begins this deal.
    starter: int = 0
    #: Pass of the planning, 1 or 2; 0 once it is over.
    planning_pass: int = 0
    #: Trick of the deal, from 1; 0 during the planning.
    trick: int = 0
    leader: int = 0
    #: The seat on turn.
    turn: int = 0
    #: The number of the current decision.
    decision: int = 0
    #: Cards of each hand, ascending; fewer than `hand_counts` says if they are not known here.
    hands: list[tuple[int, ...]] = field(default_factory=list, repr=False)
    hand_counts: list[int] = field(default_factory=list)
    predictions: list[Announced | None] = field(default_factory=list)
    #: Trump types by seat; TRUMP_UNSPECIFIED before the choice.
    trumps: list[pb.Trump.ValueType] = field(default_factory=list)
    tricks_won: list[int] = field(default_factory=list)
    #: Totals after the last scored deal.
    totals: list[int] = field(default_factory=list)
    #: Chips that nobody has taken in this deal.
    supply: int = 0
    #: Cards of this trick in order of play.
    table: list[int] = field(default_factory=list)
    #: Finished tricks of this deal. They and all else of a deal lie until the next one begins.
    tricks: list[Trick] = field(default_factory=list)
    result: pb.MatchEnded | None = None

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.players,
            self.options,
            self.phase,
            self.deal,
            self.starter,
            self.planning_pass,
            self.trick,
            self.leader,
            self.turn,
            self.decision,
            self.hands[:],
            self.hand_counts[:],
            self.predictions[:],
            self.trumps[:],
            self.tricks_won[:],
            self.totals[:],
            self.supply,
            self.table[:],
            self.tricks[:],
            self.result,
        )

    def to_act(self) -> tuple[int, ...]:
        """The seats that may act now: the one on turn."""
        return (self.turn,) if self.phase in (pb.PHASE_PLANNING, pb.PHASE_TRICKS) else ()
