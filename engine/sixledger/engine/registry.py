"""The games of this build: the built-in ones and those of other distributions.

Other distributions register a `Game` object, or a function without arguments that returns one, in the
entry point group `sixledger.games`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from sixledger.engine.errors import UnknownGame
from sixledger.engine.game import Game

GROUP = "sixledger.games"


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


@cache
def installed() -> Registry:
    """The registry of all installed games."""
    games = []
    for entry in entry_points(group=GROUP):
        loaded = entry.load()
        games.append(loaded if isinstance(loaded, Game) else loaded())
    return Registry(games)
