"""What a person types, turned into a command of the game."""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf import json_format
from google.protobuf.message import Message
from rich.text import Text
from sixledger.engine.bots import concrete
from sixledger.games.nimmt.v1 import nimmt_pb2


class Prompt(Protocol):
    """How a game asks for a decision. `view` is that of the person, who must decide."""

    #: What can be typed, a line each.
    help: tuple[str, ...]

    def question(self, view: Any) -> Text:
        """What is asked for."""
        ...

    def read(self, view: Any, text: str) -> Message:
        """The command that `text` means. Raises ValueError, whose text says what is allowed."""
        ...


class NimmtPrompt:
    """6 nimmt!: a card by its number, a row from 1 to 4."""

    help: tuple[str, ...] = (
        "a number     play that card of your hand, or collect that row (1 to 4, from the top)",
        "             cards go to the row whose last card is the nearest below; the sixth card",
        "             collects the five before it; a card below all rows collects a row you choose",
    )

    def question(self, view: nimmt_pb2.View) -> Text:
        """Row or card."""
        if view.legal[0].WhichOneof("command") == "take_row":
            return Text(f"Row for your {view.row_choice.card} (1–{len(view.legal)})")
        return Text("Your card")

    def read(self, view: nimmt_pb2.View, text: str) -> Message:
        """A card in hand or a row."""
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else -1
        if view.legal[0].WhichOneof("command") == "take_row":
            rows = {legal.take_row.row + 1: legal.take_row for legal in view.legal}
            if number not in rows:
                raise ValueError(f"There is no row {text!r}: type a number from 1 to {len(rows)}.")
            return rows[number]
        cards = {legal.select_card.card: legal.select_card for legal in view.legal}
        if number not in cards:
            raise ValueError(f"You do not hold {text!r}: type one of {', '.join(map(str, cards))}.")
        return cards[number]


class ListPrompt:
    """Any game: the legal commands as a numbered list."""

    help: tuple[str, ...] = ("a number     the command with that number in the list",)

    def question(self, view: Any) -> Text:
        """The list."""
        lines = [f"{number:>4}  {_spell(legal)}" for number, legal in enumerate(view.legal, 1)]
        return Text("\n".join([*lines, "Your choice"]))

    def read(self, view: Any, text: str) -> Message:
        """One of the list."""
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= len(view.legal)):
            raise ValueError(f"Type a number from 1 to {len(view.legal)}.")
        return concrete(view.legal[int(text) - 1])


def prompt_for(game_id: str) -> Prompt:
    """How a game asks."""
    return NimmtPrompt() if game_id == "nimmt" else ListPrompt()


def _spell(command: Any) -> str:
    inner = concrete(command)
    content = json_format.MessageToDict(inner, preserving_proto_field_name=True)
    words = " ".join(f"{key}={value}" for key, value in content.items())
    return f"{inner.DESCRIPTOR.name} {words}".strip()
