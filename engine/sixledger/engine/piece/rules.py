"""The commands of a match and what they cause: starting, abilities, placing, guessing, leaving (RULES 3.3, 3.5, 3.8).

Each step is a generator of events; whoever runs it applies every event before asking for the next, so
a step reads the effects of what it has yielded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, Setup
from sixledger.engine.piece import ending, turn
from sixledger.engine.piece.cards import SIX, own_cards, subtract
from sixledger.engine.piece.legal import unusable
from sixledger.engine.piece.options import SEATS, first_player
from sixledger.engine.piece.state import State
from sixledger.engine.piece.turn import EPOCH, Events
from sixledger.games.piece.v1 import piece_pb2 as pb


def start(state: State, setup: Setup, chance: Chance) -> Events:
    """The events that begin a match with a complete setup."""
    if state.started:
        raise ValueError("the match has begun")
    options: pb.Options = setup.options
    first = first_player(options)
    if first is None:
        first = chance.stream(EPOCH, "first-player").below(SEATS)
    yield pb.MatchStarted(options=options, first_player=first)
    for seat in range(SEATS):
        order = chance.stream(EPOCH, f"deck/{seat}").shuffle(own_cards(options, seat))
        yield pb.DeckShuffled(seat=seat, size=len(order), order=order)
    yield from turn.begin(state, first)


def play(state: State, seat: int | None, command: Any, chance: Chance) -> Events:
    """The events of a command; see `Game.play`. Needs a complete state."""
    try:
        step = _COMMANDS[type(command)]
    except KeyError:
        raise MalformedCommand("", f"{type(command).__name__} is no command of 6piece") from None
    if seat is None:
        if step is not _time_up:
            raise MalformedCommand("seat", "is missing: a seat gives this command")
    elif not 0 <= seat < SEATS:
        raise MalformedCommand("seat", f"there is no seat {seat}; the match has {SEATS}, counted from 0")
    return step(state, seat, command, chance)


def leave(state: State, reason: str, seat: int | None) -> Events:
    """The events that end a match outside its rules (RULES 0.8)."""
    if reason == ABORTED:
        _check_running(state)
        yield ending.ended(state, (), pb.END_REASON_ABORTED)
        return
    if reason not in (RESIGNED, FORFEIT) or seat is None:
        raise ValueError(f"nobody leaves a match by {reason!r} of seat {seat}")
    if not 0 <= seat < SEATS:
        raise MalformedCommand("seat", f"there is no seat {seat}; the match has {SEATS}, counted from 0")
    _check_running(state)
    yield ending.by_leaving(state, reason, seat)


# -- commands ------------------------------------------------------------------------------------


def _decline(state: State, seat: int, command: pb.Decline, chance: Chance) -> Events:
    """Use no ability of the flipped card."""
    _check_turn(state, seat, pb.PHASE_DECIDE)
    yield pb.Declined(seat=seat)
    if not state.root:
        yield from turn.place(state, pb.WHERE_ROOT, chance)


def _use_ability(state: State, seat: int, command: pb.UseAbility, chance: Chance) -> Events:
    """Use an ability of the flipped card (RULES 3.5)."""
    ability, deck, die = command.ability, command.deck, command.die
    if not 1 <= ability <= SIX:
        raise MalformedCommand(
            "ability", f"there is none {ability}; give one of 1 to {SIX}" if ability else "is missing"
        )
    _check_choice(command, "deck", "own or opponent", needed=ability == 1)
    _check_choice(command, "die", "left or right", needed=ability == SIX)
    _check_turn(state, seat, pb.PHASE_DECIDE)
    if why := unusable(state, ability, deck):
        raise IllegalCommand("illegal_value", why)
    yield pb.AbilityUsed(seat=seat, ability=ability, card=state.flipped, deck=deck, die=die)
    yield from _EFFECTS.get(ability, _no_effect_yet)(state, seat, command)
    if not state.flipped:  # lost by ability 4
        yield from turn.finish(state, chance)
    elif not state.root:
        yield from turn.place(state, pb.WHERE_ROOT, chance)


def _place(state: State, seat: int, command: pb.Place, chance: Chance) -> Events:
    """Put the flipped card on a stack."""
    _check_choice(command, "stack", "left or right", needed=True)
    _check_turn(state, seat, pb.PHASE_PLACE)
    where = pb.WHERE_LEFT if command.stack == pb.STACK_LEFT else pb.WHERE_RIGHT
    yield from turn.place(state, where, chance)


def _guess(state: State, seat: int, command: pb.Guess, chance: Chance) -> Events:
    """Guess the next card of the seat on turn (RULES 3.5, ability 5)."""
    guess = command.value
    if not pb.GUESS_VALUE_ONE <= guess <= pb.GUESS_VALUE_BEAST:
        raise MalformedCommand("value", "is missing or none; give one to six or beast")
    _check_turn(state, seat, pb.PHASE_GUESS)
    if guess == pb.GUESS_VALUE_BEAST and not state.options.beasts:
        raise IllegalCommand("illegal_value", "there are no Beasts in this match")
    asker = state.seat
    card = state.cards(asker)[0]
    correct = guess == min(card, pb.GUESS_VALUE_BEAST)
    yield pb.GuessMade(seat=seat, value=guess, next_card=card, correct=correct)
    giver, taker = (asker, seat) if correct else (seat, asker)
    if state.deck_sizes[giver]:
        yield _directed(pb.BottomGiven, giver, taker, state.cards(giver)[-1])
    yield from turn.count(state, state.placed)
    yield from turn.finish(state, chance)


def _time_up(state: State, seat: int | None, command: pb.TimeUp, chance: Chance) -> Events:
    """The table says that time is up (RULES 3.7)."""
    _check_running(state)
    if state.options.time_mode != pb.TIME_MODE_CLOCK:
        raise IllegalCommand("wrong_phase", "the match has no clock: time_up belongs to time_mode clock")
    if seat is not None:
        raise IllegalCommand("not_your_turn", "the table says when time is up, not a seat")
    if state.time_up:
        raise IllegalCommand("already_chosen", "the table has said that time is up")
    yield pb.TimeCalled(turn=state.turn)


_COMMANDS: dict[type[Message], Callable[[State, Any, Any, Chance], Events]] = {
    pb.Decline: _decline,
    pb.UseAbility: _use_ability,
    pb.Place: _place,
    pb.Guess: _guess,
    pb.TimeUp: _time_up,
}


def _check_choice(command: Any, name: str, allowed: str, *, needed: bool) -> None:
    """A field that names one of two things: there if needed, and only then."""
    if not needed:
        if command.HasField(name):
            raise MalformedCommand(name, f"does not belong to ability {command.ability}")
    elif getattr(command, name) not in (1, 2):
        raise MalformedCommand(name, f"is missing or none; give {allowed}")


def _check_running(state: State) -> None:
    if state.phase == pb.PHASE_ENDED:
        raise IllegalCommand("finished", "the match has ended")
    if state.phase == pb.PHASE_UNSPECIFIED:
        raise IllegalCommand("wrong_phase", "the match has not begun")


_WAITS = {
    pb.PHASE_DECIDE: "the choice of an ability or none",
    pb.PHASE_PLACE: "the choice of a stack",
    pb.PHASE_GUESS: "a guess of the opponent",
}


def _check_turn(state: State, seat: int, phase: pb.Phase.ValueType) -> None:
    if state.phase != phase:
        _check_running(state)
        raise IllegalCommand("wrong_phase", f"the match waits for {_WAITS[state.phase]}")
    (acts,) = state.to_act()
    if seat != acts:
        raise IllegalCommand("not_your_turn", f"the match waits for seat {acts}")


# -- abilities -----------------------------------------------------------------------------------


def _no_effect_yet(state: State, seat: int, command: pb.UseAbility) -> Events:
    """Abilities 1 and 5 take effect once the card is placed."""
    return iter(())


def _bottom_to_top(state: State, seat: int, command: pb.UseAbility) -> Events:
    yield pb.BottomToTop(deck_of=1 - seat, card=state.cards(1 - seat)[-1])


def _swap(state: State, seat: int, command: pb.UseAbility) -> Events:
    yield pb.CardsSwapped(seat=seat, given=state.flipped, received=state.cards(1 - seat)[-1])


def _reveal(state: State, seat: int, command: pb.UseAbility) -> Events:
    card = state.cards(1 - seat)[0]
    yield pb.CardRevealed(deck_of=1 - seat, card=card)
    if card == 4:
        yield _directed(pb.CardLost, seat, 1 - seat, state.flipped)


def _subtract(state: State, seat: int, command: pb.UseAbility) -> Events:
    die = command.die
    yield pb.DieSet(stack=die, value=subtract(state.dice[die - 1]), cause=pb.DIE_CAUSE_SUBTRACT)


_EFFECTS: dict[int, Callable[[State, int, pb.UseAbility], Events]] = {
    2: _bottom_to_top,
    3: _swap,
    4: _reveal,
    6: _subtract,
}


def _directed(kind: Any, giver: int, taker: int, card: int) -> Message:
    """An event with the field `from`, which is a reserved word here."""
    event: Message = kind(**{"from": giver, "to": taker, "card": card})
    return event
