"""Hidden cards dealt anew behind a view: every deal that the view allows is as likely as the others."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.matches import Table


def late(name: str, commands: int, seats: int = 2, seed: int = 1, **options: Any) -> Table:
    given = pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}"), **options)
    table = Table(GAME, GAME.complete(seats, given), seed)
    for _ in table.play_on(Random(seed), commands):
        pass
    return table


def deals(table: Table, viewer: int | None, number: int) -> list[Any]:
    view = GAME.view(table.state, viewer)
    return [GAME.redeal(view, table.chance.stream(1, f"redeal/{each}")) for each in range(number)]


def spread(found: Counter[Any], kinds: int) -> None:
    """Every kind occurs, and none is far from its share."""
    assert len(found) == kinds
    share = found.total() / kinds
    assert max(found.values()) < 1.35 * share
    assert min(found.values()) > 0.65 * share


def test_the_cards_of_others_are_drawn_from_all_that_are_hidden() -> None:
    """Tactics, two seats, last turn: only the two sealed or held cards are hidden from a spectator."""
    table = late("tactics", 0)
    while table.state.turn < 10:
        table.act(*table.choose(Random(1)))
    found = Counter(tuple(state.hands) for state in deals(table, None, 300))
    spread(found, 2)


def test_a_hidden_card_of_each_place_is_equally_likely() -> None:
    table = late("base", 0)
    viewer_hand = set(table.state.hands[0]) | {card for row in table.state.rows for card in row}
    hidden = [card for card in range(1, 105) if card not in viewer_hand]
    found = Counter(card for state in deals(table, 0, 1500) for card in state.hands[1])
    assert sorted(found) == hidden
    spread(found, len(hidden))


def test_a_sealed_card_of_a_known_hand_is_any_of_its_cards() -> None:
    table = late("logic", 20)
    seat = GAME.decision(table.state).seats[0]
    known = table.state.public_hands[seat]
    table.act(seat, GAME.legal(table.state, seat)[3])
    dealt = deals(table, 1 - seat, 600)
    found = Counter(state.chosen[seat] for state in dealt)
    assert {card for chosen in found if chosen for card in chosen} == set(known)
    spread(found, 10)
    for state in dealt:
        assert tuple(sorted((*state.hands[seat], *(state.chosen[seat] or ())))) == known


def test_cards_kept_from_a_row_stay_where_they_are() -> None:
    table = late("hand", 0, 3)
    choices = Random(3)
    while not any(table.state.public_hands):
        table.act(*table.choose(choices))
    seat = next(seat for seat, cards in enumerate(table.state.public_hands) if cards)
    for state in deals(table, (seat + 1) % 3, 30):
        assert set(table.state.public_hands[seat]) <= set(state.hands[seat])
        assert state.public_hands == table.state.public_hands


def test_what_the_viewer_knows_is_not_dealt_anew() -> None:
    table = late("nifty", 1, 3, seed=4)
    seat = next(seat for seat in range(3) if table.state.chosen[seat])
    for state in deals(table, seat, 20):
        assert state.hands[seat] == table.state.hands[seat]
        assert state.chosen[seat] == table.state.chosen[seat]


def test_twins_are_dealt_like_any_two_cards() -> None:
    table = late("double", 4)
    for state in deals(table, 0, 20):
        cards = [*state.undealt, *(card for hand in state.hands for card in hand)]
        assert Counter(cards) == Counter([*table.state.undealt, *(card for hand in table.state.hands for card in hand)])


def test_the_same_stream_deals_the_same() -> None:
    table = late("base", 5)
    view = GAME.view(table.state, 0)
    one, two = (GAME.position(GAME.redeal(view, table.chance.stream(2, "redeal"))) for _ in range(2))
    assert one == two


def test_a_redealt_match_can_be_played_to_its_end() -> None:
    for name in ("base", "logic", "tournament", "professional", "open", "nifty", "hand", "double"):
        table = late(name, 25, 3)
        state = deals(table, 1, 1)[0]
        table.state = state
        for _ in table.play_on(Random(1)):
            pass
        assert table.over


def broken(change: Any) -> pb.View:
    view = GAME.view(late("base", 5).state, 0)
    change(view)
    return view


@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.Clear(),
        lambda view: setattr(view.options, "variant", 77),
        lambda view: setattr(view, "undealt", view.undealt - 1),
        lambda view: setattr(view, "undealt", 500),
        lambda view: setattr(view.seats[1], "hand_count", 3),
        lambda view: view.rows[0].cards.append(1),
        lambda view: view.seats[0].hand.append(view.seats[0].hand[0]),
        lambda view: view.legal.pop(),
        lambda view: setattr(view.seats[1], "total", 200),
        lambda view: view.seats.pop(),
    ],
)
def test_what_is_no_view_is_refused(change: Any) -> None:
    with pytest.raises(ValueError, match=r"view|position|match"):
        GAME.redeal(broken(change), late("base", 0).chance.stream(1, "redeal"))


def test_after_the_end_there_is_nothing_to_deal() -> None:
    table = late("hand", 100_000)
    with pytest.raises(ValueError, match="the match has ended"):
        deals(table, 0, 1)


def test_the_position_is_no_view() -> None:
    table = late("base", 0)
    with pytest.raises(ValueError, match="no view"):
        GAME.redeal(table.position, table.chance.stream(1, "redeal"))
