"""Starting, leaving, and messages that are no commands or events of the game."""

from __future__ import annotations

import pytest
from sixledger.engine.chance import Chance
from sixledger.engine.errors import EpochSealed, IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, run
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table

CHANCE = Chance.from_key(bytes(32))


def table(seats: int = 3) -> Table:
    return Table(GAME, GAME.complete(seats, pb.Options()), 1)


def test_the_pack_is_shuffled_and_dealt_in_blocks_from_the_top() -> None:
    events = [event for _, event in table(3).records[0].events]
    order = table(3).chance.stream(1, "pack").shuffle(range(1, 105))
    assert events == [
        pb.MatchStarted(players=3, options=GAME.complete(3, pb.Options()).options),
        pb.RoundStarted(round=1, pack_size=104, hand_size=10),
        pb.PackShuffled(round=1, order=order),
        *(pb.HandDealt(seat=s, count=10, cards=sorted(order[10 * s : 10 * s + 10])) for s in range(3)),
        pb.RowsStarted(rows=[pb.Row(cards=[card]) for card in order[30:34]]),
    ]


def test_a_match_starts_once() -> None:
    started = table()
    with pytest.raises(ValueError, match="has begun"):
        list(GAME.start(started.state, started.setup, CHANCE))


def test_without_the_seed_no_match_can_start() -> None:
    state = GAME.blank()
    with pytest.raises(EpochSealed):
        run(GAME, state, GAME.start(state, GAME.complete(2, pb.Options()), Chance.sealed()))


@pytest.mark.parametrize("message", [pb.Command(), pb.Chosen(seat=0, card=1), pb.Options()])
def test_a_message_that_is_no_command_is_malformed(message: object) -> None:
    with pytest.raises(MalformedCommand, match="no command of 6 nimmt!"):
        list(GAME.play(table().state, 0, message, CHANCE))


def test_a_message_that_is_no_event_cannot_be_applied() -> None:
    with pytest.raises(TypeError, match="no event of 6 nimmt!"):
        GAME.evolve(GAME.blank(), pb.SelectCard(card=1))


def test_a_blank_state_has_no_seats_and_waits_for_nobody() -> None:
    state = GAME.blank()
    assert GAME.decision(state).seats == ()
    assert GAME.outcome(state) is None
    assert GAME.epoch(state) == 0
    assert GAME.view(state, None) == pb.View(options=pb.Options())
    with pytest.raises(MalformedCommand):
        list(GAME.play(state, 0, pb.SelectCard(card=1), CHANCE))
    with pytest.raises(IllegalCommand, match="has not begun"):
        list(GAME.leave(state, ABORTED, None))


def test_a_view_of_no_seat_is_refused() -> None:
    for seat in (-1, 3):
        with pytest.raises(ValueError, match="no seat"):
            GAME.view(table().state, seat)


@pytest.mark.parametrize(("reason", "ended"), [(RESIGNED, "resigned"), (FORFEIT, "forfeit")])
def test_who_leaves_ranks_last_and_the_others_by_their_totals(reason: str, ended: str) -> None:
    match = table(4)
    match.state.totals = [5, 9, 9, 30]
    match.leave(reason, 0)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.ranking) == ((5, 9, 9, 30), (1, 2), (4, 1, 1, 3))
    assert outcome.reason == ended


def test_an_aborted_match_has_scores_but_no_winners() -> None:
    match = table(3)
    match.state.totals = [5, 9, 9]
    match.leave(ABORTED, None)
    outcome = GAME.outcome(match.state)
    assert outcome is not None
    assert (outcome.scores, outcome.winners, outcome.ranking, outcome.reason) == ((5, 9, 9), (), (), "aborted")


@pytest.mark.parametrize(("reason", "seat"), [("bored", 0), (RESIGNED, None), (FORFEIT, None)])
def test_leaving_needs_a_known_reason_and_a_seat(reason: str, seat: int | None) -> None:
    with pytest.raises(ValueError, match="nobody leaves"):
        list(GAME.leave(table().state, reason, seat))


def test_a_seat_that_does_not_exist_cannot_leave() -> None:
    with pytest.raises(MalformedCommand, match="no seat 3"):
        list(GAME.leave(table(3).state, RESIGNED, 3))


def test_a_copy_shares_nothing_that_changes() -> None:
    match = table()
    before = match.position
    copy = GAME.copy(match.state)
    for seat in range(3):
        run(GAME, copy, GAME.play(copy, seat, GAME.legal(copy, seat)[0], match.chance))
    assert match.position == before
    assert GAME.position(copy) != before


def test_every_field_of_a_state_is_copied() -> None:
    match = table_after_a_turn()
    copy = GAME.copy(match.state)
    for name in type(copy).__slots__:
        assert getattr(copy, name) == getattr(match.state, name)
        assert not isinstance(getattr(copy, name), list) or getattr(copy, name) is not getattr(match.state, name)


def table_after_a_turn() -> Table:
    match = table()
    match.act(0, GAME.legal(match.state, 0)[0])
    return match
