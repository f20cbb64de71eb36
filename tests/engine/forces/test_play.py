"""Starting, planning, leaving, and messages that are no commands or events of the game."""

from __future__ import annotations

from random import Random

import pytest
from sixledger.engine.chance import Chance
from sixledger.engine.errors import EpochSealed, IllegalCommand, MalformedCommand
from sixledger.engine.forces import GAME
from sixledger.engine.forces.rules import points
from sixledger.engine.forces.state import Announced
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, run
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import card, deck
from support.matches import Table

CHANCE = Chance.from_key(bytes(32))


def table(seats: int = 4, **options: int) -> Table:
    return Table(GAME, GAME.complete(seats, pb.Options(**options)), 1)  # type: ignore[arg-type]  # enum values as numbers


@pytest.mark.parametrize("seats", [3, 4])
def test_the_deck_is_shuffled_and_dealt_in_blocks_from_the_top(seats: int) -> None:
    started = table(seats)
    starter = started.chance.stream(1, "starter").below(seats)
    order = [card(code) for code in started.chance.stream(1, "deck").shuffle(deck(seats))]
    assert [event for _, event in started.records[0].events] == [
        pb.MatchStarted(players=seats, options=GAME.complete(seats, pb.Options()).options),
        pb.StarterDrawn(seat=starter),
        pb.DealStarted(deal=1, starter=starter, hand_size=12),
        pb.DeckShuffled(deal=1, order=order),
        *(pb.HandDealt(seat=seat, cards=order[12 * seat : 12 * seat + 12]) for seat in range(seats)),
    ]


def test_a_starter_that_is_given_is_not_drawn() -> None:
    started = table(4, first_starter=pb.FIRST_STARTER_SEAT_3)
    assert not any(isinstance(event, pb.StarterDrawn) for _, event in started.records[0].events)
    assert GAME.decision(started.state).seats == (3,)


def test_every_deal_is_started_by_the_next_seat_and_shuffled_by_its_own_stream() -> None:
    match = table(4, first_starter=pb.FIRST_STARTER_SEAT_2)
    for _ in match.play_on(Random(1)):
        pass
    events = [event for record in match.records for _, event in record.events]
    assert [event.starter for event in events if isinstance(event, pb.DealStarted)] == [2, 3, 0, 1]
    for shuffled in (event for event in events if isinstance(event, pb.DeckShuffled)):
        order = match.chance.stream(shuffled.deal, "deck").shuffle(deck(4))
        assert list(shuffled.order) == [card(code) for code in order]


def test_a_match_starts_once() -> None:
    started = table()
    with pytest.raises(ValueError, match="has begun"):
        list(GAME.start(started.state, started.setup, CHANCE))


@pytest.mark.parametrize("starter", [pb.FIRST_STARTER_RANDOM, pb.FIRST_STARTER_SEAT_0])
def test_without_the_seed_no_match_can_start(starter: pb.FirstStarter.ValueType) -> None:
    state = GAME.blank()
    with pytest.raises(EpochSealed):
        run(GAME, state, GAME.start(state, GAME.complete(3, pb.Options(first_starter=starter)), Chance.sealed()))


def test_the_first_choice_of_a_deal_has_25_predictions_and_6_types() -> None:
    started = table()
    (seat,) = GAME.decision(started.state).seats
    commands = GAME.legal(started.state, seat)
    announced = [(each.prediction, each.flex) for each in commands if isinstance(each, pb.Predict)]
    assert announced == [(tricks, flex) for tricks in range(13) for flex in (False, True) if tricks + flex <= 12]
    assert [each.trump for each in commands[25:] if isinstance(each, pb.ChooseTrump)] == [1, 2, 3, 4, 5, 6]
    assert len(commands) == 31


@pytest.mark.parametrize("chips", range(16))
def test_how_many_predictions_a_supply_allows(chips: int) -> None:
    started = table()
    started.state.supply = chips
    (seat,) = GAME.decision(started.state).seats
    predictions = [each for each in GAME.legal(started.state, seat) if isinstance(each, pb.Predict)]
    assert len(predictions) == 1 + 2 * min(chips, 12)


@pytest.mark.parametrize(
    ("tricks", "flex", "won", "expected"),
    [
        (2, False, 2, 4),
        (3, False, 1, -2),
        (2, True, 3, 2),
        (1, True, 0, -1),
        (0, False, 0, 4),
        (0, True, 0, 2),
        (12, False, 12, 4),
        (2, True, 5, -2),
        (4, False, 7, -3),
        (0, True, 1, 2),
        (11, True, 12, 2),
        (12, False, 0, -12),
        (0, False, 12, -12),
    ],
)
def test_points(tricks: int, flex: bool, won: int, expected: int) -> None:
    assert points(Announced(tricks, flex), won) == expected


@pytest.mark.parametrize("message", [pb.Command(), pb.CardPlayed(seat=0, card=card("R1")), pb.Options()])
def test_a_message_that_is_no_command_is_malformed(message: object) -> None:
    with pytest.raises(MalformedCommand, match="no command of 6 Forces"):
        list(GAME.play(table().state, 0, message, CHANCE))


def test_the_table_gives_no_commands() -> None:
    assert GAME.table_legal(table().state) == []
    with pytest.raises(MalformedCommand, match="the table gives no command"):
        list(GAME.play(table().state, None, pb.Predict(prediction=0, flex=False), CHANCE))


def test_a_message_that_is_no_event_cannot_be_applied() -> None:
    with pytest.raises(TypeError, match="no event of 6 Forces"):
        GAME.evolve(GAME.blank(), pb.PlayCard(card=card("R1")))


def test_a_blank_state_has_no_seats_and_waits_for_nobody() -> None:
    state = GAME.blank()
    assert GAME.decision(state).seats == ()
    assert GAME.outcome(state) is None
    assert GAME.epoch(state) == 0
    assert GAME.legal(state, 0) == []
    assert GAME.view(state, None) == pb.View(options=pb.Options())
    with pytest.raises(MalformedCommand, match="no seat 0"):
        list(GAME.play(state, 0, pb.Predict(prediction=0, flex=False), CHANCE))
    with pytest.raises(IllegalCommand, match="has not begun"):
        list(GAME.leave(state, ABORTED, None))


def test_a_view_of_no_seat_is_refused() -> None:
    for seat in (-1, 4):
        with pytest.raises(ValueError, match="no seat"):
            GAME.view(table().state, seat)


@pytest.mark.parametrize(("reason", "ended"), [(RESIGNED, "resigned"), (FORFEIT, "forfeit")])
def test_who_leaves_ranks_last_and_the_others_by_their_totals(reason: str, ended: str) -> None:
    match = table(4)
    match.state.totals = [8, -2, -2, -20]
    match.leave(reason, 0)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.ranking) == ((8, -2, -2, -20), (1, 2), (4, 1, 1, 3))
    assert outcome.reason == ended


def test_an_aborted_match_has_scores_but_no_winners() -> None:
    match = table(3)
    match.state.totals = [4, -9, 2]
    match.leave(ABORTED, None)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.ranking, outcome.reason) == ((4, -9, 2), (), (), "aborted")


@pytest.mark.parametrize(("reason", "seat"), [("bored", 0), (RESIGNED, None), (FORFEIT, None)])
def test_leaving_needs_a_known_reason_and_a_seat(reason: str, seat: int | None) -> None:
    with pytest.raises(ValueError, match="nobody leaves"):
        list(GAME.leave(table().state, reason, seat))


def test_a_seat_that_does_not_exist_cannot_leave() -> None:
    with pytest.raises(MalformedCommand, match="no seat 3"):
        list(GAME.leave(table(3).state, RESIGNED, 3))


def test_every_field_of_a_state_is_copied() -> None:
    match = table()
    for _ in match.play_on(Random(1), 20):
        pass
    before = match.position
    copy = GAME.copy(match.state)
    for name in type(copy).__slots__:
        assert getattr(copy, name) == getattr(match.state, name)
        assert not isinstance(getattr(copy, name), list) or getattr(copy, name) is not getattr(match.state, name)
    for _ in range(40):
        (seat,) = GAME.decision(copy).seats
        run(GAME, copy, GAME.play(copy, seat, GAME.legal(copy, seat)[0], match.chance))
    assert match.position == before


def test_the_last_deal_lies_until_the_end_is_seen() -> None:
    match = table(3, deals=1)
    for _ in match.play_on(Random(1)):
        pass
    view = GAME.view(match.state, None)
    assert len(view.tricks) == 12
    assert all(seat.HasField("prediction") for seat in view.seats)
    assert sum(seat.chips for seat in view.seats) + view.supply == 15
