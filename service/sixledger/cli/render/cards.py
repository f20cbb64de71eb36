"""Cards of 6 nimmt! as little drawings, and lines put side by side.

A drawing is a list of `Text` lines of one width, so that drawings can be joined without a layout engine:
what is drawn is the same at every width and can be compared as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text
from sixledger.engine.nimmt.cards import BULLHEADS

#: One bullhead.
HEAD = "▼"
#: Columns and lines of a card.
CARD_WIDTH, CARD_HEIGHT = 7, 3

Lines = list[Text]


def style_of(number: int) -> str:
    """The style of a card: by its bullheads."""
    return f"card.{BULLHEADS[number]}"


def card(number: int, *, playable: bool = True, fresh: bool = False, twins: bool = False) -> Lines:
    """A card with its number and its bullheads in the lower edge.

    One that cannot be played now has a broken edge and is faint; a `fresh` one, just placed, is reversed. `twins`
    are two cards on one another.
    """
    heads = HEAD * BULLHEADS[number]
    shown = f"{number}×2" if twins else str(number)
    if playable:
        top, side, bottom = "╭─────╮", "│", f"╰{heads:─^5}╯" if len(heads) <= 5 else heads
    else:
        top, side, bottom = "┌╌╌╌╌╌┐", "┆", f"└{heads:╌^5}┘" if len(heads) <= 5 else heads
    style = style_of(number) if playable else "faint"
    inner = f"{style}.{'fresh' if fresh else 'number'}" if playable else style
    face = Text.assemble((side, style), (f"{shown:^5}", inner), (side, style))
    return [Text(top, style), face, Text(bottom, style)]


def place() -> Lines:
    """A free place of a row."""
    return [Text(" " * CARD_WIDTH), Text("   ·   ", "faint"), Text(" " * CARD_WIDTH)]


def label(text: str, width: int, style: str = "", *, right: bool = False) -> Lines:
    """A word beside a card, at the height of its number."""
    padded = f"{text:>{width}}" if right else f"{text:<{width}}"
    return [Text(" " * width), Text(padded, style), Text(" " * width)]


def beside(*drawings: Sequence[Text], gap: int = 0) -> Lines:
    """Drawings from left to right; the shorter ones are filled up below."""
    widths = [max((line.cell_len for line in drawing), default=0) for drawing in drawings]
    joined = []
    for parts in zip_longest(*drawings):
        line = Text()
        for index, part in enumerate(parts):
            cells = part if part is not None else Text()
            line.append_text(cells)
            if index < len(parts) - 1:
                line.append(" " * (widths[index] - cells.cell_len + gap))
        line.rstrip()
        joined.append(line)
    return joined


def fit(text: str, width: int) -> str:
    """`text` in exactly `width` columns, shortened with an ellipsis if need be."""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    cut = text
    while cell_len(cut) > width - 1:
        cut = cut[:-1]
    return cut + "…" + " " * (width - 1 - cell_len(cut))
