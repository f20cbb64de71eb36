"""Who sits at a table: names of the bots and their policies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from random import Random
from typing import Annotated

from cyclopts import Parameter
from sixledger.cli.failures import unusable
from sixledger.engine.bots import Policy, bot, bots_for
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import Game

_NAMES = ("Ada", "Bruno", "Clara", "Dario", "Edda", "Felix", "Greta", "Hugo", "Ida", "Jonas", "Kira", "Leo")

Bot = Annotated[str | None, Parameter(help="How the bots play: heuristic, or random. Default: the best there is.")]
Seed = Annotated[int | None, Parameter(help="Makes everything repeatable: the same number, the same match.")]


def bot_names(count: int) -> list[str]:
    """Different names for `count` bots."""
    return [_NAMES[index] if index < len(_NAMES) else f"Bot {index + 1}" for index in range(count)]


def policy(game_id: str, name: str | None) -> Policy:
    """A policy by name; None: the best one of the game. Raises Failure with the names that there are."""
    known = list(bots_for(game_id))
    try:
        return bot(game_id, name if name is not None else known[-1])
    except ValueError:
        raise unusable(f"no bot {name!r} for {game_id}; allowed: {', '.join(known)}") from None


def usual_players(game: Game[object]) -> int:
    """How many sit at a table if nobody says so: four, or as near to it as the game allows."""
    return max(game.min_seats, min(4, game.max_seats))


def check_players(game: Game[object], seats: int) -> None:
    """Raises IllegalOptions unless the game can have so many seats."""
    if not game.min_seats <= seats <= game.max_seats:
        allowed = f"{game.min_seats} to {game.max_seats}"
        raise IllegalOptions("players", f"{game.id} is not played by {seats}", allowed)


def secret(seed: int | None, use: str) -> bytes:
    """32 bytes: random without a seed, else a function of seed and use."""
    if seed is None:
        return os.urandom(32)
    return hashlib.sha256(f"sixledger/cli/1\n{seed}\n{use}".encode()).digest()


def randoms(seed: int | None, seats: Sequence[int]) -> dict[int, Random]:
    """The randomness of the bots, by seat."""
    return {seat: Random(secret(seed, f"bot/{seat}")) for seat in seats}  # noqa: S311  # play, not secrets
