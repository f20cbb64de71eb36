"""The bot plays every variant: legally, from the view alone, and better than chance."""

from __future__ import annotations

from random import Random

import pytest
from sixledger.engine.bots import bot, bots_for
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.bot import heuristic
from sixledger.engine.nimmt.forecast import cost, lay, lay_of
from sixledger.engine.simulate import play
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table, setups

VARIANTS = ("tactics", "logic", "tournament", "professional", "open", "nifty", "hand", "double")


def of(name: str) -> pb.Variant.ValueType:
    return pb.Variant.Value(f"VARIANT_{name.upper()}")


@pytest.mark.parametrize("policy", bots_for("nimmt"))
@pytest.mark.parametrize("name", setups(GAME))
def test_a_bot_gives_legal_commands_and_leaves_the_view_alone(name: str, policy: str) -> None:
    table, random = Table(GAME, setups(GAME)[name], 1), Random(1)
    for _ in range(120):
        if table.over:
            break
        seat = GAME.decision(table.state).seats[-1]
        view = GAME.view(table.state, seat)
        before = view.SerializeToString(deterministic=True)
        command = bot("nimmt", policy)(view, random)
        assert view.SerializeToString(deterministic=True) == before
        table.act(seat, command)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(("seats", "share"), [(2, 0.55), (4, 1.2 / 4)])
def test_the_heuristic_bot_beats_random_ones(name: str, seats: int, share: float) -> None:
    """In a few matches of one round, where luck counts most, on every seat in turn; to 66 it wins far more."""
    options = pb.Options(variant=of(name))
    if name != "tournament":
        options.end_mode = pb.END_MODE_ROUNDS
    setup = GAME.complete(seats, options)
    won = 0.0
    for number in range(40):
        policies = [bot("nimmt", "random")] * seats
        policies[number % seats] = heuristic
        winners = play(GAME, setup, policies, 3, number).outcome.winners
        won += (number % seats in winners) / len(winners)
    assert won / 40 >= share


def test_cards_are_imagined_by_the_rules_of_their_variant() -> None:
    rows = [(10, 20), (30, 40), (50, 60), (70, 71, 72, 73, 74)]
    imagined = rows[:]
    assert lay(imagined, 75) == (70, 71, 72, 73, 74)
    assert imagined[3] == (75,)
    assert cost(lay, rows, [75], [76]) == 0
    assert cost(lay, rows, [], [75]) == 7
    professional = lay_of(pb.Options(variant=of("professional")))
    assert professional(imagined, 29) == ()
    assert imagined[1] == (29, 30, 40)
    double = lay_of(pb.Options(variant=of("double")))
    assert double(rows, 74) == ()
    assert rows[3] == (70, 71, 72, 73, 74, 74)
    assert cost(double, rows, [74], [75]) > 0
