"""`sixledger rulesets`, and what a verifier says of a ruleset that is not among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sixledger.cli import rulesets as command
from sixledger.engine.nimmt.game import Nimmt
from sixledger.engine.registry import Registry, installed
from sixledger.ledger import folding
from sixledger.ledger.file import load
from support import rulesets
from support.command_line import CommandLine
from support.golden_ledger import FOLDER

OLD = FOLDER / "nimmt@1" / "two-seats-signed.ledger.jsonl"


class Newer(Nimmt):
    """A later version of 6 nimmt!, of no release yet."""

    version = 2
    digest = bytes(31) + b"\x01"
    released = ""


def test_every_game_says_which_release_froze_it() -> None:
    """As the table of rulesets has it, which may never be changed."""
    assert {f"{game.id}@{game.version}": game.released for game in installed().all()} == {
        name: entry.released for name, entry in rulesets.read().items()
    }


def test_every_ruleset_is_listed_with_its_digest(quick: CommandLine) -> None:
    ran = quick("rulesets")
    assert (ran.status, ran.err) == (0, "")
    for name, entry in rulesets.read().items():
        assert name in ran.out
        assert entry.digest in ran.out
    assert ran.out.count("since release 0.1.0") == len(rulesets.frozen())


def test_json_names_the_ruleset_of_a_ledger_as_the_ledger_does(quick: CommandLine) -> None:
    found = {each["ruleset"]: each for each in json.loads(quick("rulesets", "--json").out)}
    stated = json.loads(load(OLD).header)["ruleset"]
    nimmt = found[f"{stated['id']}@{stated['version']}"]
    assert nimmt["frozen_since"] == "0.1.0"
    assert nimmt["new_matches"] is True
    assert {"base", "logic", "double"} <= set(nimmt["variants"])
    assert "deck" in nimmt["options"]
    assert found["piece@1"]["variants"] == []


def test_an_old_version_stays_and_a_new_one_is_not_frozen(quick: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Registry([*installed().all(), Newer()])
    monkeypatch.setattr(command, "installed", lambda: both)
    old, new = (each for each in json.loads(quick("rulesets", "--json").out) if each["game"] == "nimmt")
    assert (old["version"], old["new_matches"], old["frozen_since"]) == (1, False, "0.1.0")
    assert (new["version"], new["new_matches"], new["frozen_since"]) == (2, True, None)
    shown = quick("rulesets").out
    assert "no, they get nimmt@2" in shown
    assert "not yet: it may change" in shown


@pytest.mark.parametrize("games", [[], [Newer()], [type("Other", (Nimmt,), {"digest": bytes(32)})()]])
def test_a_ledger_of_another_ruleset_is_told_where_to_look(
    quick: CommandLine, monkeypatch: pytest.MonkeyPatch, games: list[Nimmt]
) -> None:
    """Whether the game, the version or the digest is unknown here."""
    monkeypatch.setattr(folding, "installed", lambda: Registry(games))
    ran = quick("verify", OLD)
    assert ran.status == 1
    assert ran.out.startswith(" UNKNOWN_RULESET ")
    assert "see: sixledger rulesets" in " ".join(ran.out.split())


def test_a_golden_ledger_of_every_released_ruleset_exists() -> None:
    assert {path.name for path in Path(FOLDER).iterdir() if path.is_dir()} == set(rulesets.frozen())
