"""Bots see a view and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from sixledger.engine.bots import bot, bots_for, random_policy
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.bot import heuristic
from sixledger.engine.nimmt.forecast import cheapest_row
from sixledger.engine.simulate import simulate, summarise
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table


@pytest.mark.parametrize("name", bots_for("nimmt"))
@pytest.mark.parametrize("seats", [2, 10])
@pytest.mark.parametrize("deck", [pb.DECK_FULL, pb.DECK_TACTICS], ids=["full", "tactics"])
def test_a_bot_gives_legal_commands_and_leaves_the_view_alone(name: str, seats: int, deck: pb.Deck.ValueType) -> None:
    policy, random = bot("nimmt", name), Random(1)
    table = Table(GAME, GAME.complete(seats, pb.Options(deck=deck, limit=20)), 1)
    while not table.over:
        seat = GAME.decision(table.state).seats[-1]
        view = GAME.view(table.state, seat)
        before = view.SerializeToString(deterministic=True)
        command = policy(view, random)
        assert view.SerializeToString(deterministic=True) == before
        table.act(seat, command)


@pytest.mark.parametrize("name", bots_for("nimmt"))
def test_a_bot_depends_on_the_given_randomness_alone(name: str) -> None:
    view = GAME.view(Table(GAME, GAME.complete(4, pb.Options()), 1).state, 2)
    assert [bot("nimmt", name)(view, Random(5)) for _ in range(3)] == [bot("nimmt", name)(view, Random(5))] * 3


def test_the_random_bot_gives_every_legal_command_in_time() -> None:
    view = GAME.view(Table(GAME, GAME.complete(4, pb.Options()), 1).state, 2)
    random = Random(1)
    given = {random_policy(view, random).SerializeToString() for _ in range(300)}
    assert given == {command.select_card.SerializeToString() for command in view.legal}


def test_the_heuristic_bot_takes_the_cheapest_row() -> None:
    assert cheapest_row([(55,), (1, 2, 3), (10,), (5,)]) == 3
    assert cheapest_row([(1,), (2,)]) == 0
    view = pb.View(
        viewer=0,
        rows=[pb.Row(cards=[55]), pb.Row(cards=[60, 61]), pb.Row(cards=[71]), pb.Row(cards=[80])],
        legal=[pb.Command(take_row=pb.TakeRow(row=row)) for row in range(4)],
    )
    assert heuristic(view, Random(1)) == pb.TakeRow(row=2)


@pytest.mark.parametrize("bots", [("heuristic", "random"), ("random", "heuristic")])
def test_the_heuristic_bot_beats_the_random_one(bots: tuple[str, str]) -> None:
    """At least 65 % of 1,000 matches of one round, half of them on each seat; a shared win counts half."""
    setup = GAME.complete(2, GAME.presets["d4"].options)
    results = simulate(GAME, setup, [bot("nimmt", name) for name in bots], 500, seed=1)
    assert summarise(results, bots).win_rate_by_policy["heuristic"] >= 0.65


def test_an_unknown_bot_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="nimmt has no bot 'deep'; there are: random, heuristic"):
        bot("nimmt", "deep")


def test_every_game_has_the_random_bot() -> None:
    assert bots_for("elsewhere") == {"random": random_policy}
