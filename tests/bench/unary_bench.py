"""Commands over gRPC, durable and with signed heads, beside an echo through the same server.

Three processes: this one, the server with a SQLite store, and the load. The server is the product with
one more service, the echo; see `unary_load` for what is called.
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

_TESTS = Path(__file__).resolve().parents[1]
_START_S = 30


def _python(*arguments: str, stdout: int, **variables: str) -> subprocess.Popen[str]:
    """A process with a module of these benchmarks."""
    environment = {**os.environ, "PYTHONPATH": str(_TESTS), **variables}
    return subprocess.Popen([sys.executable, "-m", *arguments], stdout=stdout, text=True, env=environment)


@contextlib.contextmanager
def _running(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block, with these variables in its environment."""
    process = _python(*arguments, stdout=subprocess.PIPE, **variables)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def measure(folder: Path, rounds: int, seconds: float, workers: int) -> dict[str, Any]:
    """What the load found: sizes of the messages and, for each round, both windows."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary, _running("bench.unary_server", temporary) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address:
            raise RuntimeError(f"the server did not start; exit status {server.wait(_START_S)}")
        with _running("bench.unary_load", address, str(rounds), str(seconds), str(workers)) as load:
            output, _ = load.communicate(timeout=_START_S + (rounds + 1) * (4 * seconds + 20))
            if load.returncode:
                raise RuntimeError(f"the load failed with exit status {load.returncode}")
        found: dict[str, Any] = json.loads(output)
        return found


def run(folder: Path, rounds: int = 7, seconds: float = 2.0, workers: int = 64) -> Report:
    """Measure with a store in `folder`."""
    found = measure(folder, rounds, seconds, workers)
    windows = found["windows"]

    def pairs(what: str) -> list[tuple[float, float]]:
        return [(each["command"][what], each["echo"][what]) for each in windows]

    def spread(call: str, what: str) -> Spread:
        return Spread.of([each[call][what] for each in windows])

    sizes = f"{workers} at once, {found['request_bytes']} bytes to the server, {found['reply_bytes']} back"
    name, echo = "unary command: durable, head signed", "unary echo, same server and sizes"
    return Report(
        [
            Comparison.of(name, echo, "calls/s", pairs("calls_per_s"), reach=0.5, low_is_good=False),
            Comparison.of("the same, CPU time of the server", echo, "µs", pairs("server_us")),
        ],
        [
            Figure("wait for a command, median", "ms", spread("command", "p50_ms"), sizes),
            Figure("wait for a command, 99 %", "ms", spread("command", "p99_ms"), sizes),
            Figure("server during commands", "cores", spread("command", "server_cores")),
            Figure("load during commands", "cores", spread("command", "load_cores"), "below 1: not the bottleneck"),
            Figure("server during echo", "cores", spread("echo", "server_cores")),
            Figure("load during echo", "cores", spread("echo", "load_cores"), "below 1: not the bottleneck"),
        ],
    )
