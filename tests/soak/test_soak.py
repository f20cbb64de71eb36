"""A small run of the soak, which `make soak` does with thousands of matches."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from sixledger.engine.registry import installed
from soak import soak
from soak.match import play, write
from soak.plan import Case, bounds, cases, plan

ALL = cases()


def test_every_number_of_seats_of_every_variant_is_in_the_plan() -> None:
    found = {(case.kind, case.setup.seats) for case in ALL}
    assert {("nimmt base", 2), ("nimmt base", 10), ("nimmt open", 9), ("nimmt hand", 7), ("piece", 2)} <= found
    assert len({kind for kind, _ in found if kind.startswith("nimmt")}) == 9
    assert ("nimmt tournament", 6) not in found
    assert {case.game for case in ALL} == set(installed().all())
    numbers = list(plan(len(ALL), 3))
    assert {id(case.setup) for _, case in numbers} != set()
    assert len({(case.game.id, case.name) for _, case in numbers}) == len(ALL)


@pytest.mark.parametrize("case", ALL[::9], ids=lambda case: f"{case.game.id}-{case.name}")
def test_a_random_match_keeps_every_invariant_and_bound(case: Case) -> None:
    assert bounds(case) is not None
    played = play(case, 0, Random(2))
    assert played.commands > 0
    assert not played.failure


def test_a_ledger_is_written_and_verified(tmp_path: Path) -> None:
    case = next(case for case in ALL if case.kind == "nimmt nifty")
    played = write(case, 5, Random(1), tmp_path)
    (path,) = tmp_path.iterdir()
    assert played.ledger_bytes == path.stat().st_size > 10_000


def test_a_failure_is_a_result_and_an_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert soak.main(["--matches", "3", "--jobs", "1", "--folder", str(tmp_path)]) == 0
    assert "no failures" in capsys.readouterr().out

    def broken(*_: object) -> None:
        raise AssertionError("a rule is broken")

    monkeypatch.setattr("soak.match.play", broken)
    monkeypatch.setattr("soak.match.write", broken)
    assert soak.main(["--matches", "3", "--jobs", "1"]) == 1
    shown = capsys.readouterr().out
    assert "a rule is broken" in shown
    assert "--seed 1 --only 2" in shown


def test_the_same_seed_plays_the_same_matches(tmp_path: Path) -> None:
    first, again = ([*soak.run(range(4), 9, tmp_path, jobs)] for jobs in (1, 2))
    assert sorted(first, key=lambda each: each.number) == sorted(again, key=lambda each: each.number)
