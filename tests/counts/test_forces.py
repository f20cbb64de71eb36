"""The engine allows exactly as many courses of 6 Forces as a plain reading of the rules, with the same results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from counts.forces_brute import TYPES, Plain, moves, on_turn, points
from sixledger.engine.chance import Chance
from sixledger.engine.forces import GAME
from sixledger.engine.game import run
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import code
from support.matches import Table

SEALED = Chance.sealed()


def fixed(seats: int, commands: int, seed: int) -> Table:
    """A match of one deal after some random commands."""
    table = Table(GAME, GAME.complete(seats, pb.Options(deals=1)), seed)
    for _ in table.play_on(Random(seed), commands):
        pass
    return table


def plain(position: pb.Position) -> Plain:
    """The same deal without the engine."""
    n = position.players
    played: list[tuple[int, str]] = []
    for leader, cards in [(each.leader, each.cards) for each in position.tricks] + [(position.leader, position.table)]:
        played += [((leader + place) % n, code(card)) for place, card in enumerate(cards)]
    return Plain(
        players=n,
        starter=position.starter,
        hands=tuple(tuple(map(code, seat.hand)) for seat in position.seats),
        predictions=tuple(
            (seat.prediction.prediction, seat.prediction.flex) if seat.HasField("prediction") else None
            for seat in position.seats
        ),
        trumps=tuple(TYPES[seat.trump - 1] if seat.trump else None for seat in position.seats),
        played=tuple(played),
    )


def following(state: Any) -> Iterable[Any]:
    """Every state that one legal command leads to."""
    for seat in range(state.players):
        for command in GAME.legal(state, seat):
            after = GAME.copy(state)
            run(GAME, after, GAME.play(after, seat, command, SEALED))
            yield after


def walk_engine(state: Any, depth: int) -> tuple[int, Counter[Any]]:
    """The number of sequences of `depth` commands, or of fewer if the deal ends, and how they end."""
    if depth == 0 or GAME.outcome(state) is not None:
        outcome = GAME.outcome(state)
        return 1, Counter([outcome.scores if outcome else GAME.decision(state).seats[0]])
    total, ends = 0, Counter[Any]()
    for after in following(state):
        count, found = walk_engine(after, depth - 1)
        total, ends = total + count, ends + found
    return total, ends


def walk_plain(deal: Plain, depth: int) -> tuple[int, Counter[Any]]:
    """The same by brute force."""
    turn = on_turn(deal)
    if depth == 0 or turn is None:
        return 1, Counter([points(deal) if turn is None else turn])
    total, ends = 0, Counter[Any]()
    for after in moves(deal):
        count, found = walk_plain(after, depth - 1)
        total, ends = total + count, ends + found
    return total, ends


@pytest.mark.parametrize(
    ("seats", "commands", "depth", "seed"),
    [
        (3, 0, 2, 1),
        (4, 0, 2, 2),
        (4, 2, 3, 3),
        (3, 3, 3, 4),
        (4, 4, 4, 5),
        (4, 5, 4, 6),
        (3, 6, 2, 7),
        (4, 8, 3, 8),
        (3, 6 + 24, 12, 9),
        (3, 6 + 25, 12, 10),
        (4, 8 + 36, 12, 11),
        (4, 8 + 36, 12, 12),
        (4, 8 + 35, 13, 13),
    ],
)
def test_engine_and_brute_force_count_the_same(seats: int, commands: int, depth: int, seed: int) -> None:
    table = fixed(seats, commands, seed)
    found = walk_engine(table.state, depth)
    assert found == walk_plain(plain(table.position), depth)
    assert found[0] > 30


@pytest.mark.parametrize(("seats", "sequences"), [(3, 120), (4, 1080)])
def test_the_sequences_of_trump_types(seats: int, sequences: int) -> None:
    states = [fixed(seats, 0, 1).state]
    deals = [plain(fixed(seats, 0, 1).position)]
    for _ in range(seats):
        # Only choices of a type: those are the steps that leave the supply and the predictions alone.
        states = [after for state in states for after in following(state) if after.predictions == state.predictions]
        deals = [after for deal in deals for after in moves(deal) if after.predictions == deal.predictions]
    assert len(states) == len(deals) == sequences
