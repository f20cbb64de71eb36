"""Options: defaults and what is refused (RULES 1.2)."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.forces import GAME
from sixledger.games.forces.v1 import forces_pb2 as pb
from support.text import show_fields


@pytest.mark.parametrize("seats", [3, 4])
def test_absent_options_take_the_defaults(seats: int) -> None:
    expected = f"first_starter=FIRST_STARTER_RANDOM deals={seats}"
    assert show_fields(GAME.complete(seats, pb.Options()).options) == expected
    assert show_fields(GAME.complete(seats, GAME.presets["default"].options).options) == expected


def test_a_starter_given_as_unspecified_is_not_given() -> None:
    given = pb.Options(first_starter=pb.FIRST_STARTER_UNSPECIFIED)
    assert GAME.complete(4, given) == GAME.complete(4, pb.Options())


def test_completing_twice_changes_nothing() -> None:
    setup = GAME.complete(3, pb.Options(deals=5, first_starter=pb.FIRST_STARTER_SEAT_2))
    assert GAME.complete(3, setup.options) == setup


@pytest.mark.parametrize("seats", [-1, 0, 2, 5])
def test_a_number_of_seats_out_of_range_is_refused(seats: int) -> None:
    with pytest.raises(IllegalOptions, match=f"players: 6 Forces is not played by {seats}; allowed: 3 to 4"):
        GAME.complete(seats, pb.Options())


@pytest.mark.parametrize(
    ("seats", "options", "option", "allowed"),
    [
        (4, {"deals": 0}, "deals", "1 to 12"),
        (4, {"deals": 13}, "deals", "1 to 12"),
        (4, {"deals": 4294967295}, "deals", "1 to 12"),
        (3, {"firstStarter": 5}, "first_starter", "random, seat_0 to seat_2"),
        (4, {"firstStarter": 6}, "first_starter", "random, seat_0 to seat_3"),
        (4, {"firstStarter": -1}, "first_starter", "random, seat_0 to seat_3"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_is_allowed(
    seats: int, options: dict[str, Any], option: str, allowed: str
) -> None:
    with pytest.raises(IllegalOptions) as caught:
        GAME.complete(seats, json_format.ParseDict(options, pb.Options()))
    assert (caught.value.option, caught.value.allowed) == (option, allowed)


def test_unknown_fields_and_foreign_messages_are_refused() -> None:
    with pytest.raises(IllegalOptions, match="does not know"):
        GAME.complete(4, pb.Options.FromString(b"\x78\x01"))
    with pytest.raises(IllegalOptions, match="another game"):
        GAME.complete(4, pb.View())


@pytest.mark.parametrize(("seats", "deals", "epochs"), [(3, None, 3), (4, None, 4), (3, 12, 12), (4, 1, 1)])
def test_an_epoch_is_a_deal(seats: int, deals: int | None, epochs: int) -> None:
    assert GAME.epochs(GAME.complete(seats, pb.Options(deals=deals))) == epochs


def test_every_option_is_documented() -> None:
    assert [doc.name for doc in GAME.option_docs] == [field.name for field in pb.Options.DESCRIPTOR.fields]


def test_the_rules_for_players_come_with_the_package() -> None:
    assert GAME.rules_markdown().startswith("# 6 Forces")
