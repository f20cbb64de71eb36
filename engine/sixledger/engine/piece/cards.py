"""The cards of 6piece: the numbers 1 to 6 and, as Beasts, 7 to 18 (RULES 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from sixledger.games.piece.v1 import piece_pb2 as pb

#: The highest card of a deck without a Beast; also the highest value of a die, which completes a stack.
SIX = 6
#: The lowest and the highest Beast.
LOWEST_BEAST, HIGHEST_BEAST = 7, 18

_PLAIN = (0, *((card - 1) % SIX + 1 for card in range(1, HIGHEST_BEAST + 1)))


def rolls(options: pb.Options) -> Sequence[int]:
    """The rolled value by card number, 1 to 18. Index 0 is no card."""
    if options.beast_13_value == 2:
        return (*_PLAIN[:13], 2, *_PLAIN[14:])
    return _PLAIN


def add(die: int, value: int) -> int:
    """What a die shows after `value`, 1 to 6, was added: it starts again after 6."""
    return _PLAIN[die + value]


def subtract(die: int) -> int:
    """What a die shows after 1 was subtracted: 6 comes before 1."""
    return die - 1 or SIX


def own_cards(options: pb.Options, seat: int) -> list[int]:
    """The deck of a seat before it is shuffled: ascending, the Beast last."""
    return [*range(1, SIX + 1), *options.beasts[seat : seat + 1]]


def all_cards(options: pb.Options) -> list[int]:
    """Every card of the match, ascending."""
    return sorted(own_cards(options, 0) + own_cards(options, 1))
