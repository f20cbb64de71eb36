"""Positions are checked when they are loaded: whatever loads can be played on. Decks can be dealt anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from sixledger.engine.chance import Stream
from sixledger.engine.game import RESIGNED
from sixledger.engine.piece import GAME
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.matches import Table


def found(wanted: Callable[[State], object], **options: Any) -> pb.Position:
    """A position of a random match, from turn 4 on."""
    for seed in range(200):
        match = Table(GAME, GAME.complete(2, pb.Options(**options)), seed)
        for _ in match.play_on(Random(seed)):
            if match.state.turn >= 4 and wanted(match.state):
                position: pb.Position = match.position
                return position
    raise AssertionError("no such position was met")


def decide() -> pb.Position:
    """The flipped card may be used; there is a discarded card and a stack that is not empty."""
    return found(
        lambda s: s.phase == pb.PHASE_DECIDE and s.discards and s.stacks[0] and not s.failed,
        discard=True,
    )


def place() -> pb.Position:
    """A 2 was used and waits for a stack."""
    return found(lambda s: s.phase == pb.PHASE_PLACE and s.ability == 2 and s.stacks[0])


def guess() -> pb.Position:
    """A 5 lies on a stack and waits for the guess."""
    return found(lambda s: s.phase == pb.PHASE_GUESS)


def first() -> pb.Position:
    """The first card is flipped."""
    position: pb.Position = Table(GAME, GAME.complete(2, pb.Options(first_player=pb.FIRST_PLAYER_SEAT_0)), 1).position
    return position


def ended() -> pb.Position:
    """Ended by an empty deck."""
    return found(lambda s: s.phase == pb.PHASE_ENDED)


def left() -> pb.Position:
    """Seat 1 resigned while a card lay open."""
    match = Table(GAME, GAME.complete(2, pb.Options()), 1)
    match.leave(RESIGNED, 1)
    position: pb.Position = match.position
    return position


def flip_over(position: pb.Position) -> None:
    """Put the flipped card under a deck."""
    position.decks[0].cards.append(position.flipped)
    position.ClearField("flipped")


def swap_decks(position: pb.Position) -> None:
    """Exchange a card of each deck for another one."""
    one, two = position.decks[0].cards, position.decks[1].cards
    mine = next(at for at, card in enumerate(one) if card != two[0])
    one[mine], two[0] = two[0], one[mine]


def empty_deck(position: pb.Position) -> None:
    """Put the whole deck of the opponent of the seat on turn onto the right stack."""
    opponent = (position.first_player + position.turn) % 2
    position.right.cards.extend(position.decks[opponent].cards)
    position.decks[opponent].ClearField("cards")


Damage = Callable[[pb.Position], object]
BROKEN: dict[str, tuple[Callable[[], pb.Position], Damage, str]] = {
    "empty": (pb.Position, lambda p: None, "players"),
    "unknown field": (decide, lambda p: p.MergeFromString(b"\xf8\x07\x01"), "does not know"),
    "options incomplete": (decide, lambda p: p.options.ClearField("max_turns"), "not complete"),
    "options impossible": (decide, lambda p: setattr(p.options, "max_turns", 3), "max_turns"),
    "three seats": (decide, lambda p: setattr(p, "players", 3), "players"),
    "a deck too few": (decide, lambda p: p.decks.pop(), "deck of every seat"),
    "first player 2": (decide, lambda p: setattr(p, "first_player", 2), "no seat 2"),
    "another first player": (
        decide,
        lambda p: setattr(p.options, "first_player", 3 - p.first_player),
        "of the options",
    ),
    "turn 0": (decide, lambda p: setattr(p, "turn", 0), "turns 1 to 200"),
    "turn 201": (decide, lambda p: setattr(p, "turn", 201), "turns 1 to 200"),
    "time up without a clock": (decide, lambda p: setattr(p, "time_up", True), "time_mode clock"),
    "discards without the option": (decide, lambda p: setattr(p.options, "discard", False), "option discard"),
    "a card twice": (decide, lambda p: p.decks[0].cards.append(p.flipped), "both decks"),
    "a card missing": (decide, lambda p: p.left.cards.pop(), "both decks"),
    "card 0": (decide, lambda p: p.left.cards.append(0), "both decks"),
    "a Beast": (decide, lambda p: p.left.cards.__setitem__(0, 18), "both decks"),
    "decks mixed in the first turn": (first, swap_decks, "own cards"),
    "no phase": (decide, lambda p: setattr(p, "phase", 0), "no phase"),
    "unknown phase": (decide, lambda p: setattr(p, "phase", 9), "no phase"),
    "result too early": (decide, lambda p: p.result.SetInParent(), "no result"),
    "nothing flipped": (decide, flip_over, "face up"),
    "no die": (decide, lambda p: p.left.ClearField("die"), "die shows"),
    "die 7": (decide, lambda p: setattr(p.left, "die", 7), "die shows"),
    "a full stack not taken": (decide, lambda p: setattr(p.left, "die", 6), "is taken"),
    "a full stack not taken after a 2": (place, lambda p: setattr(p.left, "die", 6), "is taken"),
    "dice before the root": (first, lambda p: setattr(p.left, "die", 3), "no dice"),
    "no root in turn 5": (first, lambda p: setattr(p, "turn", 5), "root is placed"),
    "an ability too early": (decide, lambda p: setattr(p, "ability", 2), "no ability"),
    "ability of another card": (place, lambda p: setattr(p, "ability", 5), "not have the ability"),
    "ability 7": (place, lambda p: setattr(p, "ability", 7), "1 to 6"),
    "a deck for ability 2": (place, lambda p: setattr(p, "deck", pb.DECK_OWN), "ability 1 alone"),
    "a look without a Beast": (place, lambda p: setattr(p, "beast_look", True), "look"),
    "placed and face up": (place, lambda p: setattr(p, "placed", pb.WHERE_LEFT), "not placed"),
    "the opponent has no card": (place, empty_deck, "opponent has cards"),
    "failed, but the opponent has cards": (place, lambda p: setattr(p, "player_one_failed", True), "failed"),
    "guessing without a placed card": (guess, lambda p: p.ClearField("placed"), "not counted"),
    "guessing after ability 2": (guess, lambda p: setattr(p, "ability", 2), "ability 5"),
    "guessing a card on an empty place": (guess, lambda p: setattr(p, "placed", 9), "not counted"),
    "a look without a Beast, guessing": (guess, lambda p: setattr(p, "beast_look", True), "look"),
    "placing in the first turn": (first, lambda p: setattr(p, "phase", pb.PHASE_PLACE), "without a choice"),
    "decision 0": (decide, lambda p: setattr(p, "decision", 0), "decision"),
    "decision too high": (place, lambda p: setattr(p, "decision", 3 * p.turn), "decision"),
    "ended without a result": (decide, lambda p: setattr(p, "phase", pb.PHASE_ENDED), "has a result"),
    "ended within a turn": (ended, lambda p: setattr(p, "ability", 1), "after a turn"),
    "wrong scores": (ended, lambda p: p.result.scores.__setitem__(0, 14), "end like this"),
    "wrong winners": (ended, lambda p: p.result.winners.append(0), "end like this"),
    "wrong reason": (ended, lambda p: setattr(p.result, "reason", pb.END_REASON_TIME), "end like this"),
    "no reason": (ended, lambda p: setattr(p.result, "reason", 0), "end like this"),
    "left, but both win": (left, lambda p: p.result.winners.append(1), "one seat wins"),
    "left, but nobody wins": (left, lambda p: p.result.ClearField("winners"), "one seat wins"),
    "left, wrong ranking": (left, lambda p: p.result.ranking.reverse(), "does not fit"),
    "left, wrong scores": (left, lambda p: p.result.scores.__setitem__(0, 0), "does not fit"),
}


@pytest.mark.parametrize("make", [decide, place, guess, first, ended, left])
def test_a_reachable_position_loads(make: Callable[[], pb.Position]) -> None:
    assert GAME.position(GAME.from_position(make())) == make()


@pytest.mark.parametrize("name", BROKEN)
def test_an_impossible_position_is_refused(name: str) -> None:
    make, damage, says = BROKEN[name]
    position = make()
    damage(position)
    with pytest.raises(ValueError, match=says):
        GAME.from_position(position)


def test_the_message_of_another_game_is_no_position() -> None:
    with pytest.raises(ValueError, match="no position of 6piece"):
        GAME.from_position(pb.View())


def test_a_state_that_does_not_know_the_decks_has_no_position_but_legal_commands() -> None:
    match = Table(GAME, GAME.complete(2, pb.Options()), 1)
    for viewer in (None, 0, 1):
        state = match.fold_for(viewer)
        assert GAME.legal(state, match.state.seat) == GAME.legal(match.state, match.state.seat)
        with pytest.raises(ValueError, match="not known here"):
            GAME.position(state)


# -- dealing anew --------------------------------------------------------------------------------


def stream(seed: int) -> Stream:
    return Stream(seed.to_bytes(32, "big"), "redeal")


def test_every_deal_that_a_view_allows_is_as_likely() -> None:
    position = pb.Position(
        players=2,
        options=GAME.complete(2, pb.Options()).options,
        phase=pb.PHASE_DECIDE,
        turn=3,
        decision=5,
        decks=[pb.DeckCards(cards=[1, 2]), pb.DeckCards(cards=[3])],
        root=1,
        left=pb.StackState(cards=[2, 3, 4, 5], die=3),
        right=pb.StackState(cards=[4, 5, 6], die=4),
        flipped=6,
    )
    view = GAME.view(GAME.from_position(position), 0)
    dealt = Counter(tuple(GAME.redeal(view, stream(seed)).decks) for seed in range(3000))
    assert len(dealt) == 6
    assert all(400 < number < 600 for number in dealt.values())


def test_in_the_first_turn_each_deck_has_its_own_cards() -> None:
    match = Table(GAME, GAME.complete(2, pb.Options(beasts=[9, 18], first_player=pb.FIRST_PLAYER_SEAT_0)), 4)
    state = GAME.redeal(GAME.view(match.state, 1), stream(0))
    assert sorted([*state.cards(0), state.flipped]) == [1, 2, 3, 4, 5, 6, 9]
    assert sorted(state.cards(1)) == [1, 2, 3, 4, 5, 6, 18]
    assert state.decks != match.state.decks


VIEWS: dict[str, tuple[Callable[[pb.View], object], str]] = {
    "not begun": (lambda v: setattr(v, "turn", 0), "has begun"),
    "sizes missing": (lambda v: v.ClearField("deck_sizes"), "size of every deck"),
    "a card too many": (lambda v: v.deck_sizes.__setitem__(0, v.deck_sizes[0] + 1), "missing or surplus"),
    "a card of the deck on the table": (lambda v: v.left.cards.append(6), "missing or surplus"),
    "another seat on turn": (lambda v: setattr(v, "seat", 1 - v.seat), "contradict"),
    "another may act": (lambda v: v.to_act.append(v.seat), "contradict"),
    "commands missing": (lambda v: v.legal.pop(), "contradict"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_no_state_has_is_refused(name: str) -> None:
    damage, says = VIEWS[name]
    state = GAME.from_position(decide())
    view = GAME.view(state, state.seat)
    damage(view)
    with pytest.raises(ValueError, match=says):
        GAME.redeal(view, stream(0))
