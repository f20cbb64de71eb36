"""Random play ends within the bounds of RULES 2.15, for every number of seats."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from google.protobuf.message import Message
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table
from support.nimmt import check

MOST_ROUNDS = {2: 34, 3: 15, 4: 12, 5: 10, 6: 10, 7: 9, 8: 9, 9: 9, 10: 8}


@pytest.mark.parametrize("deck", [pb.DECK_FULL, pb.DECK_TACTICS], ids=["full", "tactics"])
@pytest.mark.parametrize("seats", range(2, 11))
@pytest.mark.parametrize("seed", range(3))
def test_a_match_to_66_stays_within_the_bounds(seats: int, deck: pb.Deck.ValueType, seed: int) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options(deck=deck)), seed)
    for _ in table.play_on(Random(seed)):
        pass
    events = [event for record in table.records for _, event in record.events]
    rounds = sum(isinstance(event, pb.RoundScored) for event in events)
    assert rounds <= MOST_ROUNDS[seats]
    assert len(table.records) - 1 <= rounds * (10 * seats + 10)
    assert len(events) <= 2 + rounds * (10 * (3 * seats + 3) + seats + 4)
    assert max(len(GAME.legal(table.state, seat)) for seat in range(seats)) == 0
    check(table.position)


@pytest.mark.parametrize("seats", range(2, 11))
def test_at_most_one_row_is_taken_by_choice_in_a_turn(seats: int) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options(limit=200)), seats)
    for _ in table.play_on(Random(seats)):
        pass
    events = [event for record in table.records for _, event in record.events]
    ends = [number for number, event in enumerate(events) if isinstance(event, pb.TurnEnded)]
    for start, end in pairwise([0, *ends]):
        assert sum(isinstance(event, pb.RowChoiceNeeded) for event in events[start:end]) <= 1


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        (pb.Options(limit=1, compare=pb.COMPARE_GE), 1),
        (pb.Options(limit=1000, max_rounds=1), 1),
        (pb.Options(end_mode=pb.END_MODE_ROUNDS, rounds=100), 100),
    ],
    ids=["smallest limit", "one round at most", "most rounds"],
)
@pytest.mark.parametrize("seats", [2, 10])
def test_extreme_options_end_the_match_when_they_say(seats: int, options: pb.Options, rounds: int) -> None:
    table = Table(GAME, GAME.complete(seats, options), 1)
    for _ in table.play_on(Random(1)):
        pass
    assert table.state.round == rounds


def test_the_largest_limit_is_reached_before_the_safety_stop() -> None:
    table = Table(GAME, GAME.complete(2, pb.Options(limit=1000, max_rounds=1000)), 1)
    for _ in table.play_on(Random(1)):
        pass
    outcome = GAME.outcome(table.state)
    assert outcome is not None
    assert outcome.reason == "limit"
    assert max(outcome.scores) > 1000
    assert table.state.round <= 2 * 1000 // 4 + 1


# -- variants ------------------------------------------------------------------------------------

VARIANTS = {
    "tactics": range(2, 11),
    "logic": range(2, 11),
    "tournament": range(2, 6),
    "professional": range(2, 11),
    "open": range(2, 10),
    "nifty": range(2, 8),
    "hand": range(2, 8),
    "double": range(2, 11),
}
NIFTY_ROUNDS = {2: 12, 7: 6}
#: The largest set of legal commands, and the most commands of a round, for n seats (RULES 2.15).
Bound = Callable[[int], int]
LARGEST: dict[str, Bound] = {
    "logic": lambda n: 10 * n + 4,
    "tournament": lambda n: 10 * n + 4,
    "nifty": lambda n: 91,
    "hand": lambda n: 256,
}
COMMANDS: dict[str, Bound] = {
    "logic": lambda n: 20 * n + 10,
    "tournament": lambda n: 20 * n + 10,
    "professional": lambda n: 20 * n,
    "nifty": lambda n: 28 * n,
    "hand": lambda n: 5 * n * 100,
}


@pytest.mark.parametrize(("name", "seats"), [(name, seats) for name, all_ in VARIANTS.items() for seats in all_])
def test_every_variant_stays_within_the_bounds_for_every_number_of_seats(name: str, seats: int) -> None:
    options = pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}"))
    for seed in range(2):
        table, choices, largest = Table(GAME, GAME.complete(seats, options), seed), Random(seed), 0
        while not table.over:
            largest = max(largest, *(len(GAME.legal(table.state, seat)) for seat in range(seats)))
            table.act(*table.choose(choices))
            if choices.random() < 0.05:
                check(table.position)
        check(table.position)
        events = [event for record in table.records for _, event in record.events]
        rounds = sum(isinstance(event, pb.RoundScored) for event in events)
        assert largest <= (LARGEST[name](seats) if name in LARGEST else 10)
        assert len(table.records) - 1 <= rounds * (COMMANDS[name](seats) if name in COMMANDS else 10 * seats + 10)
        if name in ("tournament", "hand"):
            assert rounds == (seats if name == "tournament" else 1)
        elif name == "nifty":
            assert rounds <= NIFTY_ROUNDS.get(seats, 12)
        elif name != "double":
            assert rounds <= MOST_ROUNDS[seats]


def turns_of(options: pb.Options, seats: int, seed: int) -> list[list[Message]]:
    """The events of a match, turn by turn."""
    table = Table(GAME, GAME.complete(seats, options), seed)
    for _ in table.play_on(Random(seed)):
        pass
    events = [event for record in table.records for _, event in record.events]
    ends = [number for number, event in enumerate(events) if isinstance(event, pb.TurnEnded)]
    return [events[start:end] for start, end in pairwise([0, *ends])]


@pytest.mark.parametrize("seats", range(2, 11))
def test_in_professional_at_most_one_row_is_taken_by_choice_in_a_turn(seats: int) -> None:
    for turn in turns_of(pb.Options(variant=pb.VARIANT_PROFESSIONAL, limit=300), seats, seats):
        assert sum(isinstance(event, pb.RowChoiceNeeded) for event in turn) <= 1


def test_in_professional_a_turn_may_have_several_choices_of_an_end() -> None:
    turns = turns_of(pb.Options(variant=pb.VARIANT_PROFESSIONAL, limit=1000), 10, 1)
    assert max(sum(isinstance(event, pb.EndChoiceNeeded) for event in turn) for turn in turns) >= 2


def test_in_nifty_a_turn_may_have_several_choices_of_a_row() -> None:
    turns = turns_of(pb.Options(variant=pb.VARIANT_NIFTY, limit=300), 7, 1)
    assert max(sum(isinstance(event, pb.RowChoiceNeeded) for event in turn) for turn in turns) >= 2


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        (pb.Options(variant=pb.VARIANT_HAND, end_mode=pb.END_MODE_ROUNDS, rounds=3, max_cycles=10), 3),
        (pb.Options(variant=pb.VARIANT_HAND, end_mode=pb.END_MODE_POINTS, limit=1, compare=pb.COMPARE_GE), 1),
        (pb.Options(variant=pb.VARIANT_HAND, end_mode=pb.END_MODE_POINTS, limit=1000, max_rounds=2), 2),
        (pb.Options(variant=pb.VARIANT_DOUBLE, limit=1000, max_rounds=1), 1),
        (pb.Options(variant=pb.VARIANT_NIFTY, limit=1, compare=pb.COMPARE_GE), 1),
        (pb.Options(variant=pb.VARIANT_LOGIC, end_mode=pb.END_MODE_ROUNDS, rounds=3), 3),
    ],
)
def test_extreme_options_end_a_variant_when_they_say(options: pb.Options, rounds: int) -> None:
    for seats in (2, 7):
        table = Table(GAME, GAME.complete(seats, options), 1)
        for _ in table.play_on(Random(1)):
            pass
        assert table.state.round == rounds


@pytest.mark.parametrize("cycles", [10, 1000])
def test_hand_ends_by_the_last_cycle_at_the_latest(cycles: int) -> None:
    """Seats that keep what they can and never play two cards circulate cards until the safety stop."""
    table = Table(GAME, GAME.complete(2, pb.Options(variant=pb.VARIANT_HAND, max_cycles=cycles)), 1)
    while not table.over:
        seat = GAME.decision(table.state).seats[0]
        legal: list[Any] = GAME.legal(table.state, seat)
        best = max(legal, key=lambda command: len(command.cards)) if isinstance(legal[0], pb.KeepCards) else legal[0]
        table.act(seat, best)
        assert max(table.state.hand_counts) <= 16
    assert table.state.turn <= 2 * cycles
