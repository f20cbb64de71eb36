"""`sixledger simulate`."""

from __future__ import annotations

import json

import pytest
from sixledger.cli.simulate import wilson
from support.command_line import CommandLine

BASE = ("simulate", "nimmt", "--matches", "24", "--seed", "5", "--preset", "d4")


def test_same_seed_same_numbers_with_any_number_of_processes(sixledger: CommandLine) -> None:
    one = sixledger(*BASE, "--json", "--jobs", "1")
    two = sixledger(*BASE, "--json", "--jobs", "2")
    assert one.status == 0
    assert one.out == two.out


def test_json_holds_seats_policies_and_intervals(sixledger: CommandLine) -> None:
    ran = sixledger(*BASE, "--json", "--policy", "heuristic", "--policy", "random", "--players", "4", "--jobs", "1")
    content = json.loads(ran.out)
    assert ran.err == ""
    assert (content["game"], content["seed"], content["matches"]) == ("nimmt", 5, 24)
    assert content["options"]["rounds"] == "1"
    assert content["mean_rounds"] == 1
    assert [seat["policy"] for seat in content["seats"]] == ["heuristic", "random"] * 2
    assert sum(seat["win_rate"] for seat in content["seats"]) == pytest.approx(1)
    for each in content["seats"] + content["policies"]:
        assert 0 <= each["win_rate_low"] <= each["win_rate"] <= each["win_rate_high"] <= 1


def test_table_for_people(sixledger: CommandLine) -> None:
    shown = sixledger(*BASE, "--policy", "heuristic", "--policy", "random", "--jobs", "1").out
    assert "95 % interval" in shown
    assert "heuristic (2 of 4 seats)" in shown
    assert "seed 5" in shown


@pytest.mark.parametrize(
    ("share", "matches", "low", "high"), [(0.5, 100, 0.4038, 0.5962), (0.0, 10, 0.0, 0.2775), (1.0, 10, 0.7225, 1.0)]
)
def test_wilson_interval(share: float, matches: int, low: float, high: float) -> None:
    """Values of Wilson's formula at 95 %."""
    found = wilson(share, matches)
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)
