"""6 Forces for the laws: its commands, extremes, invariants (RULES 1.7), hidden cards and card codes."""

from __future__ import annotations

from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.games.forces.v1 import forces_pb2 as pb

_LETTERS = "-RYBG"


def code(card: pb.Card) -> str:
    """The code of a card: `R10` (RULES 1.1); a colour that was not given is `-`."""
    return f"{_LETTERS[card.color]}{card.number}"


def card(code: str) -> pb.Card:
    """The card of a code."""
    return pb.Card(color=_LETTERS.index(code[0]), number=int(code[1:]))  # type: ignore[arg-type]  # as numbers arrive


def deck(seats: int) -> list[str]:
    """The deck in the order of RULES 1.3."""
    return [f"{letter}{number}" for letter in "RYBG" for number in range(1, 10 if seats == 3 else 13)]


COMMANDS: list[Message] = [
    pb.Predict(),
    pb.Predict(prediction=1),
    pb.Predict(flex=True),
    *(pb.Predict(prediction=tricks, flex=flex) for tricks in (*range(17), 2**32 - 1) for flex in (False, True)),
    pb.ChooseTrump(),
    *(pb.ChooseTrump(trump=pb.Trump.ValueType(trump)) for trump in (*range(9), 2**31 - 1)),
    pb.PlayCard(),
    *(pb.PlayCard(card=card(f"{letter}{number}")) for letter in "-RYBG" for number in range(14)),
    pb.PlayCard(card=pb.Card(color=5, number=1)),  # type: ignore[arg-type]  # as above
    pb.PlayCard(card=pb.Card(color=pb.COLOR_RED, number=2**32 - 1)),
    pb.PlayCard(card=pb.Card(color=pb.COLOR_RED, number=17)),
    pb.Command(),
    pb.CardPlayed(seat=0, card=card("R1")),
]

EXTREMES: dict[str, tuple[int, dict[str, Any]]] = {
    "one-deal-3": (3, {"deals": 1, "firstStarter": "FIRST_STARTER_SEAT_2"}),
    "one-deal-4": (4, {"deals": 1, "firstStarter": "FIRST_STARTER_SEAT_0"}),
    "most-deals-3": (3, {"deals": 12, "firstStarter": "FIRST_STARTER_RANDOM"}),
    "most-deals-4": (4, {"deals": 12, "firstStarter": "FIRST_STARTER_SEAT_3"}),
}


def check(position: pb.Position) -> None:
    """The invariants of RULES 1.7, and what 1.4 says of every position."""
    seats, options = position.seats, position.options
    places = [position.table, *(seat.hand for seat in seats), *(trick.cards for trick in position.tricks)]
    cards = [code(card) for place in places for card in place]
    assert len(cards) == len(set(cards))
    assert set(cards) == set(deck(position.players))
    chips = [seat.prediction.prediction + seat.prediction.flex for seat in seats if seat.HasField("prediction")]
    assert sum(chips) + position.supply == 15
    assert max([*chips, 0]) <= 12
    assert sum(seat.tricks_won for seat in seats) == len(position.tricks)
    if not position.table:
        assert {len(seat.hand) for seat in seats} == {12 - len(position.tricks)}
    chosen = [seat.trump for seat in seats if seat.trump]
    pairs = len(chosen) - len(set(chosen))
    assert pairs <= (position.players == 4)
    if options.first_starter >= pb.FIRST_STARTER_SEAT_0:
        first = options.first_starter - pb.FIRST_STARTER_SEAT_0
        assert position.starter == (first + position.deal - 1) % position.players


def shuffle_hidden(position: pb.Position, viewer: int | None, random: Random) -> pb.Position:
    """The cards of the other hands dealt anew, so that nobody holds a colour that it did not follow."""
    other = pb.Position()
    other.CopyFrom(position)
    missing: dict[int, set[int]] = {seat: set() for seat in range(other.players)}
    for trick in (*other.tricks, pb.Trick(leader=other.leader, cards=other.table)):
        for place, played in enumerate(trick.cards):
            if played.color != trick.cards[0].color:
                missing[(trick.leader + place) % other.players].add(trick.cards[0].color)
    hands = {seat: list(other.seats[seat].hand) for seat in range(other.players) if seat != viewer}
    # Random exchanges of two cards that both owners may hold: any number of them leaves a possible deal.
    owners = [seat for seat, hand in hands.items() if hand]
    for _ in range(100 if owners else 0):
        one, two = random.choice(owners), random.choice(owners)
        at, to = random.randrange(len(hands[one])), random.randrange(len(hands[two]))
        if hands[one][at].color not in missing[two] and hands[two][to].color not in missing[one]:
            hands[one][at], hands[two][to] = hands[two][to], hands[one][at]
    for seat, hand in hands.items():
        del other.seats[seat].hand[:]
        other.seats[seat].hand.extend(sorted(hand, key=lambda each: (each.color, each.number)))
    return other
