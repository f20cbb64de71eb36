"""How each event changes the state; nothing else does.

Every handler also takes the redacted form of its event, in which the fields that a viewer may not see
are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.forces.cards import CHIPS
from sixledger.engine.forces.state import Announced, State, Trick
from sixledger.games.forces.v1 import forces_pb2 as pb


def _match_started(state: State, event: pb.MatchStarted) -> None:
    state.players = event.players
    state.options = pb.Options()
    state.options.CopyFrom(event.options)
    state.totals = [0] * event.players


def _starter_drawn(state: State, event: pb.StarterDrawn) -> None:
    state.starter = event.seat


def _deal_started(state: State, event: pb.DealStarted) -> None:
    players = state.players
    state.deal = event.deal
    state.starter = state.turn = state.leader = event.starter
    state.planning_pass = 1
    state.trick = 0
    state.hands = [()] * players
    state.hand_counts = [event.hand_size] * players
    state.predictions = [None] * players
    state.trumps = [pb.TRUMP_UNSPECIFIED] * players
    state.tricks_won = [0] * players
    state.supply = CHIPS
    state.table = []
    state.tricks = []


def _deck_shuffled(state: State, event: pb.DeckShuffled) -> None:
    """The whole deck is dealt at once, so the hands are all there is to know."""


def _hand_dealt(state: State, event: pb.HandDealt) -> None:
    state.hands[event.seat] = tuple(sorted([card.color << 4 | card.number for card in event.cards]))
    if event.seat == state.players - 1:
        state.phase = pb.PHASE_PLANNING
        state.decision += 1


def _predicted(state: State, event: pb.Predicted) -> None:
    state.predictions[event.seat] = Announced(event.prediction, event.flex)
    state.supply = event.chips_left
    _next_planner(state)


def _trump_chosen(state: State, event: pb.TrumpChosen) -> None:
    state.trumps[event.seat] = event.trump
    _next_planner(state)


def _next_planner(state: State) -> None:
    """The turn goes on clockwise, twice around."""
    state.turn = (state.turn + 1) % state.players
    if state.turn == state.starter:
        state.planning_pass += 1
    if state.planning_pass <= 2:
        state.decision += 1


def _planning_ended(state: State, event: pb.PlanningEnded) -> None:
    state.planning_pass = 0
    state.phase = pb.PHASE_TRICKS


def _trick_started(state: State, event: pb.TrickStarted) -> None:
    state.trick = event.trick
    state.leader = state.turn = event.leader
    state.decision += 1


def _card_played(state: State, event: pb.CardPlayed) -> None:
    seat, message = event.seat, event.card
    card = message.color << 4 | message.number
    state.table.append(card)
    state.hand_counts[seat] -= 1
    hand = state.hands[seat]
    if hand:  # else it is not known here
        at = hand.index(card)
        state.hands[seat] = hand[:at] + hand[at + 1 :]
    if len(state.table) < state.players:
        state.turn = (seat + 1) % state.players
        state.decision += 1


def _trick_won(state: State, event: pb.TrickWon) -> None:
    state.tricks.append(Trick(state.leader, tuple(state.table), event.seat))
    state.tricks_won = list(event.tricks_won)
    state.table = []


def _deal_scored(state: State, event: pb.DealScored) -> None:
    state.totals = list(event.totals)


def _match_ended(state: State, event: pb.MatchEnded) -> None:
    state.result = pb.MatchEnded()
    state.result.CopyFrom(event)
    state.phase = pb.PHASE_ENDED
    state.turn = 0  # nobody's: a fixed value, so that equal matches have equal states


#: Event type → what it does to a state.
HANDLERS: dict[type[Message], Callable[[State, Any], None]] = {
    pb.MatchStarted: _match_started,
    pb.StarterDrawn: _starter_drawn,
    pb.DealStarted: _deal_started,
    pb.DeckShuffled: _deck_shuffled,
    pb.HandDealt: _hand_dealt,
    pb.Predicted: _predicted,
    pb.TrumpChosen: _trump_chosen,
    pb.PlanningEnded: _planning_ended,
    pb.TrickStarted: _trick_started,
    pb.CardPlayed: _card_played,
    pb.TrickWon: _trick_won,
    pb.DealScored: _deal_scored,
    pb.MatchEnded: _match_ended,
}
