"""The cards of 6 nimmt!: numbers from 1, each worth some bullheads (RULES 2.1)."""

from __future__ import annotations

from collections.abc import Iterable

from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: The highest card of the full pack.
HIGHEST = 104
#: Seats of the largest table.
MAX_SEATS = 10
#: Rows on the table, and how many cards one of them holds at most.
ROWS, ROW_LENGTH = 4, 5
#: Cards of a hand, and so turns of a round.
HAND_SIZE = 10


def _bullheads(card: int) -> int:
    """The bullheads of one card: the first matching line counts."""
    if card == 55:
        return 7
    if card % 11 == 0:
        return 5
    if card % 10 == 0:
        return 3
    if card % 5 == 0:
        return 2
    return 1


#: Bullheads by card; index 0 is no card.
BULLHEADS: tuple[int, ...] = (0, *(_bullheads(card) for card in range(1, HIGHEST + 1)))


def bullheads(cards: Iterable[int]) -> int:
    """The sum of the bullheads of `cards`."""
    return sum(map(BULLHEADS.__getitem__, cards))


def pack(players: int, options: pb.Options) -> range:
    """The pack of a round before it is shuffled, ascending. `options` are complete."""
    if options.deck == pb.DECK_TACTICS:
        return range(1, HAND_SIZE * players + ROWS + 1)
    return range(1, HIGHEST + 1)
