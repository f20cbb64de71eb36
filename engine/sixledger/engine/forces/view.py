"""What a seat or a spectator sees of a state (RULES 0.9)."""

from __future__ import annotations

from typing import Any

from sixledger.engine.forces.cards import write
from sixledger.engine.forces.rules import legal
from sixledger.engine.forces.state import State
from sixledger.games.forces.v1 import forces_pb2 as pb


def view(state: State, viewer: int | None) -> pb.View:
    """The view of `viewer`, a seat or None for a spectator."""
    if viewer is not None and not 0 <= viewer < state.players:
        raise ValueError(f"there is no seat {viewer}; the match has {state.players}, counted from 0")
    return pb.View(
        viewer=viewer,
        **course(state),
        seats=[_seat(state, seat, viewer) for seat in range(state.players)] if state.hands else (),
        to_act=state.to_act(),
        legal=[] if viewer is None else [_wrap(command) for command in legal(state, viewer)],
    )


def course(state: State) -> dict[str, Any]:
    """The fields that views and positions share: everything but the seats, and who may do what."""
    return {
        "players": state.players,
        "options": state.options,
        "phase": state.phase,
        "deal": state.deal,
        "starter": state.starter,
        "planning_pass": state.planning_pass,
        "trick": state.trick,
        "leader": state.leader if state.trick else None,
        "table": write(state.table),
        "tricks": [pb.Trick(leader=each.leader, cards=write(each.cards), winner=each.winner) for each in state.tricks],
        "supply": state.supply,
        "decision": state.decision,
        "result": state.result,
    }


def announced(state: State, seat: int) -> pb.Prediction | None:
    """What a seat has predicted, as a message."""
    prediction = state.predictions[seat]
    return prediction and pb.Prediction(prediction=prediction.tricks, flex=prediction.flex)


def _seat(state: State, seat: int, viewer: int | None) -> pb.SeatView:
    """One seat; the hand only if it is the viewer's own."""
    prediction = state.predictions[seat]
    return pb.SeatView(
        seat=seat,
        hand_count=state.hand_counts[seat],
        hand=write(state.hands[seat]) if seat == viewer else (),
        prediction=announced(state, seat),
        trump=state.trumps[seat],
        chips=prediction.chips if prediction else 0,
        tricks_won=state.tricks_won[seat],
        total=state.totals[seat],
    )


def _wrap(command: object) -> pb.Command:
    """The command inside the game's oneof."""
    if isinstance(command, pb.PlayCard):
        return pb.Command(play_card=command)
    if isinstance(command, pb.Predict):
        return pb.Command(predict=command)
    assert isinstance(command, pb.ChooseTrump)
    return pb.Command(choose_trump=command)
