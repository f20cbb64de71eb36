"""A bot for 6 nimmt! and its variants.

It weighs what it could play by what that would cost if the others played at random, and nothing beyond the
turn. It sees what the view shows and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from random import Random

from google.protobuf.message import Message
from sixledger.engine.nimmt.cards import BULLHEADS
from sixledger.engine.nimmt.forecast import Rows, cheapest_row, cost, end_cost, lay, lay_of
from sixledger.engine.nimmt.options import variant_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: Imagined turns for each decision. More is stronger and slower.
_SAMPLES = 12
#: Of how many single cards nifty combines pairs.
_PAIRED = 6


def heuristic(view: pb.View, random: Random) -> Message:
    """The command that costs the fewest bullheads, as far as the view tells."""
    case = view.legal[0].WhichOneof("command")
    assert case is not None
    return _CHOICES[case](view, random)


def _rows(view: pb.View) -> Rows:
    return [tuple(row.cards) for row in view.rows]


# -- cards of a turn -----------------------------------------------------------------------------


def _select_card(view: pb.View, random: Random) -> Message:
    hand = list(dict.fromkeys(view.seats[view.viewer].hand))
    return pb.SelectCard(card=_best_card(view, hand, random))


def _lay_card(view: pb.View, random: Random) -> Message:
    return pb.LayCard(card=_best_card(view, list(view.seats[view.viewer].hand), random))


def _best_card(view: pb.View, hand: list[int], random: Random) -> int:
    costs = _card_costs(view, hand, random)
    return min(hand, key=lambda card: (costs[card], card))


def _card_costs(view: pb.View, hand: list[int], random: Random) -> dict[int, int]:
    """What each card would collect in all imagined turns together."""
    rows, lays = _rows(view), lay_of(view.options)
    costs = dict.fromkeys(hand, 0)
    for _ in range(_SAMPLES):
        against = sorted(card for cards in _others(view, hand, random) for card in cards)
        for card in hand:
            costs[card] += cost(lays, rows, [each for each in against if each < card], [card])
    return costs


def _others(view: pb.View, hand: list[int], random: Random) -> list[list[int]]:
    """What each of the others might play in this turn; what lies already is as it is."""
    each = variant_of(view.options).cards_a_turn
    laid = {play.seat: play.card for play in view.queue}
    unseen = _unseen(view, hand)
    random.shuffle(unseen)
    plays = []
    for seat in view.seats:
        if seat.seat == view.viewer:
            continue
        if seat.seat in laid:
            plays.append([laid[seat.seat]])
        elif seat.public_hand:
            plays.append(random.sample(list(seat.public_hand), each))
        else:
            plays.append([unseen.pop() for _ in range(min(each, len(unseen)))])
    return plays


def _unseen(view: pb.View, hand: list[int]) -> list[int]:
    """Cards that others may hold: those of the pack that the view does not show."""
    seen = {*hand, *view.common_pile, *(play.card for play in view.queue)}
    for row in view.rows:
        seen.update(row.cards)
    for seat in view.seats:
        seen.update(seat.pile)
        seen.update(seat.public_hand)
    return [card for card in variant_of(view.options).pack(view.players, view.options) if card not in seen]


def _select_pair(view: pb.View, random: Random) -> Message:
    """Of the cards that are cheap alone, the two that are cheapest together."""
    rows, hand = _rows(view), list(view.seats[view.viewer].hand)
    alone = _card_costs(view, hand, random)
    cheap = sorted(sorted(hand, key=lambda card: (alone[card], card))[:_PAIRED])
    pairs = list(combinations(cheap, 2))
    costs = dict.fromkeys(pairs, 0)
    for _ in range(_SAMPLES):
        others = sorted(sorted(pair) for pair in _others(view, hand, random))
        for pair in pairs:
            before = [card for other in others if other < list(pair) for card in other]
            costs[pair] += min(cost(lay, rows, before, pair), cost(lay, rows, before, pair[::-1]))
    return pb.SelectPair(cards=min(pairs, key=lambda pair: (costs[pair], pair)))


def _play_cards(view: pb.View, random: Random) -> Message:
    """Cards that are played no longer count double at the end."""
    rows = _rows(view)

    def worth(command: pb.Command) -> float:
        cards = command.play_cards.cards
        return cost(lay, rows, (), cards) - sum(1 + BULLHEADS[card] for card in cards)

    return min(view.legal, key=worth).play_cards


# -- other choices -------------------------------------------------------------------------------


def _take_row(view: pb.View, random: Random) -> Message:
    return pb.TakeRow(row=cheapest_row(_rows(view)))


def _place_first(view: pb.View, random: Random) -> Message:
    rows, (low, high) = _rows(view), view.order_choice.cards
    first = low if cost(lay, rows, (), (low, high)) <= cost(lay, rows, (), (high, low)) else high
    return pb.PlaceFirst(card=first)


def _choose_end(view: pb.View, random: Random) -> Message:
    rows = _rows(view)
    end = min(view.end_choice.ends, key=lambda each: (end_cost(rows, each.row), len(rows[each.row])))
    return pb.ChooseEnd(row=end.row, side=end.side)


def _keep_cards(view: pb.View, random: Random) -> Message:
    return pb.KeepCards()


def _draft_card(view: pb.View, random: Random) -> Message:
    return pb.DraftCard(card=random.choice(list(view.pool)))


_CHOICES: Mapping[str, Callable[[pb.View, Random], Message]] = {
    "select_card": _select_card,
    "select_pair": _select_pair,
    "lay_card": _lay_card,
    "play_cards": _play_cards,
    "take_row": _take_row,
    "place_first": _place_first,
    "choose_end": _choose_end,
    "keep_cards": _keep_cards,
    "draft_card": _draft_card,
}
