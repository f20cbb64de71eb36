"""Commands to two workers behind one address, beside the same commands to one; durable in PostgreSQL.

`sixledger serve` itself, with a database of its own each. What a command costs is the CPU time of all its processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread
from bench.unary_bench import _START_S, _running
from support.postgres import drop_database, new_database, start


@contextlib.contextmanager
def _serving(folder: Path, url: str, workers: int) -> Iterator[tuple[str, int]]:
    """Address and process id of a server that ends with the block."""
    settings = {
        "store": url,
        "listen": "127.0.0.1:0",
        "data_dir": str(folder / f"workers-{workers}"),
        "workers": str(workers),
        "log_level": "warning",
        "cached_matches": "8192",
    }
    environment = {**os.environ, **{f"SIXLEDGER_{name.upper()}": text for name, text in settings.items()}}
    command = [str(Path(sys.executable).with_name("sixledger")), "serve"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("listening on"):
                    yield line.split()[2], process.pid
                    break
            else:
                raise RuntimeError(f"a server did not start; exit status {process.wait(_START_S)}")
        finally:
            process.terminate()
            process.communicate(timeout=_START_S)


@contextlib.contextmanager
def _databases(url: str | None, folder: Path) -> Iterator[tuple[str, str]]:
    """Two databases: the given one twice, or new ones of a server that ends with the block."""
    if url is not None:
        yield url, url
        return
    server = start(folder)
    try:
        made = new_database(server), new_database(server)
        yield made
        for each in made:
            drop_database(server, each)
    finally:
        server.stop()


def measure(
    folder: Path, rounds: int, seconds: float, players: int, url: str | None = None
) -> list[list[dict[str, float]]]:
    """For each round three windows: two workers, one worker, two workers with every call at either."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as temporary,
        _databases(url, folder) as databases,
        _serving(Path(temporary), databases[0], 2) as two,
        _serving(Path(temporary), databases[1], 1) as one,
        _running("bench.workers_load", *map(str, (rounds, seconds, players, *two, *one))) as load,
    ):
        output, _ = load.communicate(timeout=_START_S + (rounds + 1) * (6 * seconds + 60))
        if load.returncode:
            raise RuntimeError(f"the load failed with exit status {load.returncode}")
    found: Any = json.loads(output)
    return list(found)


def run(folder: Path, rounds: int = 5, seconds: float = 2.0, players: int = 64, url: str | None = None) -> Report:
    """Measure with databases whose files lie in `folder`, or with that of `url`."""
    found = measure(folder, rounds, seconds, players, url)

    def pairs(at: int) -> list[tuple[float, float]]:
        return [(windows[at]["server_us"], windows[1]["server_us"]) for windows in found]

    name, one = "command, two workers: CPU time of the servers", "one worker"
    return Report(
        [
            Comparison.of(name, one, "µs", pairs(0), reach=1.15),
            Comparison.of("the same, every call at either worker", one, "µs", pairs(2)),
        ],
        [
            Figure("commands to two workers", "calls/s", Spread.of([each[0]["calls_per_s"] for each in found])),
            Figure("commands to one worker", "calls/s", Spread.of([each[1]["calls_per_s"] for each in found])),
        ],
    )
