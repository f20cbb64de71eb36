"""The transport over HTTP/2 beside that of grpcio: the same product, the same calls, and grpcio's echo as the baseline.

Four processes: this one, a server over each transport, and the load (`http2_load`). Once in SQLite, once in PostgreSQL.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread
from bench.postgres_bench import _database
from bench.unary_bench import _running
from bench.unary_server import STORE

_START_S = 30


def measure(folder: Path, rounds: int, seconds: float, workers: int, stores: tuple[str, str]) -> list[dict[str, Any]]:
    """The windows of each round. `stores` are those of the two servers; empty: SQLite."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as one,
        tempfile.TemporaryDirectory(dir=folder) as two,
        _running("bench.unary_server", one, SIXLEDGER_TRANSPORT="http2", **{STORE: stores[0]}) as http2,
        _running("bench.unary_server", two, SIXLEDGER_TRANSPORT="grpcio", **{STORE: stores[1]}) as grpcio,
    ):
        addresses = []
        for server in (http2, grpcio):
            assert server.stdout is not None
            addresses.append(server.stdout.readline().strip())
            if not addresses[-1]:
                raise RuntimeError(f"a server did not start; exit status {server.wait(_START_S)}")
        with _running("bench.http2_load", *addresses, str(rounds), str(seconds), str(workers)) as load:
            output, _ = load.communicate(timeout=_START_S + (rounds + 1) * (8 * seconds + 80))
            if load.returncode:
                raise RuntimeError(f"the load failed with exit status {load.returncode}")
    found: list[dict[str, Any]] = json.loads(output)
    return found


def run(folder: Path, rounds: int = 5, seconds: float = 1.5, workers: int = 64, url: str | None = None) -> Report:
    """Measure with stores in `folder`, and with a PostgreSQL whose files lie there, or with the database of `url`."""
    report = _report(measure(folder, rounds, seconds, workers, ("", "")), "SQLite", 0.5)
    with _database(url, folder) as database:
        found = _report(measure(folder, rounds, seconds, workers, (database, database)), "PostgreSQL", 0.45)
    return Report(report.comparisons + found.comparisons, report.figures + found.figures)


def _report(windows: list[dict[str, Any]], store: str, of_echo: float) -> Report:
    def rate(name: str, baseline: str, measured: str, base: str, reach: float | None = None) -> Comparison:
        pairs = [(each[measured]["calls_per_s"], each[base]["calls_per_s"]) for each in windows]
        return Comparison.of(f"http2, {store}: {name}", baseline, "calls/s", pairs, reach=reach, low_is_good=False)

    def cpu(name: str, baseline: str, measured: str, base: str) -> Comparison:
        pairs = [(each[measured]["server_us"], each[base]["server_us"]) for each in windows]
        return Comparison.of(f"http2, {store}: {name}, CPU time of the server", baseline, "µs", pairs)

    command, play, ten = "unary command", "command on play streams", "ten commands a message"
    unary, echo, streams = "unary command over grpcio", "unary echo over grpcio", "echo on bare streams over grpcio"
    comparisons = [
        rate(command, echo, "unary", "grpcio_echo", of_echo),
        rate(command, unary, "unary", "grpcio_unary"),
        cpu(command, unary, "unary", "grpcio_unary"),
        rate(play, unary, "play", "grpcio_unary", 2.2),
        cpu(play, unary, "play", "grpcio_unary"),
        rate(ten, unary, "ten", "grpcio_unary", 3),
        rate(f"{play}, beside an echo", streams, "play", "grpcio_play_echo", 0.25),
    ]
    if store == "SQLite":  # sessions know no store
        comparisons.append(rate("engine session", streams, "session", "grpcio_session_echo", 0.35))
    waits = [
        Figure(f"http2, {store}: wait for a {name}, 99 %", "ms", Spread.of([each[kind]["p99_ms"] for each in windows]))
        for name, kind in ((command, "unary"), (play, "play"))
    ]
    return Report(comparisons, waits)
