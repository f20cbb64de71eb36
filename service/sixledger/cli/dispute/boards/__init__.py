"""The table of a match as a document shows it: rows of cards, and a line for each seat.

    board = board_of("nimmt", view, names)

Pure functions from a game's View to plain values, which a template draws. A game with a board of its own is a module
here with a function `board(view, names)` and a function `hand(view)`; every other game gets the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

_OWN = frozenset({"forces", "nimmt", "piece"})


@dataclass(frozen=True, slots=True)
class Card:
    """One card."""

    face: str
    #: A word for its colour; the template has a class for each.
    colour: str = "plain"
    #: Small print below the face.
    pips: str = ""
    #: What a screen reader says.
    label: str = ""
    #: Printed above the card, for example whose it is.
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Pile:
    """Cards that lie together."""

    name: str
    cards: tuple[Card, ...]
    #: A few words behind the cards.
    note: str = ""
    #: Free places behind the cards.
    places: int = 0


@dataclass(frozen=True, slots=True)
class Board:
    """What lies on the table."""

    heading: str
    piles: tuple[Pile, ...] = ()
    #: Of the line for each seat: the names of its cells, and the cells. The first is the name of the seat.
    columns: tuple[str, ...] = ()
    seats: tuple[tuple[str, ...], ...] = ()
    #: Whatever else is known, as name and value.
    facts: tuple[tuple[str, str], ...] = field(default=())


def board_of(game: str, view: Any, names: Sequence[str]) -> Board:
    """The board of a game; `view` is its View."""
    draw: Callable[[Any, Sequence[str]], Board] = _module(game).board
    return draw(view, names)


def hand_of(game: str, view: Any) -> tuple[Card, ...]:
    """The cards that the viewer of `view` has in hand and nobody else sees; none if the game has none."""
    draw: Callable[[Any], tuple[Card, ...]] = _module(game).hand
    return draw(view)


def _module(game: str) -> Any:
    return import_module(f"{__name__}.{game if game in _OWN else 'plain'}")
