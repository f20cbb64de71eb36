"""Options of a game as they are typed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sixledger.cli.failures import Failure
from sixledger.cli.options import build, find_game, spell_all
from support.command_line import CommandLine


def options(game: str, *given: str, seats: int = 2, preset: str | None = None) -> Any:
    """The complete options that `--option …` gives."""
    return build(find_game(game), seats, preset, given).options


@pytest.mark.parametrize("text", ["beasts=[9,14]", "beasts=[ 9 , 14 ]", "beasts=9,14", "beasts = [9,14]"])
def test_a_list_is_given_in_brackets_or_plain(text: str) -> None:
    assert list(options("piece", text).beasts) == [9, 14]


def test_an_option_given_later_replaces_the_earlier_one_and_the_preset() -> None:
    assert list(options("piece", "beasts=[9,14]", "beasts=[7,18]").beasts) == [7, 18]
    assert list(options("piece", "beasts=[9,14]", "beasts=[]").beasts) == []


def test_options_are_spelled_as_they_are_typed() -> None:
    for given in (("beasts=[9,14]", "discard=true"), ("time_mode=clock",)):
        complete = options("piece", *given)
        again = options("piece", *(f"{name}={value}" for name, value in spell_all(complete).items() if value != "0"))
        assert again == complete
    assert spell_all(options("piece", "beasts=9,14"))["beasts"] == "[9,14]"


@pytest.mark.parametrize("value", ["[9,x]", "[9,-1]", "[9,14", "[[9],[14]]", "9,,14", "[9.5,14]", "{}"])
def test_a_list_that_is_none_is_refused_with_what_is_allowed(value: str) -> None:
    with pytest.raises(Failure, match=r"option beasts: .* cannot be used; allowed: "):
        options("piece", f"beasts={value}")


@pytest.mark.parametrize("text", ["time_mode=sundial", "time_mode=0", "discard=maybe", "max_turns=so", "max_turns=-3"])
def test_a_value_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(Failure, match=f"option {text.split('=', maxsplit=1)[0]}: "):
        options("piece", text)


def test_lists_go_from_the_command_line_into_the_match(sixledger: CommandLine) -> None:
    ran = sixledger("simulate", "piece", "--matches", "2", "--option", "beasts=[9,14]", "--json", "--seed", "1")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["options"]["beasts"] == "[9,14]"


def test_all_games_are_listed(sixledger: CommandLine) -> None:
    listed = json.loads(sixledger("games", "--json").out)
    assert {game["game"]: (game["min_players"], game["max_players"]) for game in listed} == {
        "forces": (3, 4),
        "nimmt": (2, 10),
        "piece": (2, 2),
    }
    for game in listed:
        shown = sixledger("games", "show", game["game"])
        assert game["title"] in shown.out
