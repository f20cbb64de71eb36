"""Options: defaults, the preset, and what is refused (RULES 3.2)."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.piece import GAME
from sixledger.games.piece.v1 import piece_pb2 as pb
from support.text import show_fields

DEFAULTS = "first_player=FIRST_PLAYER_RANDOM discard=false time_mode=TIME_MODE_NONE max_turns=200"
EVEN = "even, 2 to 2000"
BEASTS = "one for each of the 2 seats, each 7 to 18, or none"


def test_absent_options_take_the_defaults() -> None:
    assert show_fields(GAME.complete(2, pb.Options()).options) == DEFAULTS


def test_the_preset_is_the_rule_book_without_variants() -> None:
    assert list(GAME.presets) == ["default"]
    assert show_fields(GAME.complete(2, GAME.presets["default"].options).options) == DEFAULTS


def test_a_mode_given_as_unspecified_is_not_given() -> None:
    given = pb.Options(time_mode=0, first_player=0)  # type: ignore[arg-type]  # as it may arrive
    assert show_fields(GAME.complete(2, given).options) == DEFAULTS


def test_beasts_bring_the_value_of_the_13() -> None:
    options = GAME.complete(2, pb.Options(beasts=[18, 7])).options
    assert show_fields(options) == f"beasts=[18,7] beast_13_value=1 {DEFAULTS}"


def test_mode_turns_has_a_limit_instead_of_the_safety_stop() -> None:
    options = GAME.complete(
        2, pb.Options(time_mode=pb.TIME_MODE_TURNS, turn_limit=10, first_player=pb.FIRST_PLAYER_SEAT_0)
    ).options
    assert (
        show_fields(options) == "first_player=FIRST_PLAYER_SEAT_0 discard=false time_mode=TIME_MODE_TURNS turn_limit=10"
    )


def test_completing_twice_changes_nothing() -> None:
    setup = GAME.complete(
        2, pb.Options(beasts=[8, 8], discard=True, first_player=pb.FIRST_PLAYER_SEAT_1, time_mode=pb.TIME_MODE_CLOCK)
    )
    assert GAME.complete(2, setup.options) == setup


@pytest.mark.parametrize("seats", [-1, 0, 1, 3])
def test_two_play(seats: int) -> None:
    with pytest.raises(IllegalOptions, match=f"players: 6piece is not played by {seats}; allowed: 2"):
        GAME.complete(seats, pb.Options())


@pytest.mark.parametrize(
    ("options", "option", "allowed"),
    [
        ({"beasts": [7]}, "beasts", BEASTS),
        ({"beasts": [7, 8, 9]}, "beasts", BEASTS),
        ({"beasts": [6, 7]}, "beasts", BEASTS),
        ({"beasts": [7, 19]}, "beasts", BEASTS),
        ({"beast13Value": 1}, "beast_13_value", "only with beasts"),
        ({"beasts": [7, 8], "beast13Value": 0}, "beast_13_value", "1, 2"),
        ({"beasts": [7, 8], "beast13Value": 3}, "beast_13_value", "1, 2"),
        ({"firstPlayer": 4}, "first_player", "random, seat_0, seat_1"),
        ({"timeMode": 9}, "time_mode", "none, turns, clock"),
        ({"timeMode": 2}, "turn_limit", EVEN),
        ({"timeMode": 2, "turnLimit": 0}, "turn_limit", EVEN),
        ({"timeMode": 2, "turnLimit": 3}, "turn_limit", EVEN),
        ({"timeMode": 2, "turnLimit": 2002}, "turn_limit", EVEN),
        ({"timeMode": 2, "turnLimit": 2, "maxTurns": 2}, "max_turns", "only with time_mode none or clock"),
        ({"turnLimit": 2}, "turn_limit", "only with time_mode turns"),
        ({"timeMode": 3, "turnLimit": 2}, "turn_limit", "only with time_mode turns"),
        ({"maxTurns": 0}, "max_turns", EVEN),
        ({"maxTurns": 201}, "max_turns", EVEN),
        ({"maxTurns": 2002}, "max_turns", EVEN),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_is_allowed(
    options: dict[str, Any], option: str, allowed: str
) -> None:
    with pytest.raises(IllegalOptions) as caught:
        GAME.complete(2, json_format.ParseDict(options, pb.Options()))
    assert (caught.value.option, caught.value.allowed) == (option, allowed)


def test_unknown_fields_and_foreign_messages_are_refused() -> None:
    with pytest.raises(IllegalOptions, match="does not know"):
        GAME.complete(2, pb.Options.FromString(b"\x78\x01"))
    with pytest.raises(IllegalOptions, match="another game"):
        GAME.complete(2, pb.View())


def test_the_whole_match_is_one_epoch() -> None:
    assert GAME.epochs(GAME.complete(2, pb.Options(max_turns=2000))) == 1


def test_every_option_is_documented() -> None:
    assert [doc.name for doc in GAME.option_docs] == [field.name for field in pb.Options.DESCRIPTOR.fields]


def test_the_rules_for_players_come_with_the_package() -> None:
    assert GAME.rules_markdown().startswith("# 6piece")
