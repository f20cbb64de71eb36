"""How each event changes the state; nothing else does.

Every handler also takes the redacted form of its event, in which the fields that a viewer may not see
are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.nimmt.cards import MAX_SEATS, ROWS
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def _match_started(state: State, event: pb.MatchStarted) -> None:
    # A redacted ledger is folded before anybody could decide its events again: whatever costs memory is checked here.
    if state.players or not 2 <= event.players <= MAX_SEATS:
        raise ValueError("the match cannot start like this")
    state.players = event.players
    state.options = pb.Options()
    state.options.CopyFrom(event.options)
    state.totals = [0] * event.players


def _round_started(state: State, event: pb.RoundStarted) -> None:
    players = state.players
    state.round = event.round
    state.turn = 0
    state.pack_size = state.undealt_count = event.pack_size
    state.hand_size = event.hand_size
    state.undealt = ()
    state.rows = []
    state.hands = [()] * players
    state.hand_counts = [0] * players
    state.chosen = [None] * players
    state.piles = [()] * players
    state.round_points = [0] * players


def _pack_shuffled(state: State, event: pb.PackShuffled) -> None:
    state.undealt = tuple(event.order)


def _hand_dealt(state: State, event: pb.HandDealt) -> None:
    state.hands[event.seat] = tuple(event.cards)
    state.hand_counts[event.seat] = event.count
    state.undealt = state.undealt[event.count :]
    state.undealt_count -= event.count


def _rows_started(state: State, event: pb.RowsStarted) -> None:
    state.rows = [tuple(row.cards) for row in event.rows]
    state.undealt = state.undealt[ROWS:]
    state.undealt_count -= ROWS
    state.turn = 1
    state.phase = pb.PHASE_SELECTION
    state.decision += 1


def _chosen(state: State, event: pb.Chosen) -> None:
    seat, card = event.seat, event.card
    state.chosen[seat] = card
    state.hand_counts[seat] -= 1
    hand = state.hands[seat]
    if card in hand:  # else hand and card are not known here
        at = hand.index(card)
        state.hands[seat] = hand[:at] + hand[at + 1 :]


def _revealed(state: State, event: pb.Revealed) -> None:
    queue = [(play.card, play.seat) for play in event.plays]
    queue.sort()
    state.queue = queue
    state.chosen = [None] * state.players
    state.phase = pb.PHASE_PLACING


def _row_choice_needed(state: State, event: pb.RowChoiceNeeded) -> None:
    state.choosing_row = True
    state.decision += 1


def _row_taken(state: State, event: pb.RowTaken) -> None:
    row = event.row
    points = event.points_each
    for seat in event.seats:
        state.piles[seat] += state.rows[row]
        state.round_points[seat] += points
    state.rows[row] = ()
    state.choosing_row = False


def _card_placed(state: State, event: pb.CardPlaced) -> None:
    state.rows[event.row] += (event.card,)
    del state.queue[0]


def _turn_ended(state: State, event: pb.TurnEnded) -> None:
    if event.turn < state.hand_size:
        state.turn = event.turn + 1
        state.phase = pb.PHASE_SELECTION
        state.decision += 1


def _round_scored(state: State, event: pb.RoundScored) -> None:
    state.totals = list(event.totals)


def _match_ended(state: State, event: pb.MatchEnded) -> None:
    state.result = pb.MatchEnded()
    state.result.CopyFrom(event)
    state.phase = pb.PHASE_ENDED


#: Event type → what it does to a state.
HANDLERS: dict[type[Message], Callable[[State, Any], None]] = {
    pb.MatchStarted: _match_started,
    pb.RoundStarted: _round_started,
    pb.PackShuffled: _pack_shuffled,
    pb.HandDealt: _hand_dealt,
    pb.RowsStarted: _rows_started,
    pb.Chosen: _chosen,
    pb.Revealed: _revealed,
    pb.RowChoiceNeeded: _row_choice_needed,
    pb.RowTaken: _row_taken,
    pb.CardPlaced: _card_placed,
    pb.TurnEnded: _turn_ended,
    pb.RoundScored: _round_scored,
    pb.MatchEnded: _match_ended,
}
