"""How each event changes the state; nothing else does.

Every handler also takes the redacted form of its event, in which the fields that a viewer may not see
are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.piece.cards import SIX, rolls
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb


def _match_started(state: State, event: pb.MatchStarted) -> None:
    state.started = True
    state.options = pb.Options()
    state.options.CopyFrom(event.options)
    state.rolls = rolls(state.options)
    state.first_player = event.first_player


def _deck_shuffled(state: State, event: pb.DeckShuffled) -> None:
    state.decks[event.seat] = tuple(event.order) or None
    state.deck_sizes[event.seat] = event.size


def _turn_started(state: State, event: pb.TurnStarted) -> None:
    state.turn = event.turn
    state.seat = event.seat


def _card_flipped(state: State, event: pb.CardFlipped) -> None:
    seat = event.seat
    deck = state.decks[seat]
    if deck is not None:
        state.decks[seat] = deck[1:]
    state.deck_sizes[seat] -= 1
    state.flipped = event.card
    state.phase = pb.PHASE_DECIDE
    state.decision += 1


def _open_placing(state: State) -> None:
    """The seat on turn must choose a stack, unless the card becomes the root."""
    state.phase = pb.PHASE_UNSPECIFIED
    if state.root:
        state.phase = pb.PHASE_PLACE
        state.decision += 1


def _declined(state: State, event: pb.Declined) -> None:
    _open_placing(state)


def _ability_used(state: State, event: pb.AbilityUsed) -> None:
    ability = event.ability
    state.ability = ability
    state.deck = event.deck
    state.beast_look = event.card > SIX and state.rolls[event.card] == ability
    state.phase = pb.PHASE_UNSPECIFIED
    if ability in (1, 5):  # these place first; the others take effect and place then
        _open_placing(state)


def _deck_looked(state: State, event: pb.DeckLooked) -> None:
    pass


def _bottom_to_top(state: State, event: pb.BottomToTop) -> None:
    deck = state.decks[event.deck_of]
    if deck is not None:
        state.decks[event.deck_of] = (deck[-1], *deck[:-1])
    _open_placing(state)


def _cards_swapped(state: State, event: pb.CardsSwapped) -> None:
    opponent = 1 - event.seat
    deck = state.decks[opponent]
    if deck is not None:
        state.decks[opponent] = (*deck[:-1], event.given)
    state.flipped = event.received
    _open_placing(state)


def _card_revealed(state: State, event: pb.CardRevealed) -> None:
    if event.card != 4:  # else the flipped card is lost
        _open_placing(state)


def _card_lost(state: State, event: pb.CardLost) -> None:
    _put_under(state, event.to, (event.card,))
    state.flipped = 0


def _guess_made(state: State, event: pb.GuessMade) -> None:
    state.phase = pb.PHASE_UNSPECIFIED


def _bottom_given(state: State, event: pb.BottomGiven) -> None:
    giver: int = getattr(event, "from")
    deck = state.decks[giver]
    if deck is not None:
        _put_under(state, event.to, deck[-1:])
        state.decks[giver] = deck[:-1]
    else:
        state.decks[event.to] = None
        state.deck_sizes[event.to] += 1
    state.deck_sizes[giver] -= 1


def _die_set(state: State, event: pb.DieSet) -> None:
    state.dice[event.stack - 1] = event.value
    if event.cause == pb.DIE_CAUSE_SUBTRACT:
        _open_placing(state)
    elif event.cause in (pb.DIE_CAUSE_PLACE, pb.DIE_CAUSE_ROOT):
        state.placed = pb.WHERE_UNSPECIFIED


def _card_placed(state: State, event: pb.CardPlaced) -> None:
    if event.where == pb.WHERE_ROOT:
        state.root = event.card
    else:
        state.stacks[event.where - pb.WHERE_LEFT] += (event.card,)
    state.flipped = 0
    state.phase = pb.PHASE_UNSPECIFIED
    if state.ability == 5:
        state.placed = event.where
        state.phase = pb.PHASE_GUESS
        state.decision += 1


def _card_discarded(state: State, event: pb.CardDiscarded) -> None:
    stack = state.stacks[event.stack - 1]
    at = stack.index(event.card)
    state.stacks[event.stack - 1] = stack[:at] + stack[at + 1 :]
    state.discards += (event.card,)


def _six_piece(state: State, event: pb.SixPiece) -> None:
    for stack in event.stacks:
        state.stacks[stack - 1] = ()
    size = len(event.cards)
    if size == len(event.new_order):
        _put_under(state, event.seat, tuple(event.new_order))
    else:
        state.decks[event.seat] = None
        state.deck_sizes[event.seat] += size


def _bottom_looked(state: State, event: pb.BottomLooked) -> None:
    pass


def _turn_ended(state: State, event: pb.TurnEnded) -> None:
    state.phase = pb.PHASE_UNSPECIFIED
    state.ability = 0
    state.deck = pb.DECK_UNSPECIFIED
    state.beast_look = False


def _last_chance(state: State, event: pb.LastChance) -> None:
    state.failed = True


def _time_called(state: State, event: pb.TimeCalled) -> None:
    state.time_up = True


def _match_ended(state: State, event: pb.MatchEnded) -> None:
    state.result = pb.MatchEnded()
    state.result.CopyFrom(event)
    state.phase = pb.PHASE_ENDED


def _put_under(state: State, seat: int, cards: tuple[int, ...]) -> None:
    """Put known cards under a deck, in their order."""
    deck = state.decks[seat]
    if deck is not None:
        state.decks[seat] = deck + cards
    state.deck_sizes[seat] += len(cards)


#: Event type → what it does to a state.
HANDLERS: dict[type[Message], Callable[[State, Any], None]] = {
    pb.MatchStarted: _match_started,
    pb.DeckShuffled: _deck_shuffled,
    pb.TurnStarted: _turn_started,
    pb.CardFlipped: _card_flipped,
    pb.Declined: _declined,
    pb.AbilityUsed: _ability_used,
    pb.DeckLooked: _deck_looked,
    pb.BottomToTop: _bottom_to_top,
    pb.CardsSwapped: _cards_swapped,
    pb.CardRevealed: _card_revealed,
    pb.CardLost: _card_lost,
    pb.GuessMade: _guess_made,
    pb.BottomGiven: _bottom_given,
    pb.DieSet: _die_set,
    pb.CardPlaced: _card_placed,
    pb.CardDiscarded: _card_discarded,
    pb.SixPiece: _six_piece,
    pb.BottomLooked: _bottom_looked,
    pb.TurnEnded: _turn_ended,
    pb.LastChance: _last_chance,
    pb.TimeCalled: _time_called,
    pb.MatchEnded: _match_ended,
}
