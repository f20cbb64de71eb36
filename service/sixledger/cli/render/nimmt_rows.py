"""What lies in the middle of a table of 6 nimmt!: the rows, the cards to draft, cards not yet placed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from rich.text import Text
from sixledger.cli.render.cards import HEAD, Lines, beside, card, label, place, style_of
from sixledger.engine.nimmt.cards import ROW_LENGTH, bullheads
from sixledger.engine.nimmt.variants.double import stacks
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Cards of a pool on one line.
_POOL_WIDTH = 10


def rows_drawn(view: pb.View, fresh: Collection[int]) -> Lines:
    """The rows as cards; twins take one place."""
    lines: Lines = []
    for number, row in enumerate(view.rows, 1):
        lie = stacks(row.cards)
        cards = [card(twins[0], fresh=twins[0] in fresh, twins=len(twins) > 1) for twins in lie]
        free = [place() for _ in range(ROW_LENGTH - len(lie))]
        total = label(f"{bullheads(row.cards)} {HEAD}", 5, "heading" if len(lie) == ROW_LENGTH else "faint", right=True)
        lines += beside(label(f" {number}", 3, "heading"), *cards, *free, total)
    return lines


def rows_plain(view: pb.View) -> Lines:
    """The rows as numbers."""
    lines: Lines = []
    for number, row in enumerate(view.rows, 1):
        line = Text.assemble((f" {number}  ", "heading"))
        lie = stacks(row.cards)
        for twins in lie:
            shown = str(twins[0]) if len(twins) == 1 else f"{twins[0]}×2"
            line.append(f"{shown:>3} ", style_of(twins[0]))
        line.append("  · " * (ROW_LENGTH - len(lie)), "faint")
        lines.append(line.append(f" {bullheads(row.cards):>2} {HEAD}"))
    return lines


def pool(view: pb.View) -> Lines:
    """The cards that can be drafted, by tens."""
    lines: Lines = [Text(" to draft", "faint")]
    for _, group in groupby(view.pool, key=lambda each: (each - 1) // _POOL_WIDTH):
        line = Text(" ")
        for each in group:
            line.append(" " * (4 * ((each - 1) % _POOL_WIDTH) + 1 - line.cell_len)).append(f"{each:>3}", style_of(each))
        lines.append(line)
    return lines


def lying(view: pb.View, names: Sequence[str]) -> Lines:
    """Open cards that wait to be placed, in their order."""
    if not view.queue or view.phase == pb.PHASE_ENDED:
        return []
    line = Text(" laid  " if view.phase == pb.PHASE_LAYING else " to be placed  ", "faint")
    for index, (seat, plays) in enumerate(groupby(view.queue, key=lambda play: play.seat)):
        own = view.HasField("viewer") and view.viewer == seat
        line.append(" · " if index else "").append("you" if own else names[seat], "you" if own else "")
        for play in plays:
            line.append(" ").append(str(play.card), f"bold {style_of(play.card)}")
    return [line]
