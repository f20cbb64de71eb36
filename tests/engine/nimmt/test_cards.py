"""Bullheads and packs (RULES 2.1, 2.2, 2.16)."""

from __future__ import annotations

from collections import Counter

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.engine.nimmt.cards import BULLHEADS, bullheads
from sixledger.engine.nimmt.options import variant_of
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

VECTORS = "1→1 5→2 10→3 11→5 15→2 20→3 22→5 33→5 45→2 50→3 55→7 60→3 65→2 66→5 88→5 95→2 99→5 100→3 101→1 104→1"


@pytest.mark.parametrize("vector", VECTORS.split())
def test_bullheads(vector: str) -> None:
    card, value = map(int, vector.split("→"))
    assert BULLHEADS[card] == value


def test_how_many_cards_have_how_many_bullheads() -> None:
    assert Counter(BULLHEADS[1:]) == {7: 1, 5: 8, 3: 10, 2: 9, 1: 76}


@pytest.mark.parametrize(
    ("highest", "total"),
    [(24, 38), (34, 55), (44, 72), (54, 85), (64, 103), (74, 120), (84, 137), (94, 154), (104, 171)],
)
def test_check_sums(highest: int, total: int) -> None:
    assert bullheads(range(1, highest + 1)) == total


@pytest.mark.parametrize(("seats", "highest"), [(2, 24), (3, 34), (4, 44), (10, 104)])
def test_the_tactics_pack_is_dealt_completely(seats: int, highest: int) -> None:
    options = GAME.complete(seats, pb.Options(deck=pb.DECK_TACTICS)).options
    assert variant_of(options).pack(seats, options) == range(1, highest + 1)


@pytest.mark.parametrize("seats", range(2, 11))
def test_the_full_pack_is_the_same_for_every_number_of_seats(seats: int) -> None:
    options = GAME.complete(seats, pb.Options()).options
    assert variant_of(options).pack(seats, options) == range(1, 105)
