"""How the benchmarks measure: what is measured and its baseline by turns, in several rounds, medians with spread."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, smallest and largest value of several rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.low)}–{number(self.high)})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was measured beside its baseline. `ratio` is measured / baseline, round by round."""

    measured: str
    baseline: str
    unit: str
    value: Spread
    baseline_value: Spread
    ratio: Spread
    #: The ratio that is aimed at: at most (from above, if `low_is_good`) or at least this; None: only printed.
    reach: float | None = None
    low_is_good: bool = True

    @classmethod
    def of(
        cls,
        measured: str,
        baseline: str,
        unit: str,
        pairs: Sequence[tuple[float, float]],
        *,
        reach: float | None = None,
        low_is_good: bool = True,
    ) -> Comparison:
        """From (measured, baseline) of each round."""
        values, baselines = zip(*pairs, strict=True)
        ratios = [value / base for value, base in pairs]
        return cls(
            measured, baseline, unit, Spread.of(values), Spread.of(baselines), Spread.of(ratios), reach, low_is_good
        )

    @property
    def met(self) -> bool | None:
        """True if the median ratio is within reach; None if nothing is aimed at."""
        if self.reach is None:
            return None
        return self.ratio.median <= self.reach if self.low_is_good else self.ratio.median >= self.reach

    @property
    def target(self) -> str:
        """The aim, for people."""
        return "" if self.reach is None else f"{'≤' if self.low_is_good else '≥'} {number(self.reach)}"

    def row(self) -> list[str]:
        """A row of the table."""
        return [
            self.measured,
            f"{number(self.value.median)} {self.unit}",
            self.baseline,
            f"{number(self.baseline_value.median)} {self.unit}",
            str(self.ratio),
            self.target,
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value without a baseline, for orientation."""

    name: str
    unit: str
    value: Spread
    note: str = ""

    def row(self) -> list[str]:
        """A row of the table."""
        return [self.name, f"{self.value} {self.unit}", self.note]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """What one benchmark found."""

    comparisons: list[Comparison]
    figures: list[Figure]

    def text(self) -> str:
        """A line for each figure."""
        rows = [each.row() for each in self.comparisons] + [each.row() for each in self.figures]
        return "\n".join(" | ".join(row) for row in rows)


def all_of(work: Callable[[T], object], items: Sequence[T]) -> Callable[[], None]:
    """Does `work` for every item."""

    def works() -> None:
        for item in items:
            work(item)

    return works


def cpu_seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """CPU time of this process for one call, or what another `clock` says. Other programs do not count."""
    gc.collect()
    begun = clock()
    work()
    return clock() - begun


def by_turns(
    rounds: int, *works: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> list[list[float]]:
    """CPU seconds of each of `works`, in each round once and in turn: A B A B …. One list for each round.

    `clock` may be another one.
    """
    for work in works:  # the first call pays for imports, caches and the specialising interpreter
        work()
    return [[cpu_seconds(work, clock) for work in works] for _ in range(rounds)]


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
