"""How each event that several variants share changes the state; nothing but events does.

Every handler also takes the redacted form of its event, in which the fields that a viewer may not see
are empty. A variant adds the handlers of its own events, and puts its own in place of a shared one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.nimmt.cards import without
from sixledger.engine.nimmt.state import NOTHING, ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Handler = Callable[[State, Any], None]


def round_started(state: State, event: pb.RoundStarted) -> None:
    """Clear the table."""
    players = state.players
    state.round = event.round
    state.turn = 0
    state.undealt = ()
    state.undealt_count = event.pack_size
    state.rows = []
    state.hands = [()] * players
    state.hand_counts = [0] * players
    state.chosen = [None] * players
    state.piles = [()] * players
    state.common_pile = ()
    state.round_points = [0] * players


def _pack_shuffled(state: State, event: pb.PackShuffled) -> None:
    state.undealt = tuple(event.order)


def _hand_dealt(state: State, event: pb.HandDealt) -> None:
    state.hands[event.seat] = tuple(event.cards)
    state.hand_counts[event.seat] = event.count
    state.undealt = state.undealt[event.count :]
    state.undealt_count -= event.count


def rows_started(state: State, event: pb.RowsStarted) -> None:
    """Lay the rows and open the first turn."""
    state.rows = [tuple(row.cards) for row in event.rows]
    drawn = len(event.drawn) or len(state.rows)
    if state.undealt_count:  # else the cards come from a draft
        state.undealt = state.undealt[drawn:]
        state.undealt_count -= drawn
    state.pool = ()
    state.turn = 1
    state.phase = state.rules.opening
    state.decision += 1


def _chosen(state: State, event: pb.Chosen) -> None:
    seat, card = event.seat, event.card
    state.hand_counts[seat] -= 1
    hand = state.hands[seat]
    if card and card in hand:
        at = hand.index(card)
        state.hands[seat] = hand[:at] + hand[at + 1 :]
        state.chosen[seat] = (card,)
    else:  # hand or card are not known here
        state.chosen[seat] = (card,) if card else ()


def revealed(state: State, event: pb.Revealed) -> None:
    """Line up the cards, the lowest first."""
    queue = [(play.card, play.seat) for play in event.plays]
    queue.sort()
    state.queue = queue
    state.chosen = [None] * state.players
    state.phase = pb.PHASE_PLACING


def _row_choice_needed(state: State, event: pb.RowChoiceNeeded) -> None:
    state.pending = ROW
    state.on_turn = event.seat
    state.decision += 1


def row_taken(state: State, event: pb.RowTaken) -> None:
    """Put a row onto the pile of its seat."""
    row = event.row
    points = event.points_each
    for seat in event.seats:
        state.piles[seat] += state.rows[row]
        state.round_points[seat] += points
    state.rows[row] = ()
    state.pending = NOTHING


def card_placed(state: State, event: pb.CardPlaced) -> None:
    """Lay the next card of the queue at the right end."""
    state.rows[event.row] += (event.card,)
    del state.queue[0]


def turn_ended(state: State, event: pb.TurnEnded) -> None:
    """Open the next turn, if the round has one."""
    if event.turn < state.rules.turns:
        state.turn = event.turn + 1
        state.phase = state.rules.opening
        state.decision += 1


def round_scored(state: State, event: pb.RoundScored) -> None:
    """Write down the totals."""
    state.totals = list(event.totals)


def _match_ended(state: State, event: pb.MatchEnded) -> None:
    state.result = pb.MatchEnded()
    state.result.CopyFrom(event)
    state.phase = pb.PHASE_ENDED


def starter_drawn(state: State, event: pb.StarterDrawn) -> None:
    """Set the first starter."""
    state.starter = event.seat


def round_started_by_the_next(state: State, event: pb.RoundStarted) -> None:
    """Clear the table, where hands have public cards; after the first round the left neighbour starts."""
    round_started(state, event)
    state.public_hands = [()] * state.players
    if event.round > 1:
        state.starter = (state.starter + 1) % state.players


def lay_openly(state: State, seat: int, card: int) -> None:
    """A card of a hand lies face up and waits to be placed."""
    state.hands[seat] = without(state.hands[seat], card)
    state.hand_counts[seat] -= 1
    state.queue.append((card, seat))


#: Event type → what it does to a state.
HANDLERS: Mapping[type[Message], Handler] = {
    pb.RoundStarted: round_started,
    pb.PackShuffled: _pack_shuffled,
    pb.HandDealt: _hand_dealt,
    pb.RowsStarted: rows_started,
    pb.Chosen: _chosen,
    pb.Revealed: revealed,
    pb.RowChoiceNeeded: _row_choice_needed,
    pb.RowTaken: row_taken,
    pb.CardPlaced: card_placed,
    pb.TurnEnded: turn_ended,
    pb.RoundScored: round_scored,
    pb.MatchEnded: _match_ended,
}
