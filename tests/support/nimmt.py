"""6 nimmt! for the laws: its commands, extremes, invariants (RULES 2.15) and hidden cards."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_SOME = (0, 1, 2, 3, 11, 27, 55, 100, 104, 105, 2**32 - 1)
_LISTS: tuple[list[int], ...] = (
    *([], [0], [5], [55], [105], [5, 5], [5, 6], [6, 5], [11, 22], [22, 11], [3, 104], [5, 105], [0, 5]),
    *([5, 6, 7], [2, 3, 4, 5, 6, 7], list(range(1, 105)), [7] * 500, [2**32 - 1]),
)

COMMANDS: list[Message] = [
    *(pb.SelectCard(), pb.TakeRow(), pb.LayCard(), pb.DraftCard(), pb.PlaceFirst(), pb.ChooseEnd()),
    *(pb.SelectCard(card=card) for card in (*range(107), 2**32 - 1)),
    *(kind(card=card) for kind in (pb.LayCard, pb.DraftCard, pb.PlaceFirst) for card in _SOME),
    *(pb.TakeRow(row=row) for row in (*range(6), 2**32 - 1)),
    *(kind(cards=cards) for kind in (pb.SelectPair, pb.PlayCards, pb.KeepCards) for cards in _LISTS),
    *(pb.ChooseEnd(row=row, side=side) for row, side in product(range(5), pb.Side.values())),
    *(pb.ChooseEnd(row=0), pb.ChooseEnd(side=pb.SIDE_LEFT)),
    pb.Command(),
    pb.Chosen(seat=0, card=1),
]

_ONE_ROUND = {"endMode": "END_MODE_ROUNDS", "rounds": 1}
_TWO_ROUNDS = {"endMode": "END_MODE_ROUNDS", "rounds": 2}

EXTREMES: dict[str, tuple[int, dict[str, Any]]] = {
    "limit-1": (2, {"limit": 1, "compare": "COMPARE_GE"}),
    "one-round-at-most": (5, {"limit": 1000, "maxRounds": 1}),
    "tactics-3": (3, {"deck": "DECK_TACTICS", **_TWO_ROUNDS}),
    "tactics-10": (10, {"deck": "DECK_TACTICS", **_ONE_ROUND}),
    "tactics-variant-2": (2, {"variant": "VARIANT_TACTICS"}),
    "tactics-variant-10": (10, {"variant": "VARIANT_TACTICS", **_ONE_ROUND}),
    "logic-2": (2, {"variant": "VARIANT_LOGIC", "limit": 10, "firstStarter": "FIRST_STARTER_SEAT_1"}),
    "logic-3": (3, {"variant": "VARIANT_LOGIC", **_TWO_ROUNDS}),
    "logic-10": (10, {"variant": "VARIANT_LOGIC", **_ONE_ROUND}),
    "tournament-2": (2, {"variant": "VARIANT_TOURNAMENT", "firstStarter": "FIRST_STARTER_SEAT_0"}),
    "tournament-5": (5, {"variant": "VARIANT_TOURNAMENT"}),
    "professional-2": (2, {"variant": "VARIANT_PROFESSIONAL", "limit": 30}),
    "professional-10": (10, {"variant": "VARIANT_PROFESSIONAL", "deck": "DECK_TACTICS", **_ONE_ROUND}),
    "open-2": (2, {"variant": "VARIANT_OPEN", "limit": 20}),
    "open-9": (9, {"variant": "VARIANT_OPEN", "firstStarter": "FIRST_STARTER_SEAT_8", **_TWO_ROUNDS}),
    "nifty-2": (2, {"variant": "VARIANT_NIFTY", "limit": 20}),
    "nifty-7": (7, {"variant": "VARIANT_NIFTY", **_ONE_ROUND}),
    "hand-2": (2, {"variant": "VARIANT_HAND", "maxCycles": 10, **_TWO_ROUNDS}),
    "hand-3": (3, {"variant": "VARIANT_HAND", "endMode": "END_MODE_POINTS", "limit": 50, "compare": "COMPARE_GE"}),
    "hand-7": (7, {"variant": "VARIANT_HAND", "firstStarter": "FIRST_STARTER_SEAT_6"}),
    "double-2": (2, {"variant": "VARIANT_DOUBLE", "limit": 20}),
    "double-10": (10, {"variant": "VARIANT_DOUBLE", "maxRounds": 2, "limit": 1000}),
    "doublets-10": (10, {"variant": "VARIANT_DOUBLE", "doublePack": "DOUBLE_PACK_DOUBLETS", **_ONE_ROUND}),
}

_SMALL_PACK = (pb.VARIANT_TACTICS, pb.VARIANT_LOGIC, pb.VARIANT_TOURNAMENT)
_OPEN_HANDS = (pb.VARIANT_LOGIC, pb.VARIANT_TOURNAMENT)


def value(card: int) -> int:
    """Bullheads as the rule book puts them, counted apart from the engine."""
    for divisor, worth in ((55, 7), (11, 5), (10, 3), (5, 2)):
        if card % divisor == 0:
            return worth
    return 1


def pack_of(position: pb.Position) -> Counter[int]:
    """The cards of a round."""
    options = position.options
    if options.variant in _SMALL_PACK or options.deck == pb.DECK_TACTICS:
        return Counter(range(1, 10 * position.players + 5))
    pack = Counter(range(2 if options.variant == pb.VARIANT_OPEN else 1, 105))
    if options.variant == pb.VARIANT_DOUBLE:
        pack += pack if options.double_pack == pb.DOUBLE_PACK_DOUBLE else Counter(range(11, 100, 11))
    return pack


def sealed(seat: Any) -> list[int]:
    """The sealed cards of a seat."""
    return [seat.chosen] if seat.HasField("chosen") else list(seat.chosen_cards)


def check(position: pb.Position) -> None:
    """The invariants of RULES 2.15."""
    variant, seats = position.options.variant, position.seats
    rows = [list(row.cards) for row in position.rows]
    places = [*rows, *(seat.hand for seat in seats), *(seat.pile for seat in seats), *(sealed(seat) for seat in seats)]
    places += [[play.card for play in position.queue], position.undealt, position.pool, position.common_pile]
    assert Counter(card for place in places for card in place) == pack_of(position)
    if position.pool:  # a draft
        assert not rows
        return
    assert len(rows) == 4
    for row in rows:
        stacks = sorted(set(row)) if variant == pb.VARIANT_DOUBLE else row
        assert 1 <= len(stacks) <= 5
        assert all(low < high for low, high in pairwise(stacks))
        assert row == sorted(row)
    assert len({row[-1] for row in rows}) == 4
    _check_points(position)
    sizes = {len(seat.hand) + len(sealed(seat)) for seat in seats}
    if variant == pb.VARIANT_HAND:
        assert max(sizes) <= 16
    elif position.phase == pb.PHASE_SELECTION:
        assert sizes == ({16 - 2 * position.turn} if variant == pb.VARIANT_NIFTY else {11 - position.turn})
    for seat in seats:
        known = sorted([*seat.hand, *sealed(seat)])
        assert set(seat.public_hand) <= set(known)
        assert variant not in _OPEN_HANDS or list(seat.public_hand) == known


def _check_points(position: pb.Position) -> None:
    """The points of a round are in the piles, those on the table in nobody's."""
    variant, seats = position.options.variant, position.seats
    ended_by_rules = len(position.result.ranking) > 0 and position.result.reason not in (
        pb.END_REASON_RESIGNED,
        pb.END_REASON_FORFEIT,
    )
    for seat in seats:
        points = sum(map(value, seat.pile))
        if variant == pb.VARIANT_HAND and ended_by_rules:
            points += 2 * sum(map(value, seat.hand))
        if variant == pb.VARIANT_DOUBLE:
            points += seat.shared_points
        assert seat.round_points == points
    shared = sum(seat.shared_points for seat in seats)
    common = sum(map(value, position.common_pile))
    assert common <= shared <= common + len(position.common_pile)


def shuffle_hidden(position: pb.Position, viewer: int | None, random: Random) -> pb.Position:
    """What the viewer cannot know, dealt anew: hands but for their public cards, sealed choices, the undealt pack."""
    other = pb.Position()
    other.CopyFrom(position)
    seats = [seat for number, seat in enumerate(other.seats) if number != viewer]
    held = [Counter([*seat.hand, *sealed(seat)]) - Counter(seat.public_hand) for seat in seats]
    hidden = [*other.undealt, *(card for hand in held for card in hand.elements())]
    random.shuffle(hidden)
    other.undealt[:] = [hidden.pop() for _ in other.undealt]
    for seat, unknown in zip(seats, held, strict=True):
        hand = [*seat.public_hand, *(hidden.pop() for _ in range(unknown.total()))]
        random.shuffle(hand)
        choice = [hand.pop() for _ in sealed(seat)]
        seat.hand[:] = sorted(hand)
        if seat.HasField("chosen"):
            seat.chosen = choice[0]
        else:
            seat.chosen_cards[:] = sorted(choice)
    return other
