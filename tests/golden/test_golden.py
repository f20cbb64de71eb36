"""What is pinned: whole matches, the digests made from them, and who may read which field."""

from __future__ import annotations

from typing import Any

import pytest
from sixledger.engine.game import Game
from sixledger.engine.registry import installed
from support import golden, visibility

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
