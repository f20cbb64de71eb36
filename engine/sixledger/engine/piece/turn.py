"""The steps of a turn: flipping, placing, counting, taking stacks, ending (RULES 3.4)."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.piece import ending
from sixledger.engine.piece.cards import SIX, add
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb

Events = Iterator[Message]

#: The whole match is one epoch.
EPOCH = 1

_STACKS = ((pb.STACK_LEFT, "left"), (pb.STACK_RIGHT, "right"))


def begin(state: State, seat: int) -> Events:
    """Begin the turn of a seat and, as long as a seat has nothing to flip, end it and begin the next."""
    while True:
        assert all(die != SIX for die, stack in zip(state.dice, state.stacks, strict=True) if stack), (
            "a stack that is not empty shows 6 at the start of a turn"
        )
        yield pb.TurnStarted(turn=state.turn + 1, seat=seat)
        deck = state.cards(seat)
        if deck:
            yield pb.CardFlipped(seat=seat, card=deck[0])
            return
        yield from _close(state)
        if state.phase == pb.PHASE_ENDED:
            return
        seat = 1 - seat


def place(state: State, where: pb.Where.ValueType, chance: Chance) -> Events:
    """Place the flipped card; unless a guess must come first, count it and end the turn."""
    seat = state.seat
    yield pb.CardPlaced(seat=seat, card=state.flipped, where=where)
    if state.ability == 5:
        return
    if state.ability == 1:
        cards = state.cards(seat if state.deck == pb.DECK_OWN else 1 - seat)
        yield pb.DeckLooked(seat=seat, deck=state.deck, cards=cards)
    yield from count(state, where)
    yield from finish(state, chance)


def count(state: State, where: pb.Where.ValueType) -> Events:
    """Set the dice for the card that was placed at `where`."""
    if where == pb.WHERE_ROOT:
        value = state.rolls[state.root]
        for stack, _ in _STACKS:
            yield pb.DieSet(stack=stack, value=value, cause=pb.DIE_CAUSE_ROOT)
        return
    at = where - pb.WHERE_LEFT
    value = add(state.dice[at], state.rolls[state.stacks[at][-1]])
    yield pb.DieSet(stack=_STACKS[at][0], value=value, cause=pb.DIE_CAUSE_PLACE)


def finish(state: State, chance: Chance) -> Events:
    """What follows the placing: six pieces, the look of a Beast, the end of the turn, the next turn."""
    yield from _take(state, chance)
    seat = state.seat
    if state.beast_look and state.deck_sizes[seat]:
        yield pb.BottomLooked(seat=seat, card=state.cards(seat)[-1])
    yield from _close(state)
    if state.phase != pb.PHASE_ENDED:
        yield from begin(state, 1 - seat)


def _take(state: State, chance: Chance) -> Events:
    """Take every stack that is not empty and whose die shows 6 (RULES 3.4, step 7)."""
    taken = [(stack, name) for stack, name in _STACKS if state.dice[stack - 1] == SIX and state.stacks[stack - 1]]
    if not taken:
        return
    cards: list[int] = []
    for stack, name in taken:
        pile = list(state.stacks[stack - 1])
        if state.options.discard:
            at = chance.stream(EPOCH, f"discard/{state.turn}/{name}").below(len(pile))
            yield pb.CardDiscarded(stack=stack, card=pile.pop(at))
        cards += pile
    order = chance.stream(EPOCH, f"take/{state.turn}").shuffle(cards)
    stacks = [stack for stack, _ in taken]
    yield pb.SixPiece(seat=state.seat, stacks=stacks, cards=sorted(cards), new_order=order)
    for stack in stacks:
        yield pb.DieSet(stack=stack, value=state.rolls[state.root], cause=pb.DIE_CAUSE_RESET)


def _close(state: State) -> Events:
    """End the turn, and the match if it is over; say so if player one has just failed."""
    yield pb.TurnEnded(turn=state.turn, deck_sizes=state.deck_sizes)
    result = ending.by_rules(state)
    if result is not None:
        yield result
    elif not state.deck_sizes[state.seat]:
        # Player two without a card would have ended the match: it is player one who has failed.
        assert state.seat == state.first_player, "player two's deck is empty and the match goes on"
        yield pb.LastChance(seat=1 - state.seat)
