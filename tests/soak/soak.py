"""Thousands of random matches over every game, variant, number of seats and extreme option: `make soak`.

    python tests/soak/soak.py [--matches N] [--jobs J] [--seed S] [--only NUMBER]

Every invariant of the rules is checked after every command, every bound of RULES at the end of a match, and some
matches are written as ledgers and verified. Seed and number make a match: `--only` plays one again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

if __name__ in {"__main__", "__mp_main__"}:  # run as a script: find the siblings as the tests do
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from soak.match import Played, soak, soak_some

#: Matches that a process plays before it reports.
CHUNK = 10
#: Failures that are told in full.
TOLD = 5


def run(numbers: Sequence[int], seed: int, folder: Path, jobs: int) -> Iterator[Played]:
    """Play the matches, on so many processes; the results as they come."""
    if jobs == 1:
        yield from (soak(number, seed, folder) for number in numbers)
        return
    chunks = [list(numbers[at : at + CHUNK]) for at in range(0, len(numbers), CHUNK)]
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        for done in as_completed([pool.submit(soak_some, chunk, seed, folder) for chunk in chunks]):
            yield from done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; only the one that hands out the work acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def table(results: Sequence[Played]) -> Table:
    """What was played, by game and variant."""
    shown = Table(box=None, pad_edge=False)
    columns = ("game", "matches", "most rounds", "most commands", "most events", "most choices", "ledgers", "failures")
    for name in columns:
        shown.add_column(name, justify="left" if name == "game" else "right", no_wrap=name == "game")
    kinds: dict[str, list[Played]] = defaultdict(list)
    for each in results:
        kinds[each.kind].append(each)
    for kind, found in sorted(kinds.items()):
        most = [max(getattr(each, name) for each in found) for name in ("rounds", "commands", "events", "choices")]
        counts = (sum(each.ledger_bytes > 0 for each in found), sum(bool(each.failure) for each in found))
        shown.add_row(kind, f"{len(found):,}", *(f"{value:,}" for value in (*most, *counts)))
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak; exit status 1 if anything failed."""
    parser = argparse.ArgumentParser(description="Random matches of every game, with every invariant on.")
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: one per core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="play this match alone")
    parser.add_argument("--folder", type=Path, help="keep the ledgers here")
    given = parser.parse_args(arguments)
    if given.matches < 1 or given.jobs < 1:
        parser.error("--matches and --jobs must be at least 1")
    numbers = list(range(given.matches)) if given.only is None else [given.only]
    console = Console()
    columns = (TextColumn("soaking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    results: list[Played] = []
    with tempfile.TemporaryDirectory() as scratch, Progress(*columns, console=console, transient=True) as progress:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        task = progress.add_task("", total=len(numbers))
        for played in run(numbers, given.seed, folder, given.jobs):
            results.append(played)
            progress.advance(task)
            if played.failure:
                progress.console.print(f"match {played.number} ({played.case}) failed", style="red")
    console.print(table(results))
    failed = [each for each in results if each.failure]
    for each in failed[:TOLD]:
        console.print(f"\n{each.case}: soak.py --seed {given.seed} --only {each.number}", style="red")
        console.print(each.failure, markup=False, highlight=False)
    console.print(f"\n{len(results):,} matches, seed {given.seed}: {len(failed) or 'no'} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
