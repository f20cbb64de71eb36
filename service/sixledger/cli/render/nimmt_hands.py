"""The hands at a table of 6 nimmt!: the viewer's own, and what everybody knows of the others."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from sixledger.cli.render.cards import Lines, beside, card, fit, style_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: The cards that fit beside each other in 80 columns.
_ON_A_LINE = 10


def hand_drawn(view: pb.View, own: pb.SeatView) -> Lines:
    """The own hand as cards, on two lines if it is large; in hand, where others have known cards too, as numbers."""
    if len(own.hand) > _ON_A_LINE and view.options.variant == pb.VARIANT_HAND:
        return hand_plain(view, own)
    cards = _playable(view)
    drawings = [card(each, playable=each in cards) for each in own.hand]
    half = len(drawings) if len(drawings) <= _ON_A_LINE else (len(drawings) + 1) // 2
    lines = [_title(view, own)]
    for part in (drawings[:half], drawings[half:]):
        if part:
            lines += beside([Text("   ")] * 3, *part)
    return lines


def hand_plain(view: pb.View, own: pb.SeatView) -> Lines:
    """The own hand as numbers; those that cannot be played now in brackets."""
    cards = _playable(view)
    line = Text("    ")
    for each in own.hand:
        line.append(f"{each} " if each in cards else f"({each}) ", style_of(each) if each in cards else "faint")
    return [_title(view, own), line]


def public_hands(view: pb.View, names: Sequence[str]) -> Lines:
    """Cards that everybody knows in the hands of the other seats."""
    lines: Lines = []
    for seat in view.seats:
        if not seat.public_hand or (view.HasField("viewer") and view.viewer == seat.seat):
            continue
        line = Text.assemble(" ", (fit(names[seat.seat], 10), ""), " has  " if view.pool else " holds  ")
        for each in seat.public_hand:
            line.append(f"{each} ", style_of(each))
        # A sealed card is still shown among the known ones, for nobody knows which it is.
        hidden = seat.hand_count + seat.has_chosen * (view.phase == pb.PHASE_SELECTION) - len(seat.public_hand)
        lines.append(line.append(f"and {hidden} more", "faint") if hidden > 0 else line)
    return lines


def _title(view: pb.View, own: pb.SeatView) -> Text:
    """What the hand is for now."""
    title = Text(" your hand")
    asks = _asks(view)
    if asks and own.seat in view.to_act:
        return title.append("  ").append(asks, "unsure")
    chosen = [own.chosen] if own.HasField("chosen") else own.chosen_cards
    return title.append(f"  you have chosen {' and '.join(map(str, chosen))}", "faint") if chosen else title


def _asks(view: pb.View) -> str:
    """What the seat on turn must decide."""
    if view.HasField("row_choice"):
        return f"your {view.row_choice.card} fits nowhere: choose the row to collect"
    if view.HasField("end_choice"):
        return f"your {view.end_choice.card} is equally near to two ends: choose one"
    if view.HasField("order_choice"):
        return f"{' and '.join(map(str, view.order_choice.cards))}: choose which is placed first"
    if view.HasField("keep_choice"):
        return f"your {view.keep_choice.card} collects row {view.keep_choice.row + 1}: choose what to keep of it"
    return ""


def _playable(view: pb.View) -> frozenset[int]:
    """The cards of the hand that some legal command names."""
    cards: set[int] = set()
    for each in view.legal:
        cards.update((each.select_card.card, each.lay_card.card))
        cards.update(each.select_pair.cards)
        cards.update(each.play_cards.cards)
    return frozenset(cards)
