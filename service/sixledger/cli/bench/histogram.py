"""Latencies in a histogram of high dynamic range: three significant digits from a microsecond to an hour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from hdrh.histogram import HdrHistogram

_HIGHEST_US = 3_600_000_000
_DIGITS = 3
#: Percentiles that are told, in this order.
PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0)


class Histogram:
    """Counts of latencies. Takes seconds, gives milliseconds."""

    def __init__(self, encoded: str = "") -> None:
        """An empty one, or the one that `encode` wrote. Raises ValueError if the text is none."""
        self._counts: Any = HdrHistogram(1, _HIGHEST_US, _DIGITS)
        if encoded:
            try:
                self._counts.decode_and_add(encoded.encode())
            except Exception:
                raise ValueError("not an encoded HDR histogram") from None

    def add(self, seconds: float) -> None:
        """Count one latency. Below a microsecond counts as one, above an hour as an hour."""
        self._counts.record_value(min(max(round(seconds * 1e6), 1), _HIGHEST_US))

    def __len__(self) -> int:
        return int(self._counts.get_total_count())

    def percentile(self, percent: float) -> float:
        """The latency in milliseconds that so many percent did not exceed; 0 if nothing was counted."""
        return float(self._counts.get_value_at_percentile(percent)) / 1e3 if len(self) else 0.0

    def percentiles(self) -> dict[str, float]:
        """By name (`p50`, …, `max`), in milliseconds: those that so many latencies can tell."""
        known = [each for each in PERCENTILES if each <= 99 or len(self) * (100 - each) >= 100 or each == 100]
        return {"max" if each == 100 else f"p{each:g}": round(self.percentile(each), 3) for each in known}

    def above(self, milliseconds: float) -> int:
        """How many latencies were longer."""
        found = 0
        for each in self._counts.get_recorded_iterator():
            if each.value_iterated_to > milliseconds * 1e3:
                found += int(each.count_at_value_iterated_to)
        return found

    def curve(self) -> list[tuple[float, float]]:
        """Points (percentile, milliseconds) from 0 to 100, ascending, denser towards the end."""
        if not len(self):
            return []
        points: list[tuple[float, float]] = []
        share = 1.0
        while share * len(self) >= 1:
            points.append((100 - 100 * share, self.percentile(100 - 100 * share)))
            share /= 2**0.25
        return [*points, (100.0, self.percentile(100))]

    def encode(self) -> str:
        """As text: compressed HDR histogram, base64, in microseconds; readable by every HDR histogram library."""
        encoded: bytes = self._counts.encode()
        return encoded.decode()

    @classmethod
    def merged(cls, all_of: Iterable[Histogram]) -> Self:
        """Everything that was counted anywhere."""
        merged = cls()
        for each in all_of:
            merged._counts.add(each._counts)
        return merged
