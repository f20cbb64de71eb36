"""The table of 6 nimmt!: four rows, what waits to be placed, points."""

from __future__ import annotations

from collections.abc import Sequence

from sixledger.cli.dispute.boards import Board, Card, Pile
from sixledger.cli.render.nimmt import heading
from sixledger.engine.nimmt.cards import BULLHEADS, ROW_LENGTH, bullheads
from sixledger.engine.nimmt.variants.double import stacks
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_COLOURS = {1: "plain", 2: "blue", 3: "yellow", 5: "red", 7: "purple"}


def board(view: pb.View, names: Sequence[str]) -> Board:
    """The table as the viewer sees it."""
    piles = [_row(number, row.cards) for number, row in enumerate(view.rows, 1)]
    if view.queue and view.phase != pb.PHASE_ENDED:
        waiting = [
            _card(each, names[play.seat]) for play in view.queue for each in ([play.card] if play.card else play.cards)
        ]
        piles.append(Pile("Waiting to be placed", tuple(waiting)))
    if view.pool:
        piles.append(Pile("To be drafted", tuple(_card(each) for each in view.pool)))
    piles += [
        Pile(f"Known to be held by {names[seat.seat]}", tuple(_card(each) for each in seat.public_hand))
        for seat in view.seats
        if seat.public_hand
    ]
    columns = ("Player", "Cards in hand", "Chosen", "Bullheads this round", "Total")
    seats = tuple(
        (
            names[seat.seat],
            str(seat.hand_count),
            "yes" if seat.has_chosen else "no",
            str(seat.round_points),
            str(seat.total),
        )
        for seat in view.seats
    )
    return Board(_words(view), tuple(piles), columns, seats)


def hand(view: pb.View) -> tuple[Card, ...]:
    """The own hand; a card that was chosen face down says so."""
    own = view.seats[view.viewer]
    chosen = [own.chosen] if own.HasField("chosen") else list(own.chosen_cards)
    return (*(_card(each) for each in own.hand), *(_card(each, "chosen") for each in chosen))


def _words(view: pb.View) -> str:
    return " ".join(heading(view).plain.split())


def _row(number: int, cards: Sequence[int]) -> Pile:
    lie = stacks(cards)
    drawn = tuple(_card(twins[0], "twins" if len(twins) > 1 else "") for twins in lie)
    heads = bullheads(cards)
    return Pile(f"Row {number}", drawn, f"{heads} bullhead{'' if heads == 1 else 's'}", ROW_LENGTH - len(lie))


def _card(number: int, owner: str = "") -> Card:
    heads = BULLHEADS[number]
    said = f"{number}, {heads} bullhead{'' if heads == 1 else 's'}"
    return Card(str(number), _COLOURS[heads], "●" * heads, said, owner)
