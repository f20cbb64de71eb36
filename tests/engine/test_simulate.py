"""Simulations: reproducible, bounded, the same with any number of processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest
from sixledger.engine import simulate as simulation
from sixledger.engine.bots import bot, random_policy
from sixledger.engine.game import Outcome
from sixledger.engine.nimmt import GAME
from sixledger.engine.simulate import EndlessMatch, MatchResult, play, simulate, summarise
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

SETUP = GAME.complete(3, pb.Options(limit=20))
POLICIES = [random_policy, bot("nimmt", "heuristic"), random_policy]


def test_a_match_depends_on_seed_and_number_alone() -> None:
    assert play(GAME, SETUP, POLICIES, 1, 4) == play(GAME, SETUP, POLICIES, 1, 4)
    assert play(GAME, SETUP, POLICIES, 1, 4).outcome.scores != play(GAME, SETUP, POLICIES, 2, 4).outcome.scores
    assert list(simulate(GAME, SETUP, POLICIES, 5, 1))[4] == play(GAME, SETUP, POLICIES, 1, 4)


def test_two_processes_give_the_results_of_one_in_the_same_order() -> None:
    alone = list(simulate(GAME, SETUP, POLICIES, 20, 7))
    assert [result.number for result in alone] == list(range(20))
    assert list(simulate(GAME, SETUP, POLICIES, 20, 7, jobs=2)) == alone


def test_a_simulation_may_be_stopped_early_and_leaves_no_process() -> None:
    before = set(multiprocessing.active_children())
    results = simulate(GAME, SETUP, POLICIES, 10**9, 7, jobs=2)
    assert isinstance(results, Iterator)
    assert next(results).number == 0
    results.close()  # type: ignore[attr-defined]  # a generator behind the iterator
    assert set(multiprocessing.active_children()) <= before


def test_no_match_at_all_is_no_simulation_to_sum_up() -> None:
    assert list(simulate(GAME, SETUP, POLICIES, 0, 1)) == []
    with pytest.raises(ValueError, match="no match"):
        summarise([], ["a"])


def test_wrong_arguments_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="3 seats need as many policies, not 2"):
        simulate(GAME, SETUP, POLICIES[:2], 1, 1)
    with pytest.raises(ValueError, match="3 seats need as many policies, not 2"):
        play(GAME, SETUP, POLICIES[:2], 1)
    with pytest.raises(ValueError, match="negative"):
        simulate(GAME, SETUP, POLICIES, -1, 1)
    with pytest.raises(ValueError, match="jobs"):
        simulate(GAME, SETUP, POLICIES, 1, 1, jobs=0)


def test_a_match_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MAX_COMMANDS", 10)
    with pytest.raises(EndlessMatch, match="10 commands"):
        play(GAME, SETUP, POLICIES, 1)


def test_a_summary_shares_a_common_win_and_averages_the_rest() -> None:
    results = [
        MatchResult(0, Outcome((4, 4, 9), (0, 1), (1, 1, 3), "limit"), 30, 1),
        MatchResult(1, Outcome((8, 2, 3), (1,), (3, 1, 2), "limit"), 50, 2),
    ]
    summary = summarise(results, ["random", "heuristic", "random"])
    assert summary.matches == 2
    assert summary.win_rate == (0.25, 0.75, 0.0)
    assert summary.win_rate_by_policy == {"random": 0.25, "heuristic": 0.75}
    assert summary.mean_score == (6, 3, 6)
    assert (summary.mean_epochs, summary.mean_commands) == (1.5, 40)
