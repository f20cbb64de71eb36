"""The cards of 6 nimmt!: numbers from 1, each worth some bullheads, and rows of them (RULES 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: The highest card of the full pack.
HIGHEST = 104
#: Rows on the table, and how many positions one of them has at most.
ROWS, ROW_LENGTH = 4, 5


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


def fitting_row(rows: Sequence[Sequence[int]], card: int) -> int:
    """The row whose last card is the nearest below `card`; -1 if there is none."""
    nearest, found = 0, -1
    for index, row in enumerate(rows):
        if nearest < row[-1] < card:
            nearest, found = row[-1], index
    return found


def without(cards: tuple[int, ...], card: int) -> tuple[int, ...]:
    """`cards` without one `card`; as they are if it is not among them."""
    if card not in cards:
        return cards
    at = cards.index(card)
    return cards[:at] + cards[at + 1 :]
