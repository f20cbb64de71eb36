"""The state of a match.

The outer lists belong to the state alone; the tuples in them are never changed but replaced, so a copy
shares them. A state folded from redacted events knows less: a deck is then only a number of cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sixledger.engine.piece.cards import rolls
from sixledger.games.piece.v1 import piece_pb2 as pb

_PLAIN_ROLLS = rolls(pb.Options())


@dataclass(slots=True)
class State:
    """One match. `evolve` alone changes it. Holds secrets: its repr shows none."""

    started: bool = False
    #: All options that apply. Shared between copies, never changed.
    options: pb.Options = field(default_factory=pb.Options)
    #: Rolled values by card, as the options want them. Shared like the options.
    rolls: Sequence[int] = field(default=_PLAIN_ROLLS, repr=False)
    #: The seat that takes the first turn: player one.
    first_player: int = 0
    #: UNSPECIFIED also while a command takes effect and nobody has to decide yet.
    phase: pb.Phase.ValueType = pb.PHASE_UNSPECIFIED
    turn: int = 0
    #: The seat on turn.
    seat: int = 0
    #: The number of the current decision.
    decision: int = 0
    #: Decks by seat, top first; None if the cards are not known here.
    decks: list[tuple[int, ...] | None] = field(default_factory=lambda: [None, None], repr=False)
    deck_sizes: list[int] = field(default_factory=lambda: [0, 0])
    #: The root card; 0 before it is placed.
    root: int = 0
    #: Left and right stack, in the order of placement.
    stacks: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    #: Left and right die; 0 before the root is counted.
    dice: list[int] = field(default_factory=lambda: [0, 0])
    #: The card that lies face up and is neither placed nor lost; 0 if there is none.
    flipped: int = 0
    #: The ability in use this turn; 0 if there is none.
    ability: int = 0
    #: The deck that ability 1 names.
    deck: pb.Deck.ValueType = pb.DECK_UNSPECIFIED
    #: Where the card lies that counts after the guess.
    placed: pb.Where.ValueType = pb.WHERE_UNSPECIFIED
    #: True if the seat on turn looks at its bottom card at the end of the turn.
    beast_look: bool = False
    discards: tuple[int, ...] = ()
    #: True once player one has ended a turn with an empty deck.
    failed: bool = False
    #: True once the table has said that time is up.
    time_up: bool = False
    result: pb.MatchEnded | None = None

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.started,
            self.options,
            self.rolls,
            self.first_player,
            self.phase,
            self.turn,
            self.seat,
            self.decision,
            self.decks[:],
            self.deck_sizes[:],
            self.root,
            self.stacks[:],
            self.dice[:],
            self.flipped,
            self.ability,
            self.deck,
            self.placed,
            self.beast_look,
            self.discards,
            self.failed,
            self.time_up,
            self.result,
        )

    def to_act(self) -> tuple[int, ...]:
        """The seat that may act now, if any."""
        if self.phase in (pb.PHASE_DECIDE, pb.PHASE_PLACE):
            return (self.seat,)
        return (1 - self.seat,) if self.phase == pb.PHASE_GUESS else ()

    def cards(self, seat: int) -> tuple[int, ...]:
        """The deck of a seat, top first. Raises ValueError if it is not known here."""
        deck = self.decks[seat]
        if deck is None:
            raise ValueError(f"the deck of seat {seat} is not known here")
        return deck
