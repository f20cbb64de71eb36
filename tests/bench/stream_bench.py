"""Streams beside calls, and beside bare streams of the same server: play streams, engine sessions, watchers.

Three processes: this one, the server with a SQLite store, and the load (`stream_load`, `watch_load`).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread
from bench.unary_bench import _running

_START_S = 30
_NOT_BOTTLENECK = "below 1: not the bottleneck"


def _measure(folder: Path, load: str, *arguments: float, timeout_s: float) -> dict[str, Any]:
    """What a load found against a server of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary, _running("bench.unary_server", temporary) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address:
            raise RuntimeError(f"the server did not start; exit status {server.wait(_START_S)}")
        with _running(load, address, *map(str, arguments)) as process:
            output, _ = process.communicate(timeout=_START_S + timeout_s)
            if process.returncode:
                raise RuntimeError(f"the load failed with exit status {process.returncode}")
        found: dict[str, Any] = json.loads(output)
        return found


def run(
    folder: Path,
    rounds: int = 5,
    seconds: float = 1.5,
    workers: int = 64,
    watch_rounds: int = 5,
    records: int = 15,
    watchers: int = 1000,
) -> Report:
    """Measure with a store in `folder`."""
    streams = _measure(
        folder, "bench.stream_load", rounds, seconds, workers, timeout_s=(rounds + 1) * (6 * seconds + 60)
    )
    watching = _measure(folder, "bench.watch_load", watch_rounds, records, watchers, timeout_s=(watch_rounds + 1) * 60)
    windows = streams["windows"]

    def pairs(measured: str, baseline: str, what: str) -> list[tuple[float, float]]:
        return [(each[measured][what], each[baseline][what]) for each in windows]

    def rate(name: str, baseline: str, measured: str, base: str, reach: float) -> Comparison:
        each = pairs(measured, base, "calls_per_s")
        return Comparison.of(name, baseline, "calls/s", each, reach=reach, low_is_good=False)

    def cpu(baseline: str, measured: str, base: str, name: str) -> Comparison:
        return Comparison.of(f"{name}, CPU time of the server", baseline, "µs", pairs(measured, base, "server_us"))

    def figure(name: str, unit: str, kind: str, what: str, note: str) -> Figure:
        return Figure(name, unit, Spread.of([each[kind][what] for each in windows]), note)

    def size(kind: str) -> str:
        to_server, back = streams["sizes"][kind]
        return f"{workers} streams, {to_server} bytes to the server, {back} back"

    play, ten, session = "command on play streams", "ten commands of ten matches a message", "engine session"
    unary, echo = "unary command, durable", "echo on bare streams, same server and sizes"
    watch = [(each["watch"]["per_cpu_second"], each["bare"]["per_cpu_second"]) for each in watching["windows"]]
    delivered = Comparison.of(
        "records to the watchers of a match",
        "messages on bare server streams",
        "a CPU second",
        watch,
        reach=0.4,
        low_is_good=False,
    )
    kib = watching["idle_bytes"] / 1024
    idle = Comparison.of("memory of an idle watcher", "1 KiB", "KiB", [(kib, 1.0)], reach=60)
    return Report(
        [
            rate(play, unary, "play", "unary", 2.2),
            cpu(unary, "play", "unary", play),
            rate(ten, unary, "ten", "unary", 3),
            cpu(unary, "ten", "unary", ten),
            rate(f"{play}: beside an echo", echo, "play", "play_echo", 0.25),
            cpu(echo, "play", "play_echo", f"{play}: beside an echo"),
            rate(f"{session}, a command", echo, "session", "session_echo", 0.35),
            cpu(echo, "session", "session_echo", session),
            delivered,
            idle,
        ],
        [
            figure("wait for a command on a play stream, median", "ms", "play", "p50_ms", size("play")),
            figure("wait for a command on a play stream, 99 %", "ms", "play", "p99_ms", size("play")),
            figure("wait for a command of an engine session, median", "ms", "session", "p50_ms", size("session")),
            figure("load during commands on play streams", "cores", "play", "load_cores", _NOT_BOTTLENECK),
        ],
    )
