"""All benchmarks: `make bench`, or `python tests/bench/run.py [--quick] [--markdown | --json]`.

Every figure that counts is a ratio to a baseline of the same run; the two take turns, and the median of the
ratios is given with the smallest and the largest. Absolute values are those of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import (
    boardgame_bench,
    client_bench,
    disk_bench,
    engine_bench,
    full_bench,
    games_bench,
    http2_bench,
    ledger_bench,
    postgres_bench,
    store_bench,
    stream_bench,
    unary_bench,
    verify_bench,
    workers_bench,
)
from bench.measure import Comparison, Figure, Report

_COMPARISONS = ["Measured", "", "Baseline", "", "Ratio (min–max)", "Reach"]
_FIGURES = ["For orientation", "Median (min–max)", ""]


def store(folder: Path, rounds: int, seconds: float) -> Report:
    """Durable appends; each run of the store's benchmark is one round of both ways."""
    found = [store_bench.run(seconds, folder) for _ in range(rounds)]
    pairs = [(each["group"]["appends_per_s"], each["single"]["appends_per_s"]) for each in found]  # type: ignore[index]
    single = "a transaction for each append"
    return Report(
        [Comparison.of("durable appends, group commit", single, "appends/s", pairs, reach=4, low_is_good=False)], []
    )


def sections(folder: Path, *, quick: bool) -> dict[str, Callable[[], Report]]:
    """The benchmarks by name. `quick` takes fewer and shorter rounds."""
    return {
        "engine": lambda: engine_bench.run(10, 3, 60) if quick else engine_bench.run(),
        "games": lambda: games_bench.run_all(4, 3, 50) if quick else games_bench.run_all(),
        "ledger": lambda: ledger_bench.run(3, 3) if quick else ledger_bench.run(),
        "verify": lambda: verify_bench.run(1, 3, 60) if quick else verify_bench.run(),
        "disk": lambda: disk_bench.run(folder, 3, 0.2) if quick else disk_bench.run(folder),
        "store": lambda: store(folder, 3, 0.5) if quick else store(folder, 5, 1.5),
        "unary": lambda: unary_bench.run(folder, 3, 0.7) if quick else unary_bench.run(folder),
        "stream": lambda: stream_bench.run(folder, 3, 0.5, 64, 2, 8) if quick else stream_bench.run(folder),
        "http2": lambda: http2_bench.run(folder, 3, 0.5) if quick else http2_bench.run(folder),
        "client": lambda: client_bench.run(folder, 7, 4, 2) if quick else client_bench.run(folder),
        "postgres": lambda: postgres_bench.run(folder, 3, 0.5) if quick else postgres_bench.run(folder),
        "workers": lambda: workers_bench.run(folder, 3, 1.0) if quick else workers_bench.run(folder),
        "full": lambda: full_bench.run(folder, 3, 0.7) if quick else full_bench.run(folder),
        "boardgame": lambda: boardgame_bench.run(folder, 2, 1.0) if quick else boardgame_bench.run(folder),
    }


def machine() -> str:
    """What the run depends on, in a line."""
    packages = []
    for name in ("protobuf", "grpcio", "uvloop"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"no {name}")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; {python}, {', '.join(packages)}"


def _processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def plain(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal."""
    lines = [header, *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; exit status 1 with `--check` if a ratio is out of reach."""
    parser = argparse.ArgumentParser(description="Measure Sixledger: ratios to baselines of the same run.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: under a minute")
    parser.add_argument("--only", action="append", metavar="PART", help="engine, games, ledger, verify, disk, store, …")
    parser.add_argument("--folder", type=Path, help="where stores are made: on the disk that is meant")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a ratio is out of reach")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--markdown", action="store_true", help="the tables of docs/reference/benchmarks.md")
    shape.add_argument("--json", action="store_true", help="everything as JSON")
    given = parser.parse_args(arguments)

    parts = sections(given.folder or Path(tempfile.gettempdir()), quick=given.quick)
    if unknown := set(given.only or ()) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(parts)}")
    comparisons: list[Comparison] = []
    figures: list[Figure] = []
    for name, part in parts.items():
        if given.only and name not in given.only:
            continue
        sys.stderr.write(f"measuring: {name}\n")
        report = part()
        comparisons += report.comparisons
        figures += report.figures
    sys.stdout.write(_text(comparisons, figures, given) + "\n")
    missed = [each for each in comparisons if each.met is False]
    for each in missed:
        sys.stderr.write(f"out of reach: {each.measured}: {each.ratio}, wanted {each.target}\n")
    return 1 if missed and given.check else 0


def _text(comparisons: list[Comparison], figures: list[Figure], given: argparse.Namespace) -> str:
    if given.json:
        found = {
            "machine": machine(),
            "comparisons": [each.as_dict() for each in comparisons],
            "figures": [each.as_dict() for each in figures],
        }
        return json.dumps(found, indent=2, ensure_ascii=False)
    table = markdown if given.markdown else plain
    return "\n\n".join(
        [
            machine(),
            table(_COMPARISONS, [each.row() for each in comparisons]),
            table(_FIGURES, [each.row() for each in figures]),
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
