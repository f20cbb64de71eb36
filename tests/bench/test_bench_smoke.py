"""The benchmarks run, and their baseline plays by the same rules. Nothing here looks at a clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import (
    client_bench,
    disk_bench,
    engine_bench,
    full_bench,
    games_bench,
    ledger_bench,
    postgres_bench,
    run,
    stream_bench,
    unary_bench,
    verify_bench,
    workers_bench,
)
from bench.engine_bench import drawn_script, play_bare, play_engine, script
from bench.measure import Comparison, Figure, Report, Spread, number
from sixledger.engine.nimmt import GAME
from sixledger.engine.registry import installed

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "benchmarks.md"


def check(report: Report) -> None:
    """Every figure is positive, and its row stands in the documentation."""
    page = DOCS.read_text(encoding="utf-8")
    for each in report.comparisons:
        assert each.ratio.low > 0
        assert f"| {each.measured} |" in page
    for figure in report.figures:
        assert figure.value.low > 0
        assert f"| {figure.name} |" in page


@pytest.mark.parametrize("seats", [2, 3, 5, 10])
@pytest.mark.parametrize("seed", range(4))
def test_the_bare_baseline_plays_by_the_same_rules(seats: int, seed: int) -> None:
    """Same packs, same decisions: same scores, same winners, and both know the match to be over."""
    for match in (script(seed, seats), drawn_script(seed, seats)):
        bare = play_bare(match)
        assert bare.over
        assert bare.totals == match.totals
        assert bare.winners == match.winners
        assert GAME.outcome(play_engine(match)) is not None


def test_packs_shuffled_beforehand_are_those_of_the_match() -> None:
    """Both ways of measuring a step play the same match."""
    assert script(3).decisions == drawn_script(3).decisions


def test_the_engine_benchmark_runs() -> None:
    check(engine_bench.run(matches=1, rounds=1, simulated=10))


def test_the_benchmark_of_all_games_runs() -> None:
    """Every game and variant is in it, and the largest sets are as large as the rules say."""
    check(games_bench.run_all(matches=1, rounds=1, times=1))
    assert {game.id for _, game, _ in games_bench.setups()} == {game.id for game in installed().all()}
    for make, size in games_bench.LARGEST.values():
        state, seat = make()
        assert len(GAME.legal(state, seat)) == size


def test_the_ledger_benchmark_runs() -> None:
    """And what it verifies is valid."""
    check(ledger_bench.run(matches=1, rounds=1))


def test_the_verify_benchmark_runs() -> None:
    check(verify_bench.run(matches=1, rounds=1, files=10))


def test_the_disk_benchmark_runs(tmp_path: Path) -> None:
    check(disk_bench.run(tmp_path, rounds=1, seconds=0.01))


def test_the_store_benchmark_runs(tmp_path: Path) -> None:
    check(run.store(tmp_path, rounds=1, seconds=0.05))


def test_the_postgresql_benchmark_runs(tmp_path: Path, postgres_url: str) -> None:
    check(postgres_bench.run(tmp_path, 1, 0.05, 2, postgres_url))


def test_the_benchmark_of_several_workers_runs(tmp_path: Path, postgres_url: str) -> None:
    check(workers_bench.run(tmp_path, 1, 0.3, 8, postgres_url))


def test_the_unary_benchmark_runs(tmp_path: Path) -> None:
    check(unary_bench.run(tmp_path, rounds=1, seconds=0.1, workers=4))


def test_the_benchmark_of_everything_runs(tmp_path: Path) -> None:
    check(full_bench.run(tmp_path, rounds=1, seconds=0.1, workers=4))


def test_the_client_benchmark_runs(tmp_path: Path) -> None:
    check(client_bench.run(tmp_path, rounds=1, match_rounds=1, times=3))


def test_the_stream_benchmark_runs(tmp_path: Path) -> None:
    check(stream_bench.run(tmp_path, 1, 0.05, 2, 1, 2, 100))


def test_a_ratio_is_within_reach_on_the_right_side() -> None:
    low = Comparison.of("a", "b", "µs", [(5, 1), (7, 1), (6, 1)], reach=6)
    high = Comparison.of("a", "b", "calls/s", [(4, 10)], reach=0.5, low_is_good=False)
    assert (low.met, low.target, str(low.ratio)) == (True, "≤ 6.00", "6.00 (5.00–7.00)")
    assert (high.met, high.target) == (False, "≥ 0.50")
    assert Comparison.of("a", "b", "µs", [(1, 1)]).met is None


def test_numbers_keep_three_digits() -> None:
    assert [number(value) for value in (12345.6, 123.4, 12.34, 1.234, 0.5)] == ["12,346", "123", "12.3", "1.23", "0.50"]


def test_results_print_as_tables_and_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And `--check` turns a ratio out of reach into an exit status."""
    slow = Comparison.of("step", "bare step", "µs", [(8, 1)], reach=6)
    report = Report([slow], [Figure("view", "µs", Spread.of([1, 2, 3]))])
    monkeypatch.setattr(run, "sections", lambda folder, quick: {"engine": lambda: report})
    assert run.main(["--json", "--check"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["comparisons"][0]["met"] is False
    assert run.main(["--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| step | 8.00 µs | bare step | 1.00 µs | 8.00 (8.00–8.00) | ≤ 6.00 |" in lines
    assert "| view | 2.00 (1.00–3.00) µs | |" in lines
    assert run.main([]) == 0
    assert run.main(["--only", "engine"]) == 0
    with pytest.raises(SystemExit):
        run.main(["--only", "kitchen"])
