"""What a person types, turned into a command of the game."""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf import json_format
from google.protobuf.message import Message
from rich.text import Text
from sixledger.cli.forces_prompt import ForcesPrompt
from sixledger.cli.nimmt_prompt import NimmtPrompt
from sixledger.cli.piece_prompt import PiecePrompt
from sixledger.engine.bots import concrete


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
    if game_id == "forces":
        return ForcesPrompt()
    if game_id == "piece":
        return PiecePrompt()
    if game_id == "nimmt":
        return NimmtPrompt()
    return ListPrompt()


def _spell(command: Any) -> str:
    inner = concrete(command)
    content = json_format.MessageToDict(inner, preserving_proto_field_name=True)
    words = " ".join(f"{key}={value}" for key, value in content.items())
    return f"{inner.DESCRIPTOR.name} {words}".strip()
