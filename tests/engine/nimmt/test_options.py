"""Options: defaults, presets, and what is refused (RULES 2.2)."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from support.text import show_fields

DEFAULTS = "variant=VARIANT_BASE deck=DECK_FULL end_mode=END_MODE_POINTS limit=66 compare=COMPARE_GT max_rounds=100"


def test_absent_options_take_the_defaults() -> None:
    assert show_fields(GAME.complete(4, pb.Options()).options) == DEFAULTS


def test_a_choice_given_as_unspecified_is_not_given() -> None:
    given = pb.Options(variant=0, deck=0, end_mode=0, compare=0)  # type: ignore[arg-type]  # as it may arrive
    assert show_fields(GAME.complete(4, given).options) == DEFAULTS


def test_rounds_mode_has_its_own_options() -> None:
    options = GAME.complete(4, pb.Options(end_mode=pb.END_MODE_ROUNDS)).options
    assert show_fields(options) == "variant=VARIANT_BASE deck=DECK_FULL end_mode=END_MODE_ROUNDS rounds=1"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d1", DEFAULTS),
        ("d2", DEFAULTS.replace("FULL", "TACTICS").replace("_GT", "_GE")),
        ("d4", "variant=VARIANT_BASE deck=DECK_FULL end_mode=END_MODE_ROUNDS rounds=1"),
        ("amigo", DEFAULTS.replace("_GT", "_GE")),
        ("category5", DEFAULTS.replace("66", "74")),
    ],
)
def test_presets_reproduce_their_documents(name: str, text: str) -> None:
    assert show_fields(GAME.complete(5, GAME.presets[name].options).options) == text


def test_completing_twice_changes_nothing() -> None:
    setup = GAME.complete(3, pb.Options(limit=5))
    assert GAME.complete(3, setup.options) == setup


@pytest.mark.parametrize("seats", [-1, 0, 1, 11])
def test_a_number_of_seats_out_of_range_is_refused(seats: int) -> None:
    with pytest.raises(IllegalOptions, match=f"players: base is not played by {seats}; allowed: 2 to 10"):
        GAME.complete(seats, pb.Options())


@pytest.mark.parametrize(
    ("options", "option", "allowed"),
    [
        ({"limit": 0}, "limit", "1 to 1000"),
        ({"limit": 1001}, "limit", "1 to 1000"),
        ({"maxRounds": 0}, "max_rounds", "1 to 1000"),
        ({"maxRounds": 1001}, "max_rounds", "1 to 1000"),
        ({"endMode": 2, "rounds": 0}, "rounds", "1 to 100"),
        ({"endMode": 2, "rounds": 101}, "rounds", "1 to 100"),
        ({"rounds": 1}, "rounds", "only with end_mode rounds"),
        ({"endMode": 2, "limit": 66}, "limit", "only with end_mode points"),
        ({"endMode": 2, "compare": 1}, "compare", "only with end_mode points"),
        ({"endMode": 2, "maxRounds": 100}, "max_rounds", "only with end_mode points"),
        ({"variant": 77}, "variant", "base"),
        ({"deck": 9}, "deck", "full, tactics"),
        ({"endMode": 9}, "end_mode", "points, rounds"),
        ({"compare": 9}, "compare", "gt, ge"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_is_allowed(
    options: dict[str, Any], option: str, allowed: str
) -> None:
    with pytest.raises(IllegalOptions) as caught:
        GAME.complete(4, json_format.ParseDict(options, pb.Options()))
    assert (caught.value.option, caught.value.allowed) == (option, allowed)


def test_unknown_fields_and_foreign_messages_are_refused() -> None:
    with pytest.raises(IllegalOptions, match="does not know"):
        GAME.complete(4, pb.Options.FromString(b"\x78\x01"))
    with pytest.raises(IllegalOptions, match="another game"):
        GAME.complete(4, pb.View())


@pytest.mark.parametrize(
    ("options", "epochs"),
    [(pb.Options(), 100), (pb.Options(max_rounds=7), 7), (pb.Options(end_mode=pb.END_MODE_ROUNDS, rounds=3), 3)],
)
def test_an_epoch_is_a_round(options: pb.Options, epochs: int) -> None:
    assert GAME.epochs(GAME.complete(2, options)) == epochs


def test_every_option_is_documented() -> None:
    assert [doc.name for doc in GAME.option_docs] == [field.name for field in pb.Options.DESCRIPTOR.fields]


def test_the_rules_for_players_come_with_the_package() -> None:
    assert GAME.rules_markdown().startswith("# 6 nimmt!")
