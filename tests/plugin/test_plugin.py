"""A game of another distribution is served, played, verified, exported, simulated and shown like the built-in ones."""

from __future__ import annotations

import filecmp
import json
import sys
from pathlib import Path

import pytest
from plugin.conftest import SOURCE, Installed
from support.wheel import ROOT, call


def verdict(installed: Installed, path: Path, *, plugin: bool = True) -> tuple[int, str]:
    """Exit status and verdict of `sixledger verify`."""
    ran = installed.sixledger("verify", path, "--json", plugin=plugin)
    return ran.status, json.loads(ran.out)["verdict"]


def test_the_generated_code_follows_from_the_schema(tmp_path: Path) -> None:
    """With the command that the guide gives; the annotations lie in the folder of Sixledger's own schema."""
    options = (f"--proto_path={SOURCE / 'src'}", f"--proto_path={ROOT / 'protos'}")
    outputs = (f"--python_out={tmp_path}", f"--mypy_out=quiet:{tmp_path}")
    call(sys.executable, "-m", "grpc_tools.protoc", *options, *outputs, "ranks/v1/ranks.proto")
    for made in (tmp_path / "ranks" / "v1").iterdir():
        assert filecmp.cmp(made, SOURCE / "src" / "ranks" / "v1" / made.name, shallow=False), made.name


def test_the_command_line_lists_and_describes_the_game(installed: Installed) -> None:
    listed = json.loads(installed.sixledger("games", "--json").out)
    assert [game["game"] for game in listed] == ["forces", "nimmt", "piece", "ranks"]
    assert (listed[-1]["title"], listed[-1]["min_players"], listed[-1]["max_players"]) == ("Ranks", 2, 6)
    shown = installed.sixledger("games", "show", "ranks").out
    assert "secretly guesses" in shown
    assert "--preset" in shown
    assert "ranks" not in installed.sixledger("games", plugin=False).out


def test_it_is_simulated_on_several_processes(installed: Installed) -> None:
    base = ("simulate", "ranks", "--matches", "40", "--seed", "3", "--players", "6", "--option", "rounds=2", "--json")
    one, two = (installed.sixledger(*base, "--jobs", jobs) for jobs in ("1", "2"))
    assert one.status == 0, one.err
    assert one.out == two.out
    assert json.loads(one.out)["mean_commands"] == 12


def test_it_is_played_at_the_terminal(installed: Installed) -> None:
    """By the generic prompt and drawing: the legal commands as a list, the view field by field."""
    ran = installed.sixledger("play", "ranks", "--bots", "2", "--seed", "5", "--option", "rounds=2", typed="9\n1\n3\n")
    assert ran.status == 0, ran.err
    assert "Type a number from 1 to 3" in ran.out
    assert "Guess lower=2" in ran.out
    assert "Final ranking" in ran.out
    (path,) = installed.folder.glob("out/*.ledger.jsonl")
    assert verdict(installed, path) == (0, "VALID")


def test_it_is_served_played_over_the_socket_exported_and_verified(installed: Installed) -> None:
    own = installed.folder / "own.ledger.jsonl"
    with installed.serving() as address:
        match_id, outcome = installed.script("play_over_socket.py", address, own).split(" ", 1)
        assert "reason='rounds'" in outcome
        assert installed.script("engine_service.py", address).strip() == "VERDICT_VALID"
        exported = installed.folder / "exported.ledger.jsonl"
        assert installed.sixledger("export", match_id, "--server", address, "-o", exported).status == 0
        watched = installed.sixledger("watch", match_id, "--server", address)
        assert watched.status == 0, watched.err
        assert "RoundScored" in watched.out
        lines = installed.sixledger("watch", match_id, "--server", address, "--json").out.splitlines()
        assert {name for line in lines for event in json.loads(line)["events"] for name in event} == {
            *("MatchStarted", "RoundStarted", "PackShuffled", "CardDealt", "Guessed", "RoundScored", "MatchEnded"),
        }
        typed = "1\n" * 3
        played = installed.sixledger("play", "ranks", "--bots", "1", "--server", address, "--seed", "1", typed=typed)
        assert played.status == 0, played.err
    for path in (own, exported):
        assert verdict(installed, path) == (0, "VALID")
        status, told = verdict(installed, path, plugin=False)
        assert (status, told) == (1, "UNKNOWN_RULESET")
    header = json.loads(own.read_text().splitlines()[0])
    assert header["ruleset"]["id"] == "ranks"


@pytest.mark.parametrize(("old", "new"), [('"card":', '"c4rd":'), ('"lower":1', '"lower":0')])
def test_a_changed_ledger_of_it_is_found_out(installed: Installed, old: str, new: str) -> None:
    installed.sixledger("play", "ranks", "--bots", "1", "--seed", "2", typed="2\n2\n2\n")
    (path,) = installed.folder.glob("out/*.ledger.jsonl")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert verdict(installed, path) == (1, "TAMPERED")


def test_the_demonstration_and_the_keys_know_nothing_of_it(installed: Installed) -> None:
    """An unknown game is answered with those there are."""
    refused = installed.sixledger("play", "chess").refused(2)
    assert "forces, nimmt, piece, ranks" in refused


def test_it_keeps_the_laws_of_games(installed: Installed) -> None:
    assert installed.script("laws.py").strip() == "lawful"


def test_a_broken_installation_is_named_in_one_line(installed: Installed, site: Path) -> None:
    broken = installed.folder / "site" / "broken-1.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[sixledger.games]\nlost = lost:GAME\n")
    other = Installed(broken.parent, installed.folder)
    refused = other.sixledger("games").refused(2)
    assert refused == "the game 'lost' of broken cannot be used: ModuleNotFoundError: No module named 'lost'"
