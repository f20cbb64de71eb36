"""What the rules guarantee of every state at rest (RULES 3.4 to 3.7, 3.10)."""

from __future__ import annotations

from sixledger.engine.piece.cards import SIX, all_cards, own_cards
from sixledger.engine.piece.ending import by_rules, ended
from sixledger.engine.piece.options import SEATS, first_player, last_turn
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb

_LEFT_EARLY = (pb.END_REASON_RESIGNED, pb.END_REASON_FORFEIT, pb.END_REASON_ABORTED)


def demand(fact: bool, otherwise: str) -> None:
    """Refuse the position unless `fact` holds. The texts never hold a card that could be a secret."""
    if not fact:
        raise ValueError(f"no such position: {otherwise}")


def check(state: State) -> None:
    """Raise ValueError unless the complete state is one that play can stop at, as far as can be told."""
    _check_course(state)
    _check_cards(state)
    _check_table(state)
    result = state.result
    if state.phase != pb.PHASE_ENDED:
        demand(state.phase in (pb.PHASE_DECIDE, pb.PHASE_PLACE, pb.PHASE_GUESS), "it names no phase")
        demand(result is None, "a match that runs has no result")
        _check_phase(state, state.phase)
        _check_decision(state, state.phase)
        return
    demand(result is not None, "a match that has ended has a result")
    assert result is not None
    if result.reason in _LEFT_EARLY:
        _check_phase(state, _phase_when_left(state))
        winners = result.winners if result.reason != pb.END_REASON_ABORTED else ()
        demand(len(winners) <= 1, "one seat wins if the other leaves")
        demand(bool(winners) == (result.reason != pb.END_REASON_ABORTED), "one seat wins unless the match was aborted")
        demand(all(seat < SEATS for seat in winners), "the winner is no seat")
        demand(result == ended(state, winners, result.reason), "the result does not fit the match")
    else:
        _check_no_action(state)
        _check_sixes(state, allowed=False)
        demand(by_rules(state) == result, "the match does not end like this here")
    _check_decision(state, None)


def _check_course(state: State) -> None:
    """First player, turn and flags."""
    options = state.options
    demand(state.first_player < SEATS, f"there is no seat {state.first_player}")
    demand(first_player(options) in (None, state.first_player), "the first player is not that of the options")
    demand(1 <= state.turn <= last_turn(options), f"the match has turns 1 to {last_turn(options)}")
    demand(not state.time_up or options.time_mode == pb.TIME_MODE_CLOCK, "time is up only with time_mode clock")
    demand(options.discard or not state.discards, "cards are discarded only with the option discard")
    if state.failed:
        demand(state.seat != state.first_player, "once player one has failed, player two has the last turn")


def _check_cards(state: State) -> None:
    """Every card of the match lies in exactly one place; in the first turn in the deck of its owner."""
    found = [card for card in (state.root, state.flipped, *state.discards) if card]
    for cards in (*state.stacks, state.cards(0), state.cards(1)):
        found += cards
    found.sort()
    demand(found == all_cards(state.options), "the cards are not those of both decks")
    if state.turn == 1:
        for seat in range(SEATS):
            own = list(state.cards(seat))
            if seat == state.first_player:
                own += [card for card in (state.root, state.flipped) if card]
            demand(sorted(own) == own_cards(state.options, seat), "in the first turn the decks hold their own cards")


def _check_table(state: State) -> None:
    """Root, stacks and dice fit each other and the turn."""
    counted = state.root and state.placed != pb.WHERE_ROOT
    if counted:
        demand(all(1 <= die <= SIX for die in state.dice), f"a die shows 1 to {SIX}")
        demand(state.turn > 1, "the root is counted only when the first turn is over")
        return
    demand(state.dice == [0, 0], "there are no dice before the root is counted")
    demand(state.stacks == [(), ()] and not state.discards, "nothing is placed before the root")
    # Only ability 4 that meets a 4 keeps the root away. There are two 4s: a Beast may meet one, a 4 the other.
    latest = 3 if state.options.beasts else 2
    demand(state.turn <= latest, f"the root is placed in turn {latest} at the latest")


def _phase_when_left(state: State) -> pb.Phase.ValueType:
    """The phase in which the match was left, as far as it makes a difference."""
    if state.placed:
        return pb.PHASE_GUESS
    return pb.PHASE_PLACE if state.ability else pb.PHASE_DECIDE


def _check_phase(state: State, phase: pb.Phase.ValueType) -> None:
    """Flipped card, ability and decks fit what the match waits for."""
    opponent = state.deck_sizes[1 - state.seat]
    demand((opponent == 0) == state.failed, "the opponent has cards unless player one has failed")
    if phase == pb.PHASE_GUESS:
        _check_guess(state)
        return
    demand(state.flipped > 0, "a card lies face up")
    demand(not state.placed, "a card that lies face up is not placed")
    if phase == pb.PHASE_DECIDE:
        demand(not state.ability and not state.deck and not state.beast_look, "no ability is in use yet")
        _check_sixes(state, allowed=False)
        return
    demand(state.root > 0, "only the root is placed without a choice")
    ability, card = state.ability, state.flipped
    demand(ability <= SIX, f"abilities are 1 to {SIX}")
    demand(bool(state.deck) == (ability == 1) and state.deck <= pb.DECK_OPPONENT, "ability 1 alone names a deck")
    if ability == 3:  # the card that used it lies under the other deck
        demand(not state.beast_look or bool(state.options.beasts), "only a Beast gives a look")
    else:
        demand(card > SIX or ability in (0, card), "the flipped card does not have the ability")
        demand(state.beast_look == _looks(state, card), "the look does not fit the flipped card and the ability")
    own = ability == 5 or state.deck == pb.DECK_OWN
    needed = state.deck_sizes[state.seat] if own else opponent
    demand(ability in (0, SIX) or needed > 0, "the ability could not be used")
    _check_sixes(state, allowed=ability == SIX)


def _check_guess(state: State) -> None:
    """A card used with ability 5 lies and waits to be counted."""
    demand(not state.flipped and not state.deck and state.ability == 5, "ability 5 is in use and its card is placed")
    demand(state.placed in (pb.WHERE_ROOT, pb.WHERE_LEFT, pb.WHERE_RIGHT), "a card lies and is not counted yet")
    stack = () if state.placed == pb.WHERE_ROOT else state.stacks[state.placed - pb.WHERE_LEFT]
    card = state.root if state.placed == pb.WHERE_ROOT else stack[-1] if stack else 0
    demand(card == 5 or card > SIX, "the placed card has ability 5")
    demand(state.beast_look == _looks(state, card), "the look does not fit the placed card")
    demand(state.deck_sizes[state.seat] > 0, "there is a card to guess")
    _check_sixes(state, allowed=False)


def _looks(state: State, card: int) -> bool:
    """True if `card`, used with the ability in use, gives a look."""
    return card > SIX and state.rolls[card] == state.ability


def _check_sixes(state: State, *, allowed: bool) -> None:
    """No stack that is not empty shows 6, the card that is not counted yet aside; after ability 6 one may."""
    for at, die in enumerate(state.dice):
        counted = len(state.stacks[at]) - (state.placed == pb.WHERE_LEFT + at)
        demand(allowed or die != SIX or not counted, "a stack that shows 6 is taken")


def _check_no_action(state: State) -> None:
    """Between turns nothing is under way."""
    idle = not (state.flipped or state.ability or state.deck or state.placed or state.beast_look)
    demand(idle, "a match ends after a turn")


def _check_decision(state: State, phase: pb.Phase.ValueType | None) -> None:
    """The number of the decision fits the turn: one to three for each turn with a flip."""
    turns = state.turn - 1
    within = {pb.PHASE_DECIDE: 1, pb.PHASE_PLACE: 2}.get(phase, 3) if phase is not None else 3
    if phase == pb.PHASE_GUESS and state.placed == pb.WHERE_ROOT:
        within = 2
    # In the last turns nobody may have had a card to flip.
    lowest = turns - 1 if phase is None else turns - state.failed + within
    highest = 3 * turns + within
    demand(lowest <= state.decision <= highest, f"the number of the decision is between {lowest} and {highest}")
