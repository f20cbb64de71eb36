"""The games of this build: the built-in ones and those of other distributions.

Other distributions register a `Game` object, or a function without arguments that returns one, in the
entry point group `sixledger.games`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sixledger.engine import visibility
from sixledger.engine.errors import BrokenGame, UnknownGame
from sixledger.engine.game import Game

GROUP = "sixledger.games"
#: A seat is a bit of the 64 of an audience; epochs, seats and digests have their place in record 0.
MAX_SEATS, DIGEST_BYTES = 64, 32
_ID = re.compile("[a-z][a-z0-9_-]{0,63}")


class Registry:
    """Games by id and version."""

    def __init__(self, games: Iterable[Game[Any]]) -> None:
        """Raises ValueError if two games have the same id and version."""
        self._games: dict[tuple[str, int], Game[Any]] = {}
        for game in games:
            if (game.id, game.version) in self._games:
                raise ValueError(f"two games are registered as {game.id}@{game.version}")
            self._games[game.id, game.version] = game

    def latest(self, game: str) -> Game[Any]:
        """The newest version of a game: what new matches get. Raises UnknownGame."""
        versions = [version for name, version in self._games if name == game]
        if not versions:
            known = ", ".join(sorted({name for name, _ in self._games}))
            raise UnknownGame(f"no game {game!r} here; there are: {known}")
        return self._games[game, max(versions)]

    def get(self, game: str, version: int) -> Game[Any]:
        """A game in one version: what old matches are replayed with. Raises UnknownGame."""
        try:
            return self._games[game, version]
        except KeyError:
            known = ", ".join(f"{name}@{number}" for name, number in sorted(self._games))
            raise UnknownGame(f"no ruleset {game}@{version} here; there are: {known}") from None

    def all(self) -> list[Game[Any]]:
        """Every game in every version, sorted by id and version."""
        return [self._games[key] for key in sorted(self._games)]

    def offered(self) -> list[Game[Any]]:
        """The newest version of every game, sorted by id."""
        return [self.latest(name) for name in sorted({name for name, _ in self._games})]


def check(game: object) -> Game[Any]:
    """`game`, if it keeps what its matches and ledgers rely on. Raises BrokenGame with what it does not keep."""
    if not isinstance(game, Game):
        raise BrokenGame(f"a {type(game).__name__} is no Game")
    if not _ID.fullmatch(game.id):
        raise BrokenGame(f"the id {game.id!r} does not match {_ID.pattern}")
    if game.version < 1 or len(game.digest) != DIGEST_BYTES:
        raise BrokenGame(f"{game.id} needs a version from 1 on and a digest of {DIGEST_BYTES} bytes")
    if not 1 <= game.min_seats <= game.max_seats <= MAX_SEATS:
        raise BrokenGame(f"{game.id} must have 1 to {MAX_SEATS} seats")
    try:
        for kind in game.schema.commands.cases:
            visibility.check(kind, event=False)
        for kind in game.schema.events.cases:
            visibility.check(kind, event=True)
    except visibility.VisibilityError as error:
        raise BrokenGame(f"{game.id}: {error}") from error
    return game


@cache
def installed() -> Registry:
    """The registry of all installed games. Raises BrokenGame if one cannot be used."""
    return Registry([_load(entry) for entry in entry_points(group=GROUP)])


def _load(entry: EntryPoint) -> Game[Any]:
    try:
        loaded = entry.load()
        return check(loaded() if callable(loaded) and not isinstance(loaded, Game) else loaded)
    except Exception as error:  # it is other people's code: whatever it raises, say whose it is
        owner = entry.dist.name if entry.dist is not None else "an unknown distribution"
        reason = str(error) if isinstance(error, BrokenGame) else f"{type(error).__name__}: {error}"
        raise BrokenGame(f"the game {entry.name!r} of {owner} cannot be used: {reason}") from error
