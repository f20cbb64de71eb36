"""When writing may stop the loop."""

from __future__ import annotations

import pytest
from sixledger.service.store.pace import ALLOWED_S, PATIENCE_S, REST, Pace


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_quick_disk_is_never_given_up_and_a_single_slow_write_is_forgiven() -> None:
    pace = Pace(Clock())
    for _ in range(100):
        pace.took(ALLOWED_S + PATIENCE_S * 0.9)
        for _ in range(9):
            pace.took(ALLOWED_S * 0.3)
        assert pace.is_quick


def test_a_slow_disk_holds_the_loop_up_two_percent_of_the_time_at_most() -> None:
    clock = Clock()
    pace, held_s = Pace(clock), 0.0
    while clock.now < 160:
        if pace.is_quick:
            held_s += 0.1
            clock.now += 0.1
            pace.took(0.1)
        else:
            clock.now += 0.01  # the thread writes
    assert held_s / (clock.now - 100) <= 1 / REST + 0.1 / 60


@pytest.mark.parametrize("slow_s", [0.002, 0.01, 1.0])
def test_a_disk_that_is_quick_again_is_used_again(slow_s: float) -> None:
    clock = Clock()
    pace = Pace(clock)
    writes = 0
    while pace.is_quick:
        writes += 1
        pace.took(slow_s)
    assert writes <= 1 + PATIENCE_S / (slow_s - ALLOWED_S)
    clock.now += REST * (slow_s + PATIENCE_S)
    assert pace.is_quick
    pace.took(ALLOWED_S / 2)
    assert pace.is_quick


def test_a_write_that_went_wrong_is_a_reason_to_rest() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.failed()
    assert not pace.is_quick
    clock.now += 2
    assert pace.is_quick
