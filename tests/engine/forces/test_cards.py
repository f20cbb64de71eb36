"""Decks, following and winning (RULES 1.1, 1.3, 1.4.2, 1.8)."""

from __future__ import annotations

import pytest
from sixledger.engine.forces.cards import DECKS, MESSAGES, best, playable, read
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.forces import card, code, deck


def cards(codes: str) -> list[int]:
    return [read(card(each)) for each in codes.split()]


@pytest.mark.parametrize(("seats", "size"), [(3, 36), (4, 48)])
def test_the_deck_by_colour_and_number(seats: int, size: int) -> None:
    assert [code(MESSAGES[each]) for each in DECKS[seats]] == deck(seats)
    assert len(DECKS[seats]) == size


@pytest.mark.parametrize(
    ("trump", "played", "place"),
    [
        (pb.TRUMP_RED, "R10 R3 R11 R5", 2),
        (pb.TRUMP_YELLOW, "G11 Y8 Y4 G6", 1),
        (pb.TRUMP_HIGH, "B10 B11 G12 B6", 2),
        (pb.TRUMP_LOW, "R2 B9 R8 R1", 3),
        (pb.TRUMP_YELLOW, "Y3 Y9 Y1 R12", 1),
        (pb.TRUMP_HIGH, "R9 B9 R8", 1),
        (pb.TRUMP_BLUE, "G5 G7 R12 G6", 1),
        (pb.TRUMP_LOW, "R1 Y1 B1 G1", 3),
        (pb.TRUMP_HIGH, "R1 Y1 B1 G1", 3),
        (pb.TRUMP_GREEN, "G1 R12 Y12 B12", 0),
    ],
)
def test_who_wins_a_trick(trump: pb.Trump.ValueType, played: str, place: int) -> None:
    assert best(cards(played), trump) == place


@pytest.mark.parametrize(
    ("hand", "led", "may"),
    [("G2 Y5 B7", "G9", "G2"), ("R1 B12", "R5", "R1"), ("Y5 B7", "G1", "Y5 B7"), ("R1 R12 Y1", "R3", "R1 R12")],
)
def test_what_may_follow(hand: str, led: str, may: str) -> None:
    assert list(playable(cards(hand), cards(led)[0])) == cards(may)
