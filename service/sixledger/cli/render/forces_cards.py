"""Cards, trump types and predictions of 6 Forces as they are drawn and written."""

from __future__ import annotations

from rich.text import Text
from sixledger.cli.render.cards import Lines
from sixledger.games.forces.v1 import forces_pb2 as pb

#: Columns of a card.
CARD_WIDTH = 6
_LETTERS = {pb.COLOR_RED: "R", pb.COLOR_YELLOW: "Y", pb.COLOR_BLUE: "B", pb.COLOR_GREEN: "G"}
_STYLES = {
    pb.TRUMP_RED: "bright_red",
    pb.TRUMP_YELLOW: "bright_yellow",
    pb.TRUMP_BLUE: "bright_blue",
    pb.TRUMP_GREEN: "bright_green",
}


def code(card: pb.Card) -> str:
    """The code of a card, for example `R10`."""
    return f"{_LETTERS[card.color]}{card.number}"


def style_of(card: pb.Card) -> str:
    """The style of a card: its colour."""
    return trump_style(pb.Trump.ValueType(card.color))  # a colour and its trump type have the same value


def trump_style(trump: pb.Trump.ValueType) -> str:
    """The style of a trump type; HIGH and LOW are of no colour."""
    return _STYLES.get(trump, "heading")


def trump_name(trump: pb.Trump.ValueType) -> str:
    """A trump type in capitals; a dot before the choice."""
    return pb.Trump.Name(trump).removeprefix("TRUMP_") if trump else "·"


def announced(prediction: pb.Prediction) -> str:
    """What is right after a prediction."""
    tricks = prediction.prediction
    return f"{tricks} or {tricks + 1}" if prediction.flex else str(tricks)


def drawn(card: pb.Card, *, playable: bool = True) -> Lines:
    """A card; one that cannot be played now has a broken edge and is faint."""
    style = style_of(card) if playable else "faint"
    top, side, bottom = ("╭────╮", "│", "╰────╯") if playable else ("┌╌╌╌╌┐", "┆", "└╌╌╌╌┘")
    face = Text.assemble((side, style), (f"{code(card):^4}", f"bold {style}"), (side, style))
    return [Text(top, style), face, Text(bottom, style)]


def place() -> Lines:
    """Where a card is still to be played."""
    return [Text(" " * CARD_WIDTH), Text("  ··  ", "faint"), Text(" " * CARD_WIDTH)]
