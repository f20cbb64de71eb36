"""What a turn would cost: cards laid on imagined rows. For bots; the rules themselves never imagine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sixledger.engine.nimmt.cards import ROW_LENGTH, bullheads, fitting_row
from sixledger.engine.nimmt.variants.double import positions, twin_row
from sixledger.engine.nimmt.variants.professional import nearest_ends
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Rows as they would lie. Its tuples are shared, so a copy of the list is a copy of the rows.
Rows = list[tuple[int, ...]]
#: Lays a card on rows and gives the cards that are collected for it, mostly none.
Lay = Callable[[Rows, int], tuple[int, ...]]


def lay(rows: Rows, card: int) -> tuple[int, ...]:
    """By the base rules; a card that fits nowhere takes the cheapest row."""
    row = fitting_row(rows, card)
    if row >= 0 and len(rows[row]) < ROW_LENGTH:
        rows[row] += (card,)
        return ()
    return _collect(rows, cheapest_row(rows) if row < 0 else row, card)


def _lay_professional(rows: Rows, card: int) -> tuple[int, ...]:
    """At the nearest end; of two at the one that costs less."""
    ends = nearest_ends(rows, card)
    if not ends:
        return _collect(rows, cheapest_row(rows), card)
    row, side = min(ends, key=lambda end: end_cost(rows, end[0]))
    if len(rows[row]) == ROW_LENGTH:
        return _collect(rows, row, card)
    rows[row] = (card, *rows[row]) if side == pb.SIDE_LEFT else (*rows[row], card)
    return ()


def _lay_double(rows: Rows, card: int) -> tuple[int, ...]:
    """On a twin, or by the base rules."""
    row = twin_row(rows, card)
    if row < 0:
        row = fitting_row(rows, card)
        if row < 0 or positions(rows[row]) == ROW_LENGTH:
            return _collect(rows, cheapest_row(rows) if row < 0 else row, card)
    rows[row] += (card,)
    return ()


_LAYS: Mapping[pb.Variant.ValueType, Lay] = {
    pb.VARIANT_PROFESSIONAL: _lay_professional,
    pb.VARIANT_DOUBLE: _lay_double,
}


def lay_of(options: pb.Options) -> Lay:
    """How the variant lays cards."""
    return _LAYS.get(options.variant, lay)


def cheapest_row(rows: Sequence[Sequence[int]]) -> int:
    """The row with the fewest bullheads; of several, the first."""
    return min(range(len(rows)), key=lambda row: bullheads(rows[row]))


def end_cost(rows: Sequence[Sequence[int]], row: int) -> int:
    """What laying a card at an end of a row costs at once."""
    return bullheads(rows[row]) if len(rows[row]) == ROW_LENGTH else 0


def cost(lay: Lay, rows: Rows, before: Iterable[int], own: Iterable[int]) -> int:
    """Bullheads that the own cards collect, in this order, after the cards of others `before` them."""
    table = rows[:]
    for card in before:
        lay(table, card)
    return sum(bullheads(lay(table, card)) for card in own)


def _collect(rows: Rows, row: int, card: int) -> tuple[int, ...]:
    """The row is collected and starts anew with the card."""
    collected, rows[row] = rows[row], (card,)
    return collected
