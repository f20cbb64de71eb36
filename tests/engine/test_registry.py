"""Games by id and version."""

from __future__ import annotations

import pytest
from sixledger.engine.errors import UnknownGame
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.game import Nimmt
from sixledger.engine.registry import Registry, installed


class Second(Nimmt):
    """A later version."""

    version = 2


def test_6_nimmt_is_installed() -> None:
    assert installed().latest("nimmt") is GAME
    assert installed().get("nimmt", 1) is GAME


def test_new_matches_get_the_newest_version_and_old_ones_their_own() -> None:
    second = Second()
    registry = Registry([second, GAME])
    assert registry.latest("nimmt") is second
    assert registry.get("nimmt", 1) is GAME
    assert registry.offered() == [second]
    assert registry.all() == [GAME, second]


def test_an_unknown_game_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownGame, match="no game 'chess' here; there are: nimmt"):
        Registry([GAME]).latest("chess")
    with pytest.raises(UnknownGame, match="no ruleset nimmt@9 here; there are: nimmt@1"):
        Registry([GAME]).get("nimmt", 9)


def test_two_games_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="nimmt@1"):
        Registry([GAME, Nimmt()])
