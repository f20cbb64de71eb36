"""What a seat or a spectator sees of a state (RULES 0.9)."""

from __future__ import annotations

from sixledger.engine.nimmt.rules import legal
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def view(state: State, viewer: int | None) -> pb.View:
    """The view of `viewer`, a seat or None for a spectator."""
    if viewer is not None and not 0 <= viewer < state.players:
        raise ValueError(f"there is no seat {viewer}; the match has {state.players}, counted from 0")
    return pb.View(
        viewer=viewer,
        players=state.players,
        options=state.options,
        phase=state.phase,
        round=state.round,
        turn=state.turn,
        rows=[pb.Row(cards=row) for row in state.rows],
        seats=[_seat(state, seat, viewer) for seat in range(state.players)] if state.hands else (),
        queue=[pb.Play(seat=seat, card=card) for card, seat in state.queue],
        row_choice=row_choice(state),
        undealt=state.undealt_count,
        decision=state.decision,
        to_act=state.to_act(),
        legal=[] if viewer is None else [_wrap(command) for command in legal(state, viewer)],
        result=state.result,
    )


def row_choice(state: State) -> pb.Play | None:
    """The play whose seat must choose a row, as a message."""
    if not state.choosing_row:
        return None
    card, seat = state.queue[0]
    return pb.Play(seat=seat, card=card)


def _seat(state: State, seat: int, viewer: int | None) -> pb.SeatView:
    """One seat; hand and sealed choice only if it is the viewer's own."""
    own = seat == viewer
    choice = state.chosen[seat]
    return pb.SeatView(
        seat=seat,
        hand_count=state.hand_counts[seat],
        hand=state.hands[seat] if own else (),
        has_chosen=choice is not None or state.phase == pb.PHASE_PLACING,
        chosen=choice if own else None,
        pile=state.piles[seat],
        round_points=state.round_points[seat],
        total=state.totals[seat],
    )


def _wrap(command: object) -> pb.Command:
    """The command inside the game's oneof."""
    if isinstance(command, pb.SelectCard):
        return pb.Command(select_card=command)
    assert isinstance(command, pb.TakeRow)
    return pb.Command(take_row=command)
