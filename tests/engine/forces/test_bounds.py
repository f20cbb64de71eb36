"""Random play keeps the sizes of RULES 1.7, for every number of seats and both extremes of the deals."""

from __future__ import annotations

from random import Random

import pytest
from sixledger.engine.forces import GAME
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import check
from support.matches import Table

COMMANDS = {3: 42, 4: 56}
EVENTS = {3: 73, 4: 88}


@pytest.mark.parametrize("deals", [1, None, 12])
@pytest.mark.parametrize("starter", [pb.FIRST_STARTER_RANDOM, pb.FIRST_STARTER_SEAT_1])
@pytest.mark.parametrize("seats", [3, 4])
def test_a_match_has_exactly_the_stated_numbers_of_commands_and_events(
    seats: int, starter: pb.FirstStarter.ValueType, deals: int | None
) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options(first_starter=starter, deals=deals)), seats)
    largest = 0
    while not table.over:
        (seat,) = GAME.decision(table.state).seats
        commands = GAME.legal(table.state, seat)
        assert len(commands) <= (31 if table.state.phase == pb.PHASE_PLANNING else 12)
        largest = max(largest, len(commands))
        table.act(*table.choose(Random(len(table.records))))
    check(table.position)
    played = deals or seats
    events = [event for record in table.records for _, event in record.events]
    assert largest == 31
    assert len(table.records) - 1 == COMMANDS[seats] * played
    assert len(events) == EVENTS[seats] * played + 2 + (starter == pb.FIRST_STARTER_RANDOM)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seats", [3, 4])
def test_every_trick_of_a_match_is_counted_and_every_card_played_once(seats: int, seed: int) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options()), seed)
    for _ in table.play_on(Random(seed)):
        pass
    events = [event for record in table.records for _, event in record.events]
    for scored in (event for event in events if isinstance(event, pb.DealScored)):
        assert sum(scored.tricks_won) == 12
        assert all(points in (2, 4) or -12 <= points < 0 for points in scored.points)
    played = [event.card.SerializeToString() for event in events if isinstance(event, pb.CardPlayed)]
    assert len(played) == 12 * seats * seats
    assert len(set(played)) == 12 * seats
