"""Random play ends within the bounds of RULES 2.15, for every number of seats."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
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
