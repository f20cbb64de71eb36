"""Commands to a server with everything on, beside the same commands to one with as little as possible.

On: API keys shown and counted with every call, rates and quotas (that turn nobody away), logs from `info` on, the
operator port with its metrics. Four processes: this one, both servers with a SQLite store each, and the load.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread
from bench.unary_bench import _START_S, _running


def measure(folder: Path, rounds: int, seconds: float, workers: int) -> list[list[dict[str, float]]]:
    """For each round the windows of both servers: full, bare."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as one,
        tempfile.TemporaryDirectory(dir=folder) as two,
        _running("bench.full_server", one, "full") as full,
        _running("bench.full_server", two, "bare") as bare,
    ):
        where: list[str] = []
        for server in (full, bare):
            assert server.stdout is not None
            told = server.stdout.readline().split()
            if len(told) != 2:
                raise RuntimeError(f"a server did not start; exit status {server.wait(_START_S)}")
            where += told
        with _running("bench.full_load", str(rounds), str(seconds), str(workers), *where) as load:
            output, _ = load.communicate(timeout=_START_S + (rounds + 1) * (4 * seconds + 40))
            if load.returncode:
                raise RuntimeError(f"the load failed with exit status {load.returncode}")
    found: Any = json.loads(output)
    return list(found)


def run(folder: Path, rounds: int = 5, seconds: float = 2.0, workers: int = 64) -> Report:
    """Measure with stores in `folder`."""
    found = measure(folder, rounds, seconds, workers)
    pairs = [(full["server_us"], bare["server_us"]) for full, bare in found]
    return Report(
        [Comparison.of("command, everything on: CPU time of the server", "the bare command", "µs", pairs, reach=1.5)],
        [Figure("commands with everything on", "calls/s", Spread.of([full["calls_per_s"] for full, _ in found]))],
    )
