"""What may be done now: the legal commands and why an ability cannot be used (RULES 3.5, 3.8)."""

from __future__ import annotations

from google.protobuf.message import Message
from sixledger.engine.piece.cards import SIX
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb

#: The commands, made once: `legal` hands out these very messages.
DECLINE = pb.Decline()
LOOK_OWN = pb.UseAbility(ability=1, deck=pb.DECK_OWN)
LOOK_OPPONENT = pb.UseAbility(ability=1, deck=pb.DECK_OPPONENT)
SUBTRACT = (pb.UseAbility(ability=6, die=pb.STACK_LEFT), pb.UseAbility(ability=6, die=pb.STACK_RIGHT))
#: Abilities by number; 1 and 6 have forms of their own.
USE = tuple(pb.UseAbility(ability=ability) for ability in range(SIX))
PLACE = (pb.Place(stack=pb.STACK_LEFT), pb.Place(stack=pb.STACK_RIGHT))
#: Guesses in order, the Beast last.
GUESS = tuple(pb.Guess(value=value) for value in pb.GuessValue.values() if value)
TIME_UP = pb.TimeUp()


def legal(state: State, seat: int) -> list[Message]:
    """The legal commands of a seat, in the order of RULES 3.8."""
    phase = state.phase
    if seat not in state.to_act():
        return []
    if phase == pb.PHASE_PLACE:
        return list(PLACE)
    if phase == pb.PHASE_GUESS:
        return list(GUESS if state.options.beasts else GUESS[:SIX])
    card = state.flipped
    commands: list[Message] = [DECLINE]
    for ability in range(1, SIX + 1) if card > SIX else (card,):
        if ability == 1:
            commands += [LOOK_OWN] if state.deck_sizes[seat] else []
            commands += [LOOK_OPPONENT] if state.deck_sizes[1 - seat] else []
        elif not unusable(state, ability, pb.DECK_UNSPECIFIED):
            commands += SUBTRACT if ability == SIX else [USE[ability]]
    return commands


def unusable(state: State, ability: int, deck: pb.Deck.ValueType) -> str:
    """Why the flipped card cannot use an ability now, in words; empty if it can."""
    card, seat = state.flipped, state.seat
    if card <= SIX and ability != card:
        return f"the flipped card has ability {card}, not {ability}"
    if ability == SIX:
        return "" if state.root else "there are no dice before the root is placed"
    own = ability == 5 or deck == pb.DECK_OWN
    if not state.deck_sizes[seat if own else 1 - seat]:
        return f"ability {ability} needs a card in the {'own' if own else 'opponent’s'} deck"
    return ""


def table_legal(state: State) -> list[Message]:
    """The command of the table, while it may be given (RULES 3.7)."""
    running = state.phase not in (pb.PHASE_UNSPECIFIED, pb.PHASE_ENDED)
    return [TIME_UP] if running and state.options.time_mode == pb.TIME_MODE_CLOCK and not state.time_up else []
