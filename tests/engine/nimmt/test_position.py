"""Positions are checked when they are loaded: whatever loads can be played on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table


def table_with_row_choice() -> Table:
    """A match of three seats that waits for the choice of a row."""
    table = Table(GAME, GAME.complete(3, pb.Options()), 1)
    for _ in table.play_on(Random(1)):
        if table.state.pending:
            return table
    raise AssertionError("no card was too low in the whole match")


def selection() -> pb.Position:
    """Three seats, second round, one choice sealed."""
    table = Table(GAME, GAME.complete(3, pb.Options()), 2)
    for _ in table.play_on(Random(2)):
        if table.state.round == 2 and table.state.turn == 3 and len(GAME.decision(table.state).seats) == 2:
            return GAME.position(table.state)
    raise AssertionError("the match ended in its first round")


def placing() -> pb.Position:
    """Three seats, a choice of a row."""
    return GAME.position(table_with_row_choice().state)


def ended() -> pb.Position:
    """Three seats, ended by the limit."""
    table = Table(GAME, GAME.complete(3, pb.Options(limit=1)), 3)
    for _ in table.play_on(Random(3)):
        pass
    return GAME.position(table.state)


@pytest.mark.parametrize("make", [selection, placing, ended])
def test_a_reachable_position_loads(make: Callable[[], pb.Position]) -> None:
    assert GAME.position(GAME.from_position(make())) == make()


def empty_a_row(position: pb.Position) -> None:
    """Put a row onto a pile."""
    position.seats[0].pile.extend(position.rows[0].cards)
    position.rows[0].ClearField("cards")


def put_back_a_choice(position: pb.Position) -> None:
    """Put the sealed card under the undealt ones."""
    seat = next(seat for seat in position.seats if seat.HasField("chosen"))
    position.undealt.append(seat.chosen)
    seat.ClearField("chosen")


BROKEN: dict[str, tuple[Callable[[], pb.Position], Callable[[pb.Position], object], str]] = {
    "empty": (pb.Position, lambda p: None, "players"),
    "unknown field": (selection, lambda p: p.MergeFromString(b"\xf8\x07\x01"), "does not know"),
    "options incomplete": (selection, lambda p: p.options.ClearField("limit"), "not complete"),
    "options impossible": (selection, lambda p: setattr(p.options, "limit", 0), "limit"),
    "a seat too few": (selection, lambda p: p.seats.pop(), "every seat"),
    "duplicate card": (selection, lambda p: p.undealt.__setitem__(0, p.undealt[1]), "each once"),
    "card 0": (selection, lambda p: p.undealt.__setitem__(0, 0), "1 to 104"),
    "card 105": (selection, lambda p: p.undealt.__setitem__(0, 105), "1 to 104"),
    "missing card": (selection, lambda p: p.undealt.pop(), "each once"),
    "card collected from the undealt": (selection, lambda p: p.seats[0].pile.append(p.undealt.pop()), "not dealt"),
    "three rows": (selection, lambda p: p.seats[0].pile.extend(p.rows.pop().cards), "4 rows"),
    "empty row": (selection, empty_a_row, "1 to 5"),
    "hand out of order": (selection, lambda p: p.seats[0].hand.reverse(), "hand ascend"),
    "wrong round points": (selection, lambda p: setattr(p.seats[0], "round_points", 170), "bullheads of the pile"),
    "round 0": (selection, lambda p: setattr(p, "round", 0), "rounds 1 to 100"),
    "round 101": (selection, lambda p: setattr(p, "round", 101), "rounds 1 to 100"),
    "turn 0": (selection, lambda p: setattr(p, "turn", 0), "turns 1 to 10"),
    "turn 11": (selection, lambda p: setattr(p, "turn", 11), "turns 1 to 10"),
    "another turn": (selection, lambda p: setattr(p, "turn", 4), "every seat has 7 cards"),
    "totals in the first round": (placing, lambda p: setattr(p.seats[0], "total", 1), "totals"),
    "totals above the limit": (selection, lambda p: setattr(p.seats[0], "total", 67), "would have ended"),
    "decision 0": (selection, lambda p: setattr(p, "decision", 0), "decision"),
    "decision too high": (selection, lambda p: setattr(p, "decision", 27), "decision"),
    "no phase": (selection, lambda p: setattr(p, "phase", 0), "phase"),
    "unknown phase": (selection, lambda p: setattr(p, "phase", 9), "phase"),
    "result too early": (selection, lambda p: p.result.SetInParent(), "no result"),
    "ended without a result": (selection, lambda p: setattr(p, "phase", pb.PHASE_ENDED), "has a result"),
    "a sealed choice put back": (selection, put_back_a_choice, "not dealt"),
    "choosing although nothing was revealed": (selection, lambda p: p.row_choice.SetInParent(), "revealed card"),
    "queue shortened": (placing, lambda p: p.seats[0].pile.append(p.queue.pop().card), "bullheads|revealed"),
    "queue out of order": (placing, lambda p: p.queue.reverse(), "ascending"),
    "one seat twice": (placing, lambda p: setattr(p.queue[0], "seat", p.queue[1].seat), "every seat has one"),
    "nobody chooses": (placing, lambda p: p.ClearField("row_choice"), "choice of a row"),
    "another chooses": (placing, lambda p: p.row_choice.CopyFrom(p.queue[1]), "choice of a row"),
    "wrong scores": (ended, lambda p: p.result.scores.__setitem__(0, 999), "scores"),
    "wrong winners": (ended, lambda p: p.result.winners.append(0), "winners|rank"),
    "wrong reason": (ended, lambda p: setattr(p.result, "reason", pb.END_REASON_ROUNDS), "end like this"),
    "no reason": (ended, lambda p: setattr(p.result, "reason", 0), "totals of 0 scored rounds"),
    "ranks missing": (ended, lambda p: p.result.ClearField("ranking"), "ranks 3 seats"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_impossible_position_is_refused(name: str) -> None:
    make, damage, says = BROKEN[name]
    position = make()
    damage(position)
    with pytest.raises(ValueError, match=says):
        GAME.from_position(position)


def test_a_card_that_would_fit_cannot_wait_for_a_row() -> None:
    position = placing()
    low = min(row.cards[-1] for row in position.rows)
    high = next(card for card in position.undealt if card > low)
    place = list(position.undealt).index(high)
    plays = sorted([high, *(play.card for play in position.queue[1:])])
    position.undealt[place] = position.queue[0].card
    for play, card in zip(position.queue, plays, strict=True):
        play.card = card
    position.row_choice.CopyFrom(position.queue[0])
    with pytest.raises(ValueError, match="fits, so it would lie"):
        GAME.from_position(position)


def test_a_state_that_does_not_know_every_card_has_no_position() -> None:
    table = table_with_row_choice()
    for viewer in (None, 0):
        with pytest.raises(ValueError, match="does not know every card"):
            GAME.position(table.fold_for(viewer))


def test_the_commands_of_an_unknown_hand_cannot_be_listed() -> None:
    table = Table(GAME, GAME.complete(3, pb.Options()), 1)
    assert GAME.legal(table.fold_for(0), 0)
    with pytest.raises(ValueError, match="hand of seat 1 is not known"):
        GAME.legal(table.fold_for(0), 1)


def test_neither_errors_nor_the_repr_of_a_state_hold_a_hand() -> None:
    table = Table(GAME, GAME.complete(10, pb.Options()), 1)
    for hand in table.state.hands:
        assert str(hand).strip("()") not in repr(table.state)
    assert "hands" not in repr(table.state).replace("hand_", "")
