"""A bot for 6 nimmt! that weighs each card by what it would cost if the others played at random."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from google.protobuf.message import Message
from sixledger.engine.nimmt.cards import ROW_LENGTH, bullheads, pack
from sixledger.engine.nimmt.rules import fitting_row
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Imagined turns for each decision. More is stronger and slower.
_SAMPLES = 12


def heuristic(view: pb.View, random: Random) -> Message:
    """The command that costs the fewest bullheads, as far as the view tells."""
    viewer = view.viewer
    rows = [tuple(row.cards) for row in view.rows]
    if view.legal[0].HasField("take_row"):
        return pb.TakeRow(row=cheapest_row(rows))
    hand = list(view.seats[viewer].hand)
    unseen = _unseen(view, rows, hand)
    others = min(view.players - 1, len(unseen))
    cost = dict.fromkeys(hand, 0)
    for _ in range(_SAMPLES):
        against = random.sample(unseen, others)
        for card in hand:
            cost[card] += _cost(rows, card, against)
    return pb.SelectCard(card=min(hand, key=lambda card: (cost[card], card)))


def cheapest_row(rows: Sequence[Sequence[int]]) -> int:
    """The row with the fewest bullheads; of several, the first."""
    return min(range(len(rows)), key=lambda row: bullheads(rows[row]))


def _unseen(view: pb.View, rows: list[tuple[int, ...]], hand: list[int]) -> list[int]:
    """The cards that others may hold: those of the pack that the view does not show."""
    seen = set(hand)
    for cards in (*rows, *(seat.pile for seat in view.seats)):
        seen.update(cards)
    return [card for card in pack(view.players, view.options) if card not in seen]


def _cost(rows: list[tuple[int, ...]], own: int, against: list[int]) -> int:
    """What the own card collects in a turn against these cards, in bullheads."""
    table = list(rows)
    for card in sorted([own, *against]):
        row = fitting_row(table, card)
        collects = row < 0 or len(table[row]) == ROW_LENGTH
        if row < 0:
            row = cheapest_row(table)
        if card == own:
            return bullheads(table[row]) if collects else 0
        table[row] = (card,) if collects else (*table[row], card)
    raise AssertionError("the own card is among the cards of the turn")
