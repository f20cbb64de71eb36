"""Bots: policies that see what a player sees and nothing else.

A policy takes the view of its seat and a source of randomness, and returns one of the view's legal
commands. It keeps nothing between decisions, so one policy may serve many seats and matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.forces import bot as forces
from sixledger.engine.nimmt import bot as nimmt
from sixledger.engine.piece import bot as piece

#: (view of the seat that must act, randomness) → a concrete command of the game.
Policy = Callable[[Any, Random], Message]


def random_policy(view: Any, random: Random) -> Message:
    """Any legal command, each as likely as the others. Plays every game."""
    return concrete(random.choice(view.legal))


def concrete(command: Any) -> Message:
    """The concrete command inside a game's `Command`."""
    case: str | None = command.WhichOneof("command")
    if case is None:
        raise ValueError("the command is empty")
    inner: Message = getattr(command, case)
    return inner


#: Policies by game and name, beside `random`.
_OF_GAME: Mapping[str, Mapping[str, Policy]] = {
    "forces": {"heuristic": forces.heuristic},
    "nimmt": {"heuristic": nimmt.heuristic},
    "piece": {"heuristic": piece.heuristic},
}


def bots_for(game_id: str) -> dict[str, Policy]:
    """The policies for a game by name: `random` for every game, `heuristic` where there is one."""
    return {"random": random_policy, **_OF_GAME.get(game_id, {})}


def bot(game_id: str, name: str) -> Policy:
    """One policy by name. Raises ValueError with the names that there are."""
    known = bots_for(game_id)
    try:
        return known[name]
    except KeyError:
        raise ValueError(f"{game_id} has no bot {name!r}; there are: {', '.join(known)}") from None
