"""Two verifiers on thousands of random ledgers: `make agree`.

    python tests/js/agree.py [--ledgers N] [--lies N] [--jobs J] [--seed S] [--only NUMBER] [--folder FOLDER]

Ledgers of every game, variant, mode and viewer, running and finished, are given to the Python verifier and to the one
in JavaScript; so are lies about as many. Both must say the same of every honest ledger. Of a lie too, with the same
first bad record, unless the Python verifier finds it only by running the rules or by reading the readable copies.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ in {"__main__", "__mp_main__"}:  # run as a script: find the siblings as the tests do
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from js.node import opinions
from js.samples import CUT_GZIP, Sample, lying, sample
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.verify import verify
from sixledger.v1 import replay_service_pb2
from support.ledgers import KEYS

#: Ledgers that a process makes before it asks and reports.
CHUNK = 25
TOLD = 10
GOOD = {"VALID", "INCOMPLETE"}


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a verifier says: the verdict (empty: this is no ledger), the first bad record, and where it was found."""

    verdict: str
    seq: int | None = None
    layer: str = ""
    authenticated: bool = False
    summary: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both opinions of one ledger."""

    number: int
    kind: str
    viewer: str
    lie: str
    size: int
    python: Opinion
    javascript: Opinion

    @property
    def equal(self) -> bool:
        """Both say the same, of the same record."""
        ours, theirs = self.python, self.javascript
        return (ours.verdict, ours.seq, ours.authenticated) == (theirs.verdict, theirs.seq, theirs.authenticated)

    @property
    def excepted(self) -> bool:
        """The one in JavaScript need not find this, or may find something else first: it runs no rules."""
        found = self.python
        if self.lie == CUT_GZIP and {found.verdict, self.javascript.verdict} == {"", "TRUNCATED"}:
            return True  # how much comes out before the missing end differs, so the header may be there or not
        copies = "the readable copy does not say" in found.summary
        if found.verdict in GOOD or found.verdict == "":
            return False
        signed = found.verdict in {"BAD_SIGNATURE", "SEED_MISMATCH"} and self.javascript.verdict in GOOD
        return copies or (found.layer == "rules" and not signed)

    @property
    def agree(self) -> bool:
        """There is nothing to explain."""
        return self.equal or self.excepted


def of_python(data: bytes) -> Opinion:
    """The opinion of the Python verifier."""
    try:
        report = verify(data, trusted=KEYS)
    except UnusableInput as error:
        return Opinion("", summary=str(error))
    verdict = replay_service_pb2.Verdict.Name(report.verdict).removeprefix("VERDICT_")
    seq = report.finding.seq if report.finding.HasField("seq") else None
    good = verdict in GOOD and report.signer_authenticated
    return Opinion(verdict, seq, report.finding.layer, good, report.summary)


def of_javascript(result: Mapping[str, Any]) -> Opinion:
    """The opinion of the JavaScript verifier, from its result."""
    if result["verdict"] is None:
        return Opinion("", summary=result["summary"])
    return Opinion(
        result["verdict"], result["seq"], result["layer"] or "", result["authenticated"], summary=result["summary"]
    )


def pairs(samples: Sequence[Sample], folder: Path) -> list[Pair]:
    """Ask both verifiers; `folder` holds the files meanwhile."""
    files = []
    for each in samples:
        path = folder / f"{'lie' if each.lie else 'ledger'}-{each.number:06}"
        path.write_bytes(each.data)
        files.append(path)
    theirs = opinions(files, *KEYS)
    return [
        Pair(each.number, each.kind, each.viewer, each.lie, len(each.data), of_python(each.data), of_javascript(said))
        for each, said in zip(samples, theirs, strict=True)
    ]


def some(numbers: Sequence[int], seed: int, lies: bool, folder: Path) -> list[Pair]:
    """Make some ledgers and ask both verifiers."""
    make = lying if lies else sample
    return pairs([make(number, seed) for number in numbers], folder)


def run(ledgers: int, lies: int, seed: int, folder: Path, jobs: int) -> Iterator[list[Pair]]:
    """Both verifiers on so many ledgers and lies, on so many processes; the results as they come."""
    work = [
        (list(range(at, min(at + CHUNK, most))), seed, lie, folder)
        for most, lie in ((ledgers, False), (lies, True))
        for at in range(0, most, CHUNK)
    ]
    if jobs == 1:
        yield from (some(*each) for each in work)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(some, *each) for each in work]):
            yield done.result()


def table(found: Sequence[Pair]) -> Table:
    """What was judged, by game and by lie; "open" is INCOMPLETE."""
    shown = Table(box=None, pad_edge=False)
    for name in ("ledgers", "number", "VALID", "open", "refused", "same", "rules only", "disagree"):
        shown.add_column(name, justify="left" if name == "ledgers" else "right", no_wrap=name == "ledgers")
    groups: dict[tuple[bool, str], list[Pair]] = {}
    for each in found:
        groups.setdefault((bool(each.lie), each.lie or each.kind), []).append(each)
    for (_, name), members in sorted(groups.items()):
        verdicts = Counter(each.python.verdict for each in members)
        refused = len(members) - verdicts["VALID"] - verdicts["INCOMPLETE"]
        equal = sum(each.equal for each in members)
        excepted = sum(each.excepted and not each.equal for each in members)
        numbers = (len(members), verdicts["VALID"], verdicts["INCOMPLETE"], refused, equal, excepted)
        shown.add_row(name, *(f"{number:,}" for number in (*numbers, len(members) - equal - excepted)))
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask; exit status 1 if the verifiers disagree."""
    parser = argparse.ArgumentParser(description="The Python and the JavaScript verifier on random ledgers.")
    parser.add_argument("--ledgers", type=int, default=1_000)
    parser.add_argument("--lies", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: one per core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this ledger and this lie alone")
    parser.add_argument("--folder", type=Path, help="keep the ledgers here")
    given = parser.parse_args(arguments)
    console = Console()
    columns = (TextColumn("asking both"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    found: list[Pair] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, Progress(*columns, console=console, transient=True) as progress:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        task = progress.add_task("", total=given.ledgers + given.lies)
        if given.only is not None:
            found = [pair for lies in (False, True) for pair in some([given.only], given.seed, lies, folder)]
        else:
            for part in run(given.ledgers, given.lies, given.seed, folder, given.jobs):
                found += part
                progress.advance(task, len(part))
    console.print(table(found))
    wrong = [each for each in found if not each.agree]
    for each in wrong[:TOLD]:
        console.print(f"\n{each.kind} {each.lie}: agree.py --seed {given.seed} --only {each.number}", style="red")
        for name, opinion in (("Python", each.python), ("JavaScript", each.javascript)):
            console.print(f"  {name}: {opinion.summary}", markup=False, highlight=False)
    honest = sum(not each.lie for each in found)
    seconds = time.monotonic() - start
    said = f"{len(wrong)} disagreements" if wrong else "Python and JavaScript agree"
    console.print(f"\n{honest:,} ledgers, {len(found) - honest:,} lies, seed {given.seed}, {seconds:.0f} s: {said}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
