"""How many commits the disk takes: write 4 KiB, wait until it is durable, again. No store can be faster alone."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from bench.measure import Figure, Report, Spread

_PAGE = bytes(4096)


def commits_per_second(folder: Path, seconds: float) -> float:
    """Commits per second of one writer in `folder`, in a file that only grows, as a write-ahead log does."""
    sync = getattr(os, "fdatasync", os.fsync)
    with tempfile.TemporaryFile(dir=folder) as file:
        handle, count = file.fileno(), 0
        begun = time.perf_counter()
        while (spent := time.perf_counter() - begun) < seconds:
            os.write(handle, _PAGE)
            sync(handle)
            count += 1
        return count / spent


def run(folder: Path, rounds: int = 5, seconds: float = 0.4) -> Report:
    """Measure in `folder`."""
    rates = [commits_per_second(folder, seconds) for _ in range(rounds)]
    return Report([], [Figure("the disk alone: 4 KiB and fdatasync", "commits/s", Spread.of(rates))])
