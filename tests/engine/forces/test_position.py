"""Positions are checked when they are loaded: whatever loads can be played on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from sixledger.engine.forces import GAME
from sixledger.engine.game import RESIGNED
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import card, code
from support.matches import Table


def table(seats: int = 4, commands: int = 0, seed: int = 1) -> Table:
    """A match from seat 0 of two deals, after some commands."""
    match = Table(GAME, GAME.complete(seats, pb.Options(deals=2, first_starter=pb.FIRST_STARTER_SEAT_0)), seed)
    for _ in match.play_on(Random(seed), commands):
        pass
    return match


def planning() -> pb.Position:
    """Second deal, four seats, the second pass: seat 3, seat 1's predecessor's choices are made."""
    return GAME.position(table(4, 56 + 6).state)


def tricks() -> pb.Position:
    """Second deal, four seats, two cards of the fourth trick lie."""
    return GAME.position(table(4, 56 + 8 + 14).state)


def between() -> pb.Position:
    """Second deal, three seats, no card of the third trick lies."""
    return GAME.position(table(3, 42 + 6 + 6).state)


def ended() -> pb.Position:
    """Four seats, ended by the rules."""
    return GAME.position(table(4, 1000).state)


def resigned() -> pb.Position:
    """Three seats; seat 1 has resigned in the middle of a trick of the second deal."""
    match = table(3, 42 + 6 + 7)
    match.leave(RESIGNED, 1)
    return GAME.position(match.state)


@pytest.mark.parametrize("make", [planning, tricks, between, ended, resigned])
def test_a_reachable_position_loads(make: Callable[[], pb.Position]) -> None:
    assert GAME.position(GAME.from_position(make())) == make()


def set_card(cards: object, at: int, text: str) -> None:
    """Write a card over another."""
    cards[at].CopyFrom(card(text))  # type: ignore[index]  # a repeated field


def swap_seats_hand(position: pb.Position) -> None:
    """Give a card of seat 0 away."""
    position.seats[1].hand.append(position.seats[0].hand.pop())


def revoke(position: pb.Position) -> None:
    """Exchange a card of the first finished trick, after the lead, for one in hand of another colour."""
    trick = position.tricks[0]
    for place in range(1, position.players):
        seat = position.seats[(trick.leader + place) % position.players]
        lost = card(code(trick.cards[place]))
        if lost.color != trick.cards[0].color or (trick.leader + place) % position.players == trick.winner:
            continue
        for held in seat.hand:
            if held.color != lost.color and int(held.color) != position.seats[trick.leader].trump:
                kept = [each for each in seat.hand if each != held] + [lost]
                trick.cards[place].CopyFrom(held)
                del seat.hand[:]
                seat.hand.extend(sorted(kept, key=lambda each: (each.color, each.number)))
                return
    raise AssertionError("nobody could have revoked")


def all_red(position: pb.Position) -> None:
    """Give every seat the same trump type."""
    for seat in position.seats:
        seat.trump = pb.TRUMP_RED


def begin_a_trick(position: pb.Position) -> None:
    """Let seat 1 lead a first trick."""
    position.trick, position.leader = 1, 1


BROKEN: dict[str, tuple[Callable[[], pb.Position], Callable[[pb.Position], object], str]] = {
    "empty": (pb.Position, lambda p: None, "players"),
    "unknown field": (planning, lambda p: p.MergeFromString(b"\xf8\x07\x01"), "does not know"),
    "options incomplete": (planning, lambda p: p.options.ClearField("deals"), "not complete"),
    "options impossible": (planning, lambda p: setattr(p.options, "deals", 0), "deals"),
    "a seat too few": (planning, lambda p: p.seats.pop(), "every seat"),
    "a seat too many": (planning, lambda p: p.seats.add(), "every seat"),
    "card 13": (planning, lambda p: set_card(p.seats[0].hand, 0, "R13"), "no such card"),
    "card 0": (planning, lambda p: set_card(p.seats[0].hand, 0, "R0"), "no such card"),
    "card of a huge number": (tricks, lambda p: setattr(p.table[0], "number", 2**32 - 1), "no such card"),
    "card without a colour": (tricks, lambda p: setattr(p.table[0], "color", 0), "no such card"),
    "card 10 with three seats": (between, lambda p: set_card(p.seats[0].hand, 0, "R10"), "each once"),
    "duplicate card": (planning, lambda p: p.seats[0].hand[0].CopyFrom(p.seats[0].hand[1]), "each once"),
    "missing card": (planning, lambda p: p.seats[0].hand.pop(), "each once"),
    "hand out of order": (planning, lambda p: p.seats[0].hand.reverse(), "sorted"),
    "hands of unlike sizes": (planning, swap_seats_hand, "sorted|too small"),
    "a trump type 7": (planning, lambda p: setattr(p.seats[0], "trump", 7), "trump type"),
    "deal 0": (planning, lambda p: setattr(p, "deal", 0), "deals 1 to 2"),
    "deal 3": (planning, lambda p: setattr(p, "deal", 3), "deals 1 to 2"),
    "another starter": (planning, lambda p: setattr(p, "starter", 2), "starts this deal"),
    "a starter that is no seat": (planning, lambda p: setattr(p, "starter", 9), "seats are"),
    "a total of 1": (planning, lambda p: setattr(p.seats[0], "total", 1), "total after 1 deals"),
    "a total too low": (planning, lambda p: setattr(p.seats[0], "total", -13), "total after 1 deals"),
    "a choice out of turn": (planning, lambda p: p.seats[1].ClearField("trump"), "out of turn"),
    "another pass": (planning, lambda p: setattr(p, "planning_pass", 1), "pass of the planning"),
    "no pass": (planning, lambda p: setattr(p, "planning_pass", 0), "pass of the planning"),
    "a wrong supply": (planning, lambda p: setattr(p, "supply", 16), "15 chips"),
    "too many chips": (tricks, lambda p: setattr(p.seats[0].prediction, "prediction", 13), "at most 12"),
    "too many predictions": (tricks, lambda p: setattr(p.seats[0].prediction, "prediction", 12), "15 chips"),
    "three of a kind": (tricks, all_red, "same trump type"),
    "a leader while planning": (planning, lambda p: setattr(p, "leader", 0), "leader in every trick"),
    "no leader of a trick": (tricks, lambda p: p.ClearField("leader"), "leader in every trick"),
    "a trick while planning": (planning, begin_a_trick, "end of the planning"),
    "another trick": (tricks, lambda p: setattr(p, "trick", 5), "not the one after"),
    "another leader": (tricks, lambda p: setattr(p, "leader", (p.leader + 1) % 4), "leads trick 4|too small"),
    "a finished trick too few": (tricks, lambda p: p.tricks.pop(), "each once"),
    "another winner": (
        tricks,
        lambda p: setattr(p.tricks[0], "winner", (p.tricks[0].winner + 1) % 4),
        "of the list|wins",
    ),
    "a trick of three cards": (tricks, lambda p: p.seats[0].hand.append(p.tricks[0].cards.pop()), "sorted|has 4 cards"),
    "wrong tricks won": (tricks, lambda p: setattr(p.seats[0], "tricks_won", 9), "of the list"),
    "a card on the table too many": (
        between,
        lambda p: p.table.append(p.seats[0].hand.pop()),
        "too small|decision|turn",
    ),
    "a revoke": (tricks, revoke, "did not follow"),
    "decision 0": (tricks, lambda p: setattr(p, "decision", 0), "decision 79"),
    "a later decision": (planning, lambda p: setattr(p, "decision", 64), "decision 63"),
    "another on turn": (tricks, lambda p: setattr(p, "on_turn", (p.on_turn + 1) % 4), "on turn"),
    "nobody on turn": (tricks, lambda p: p.ClearField("on_turn"), "on turn"),
    "no phase": (planning, lambda p: setattr(p, "phase", 0), "phase"),
    "tricks while planning": (planning, lambda p: setattr(p, "phase", pb.PHASE_TRICKS), "phase"),
    "planning during tricks": (tricks, lambda p: setattr(p, "phase", pb.PHASE_PLANNING), "phase"),
    "unknown phase": (planning, lambda p: setattr(p, "phase", 9), "phase"),
    "result too early": (planning, lambda p: p.result.SetInParent(), "no result"),
    "ended without a result": (planning, lambda p: setattr(p, "phase", pb.PHASE_ENDED), "has a result"),
    "ended too early": (tricks, lambda p: setattr(p.result, "reason", pb.END_REASON_DEALS_PLAYED), "last trick|total"),
    "wrong scores": (ended, lambda p: p.result.scores.__setitem__(0, 999), "scores"),
    "wrong winners": (ended, lambda p: p.result.winners.append(0), "winners"),
    "wrong ranking": (ended, lambda p: p.result.ranking.__setitem__(0, 9), "ranking"),
    "no ranks": (ended, lambda p: p.result.ClearField("ranking"), "ranking"),
    "resigned after the last trick": (
        ended,
        lambda p: setattr(p.result, "reason", pb.END_REASON_RESIGNED),
        "total|last trick",
    ),
    "aborted with a ranking": (resigned, lambda p: setattr(p.result, "reason", pb.END_REASON_ABORTED), "ranking"),
    "no reason": (resigned, lambda p: setattr(p.result, "reason", 0), "no reason"),
    "the leaver wins": (resigned, lambda p: p.result.ranking.__setitem__(1, 1), "ranking"),
    "on turn after the end": (ended, lambda p: setattr(p, "on_turn", 0), "on turn"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_impossible_position_is_refused(name: str) -> None:
    make, damage, says = BROKEN[name]
    position = make()
    damage(position)
    with pytest.raises(ValueError, match=says):
        GAME.from_position(position)


def test_a_second_pair_of_types_is_refused() -> None:
    position = tricks()
    leaders = {trick.leader for trick in position.tricks} | {position.leader}
    for one, two in ((0, 1), (2, 3)):
        position.seats[one].trump = position.seats[two].trump
    assert leaders
    with pytest.raises(ValueError, match="no such position"):
        GAME.from_position(position)


def test_three_seats_with_the_same_type_are_refused() -> None:
    position = GAME.position(table(3, 6).state)
    position.seats[0].trump = position.seats[1].trump
    with pytest.raises(ValueError, match="same trump type"):
        GAME.from_position(position)


def test_a_state_that_does_not_know_every_card_has_no_position() -> None:
    for viewer in (None, 0):
        with pytest.raises(ValueError, match="does not know every card"):
            GAME.position(table().fold_for(viewer))


def test_the_commands_of_an_unknown_hand_cannot_be_listed() -> None:
    match = table(4, 8)
    (seat,) = GAME.decision(match.state).seats
    assert GAME.legal(match.fold_for(seat), seat)
    with pytest.raises(ValueError, match=f"hand of seat {seat} is not known"):
        GAME.legal(match.fold_for(None), seat)


def test_neither_errors_nor_the_repr_of_a_state_hold_a_hand() -> None:
    match = table()
    for hand in match.state.hands:
        assert str(hand).strip("()") not in repr(match.state)
    assert "hands" not in repr(match.state)
    position = match.position
    position.seats[0].hand[0].CopyFrom(position.seats[0].hand[1])
    with pytest.raises(ValueError, match="no such position") as caught:
        GAME.from_position(position)
    assert code(position.seats[0].hand[1]) not in str(caught.value)
