"""A complete state behind a view: what the view hides is dealt anew."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sixledger.engine.chance import Stream
from sixledger.engine.nimmt import options as opt
from sixledger.engine.nimmt.position import from_position
from sixledger.engine.nimmt.state import State
from sixledger.engine.nimmt.variants import VARIANTS
from sixledger.engine.nimmt.view import view as view_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: What a view and a position have alike.
_SAME = (
    *("players", "options", "phase", "round", "turn", "rows", "queue", "decision", "result", "starter", "pool"),
    *("row_choice", "end_choice", "order_choice", "keep_choice", "common_pile", "hand_lists"),
)


def redeal(view: Any, stream: Stream) -> State:
    """A state whose view is `view`; see `Game.redeal`."""
    if not isinstance(view, pb.View) or view.options.variant not in VARIANTS:
        raise ValueError("this is no view of a match of 6 nimmt! that has begun")
    if view.phase == pb.PHASE_ENDED:  # scored hands (RULES 2.11) would bind the deal, and nothing can be played on
        raise ValueError("there is nothing to deal anew: the match has ended")
    position = pb.Position()
    for field, value in view.ListFields():
        if field.name in _SAME:
            target = getattr(position, field.name)
            if field.is_repeated:
                target.extend(value)
            elif field.message_type is not None:
                target.CopyFrom(value)
                target.SetInParent()
            else:
                setattr(position, field.name, value)
    hidden = stream.shuffle(_hidden(view))
    for seat in view.seats:
        _fill(position.seats.add(), seat, view, hidden, stream)
    position.undealt.extend(_take(hidden, view.undealt))
    state = from_position(position)
    viewer = view.viewer if view.HasField("viewer") else None
    if view_of(state, viewer) != view:
        raise ValueError("no state has such a view")
    return state


def _hidden(view: pb.View) -> list[int]:
    """The cards of the pack that the view does not show, ascending."""
    shown = Counter([*view.pool, *view.common_pile, *(play.card for play in view.queue)])
    for row in view.rows:
        shown.update(row.cards)
    for seat in view.seats:
        shown.update(seat.pile)
        if _is_own(view, seat):
            shown.update([*seat.hand, *_sealed(seat)])
        else:
            shown.update(seat.public_hand)
    pack = Counter(opt.variant_of(view.options).pack(view.players, view.options))
    if shown - pack:
        raise ValueError("the view shows cards that are not in the pack")
    return sorted((pack - shown).elements())


def _fill(position: pb.SeatPosition, seat: pb.SeatView, view: pb.View, hidden: list[int], stream: Stream) -> None:
    """One seat: as it is shown, with hidden cards where it is not."""
    rules = opt.variant_of(view.options)
    hand, sealed = list(seat.hand), _sealed(seat)
    if not _is_own(view, seat):
        # A choice that waits for the others. Once all are turned up, the seat counts as having chosen as well.
        choosing = seat.has_chosen and view.phase == pb.PHASE_SELECTION
        cards = rules.cards_a_turn if choosing else 0
        held = seat.hand_count + cards
        # Where all cards are public, any of them may be the sealed one; else sealed cards come from the hidden.
        hand = [*seat.public_hand, *_take(hidden, held - len(seat.public_hand))]
        sealed = [hand.pop(stream.below(len(hand))) for _ in range(cards)]
    position.hand.extend(sorted(hand))
    if len(sealed) == 1:
        position.chosen = sealed[0]
    else:
        position.chosen_cards.extend(sorted(sealed))
    position.pile.extend(seat.pile)
    position.public_hand.extend(seat.public_hand)
    position.round_points = seat.round_points
    position.total = seat.total
    if seat.HasField("shared_points"):
        position.shared_points = seat.shared_points


def _is_own(view: pb.View, seat: pb.SeatView) -> bool:
    return view.HasField("viewer") and view.viewer == seat.seat


def _sealed(seat: pb.SeatView) -> list[int]:
    """The own sealed cards."""
    return [seat.chosen] if seat.HasField("chosen") else list(seat.chosen_cards)


def _take(hidden: list[int], count: int) -> list[int]:
    """The next `count` hidden cards."""
    if not 0 <= count <= len(hidden):
        raise ValueError("the view hides another number of cards than it counts")
    taken = hidden[:count]
    del hidden[:count]
    return taken
