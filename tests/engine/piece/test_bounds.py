"""Random play ends within the bounds of RULES 3.10, and the dice never lose count."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from sixledger.engine.piece import GAME
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.matches import Table, setups
from support.piece import check, roll

SEEDS = range(20)


def played(setup: Any, seed: int) -> Table:
    """A whole random match."""
    match = Table(GAME, setup, seed)
    for _ in match.play_on(Random(seed)):
        pass
    return match


@pytest.mark.parametrize("name", setups(GAME))
def test_a_match_stays_within_the_bounds(name: str) -> None:
    setup = setups(GAME)[name]
    options = setup.options
    last = options.turn_limit or options.max_turns
    for seed in SEEDS:
        match = played(setup, seed)
        turns = match.state.turn
        events = [event for record in match.records for _, event in record.events]
        assert turns <= last
        assert turns % 2 == 0
        assert len(match.records) - 1 <= 3 * turns + 1
        per_turn: dict[int, int] = {}
        turn = 0
        for event in events:
            turn = event.turn if isinstance(event, pb.TurnStarted) else turn
            per_turn[turn] = per_turn.get(turn, 0) + (not isinstance(event, pb.TimeCalled))
        per_turn.pop(0)  # the events before the first turn
        assert max(per_turn.values()) <= 14
        check(match.position)


@pytest.mark.parametrize("beasts", [[], [8, 16]])
def test_nobody_has_more_commands_than_the_rules_say(beasts: list[int]) -> None:
    most = {pb.PHASE_DECIDE: 9 if beasts else 3, pb.PHASE_PLACE: 2, pb.PHASE_GUESS: 7 if beasts else 6}
    found = dict.fromkeys(most, 0)
    for seed in range(60):
        match = Table(GAME, GAME.complete(2, pb.Options(beasts=beasts)), seed)
        choices = Random(seed)
        while not match.over:
            phase = match.state.phase
            (seat,) = GAME.decision(match.state).seats
            found[phase] = max(found[phase], len(GAME.legal(match.state, seat)))
            match.act(*match.choose(choices))
    assert found == most


@pytest.mark.parametrize("name", setups(GAME))
def test_a_die_shows_root_and_stack_less_the_subtractions(name: str) -> None:
    """RULES 3.10: modulo 6, since the die was last reset."""
    setup = setups(GAME)[name]
    for seed in SEEDS:
        match = Table(GAME, setup, seed)
        subtracted = [0, 0]
        for record in match.play_on(Random(seed)):
            for _, event in record.events:
                if isinstance(event, pb.DieSet):
                    if event.cause == pb.DIE_CAUSE_SUBTRACT:
                        subtracted[event.stack - 1] += 1
                    elif event.cause == pb.DIE_CAUSE_RESET:
                        subtracted[event.stack - 1] = 0
            position = match.position
            if position.placed or not position.root:
                continue
            for stack, less in zip((position.left, position.right), subtracted, strict=True):
                total = sum(roll(card, setup.options) for card in (position.root, *stack.cards))
                assert (stack.die - total + less) % 6 == 0


def test_play_can_go_on_to_the_safety_stop() -> None:
    """A root that counts 6, decks of one card that does so, too: each comes back at once."""
    match = Table(GAME, GAME.complete(2, pb.Options(beasts=[12, 12], max_turns=2000)))
    match.state = GAME.from_position(
        pb.Position(
            players=2,
            options=match.setup.options,
            phase=pb.PHASE_DECIDE,
            turn=3,
            decision=5,
            decks=[pb.DeckCards(), pb.DeckCards(cards=[12])],
            root=12,
            left=pb.StackState(cards=[1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6], die=5),
            right=pb.StackState(die=6),
            flipped=6,
        )
    )
    while not match.over:
        (seat,) = GAME.decision(match.state).seats
        place = match.state.phase == pb.PHASE_PLACE
        match.act(seat, pb.Place(stack=pb.STACK_RIGHT) if place else pb.Decline())
    assert match.state.turn == 2000
    assert match.state.result is not None
    assert (list(match.state.result.winners), match.state.result.reason) == ([0, 1], pb.END_REASON_MAX_TURNS)
