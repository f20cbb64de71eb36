"""The engine allows exactly the courses of 6 nimmt! and its variants that a second reading of the rules allows.

From positions late in a round all sequences of a few commands are played out by the engine and by `nimmt_brute`;
both must give as many, and lead to the same rows, hands and points equally often.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from random import Random
from typing import Any

import pytest
from counts.nimmt_brute import Plain, after, ends, moves
from sixledger.engine.chance import Chance
from sixledger.engine.game import run
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table

SEALED = Chance.sealed()

#: Name → variant, seats, further options, commands before the counting, commands that are counted.
CASES: dict[str, tuple[str, int, dict[str, Any], int, int]] = {
    "base, end of a round": ("base", 2, {}, 16, 6),
    "base, three seats": ("base", 3, {}, 21, 4),
    "tactics, end of a round": ("tactics", 3, {}, 24, 6),
    "logic, end of the draft": ("logic", 2, {}, 16, 5),
    "logic, end of a round": ("logic", 2, {}, 36, 6),
    "tournament, end of a game": ("tournament", 2, {}, 36, 4),
    "professional, end of a round": ("professional", 2, {}, 14, 6),
    "professional, three seats": ("professional", 3, {}, 24, 6),
    "open, end of a round": ("open", 3, {}, 21, 7),
    "open, in the middle": ("open", 2, {}, 10, 4),
    "nifty, end of a round": ("nifty", 2, {}, 25, 8),
    "nifty, three seats": ("nifty", 3, {}, 39, 6),
    "hand, end of a round": ("hand", 2, {}, 26, 3),
    "hand, three seats": ("hand", 3, {}, 60, 3),
    "hand, last cycle": ("hand", 2, {"max_cycles": 10}, 27, 3),
    "double, end of a round": ("double", 2, {}, 16, 6),
    "double, three seats": ("double", 3, {}, 24, 6),
    "doublets, end of a round": ("double", 3, {"double_pack": pb.DOUBLE_PACK_DOUBLETS}, 24, 6),
}


def table(variant: str, seats: int, options: dict[str, Any], commands: int, seed: int) -> Table:
    """A match of one round after some random commands."""
    given = pb.Options(variant=pb.Variant.Value(f"VARIANT_{variant.upper()}"), **options)
    if variant != "tournament":
        given.end_mode = pb.END_MODE_ROUNDS
    made = Table(GAME, GAME.complete(seats, given), seed)
    for _ in made.play_on(Random(seed), commands):
        pass
    return made


def plain(position: pb.Position, variant: str) -> Plain:
    """The same round without the engine. Only between turns, where nothing is being placed."""
    return Plain(
        variant=variant,
        hands=[list(seat.hand) for seat in position.seats],
        rows=[[list(twins) for _, twins in groupby(row.cards)] for row in position.rows],
        points=[seat.round_points for seat in position.seats],
        turns=max(position.turn - 1, 0),
        starter=position.starter,
        pool=list(position.pool),
        piles=[list(seat.pile) for seat in position.seats],
        max_cycles=position.options.max_cycles,
    )


def walk_brute(game: Plain, depth: int) -> tuple[int, Counter[Any]]:
    """The number of sequences of `depth` moves, or of fewer if the round ends, and where they lead."""
    if depth == 0 or game.over:
        return 1, Counter([_key(game.hands, game.rows, game.points)])
    total, reached = 0, Counter[Any]()
    for move in moves(game):
        number, there = walk_brute(after(game, move), depth - 1)
        total += number
        reached += there
    return total, reached


def walk_engine(state: Any, depth: int, round_: int) -> tuple[int, Counter[Any]]:
    """The same with the engine."""
    if depth == 0 or state.round > round_ or GAME.outcome(state) is not None:
        rows = [[list(twins) for _, twins in groupby(row)] for row in state.rows]
        return 1, Counter([_key(state.hands, rows, state.round_points)])
    total, reached = 0, Counter[Any]()
    for seat in range(state.players):
        for command in GAME.legal(state, seat):
            copy = GAME.copy(state)
            run(GAME, copy, GAME.play(copy, seat, command, SEALED))
            number, there = walk_engine(copy, depth - 1, round_)
            total += number
            reached += there
    return total, reached


def _key(hands: Any, rows: Any, points: Any) -> Any:
    return (
        tuple(tuple(sorted(hand)) for hand in hands),
        tuple(tuple(tuple(position) for position in row) for row in rows),
        tuple(points),
    )


def is_worth_it(game: Plain) -> bool:
    """True if what is special about the variant can happen at once."""
    cards = [card for hand in game.hands for card in set(hand)]
    if game.variant == "professional":
        return any(len(ends(game.rows, card)) == 2 for card in cards)
    if game.variant == "double":
        return len(set(cards)) < len(cards)
    return True


def between_turns(name: str) -> Table:
    """The first match that is between two turns after that many commands, and of interest."""
    variant, seats, options, commands, _ = CASES[name]
    for seed in range(500):
        made = table(variant, seats, options, commands, seed)
        position = made.position
        between = not made.over and not position.queue and not any(map(_has_sealed, position.seats))
        if between and position.round == 1 and is_worth_it(plain(position, variant)):
            return made
    raise AssertionError("no seed leads to such a position")


def _has_sealed(seat: Any) -> bool:
    return seat.HasField("chosen") or len(seat.chosen_cards) > 0


@pytest.mark.parametrize("name", CASES)
def test_the_engine_counts_like_a_second_reading_of_the_rules(name: str) -> None:
    variant, _, _, _, depth = CASES[name]
    made = between_turns(name)
    count, reached = walk_engine(made.state, depth, made.state.round)
    assert (count, reached) == walk_brute(plain(made.position, variant), depth)
    assert count > 50
