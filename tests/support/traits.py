"""What the laws must be told about each game, because no schema says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.game import Game
from support import forces, nimmt, piece


@dataclass(frozen=True)
class Traits:
    """One game, for the laws."""

    #: Concrete commands, legal somewhere or nowhere, well-formed or not: every one is tried.
    commands: Sequence[Message]
    #: Name → (seats, options as JSON) beyond the presets: the smallest and largest values.
    extremes: Mapping[str, tuple[int, dict[str, Any]]]
    #: Asserts what RULES says of every position, given as the message.
    check: Callable[[Any], None]
    #: The same position with everything shuffled that the viewer cannot know.
    shuffle_hidden: Callable[[Any, int | None, Random], Any]


_TRAITS = {
    "forces": Traits(forces.COMMANDS, forces.EXTREMES, forces.check, forces.shuffle_hidden),
    "nimmt": Traits(nimmt.COMMANDS, nimmt.EXTREMES, nimmt.check, nimmt.shuffle_hidden),
    "piece": Traits(piece.COMMANDS, piece.EXTREMES, piece.check, piece.shuffle_hidden),
}


def traits(game: Game[Any]) -> Traits:
    """The traits of a game; a registered game without any fails here."""
    assert game.id in _TRAITS, f"tests/support/traits.py does not know {game.id}"
    return _TRAITS[game.id]
