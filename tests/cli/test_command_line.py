"""What every command has in common: help, version, exit statuses, one-line errors, no colour in pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sixledger.cli.main import COMMANDS
from sixledger.engine.version import __version__
from support.command_line import CommandLine

NAMES = [name for name, *_ in COMMANDS]


def test_version(sixledger: CommandLine) -> None:
    ran = sixledger("--version")
    assert (ran.status, ran.out.strip(), ran.err) == (0, __version__, "")


def test_help_names_every_command(sixledger: CommandLine) -> None:
    ran = sixledger("--help")
    assert ran.status == 0
    for name in NAMES:
        assert f"│ {name} " in ran.out


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_has_examples(quick: CommandLine, name: str) -> None:
    ran = quick(name, "--help")
    assert ran.status == 0
    assert "Examples:" in ran.out
    assert f"sixledger {name}" in ran.out.split("Examples:")[1]


def test_help_of_a_command_says_all_that_it_does(quick: CommandLine) -> None:
    """Exit statuses and variables among it; the list of all commands keeps to a line for each."""
    assert "2 the input cannot be used" in " ".join(quick("dispute", "--help").out.split())
    assert "SIXLEDGER_LISTEN" in quick("serve", "-h").out
    line = quick("--help").out.partition("│ serve ")[2].partition("│ simulate ")[0]
    assert line.split() == ["Run", "the", "server.", "│"]


def test_help_loads_neither_games_nor_the_network() -> None:
    """`sixledger --help` must answer at once: it imports nothing that a sub-command needs."""
    script = (
        "import sys; from sixledger.cli.main import run; status = run(['--help']); "
        "heavy = {'grpc', 'google.protobuf', 'cryptography', 'sixledger.engine.nimmt'} & set(sys.modules); "
        "print(status, sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "0 []"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["gmes"], 2, "games"),
        (["games", "show", "chess"], 2, "no game 'chess' here; there are: forces, nimmt, piece"),
        (["games", "--loud"], 2, "--loud"),
        (["simulate"], 2, "GAME"),
        (["simulate", "chess"], 2, "no game 'chess'"),
        (["simulate", "nimmt", "--players", "11"], 2, "allowed: 2 to 10"),
        (["simulate", "nimmt", "--matches", "0"], 2, "--matches"),
        (["simulate", "nimmt", "--matches", "many"], 2, "many"),
        (["simulate", "nimmt", "--policy", "genius"], 2, "allowed: random, heuristic"),
        (["simulate", "nimmt", "--players", "2", *["--policy", "random"] * 3], 2, "at most one for each"),
        (["simulate", "nimmt", "--preset", "d9"], 2, "allowed: d1, d2"),
        (["simulate", "nimmt", "--option", "limit"], 2, "name=value"),
        (["simulate", "nimmt", "--option", "speed=9"], 2, "no option 'speed'; allowed: variant, deck"),
        (["simulate", "nimmt", "--option", "deck=tiny"], 2, "allowed: full, tactics"),
        (["simulate", "nimmt", "--option", "limit=-1"], 2, "allowed: 1 to 1000"),
        (["simulate", "nimmt", "--option", "limit=99999999999"], 2, "allowed: 1 to 1000"),
        (["simulate", "nimmt", "--option", "limit=0"], 2, "allowed: 1 to 1000"),
        (["simulate", "nimmt", "--option", "rounds=2"], 2, "only with end_mode rounds"),
        (["play", "chess"], 2, "no game 'chess'"),
        (["play", "nimmt", "--bots", "10"], 2, "allowed: 2 to 10"),
        (["play", "nimmt", "--bot", "genius"], 2, "allowed: random, heuristic"),
        (["keys", "trust", "nonsense+key"], 2, "verifier key"),
        (["keys", "trust", "missing.vkey"], 2, "missing.vkey"),
        (["keys", "forget", "example.org"], 1, "no key of example.org is trusted"),
        (["keys", "show", "missing.key"], 2, "missing.key"),
        (["replay", "a.jsonl", "b.jsonl"], 2, "nothing can be done with 'b.jsonl'"),
        (["keys", "generate", "a.key", "--origin", "two words"], 2, "without spaces"),
    ],
)
def test_bad_input_gets_one_plain_line(quick: CommandLine, arguments: list[str], status: int, said: str) -> None:
    assert said in quick(*arguments).refused(status)


def test_no_colour_in_a_pipe_unless_forced(sixledger: CommandLine) -> None:
    assert "\x1b" not in sixledger("games").out
    assert "\x1b" in sixledger("games", env={"FORCE_COLOR": "1"}).out


def test_no_color_wins_on_a_terminal(sixledger: CommandLine) -> None:
    """With NO_COLOR nothing is coloured even where a terminal is pretended; bold stays allowed."""
    shown = sixledger("games", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out
    assert "\x1b[3" not in shown
    assert "\x1b[9" not in shown


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m sixledger.cli.main games show nimmt | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr == ""


def test_games_as_json(quick: CommandLine) -> None:
    (nimmt,) = [game for game in json.loads(quick("games", "--json").out) if game["game"] == "nimmt"]
    assert (nimmt["version"], nimmt["min_players"], nimmt["max_players"]) == (1, 2, 10)
    assert nimmt["presets"]["amigo"]["options"]["compare"] == "ge"


def test_one_game_with_rules_and_options(quick: CommandLine) -> None:
    shown = quick("games", "show", "nimmt").out
    assert "Bullheads" in shown
    assert "max_rounds" in shown
    assert "category5" in shown
    content = json.loads(quick("games", "show", "nimmt", "--json").out)
    assert content["rules_markdown"].startswith("# 6 nimmt!")
    assert {option["name"] for option in content["options"]} >= {"deck", "limit", "rounds"}
