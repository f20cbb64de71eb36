"""Hidden hands dealt anew fit the view, and every deal that fits is as likely as the others."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.forces import GAME
from sixledger.engine.game import RESIGNED
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.matches import Table


def stream(seed: int) -> Stream:
    return Chance.from_key(seed.to_bytes(32, "big")).stream(1, "redeal")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("seats", [3, 4])
def test_a_redeal_looks_the_same_to_its_viewer_and_can_be_played_on(seats: int, seed: int) -> None:
    table = Table(GAME, GAME.complete(seats, pb.Options(deals=1)), seed)
    number = 0
    while not table.over:
        for viewer in (None, *range(seats)):
            number += 1
            view = GAME.view(table.state, viewer)
            state = GAME.redeal(view, stream(number))
            assert GAME.view(state, viewer) == view
            assert GAME.from_position(GAME.position(state)) == state
        table.act(*table.choose(Random(number)))
    assert GAME.redeal(GAME.view(table.state, 0), stream(0)) == table.state


def test_a_redeal_of_a_match_that_was_left() -> None:
    table = Table(GAME, GAME.complete(4, pb.Options()), 1)
    for _ in table.play_on(Random(1), 20):
        pass
    table.leave(RESIGNED, 2)
    view = GAME.view(table.state, 1)
    assert GAME.view(GAME.redeal(view, stream(1)), 1) == view


def late_table(seed: int) -> Table:
    """Three seats, nine tricks played, and it is known that some colours are missing."""
    table = Table(GAME, GAME.complete(3, pb.Options(deals=1)), seed)
    for _ in table.play_on(Random(seed), 6 + 27):
        pass
    return table


def possible(table: Table) -> set[tuple[tuple[int, ...], ...]]:
    """Every way in which the hands of seats 1 and 2 can be dealt, found by trying all."""
    state = table.state
    cards = sorted(state.hands[1] + state.hands[2])
    missing: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for trick in state.tricks:
        for place, played in enumerate(trick.cards):
            if played // 16 != trick.cards[0] // 16:
                missing[(trick.leader + place) % 3].add(trick.cards[0] // 16)
    found = set[tuple[tuple[int, ...], ...]]()
    for hand in combinations(cards, 3):
        other = tuple(each for each in cards if each not in hand)
        if not {each // 16 for each in hand} & missing[1] and not {each // 16 for each in other} & missing[2]:
            found.add((hand, other))
    return found


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_deal_that_fits_is_as_likely(seed: int) -> None:
    table = late_table(seed)
    fitting = possible(table)
    view, numbers = GAME.view(table.state, 0), stream(seed)
    rounds = 100
    dealt = Counter(tuple(GAME.redeal(view, numbers).hands[1:]) for _ in range(rounds * len(fitting)))
    assert set(dealt) == fitting
    # Each count is about `rounds` with a standard deviation of at most 10: five of them are beyond chance.
    assert all(abs(count - rounds) < 50 for count in dealt.values())


def test_the_tested_deals_are_neither_free_nor_forced() -> None:
    sizes = [len(possible(late_table(seed))) for seed in (1, 2, 3, 4)]
    assert any(1 < size < 20 for size in sizes)


@pytest.mark.parametrize("damage", ["blank", "hand", "chips", "count"])
def test_a_view_of_nothing_is_refused(damage: str) -> None:
    table = late_table(1)
    view = GAME.view(table.state if damage != "blank" else GAME.blank(), None)
    if damage == "hand":
        del view.tricks[0]
    elif damage == "chips":
        view.seats[0].chips += 1
    elif damage == "count":
        view.seats[0].hand_count += 1
    with pytest.raises(ValueError, match="no such"):
        GAME.redeal(view, stream(1))
