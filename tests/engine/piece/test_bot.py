"""The heuristic bot of 6piece: legal, blind to what is hidden, and better than chance."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from sixledger.engine.bots import bot
from sixledger.engine.piece import GAME
from sixledger.engine.piece.bot import heuristic
from sixledger.engine.simulate import simulate, summarise
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.matches import Table, setups


@pytest.mark.parametrize("name", setups(GAME))
def test_it_gives_legal_commands_and_leaves_the_view_alone(name: str) -> None:
    for seed in range(10):
        random, table = Random(seed), Table(GAME, setups(GAME)[name], seed)
        while not table.over:
            (seat,) = GAME.decision(table.state).seats
            view = GAME.view(table.state, seat)
            before = view.SerializeToString(deterministic=True)
            command = heuristic(view, random)
            assert view.SerializeToString(deterministic=True) == before
            assert command in GAME.legal(table.state, seat)
            table.act(seat, command)


def view_of(viewer: int = 0, **fields: Any) -> pb.View:
    """The view in turn 3 of seat 0; what is not given is as in a match without Beasts."""
    options = fields.pop("options", pb.Options())
    given = {"phase": pb.PHASE_DECIDE, "turn": 3, "decision": 6, "root": 1}
    position = pb.Position(players=2, options=GAME.complete(2, options).options, **(given | fields))
    return GAME.view(GAME.from_position(position), viewer)


@pytest.mark.parametrize(("left", "right", "taken"), [(3, 4, pb.STACK_LEFT), (4, 3, pb.STACK_RIGHT)])
def test_it_takes_a_stack_when_it_can(left: int, right: int, taken: pb.Stack.ValueType) -> None:
    view = view_of(
        phase=pb.PHASE_PLACE,
        decks=[pb.DeckCards(cards=[1, 2, 4]), pb.DeckCards(cards=[4, 5, 6])],
        left=pb.StackState(cards=[5, 6], die=left),
        right=pb.StackState(cards=[2, 3], die=right),
        flipped=3,
    )
    assert heuristic(view, Random(1)) == pb.Place(stack=taken)


def test_it_subtracts_to_take_a_stack() -> None:
    view = view_of(
        decks=[pb.DeckCards(cards=[1, 2]), pb.DeckCards(cards=[3, 4, 5, 6])],
        left=pb.StackState(die=2),
        right=pb.StackState(cards=[2, 3, 4, 5], die=1),
        flipped=6,
    )
    assert heuristic(view, Random(1)) == pb.UseAbility(ability=6, die=pb.STACK_RIGHT)


def test_it_asks_for_a_guess_while_the_guess_is_hard() -> None:
    view = view_of(
        decks=[pb.DeckCards(cards=[1, 2, 3]), pb.DeckCards(cards=[3, 4, 5, 6])],
        left=pb.StackState(cards=[2], die=3),
        right=pb.StackState(cards=[6, 4], die=4),
        flipped=5,
    )
    assert heuristic(view, Random(1)) == pb.UseAbility(ability=5)


def test_it_guesses_the_card_of_which_most_are_unseen() -> None:
    view = view_of(
        viewer=1,
        phase=pb.PHASE_GUESS,
        decision=7,
        decks=[pb.DeckCards(cards=[1, 4]), pb.DeckCards(cards=[3, 4, 2])],
        left=pb.StackState(cards=[2, 5], die=3),
        right=pb.StackState(cards=[6, 6, 3, 5], die=4),
        ability=5,
        placed=pb.WHERE_LEFT,
    )
    assert heuristic(view, Random(1)) == pb.Guess(value=pb.GUESS_VALUE_FOUR)


@pytest.mark.parametrize("bots", [("heuristic", "random"), ("random", "heuristic")])
def test_it_beats_the_random_bot(bots: tuple[str, str]) -> None:
    """At least 65 % of 1,000 matches, half of them on each seat; a shared win counts half."""
    setup = GAME.complete(2, GAME.presets["default"].options)
    results = simulate(GAME, setup, [bot("piece", name) for name in bots], 500, seed=1)
    assert summarise(results, bots).win_rate_by_policy["heuristic"] >= 0.65
