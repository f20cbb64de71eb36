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


_POINTS = "end_mode=END_MODE_POINTS limit=66 compare=COMPARE_GT max_rounds=100"
_COMPLETE = {
    "tactics": _POINTS,
    "logic": f"{_POINTS} first_starter=FIRST_STARTER_RANDOM",
    "tournament": "first_starter=FIRST_STARTER_RANDOM",
    "professional": f"deck=DECK_FULL {_POINTS}",
    "open": f"{_POINTS} first_starter=FIRST_STARTER_RANDOM",
    "nifty": _POINTS,
    "hand": "end_mode=END_MODE_ROUNDS rounds=1 first_starter=FIRST_STARTER_RANDOM max_cycles=100",
    "double": f"{_POINTS} double_pack=DOUBLE_PACK_DOUBLE",
}


@pytest.mark.parametrize("name", _COMPLETE)
def test_a_variant_has_the_options_that_apply_and_no_others(name: str) -> None:
    variant = pb.Variant.Value(f"VARIANT_{name.upper()}")
    setup = GAME.complete(4, pb.Options(variant=variant))
    assert show_fields(setup.options) == f"variant=VARIANT_{name.upper()} {_COMPLETE[name]}"
    assert GAME.complete(4, setup.options) == setup


def test_every_variant_is_an_option() -> None:
    assert {f"VARIANT_{name.upper()}" for name in _COMPLETE} | {"VARIANT_BASE", "VARIANT_UNSPECIFIED"} == set(
        pb.Variant.keys()
    )


@pytest.mark.parametrize(
    ("name", "seats", "allowed"),
    [
        ("tactics", 11, "2 to 10"),
        ("logic", 1, "2 to 10"),
        ("tournament", 6, "2 to 5"),
        ("professional", 11, "2 to 10"),
        ("open", 10, "2 to 9"),  # N-E2
        ("nifty", 8, "2 to 7"),
        ("hand", 8, "2 to 7"),
        ("hand", 1, "2 to 7"),
        ("double", 11, "2 to 10"),
    ],
)
def test_a_variant_has_its_own_numbers_of_seats(name: str, seats: int, allowed: str) -> None:
    options = pb.Options(variant=pb.Variant.Value(f"VARIANT_{name.upper()}"))
    with pytest.raises(IllegalOptions, match=f"players: {name} is not played by {seats}; allowed: {allowed}"):
        GAME.complete(seats, options)
    for most in map(int, allowed.split(" to ")):
        assert GAME.complete(most, options).seats == most


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
        (
            {"variant": 77},
            "variant",
            "base, tactics, logic, tournament, professional, open, nifty, hand, double",
        ),
        ({"firstStarter": 1}, "first_starter", "only with variant logic or tournament or open or hand"),
        ({"doublePack": 1}, "double_pack", "only with variant double"),
        ({"maxCycles": 100}, "max_cycles", "only with variant hand"),
        *(
            ({"variant": each, "deck": 1}, "deck", "only with variant base or professional")
            for each in (2, 3, 4, 6, 7, 8, 9)
        ),
        *(
            ({"variant": each, "deck": 2}, "deck", "only with variant base or professional")
            for each in (2, 3, 4, 6, 7, 8, 9)
        ),
        (
            {"variant": 4, "endMode": 2},
            "end_mode",
            "only with variant base or tactics or logic or professional or open or nifty or hand or double",
        ),
        ({"variant": 4, "limit": 66}, "limit", "only with end_mode points"),
        ({"variant": 4, "compare": 1}, "compare", "only with end_mode points"),
        ({"variant": 4, "maxRounds": 9}, "max_rounds", "only with end_mode points"),
        ({"variant": 4, "rounds": 4}, "rounds", "only with end_mode rounds"),
        ({"variant": 8, "limit": 66}, "limit", "only with end_mode points"),
        ({"variant": 8, "maxCycles": 9}, "max_cycles", "10 to 1000"),
        ({"variant": 8, "maxCycles": 1001}, "max_cycles", "10 to 1000"),
        ({"variant": 9, "doublePack": 3}, "double_pack", "double, doublets"),
        ({"variant": 3, "firstStarter": 6}, "first_starter", "random, seat_0, seat_1, seat_2, seat_3"),
        ({"variant": 5, "deck": 3}, "deck", "full, tactics"),
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
    [
        (pb.Options(), 100),
        (pb.Options(max_rounds=7), 7),
        (pb.Options(end_mode=pb.END_MODE_ROUNDS, rounds=3), 3),
        (pb.Options(variant=pb.VARIANT_TOURNAMENT), 2),
        (pb.Options(variant=pb.VARIANT_HAND), 1),
        (pb.Options(variant=pb.VARIANT_HAND, end_mode=pb.END_MODE_POINTS), 100),
    ],
)
def test_an_epoch_is_a_round_or_a_game(options: pb.Options, epochs: int) -> None:
    assert GAME.epochs(GAME.complete(2, options)) == epochs


def test_every_option_is_documented() -> None:
    assert [doc.name for doc in GAME.option_docs] == [field.name for field in pb.Options.DESCRIPTOR.fields]


def test_the_rules_for_players_come_with_the_package() -> None:
    assert GAME.rules_markdown().startswith("# 6 nimmt!")
