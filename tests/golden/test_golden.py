"""What is pinned: whole matches, the digests made from them, and who may read which field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sixledger.engine.game import Game
from sixledger.engine.registry import installed
from support import golden, rulesets, visibility

ENTRIES = golden.playthroughs()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.ruleset}/{entry.name}")
def test_a_golden_playthrough_replays_byte_for_byte(entry: golden.Playthrough) -> None:
    text = entry.path.read_bytes().decode()
    assert golden.transcript(entry, golden.given_commands(text)) == text


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.ruleset}/{entry.name}")
def test_a_golden_playthrough_can_be_written_anew(entry: golden.Playthrough) -> None:
    assert golden.transcript(entry) == entry.path.read_bytes().decode()


def test_every_playthrough_on_disk_is_listed_and_the_other_way_round() -> None:
    assert {entry.path for entry in ENTRIES} == set(golden.FOLDER.glob("*@*/*.txt"))


@pytest.mark.parametrize("game", installed().all(), ids=lambda game: f"{game.id}@{game.version}")
def test_every_registered_game_has_golden_playthroughs_and_their_digest(game: Game[Any]) -> None:
    assert [entry for entry in ENTRIES if entry.game is game]
    assert game.digest == golden.digest(game)


def test_the_visibility_of_every_field_is_pinned() -> None:
    assert visibility.table() == golden.VISIBILITY.read_text(encoding="utf-8")


def test_the_table_of_rulesets_names_every_ruleset_with_its_digest() -> None:
    """A digest of a released ruleset in this table may never be changed again."""
    table = rulesets.read()
    assert {name: entry.digest for name, entry in table.items()} == {
        f"{game.id}@{game.version}": game.digest.hex() for game in installed().all()
    }
    assert {"forces@1", "nimmt@1", "piece@1"} <= set(table)
    assert rulesets.current(installed().all()) == rulesets.TABLE.read_text(encoding="utf-8")


def test_a_frozen_ruleset_keeps_its_digest_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the game says by then."""
    monkeypatch.setattr(rulesets, "TABLE", tmp_path / "rulesets.toml")
    games = installed().all()
    rulesets.TABLE.write_text(rulesets.current(games, "0.1.0"))
    assert [entry.released for entry in rulesets.frozen().values()] == ["0.1.0"] * len(games)
    changed = type("Changed", (type(games[0]),), {"digest": bytes(32)})()
    assert rulesets.current([changed, *games[1:]], "0.2.0") == rulesets.TABLE.read_text()
    later = type("Later", (type(games[0]),), {"digest": bytes(32), "version": 2})()
    rulesets.TABLE.write_text(rulesets.current([*games, later], "0.2.0"))
    assert rulesets.read()[f"{later.id}@2"].released == "0.2.0"
    assert rulesets.read()[f"{later.id}@1"].released == "0.1.0"
