"""The table of 6 Forces: the trick, and what every seat has announced and won."""

from __future__ import annotations

from collections.abc import Sequence

from sixledger.cli.dispute.boards import Board, Card, Pile
from sixledger.cli.render.forces import heading
from sixledger.cli.render.forces_cards import announced, trump_name
from sixledger.games.forces.v1 import forces_pb2 as pb

_COLOURS = {pb.COLOR_RED: "red", pb.COLOR_YELLOW: "yellow", pb.COLOR_BLUE: "blue", pb.COLOR_GREEN: "green"}


def board(view: pb.View, names: Sequence[str]) -> Board:
    """The table as the viewer sees it."""
    piles = []
    if view.phase == pb.PHASE_TRICKS:
        order = [(view.leader + place) % view.players for place in range(view.players)]
        cards = tuple(_card(card, names[seat]) for card, seat in zip(view.table, order, strict=False))
        trump = trump_name(view.seats[view.leader].trump).lower()
        note = f"trump type of this trick: {trump}"
        piles.append(Pile(f"Trick {view.trick}, led by {names[view.leader]}", cards, note, view.players - len(cards)))
    piles += [
        Pile(
            f"Trick {number}, won by {names[trick.winner]}",
            tuple(_card(card, names[(trick.leader + place) % view.players]) for place, card in enumerate(trick.cards)),
        )
        for number, trick in reversed(list(enumerate(view.tricks, 1)))
    ][:2]
    columns = ("Player", "Cards in hand", "Trump type", "Announced tricks", "Tricks won", "Total")
    seats = tuple(
        (
            names[seat.seat],
            str(seat.hand_count),
            trump_name(seat.trump).lower() if seat.trump else "not chosen",
            announced(seat.prediction) if seat.HasField("prediction") else "not yet",
            str(seat.tricks_won),
            str(seat.total),
        )
        for seat in view.seats
    )
    return Board(" ".join(heading(view).plain.split()), tuple(piles), columns, seats)


def hand(view: pb.View) -> tuple[Card, ...]:
    """The own hand."""
    return tuple(_card(card) for card in view.seats[view.viewer].hand)


def _card(card: pb.Card, owner: str = "") -> Card:
    colour = _COLOURS.get(card.color, "plain")
    return Card(str(card.number), colour, colour, f"{colour} {card.number}", owner)
