"""What a variant fixes: its name, its options, its cards, and what ends its match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sixledger.engine.nimmt.cards import HIGHEST, ROWS
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Frame:
    """The base game's values; a variant sets those that differ."""

    number: ClassVar[pb.Variant.ValueType]
    #: The name as an option, and what sets the variant apart, for people.
    name: ClassVar[str]
    about: ClassVar[str]
    min_seats: ClassVar[int] = 2
    max_seats: ClassVar[int] = 10
    #: The decks that may be chosen, the default first; none if the variant has a fixed one.
    decks: ClassVar[tuple[pb.Deck.ValueType, ...]] = ()
    double_packs: ClassVar[tuple[pb.DoublePack.ValueType, ...]] = ()
    end_modes: ClassVar[tuple[pb.EndMode.ValueType, ...]] = (pb.END_MODE_POINTS, pb.END_MODE_ROUNDS)
    has_starter: ClassVar[bool] = False
    has_cycles: ClassVar[bool] = False
    #: True if everybody may know cards of a hand.
    has_public_hands: ClassVar[bool] = False

    hand_size: ClassVar[int] = 10
    #: Turns of a round, and how many cards a seat plays in each.
    turns: ClassVar[int] = 10
    cards_a_turn: ClassVar[int] = 1
    #: The lowest card of the pack.
    lowest: ClassVar[int] = 1
    #: The phase in which every turn begins.
    opening: ClassVar[pb.Phase.ValueType] = pb.PHASE_SELECTION

    def pack(self, players: int, options: pb.Options) -> Sequence[int]:
        """The pack of a round before it is shuffled, ascending. `options` are complete."""
        if options.deck == pb.DECK_TACTICS:
            return self.tactics_pack(players)
        return range(self.lowest, HIGHEST + 1)

    def tactics_pack(self, players: int) -> Sequence[int]:
        """As many cards as are dealt."""
        return range(1, self.hand_size * players + ROWS + 1)

    def most_turns(self, players: int, options: pb.Options) -> int:
        """The turns that a round can have at most."""
        return self.turns

    def end_reason(self, options: pb.Options, rounds: int, totals: Sequence[int]) -> pb.EndReason.ValueType:
        """Why the match ends after `rounds` rounds with these totals; UNSPECIFIED if it goes on."""
        if options.end_mode == pb.END_MODE_ROUNDS:
            return pb.END_REASON_ROUNDS if rounds >= options.rounds else pb.END_REASON_UNSPECIFIED
        highest = max(totals)
        if highest > options.limit or (highest == options.limit and options.compare == pb.COMPARE_GE):
            return pb.END_REASON_LIMIT
        return pb.END_REASON_MAX_ROUNDS if rounds >= options.max_rounds else pb.END_REASON_UNSPECIFIED
