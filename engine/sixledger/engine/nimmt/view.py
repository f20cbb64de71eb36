"""What a seat or a spectator sees of a state (RULES 0.9)."""

from __future__ import annotations

from google.protobuf.message import Message
from sixledger.engine.nimmt.commands import CASES
from sixledger.engine.nimmt.state import State
from sixledger.engine.nimmt.variants.double import shared_points
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
        undealt=state.undealt_count,
        decision=state.decision,
        to_act=state.to_act(),
        legal=[] if viewer is None else [_wrap(command) for command in state.rules.legal(state, viewer)],
        result=state.result,
        starter=state.starter if state.starter >= 0 else None,
        pool=state.pool,
        common_pile=state.common_pile,
        hand_lists=[pb.CardList(cards=cards) for cards in state.hand_lists],
        **state.rules.pending_choice(state),  # type: ignore[arg-type]  # fields of the message, by name
    )


def shared(state: State, seat: int) -> int | None:
    """The shared points of a seat, in the variant that has them."""
    return shared_points(state, seat) if state.options.variant == pb.VARIANT_DOUBLE else None


def _seat(state: State, seat: int, viewer: int | None) -> pb.SeatView:
    """One seat; hand and sealed choice only if it is the viewer's own."""
    own = seat == viewer
    sealed = state.chosen[seat]
    shown = sealed if own and sealed else ()
    turned_up = state.phase == pb.PHASE_PLACING and state.rules.opening == pb.PHASE_SELECTION
    return pb.SeatView(
        seat=seat,
        hand_count=state.hand_counts[seat],
        hand=state.hands[seat] if own else (),
        has_chosen=sealed is not None or turned_up,
        chosen=shown[0] if len(shown) == 1 else None,
        chosen_cards=shown if len(shown) > 1 else (),
        pile=state.piles[seat],
        round_points=state.round_points[seat],
        total=state.totals[seat],
        public_hand=state.public_hands[seat] if state.public_hands else (),
        shared_points=shared(state, seat),
    )


def _wrap(command: Message) -> pb.Command:
    """The command inside the game's oneof."""
    wrapped = pb.Command()
    getattr(wrapped, CASES[type(command)]).CopyFrom(command)
    return wrapped
