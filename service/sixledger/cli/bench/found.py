"""What a scenario found: both sides, window by window, their ratios, and figures without a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sixledger.cli.bench.histogram import Histogram
from sixledger.cli.bench.window import Window

#: Version of the JSON document.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Side:
    """What was measured, or its baseline: the windows of all rounds."""

    name: str
    windows: Sequence[Window]

    @property
    def latency(self) -> Histogram:
        """The latencies of all windows."""
        return Histogram.merged(window.latency for window in self.windows)

    def cpu_us(self, whose: str) -> list[float | None]:
        """Processor time in µs a request, window by window: `server`, `client` or `database`."""
        return [
            None if (used := getattr(window.used, f"{whose}_s")) is None else used / max(window.done, 1) * 1e6
            for window in self.windows
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Latencies in milliseconds."""
        latency, lag = self.latency, Histogram.merged(window.lag for window in self.windows)
        failed: Counter[str] = Counter()
        for window in self.windows:
            failed.update(window.failed)
        wall = sum(window.wall_s for window in self.windows)
        return {
            "name": self.name,
            "model": self.windows[0].model,
            "rate": self.windows[0].rate,
            "windows": len(self.windows),
            "due": sum(window.due for window in self.windows),
            "done": sum(window.done for window in self.windows),
            "failed": dict(failed),
            "unfinished": sum(window.unfinished for window in self.windows),
            "per_s": median(window.per_s for window in self.windows),
            "latency_ms": latency.percentiles(),
            "generator_lag_ms": lag.percentiles(),
            "cpu_us": {whose: _median(self.cpu_us(whose)) for whose in ("server", "client", "database")},
            "cores": {
                whose: None if None in used else sum(used) / wall
                for whose in ("server", "client", "database")
                for used in [[getattr(window.used, f"{whose}_s") for window in self.windows]]
            },
            "curve": [[round(percent, 5), round(ms, 3)] for percent, ms in latency.curve()],
            "histogram": latency.encode(),
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """Measured by baseline, round by round; the median, with the smallest and the largest."""

    name: str
    median: float
    low: float
    high: float
    #: What is aimed at: at most this if `low_is_good`, else at least. None: only told.
    reach: float | None = None
    low_is_good: bool = True

    @classmethod
    def of(
        cls, name: str, pairs: Sequence[tuple[float | None, float | None]], *, reach: float | None = None,
        low_is_good: bool = True,
    ) -> Ratio | None:  # fmt: skip
        """From the values of each round; None if a value is not known or a baseline is zero."""
        found = [value / base for value, base in pairs if value is not None and base]
        if len(found) < len(pairs) or not found:
            return None
        return cls(name, median(found), min(found), max(found), reach, low_is_good)

    @property
    def met(self) -> bool | None:
        """True if it is within reach; None if nothing is aimed at."""
        if self.reach is None:
            return None
        return self.median <= self.reach if self.low_is_good else self.median >= self.reach

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name, "median": self.median, "low": self.low, "high": self.high, "reach": self.reach,
            "low_is_good": self.low_is_good, "met": self.met,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A value without a baseline, for orientation."""

    name: str
    value: float
    unit: str


@dataclass(slots=True)
class Found:
    """Everything that a scenario found."""

    scenario: str
    mode: str | None
    sides: list[Side] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def compare(self, measured: Side, echo: Side | None, *, p99_reach: float | None = None) -> None:
        """Add both sides of windows at the same rate, and how they compare."""
        self.sides.append(measured)
        if echo is None:
            return
        self.sides.append(echo)
        pairs = list(zip(measured.windows, echo.windows, strict=True))
        for percent, reach in ((50, None), (99, p99_reach)):
            latencies = [(a.latency.percentile(percent), b.latency.percentile(percent)) for a, b in pairs]
            self._add(Ratio.of(f"p{percent} by the echo's at the same rate", latencies, reach=reach))
        self._compare_cpu(measured, echo)

    def compare_saturation(self, measured: Side, echo: Side | None) -> None:
        """Add both sides of windows in which as much was sent as the server took."""
        self.sides.append(measured)
        if echo is None:
            return
        self.sides.append(echo)
        pairs = [(a.per_s, b.per_s) for a, b in zip(measured.windows, echo.windows, strict=True)]
        self._add(Ratio.of("requests a second by the echo's, saturated", pairs, low_is_good=False))
        self._compare_cpu(measured, echo, ", saturated")

    def _compare_cpu(self, measured: Side, echo: Side, when: str = "") -> None:
        pairs = list(zip(measured.cpu_us("server"), echo.cpu_us("server"), strict=True))
        self._add(Ratio.of(f"server CPU by the echo's{when}", pairs))

    def _add(self, ratio: Ratio | None) -> None:
        if ratio is not None:
            self.ratios.append(ratio)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.scenario,
            "mode": self.mode,
            "sides": [side.as_dict() for side in self.sides],
            "ratios": [ratio.as_dict() for ratio in self.ratios],
            "figures": [{"name": each.name, "value": each.value, "unit": each.unit} for each in self.figures],
        }


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) and known else None
