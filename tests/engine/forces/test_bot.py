"""The bot sees a view and nothing else, and beats random play."""

from __future__ import annotations

from random import Random

import pytest
from sixledger.engine.bots import bot
from sixledger.engine.forces import GAME
from sixledger.engine.forces.bot import predict, worth
from sixledger.engine.forces.cards import read
from sixledger.engine.simulate import simulate, summarise
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import card
from support.matches import Table


@pytest.mark.parametrize("name", ["random", "heuristic"])
@pytest.mark.parametrize("seats", [3, 4])
def test_a_bot_gives_legal_commands_and_leaves_the_view_alone(name: str, seats: int) -> None:
    policy, random = bot("forces", name), Random(1)
    table = Table(GAME, GAME.complete(seats, pb.Options()), 1)
    while not table.over:
        (seat,) = GAME.decision(table.state).seats
        view = GAME.view(table.state, seat)
        before = view.SerializeToString(deterministic=True)
        command = policy(view, random)
        assert view.SerializeToString(deterministic=True) == before
        table.act(seat, command)


@pytest.mark.parametrize("commands", [0, 8, 30])
def test_the_bot_depends_on_the_given_randomness_alone(commands: int) -> None:
    table = Table(GAME, GAME.complete(4, pb.Options()), 1)
    for _ in table.play_on(Random(1), commands):
        pass
    view = GAME.view(table.state, GAME.decision(table.state).seats[0])
    policy = bot("forces", "heuristic")
    assert len({policy(view, Random(5)).SerializeToString() for _ in range(3)}) == 1


def test_the_bot_likes_the_type_that_fits_its_hand() -> None:
    low = [read(card(f"{color}{number}")) for color in "RYBG" for number in (1, 2, 3)]
    assert max(range(1, 7), key=lambda trump: worth(low, trump, 4)) == pb.TRUMP_LOW
    blue = [read(card(code)) for code in ["R1", "Y2", "G3", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "B12", "Y5"]]
    assert max(range(1, 7), key=lambda trump: worth(blue, trump, 4)) == pb.TRUMP_BLUE


def test_the_bot_predicts_what_it_may() -> None:
    every = [pb.Predict(prediction=tricks, flex=flex) for tricks in range(5) for flex in (False, True)]
    assert predict(every, 3.1) == pb.Predict(prediction=3, flex=False)
    assert predict(every, 3.4) == pb.Predict(prediction=3, flex=True)
    assert predict(every[:1], 3.4) == pb.Predict(prediction=0, flex=False)


@pytest.mark.parametrize("seats", [3, 4])
def test_the_bot_wins_far_more_than_its_share_against_random_play(seats: int) -> None:
    """At least 1.4 times the fair share of 1,000 matches of one deal, as many on each seat; shared wins in parts."""
    matches = -(-1000 // seats)
    shares = []
    for place in range(seats):
        names = ["heuristic" if seat == place else "random" for seat in range(seats)]
        policies = [bot("forces", name) for name in names]
        results = simulate(GAME, GAME.complete(seats, pb.Options(deals=1)), policies, matches, seed=place)
        shares.append(summarise(results, names).win_rate_by_policy["heuristic"])
    assert sum(shares) / seats >= 1.4 / seats
