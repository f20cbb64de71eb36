"""6 nimmt! for the laws: its commands, extremes, invariants (RULES 2.15) and hidden cards."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

COMMANDS: list[Message] = [
    pb.SelectCard(),
    pb.TakeRow(),
    *(pb.SelectCard(card=card) for card in (*range(107), 2**32 - 1)),
    *(pb.TakeRow(row=row) for row in (*range(6), 2**32 - 1)),
    pb.Command(),
    pb.Chosen(seat=0, card=1),
]

EXTREMES: dict[str, tuple[int, dict[str, Any]]] = {
    "limit-1": (2, {"limit": 1, "compare": "COMPARE_GE"}),
    "one-round-at-most": (5, {"limit": 1000, "maxRounds": 1}),
    "tactics-3": (3, {"deck": "DECK_TACTICS", "endMode": "END_MODE_ROUNDS", "rounds": 2}),
    "tactics-10": (10, {"deck": "DECK_TACTICS", "endMode": "END_MODE_ROUNDS", "rounds": 1}),
}


def value(card: int) -> int:
    """Bullheads as the rule book puts them, counted apart from the engine."""
    for divisor, worth in ((55, 7), (11, 5), (10, 3), (5, 2)):
        if card % divisor == 0:
            return worth
    return 1


def pack_of(position: pb.Position) -> set[int]:
    """The cards of a round."""
    tactics = position.options.deck == pb.DECK_TACTICS
    return set(range(1, (10 * position.players + 4 if tactics else 104) + 1))


def check(position: pb.Position) -> None:
    """The invariants of RULES 2.15 for the base game."""
    rows = [list(row.cards) for row in position.rows]
    places = [*rows, *(seat.hand for seat in position.seats), *(seat.pile for seat in position.seats)]
    places += [[play.card for play in position.queue], position.undealt]
    places += [[seat.chosen] for seat in position.seats if seat.HasField("chosen")]
    cards = [card for place in places for card in place]
    assert len(cards) == len(set(cards))
    assert set(cards) == pack_of(position)
    assert len(rows) == 4
    assert all(1 <= len(row) <= 5 and all(low < high for low, high in pairwise(row)) for row in rows)
    assert len({row[-1] for row in rows}) == 4
    assert [seat.round_points for seat in position.seats] == [sum(map(value, seat.pile)) for seat in position.seats]
    sizes = {len(seat.hand) + seat.HasField("chosen") for seat in position.seats}
    assert len(sizes) == 1
    if position.phase == pb.PHASE_SELECTION:
        assert sizes == {11 - position.turn}
    assert len(position.undealt) == len(pack_of(position)) - 10 * position.players - 4


def shuffle_hidden(position: pb.Position, viewer: int | None, random: Random) -> pb.Position:
    """The cards of the other hands, their sealed choices and the undealt pack, dealt anew."""
    other = pb.Position()
    other.CopyFrom(position)
    hidden = list(other.undealt)
    seats = [seat for number, seat in enumerate(other.seats) if number != viewer]
    for seat in seats:
        hidden += seat.hand
        if seat.HasField("chosen"):
            hidden.append(seat.chosen)
    random.shuffle(hidden)
    other.undealt[:] = [hidden.pop() for _ in other.undealt]
    for seat in seats:
        seat.hand[:] = sorted(hidden.pop() for _ in seat.hand)
        if seat.HasField("chosen"):
            seat.chosen = hidden.pop()
    return other
