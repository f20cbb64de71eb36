"""Positions: complete states as messages, to and fro; and states that could lie behind a view.

Whoever loads a position may have made it up, so loading checks it (`facts`): what is loaded can be played on
without surprises.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sixledger.engine.chance import Stream
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.piece import options as opt
from sixledger.engine.piece.cards import all_cards, own_cards, rolls
from sixledger.engine.piece.facts import check, demand
from sixledger.engine.piece.state import State
from sixledger.engine.piece.view import stack_states, view
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.piece.v1 import piece_pb2 as pb


def position(state: State) -> pb.Position:
    """The complete state as a message. Raises ValueError if the state does not know every secret."""
    left, right = stack_states(state)
    return pb.Position(
        players=opt.SEATS,
        options=state.options,
        first_player=state.first_player,
        phase=state.phase,
        turn=state.turn,
        decks=[pb.DeckCards(cards=state.cards(seat)) for seat in range(opt.SEATS)],
        root=state.root or None,
        left=left,
        right=right,
        flipped=state.flipped or None,
        ability=state.ability or None,
        deck=state.deck,
        placed=state.placed,
        beast_look=state.beast_look,
        discards=state.discards,
        player_one_failed=state.failed,
        time_up=state.time_up,
        decision=state.decision,
        result=state.result,
    )


def from_position(position: pb.Position) -> State:
    """The state of a position at a decision point or after the end. Raises ValueError if it is none."""
    demand(isinstance(position, pb.Position), "it is no position of 6piece")
    _check_message(position)
    demand(len(position.decks) == opt.SEATS, "it must have the deck of every seat")
    state = _read(position)
    for seat, deck in enumerate(position.decks):
        state.decks[seat] = tuple(deck.cards)
        state.deck_sizes[seat] = len(deck.cards)
    check(state)
    return state


def redeal(seen: pb.View, stream: Stream) -> State:
    """A state behind a view, with decks dealt anew; see `Game.redeal`."""
    demand(isinstance(seen, pb.View) and seen.turn > 0, "it is no view of a match of 6piece that has begun")
    _check_message(seen)
    demand(len(seen.deck_sizes) == opt.SEATS, "it must have the size of every deck")
    state = _read(seen)
    state.deck_sizes = list(seen.deck_sizes)
    on_table = Counter(card for card in (state.root, state.flipped, *state.discards) if card)
    for stack in state.stacks:
        on_table.update(stack)
    if state.turn == 1:  # nothing can have changed decks yet
        for seat in range(opt.SEATS):
            own = own_cards(state.options, seat)
            if seat == state.first_player:
                own = [card for card in own if card not in on_table]
            state.decks[seat] = tuple(stream.shuffle(own))
    else:
        hidden = Counter(all_cards(state.options))
        hidden.subtract(on_table)
        cards = stream.shuffle(sorted(hidden.elements()))
        state.decks = [tuple(cards[: state.deck_sizes[0]]), tuple(cards[state.deck_sizes[0] :])]
    demand([len(state.cards(seat)) for seat in range(opt.SEATS)] == state.deck_sizes, "cards are missing or surplus")
    check(state)
    demand(view(state, seen.viewer if seen.HasField("viewer") else None) == seen, "its parts contradict each other")
    return state


def _check_message(message: Any) -> None:
    """Nothing unknown in it, and complete options. Raises ValueError."""
    demand(not has_unknown_fields(message), "it has fields that this build does not know")
    try:
        setup = opt.complete(message.players, message.options)
    except IllegalOptions as error:
        raise ValueError(f"no such position: {error}") from error
    demand(setup.options == message.options, "its options are not complete")


def _read(message: Any) -> State:
    """The state as a position or a view writes it, without the decks and not yet checked."""
    options = pb.Options()
    options.CopyFrom(message.options)
    result = None
    if message.HasField("result"):
        result = pb.MatchEnded()
        result.CopyFrom(message.result)
    return State(
        started=True,
        options=options,
        rolls=rolls(options),
        first_player=message.first_player,
        phase=message.phase,
        turn=message.turn,
        seat=(message.first_player + message.turn + 1) % opt.SEATS,
        decision=message.decision,
        root=message.root,
        stacks=[tuple(message.left.cards), tuple(message.right.cards)],
        dice=[message.left.die, message.right.die],
        flipped=message.flipped,
        ability=message.ability,
        deck=message.deck,
        placed=message.placed,
        beast_look=message.beast_look,
        discards=tuple(message.discards),
        failed=message.player_one_failed,
        time_up=message.time_up,
        result=result,
    )
