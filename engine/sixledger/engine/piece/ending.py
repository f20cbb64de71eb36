"""How a match ends: empty decks, time, the safety stop, leaving (RULES 3.6, 3.7, 0.8)."""

from __future__ import annotations

from collections.abc import Sequence

from sixledger.engine.game import RESIGNED
from sixledger.engine.piece.options import SEATS, last_turn
from sixledger.engine.piece.state import State
from sixledger.games.piece.v1 import piece_pb2 as pb

BOTH = tuple(range(SEATS))


def by_rules(state: State) -> pb.MatchEnded | None:
    """The result if the match ends with the turn that ends now, else None.

    A match ends only with a turn of player two: both have then had as many turns.
    """
    one, two = state.first_player, 1 - state.first_player
    if state.seat == one:
        return None
    sizes, options = state.deck_sizes, state.options
    if state.failed:
        if sizes[two]:
            return ended(state, (two,), pb.END_REASON_EMPTY_DECK)
        return ended(state, BOTH, pb.END_REASON_BOTH_EMPTY)
    if not sizes[two]:
        return ended(state, (one,), pb.END_REASON_EMPTY_DECK)
    is_last = state.turn >= last_turn(options)
    if is_last and options.time_mode == pb.TIME_MODE_NONE:
        return ended(state, BOTH, pb.END_REASON_MAX_TURNS)
    if is_last or state.time_up:
        most = max(sizes)
        return ended(state, [seat for seat in BOTH if sizes[seat] == most], pb.END_REASON_TIME)
    return None


def by_leaving(state: State, reason: str, seat: int) -> pb.MatchEnded:
    """The result if a seat resigns or is forfeited: the other one wins."""
    why = pb.END_REASON_RESIGNED if reason == RESIGNED else pb.END_REASON_FORFEIT
    return ended(state, (1 - seat,), why)


def ended(state: State, winners: Sequence[int], reason: pb.EndReason.ValueType) -> pb.MatchEnded:
    """The result with these winners; without any, nobody is ranked."""
    ranking = [1 if seat in winners else 2 for seat in BOTH] if winners else ()
    return pb.MatchEnded(scores=state.deck_sizes, winners=winners, ranking=ranking, reason=reason)
