"""What is said while many ledgers are verified: a bar, a line for each bad one, a summary."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text
from sixledger.cli.failures import one_line
from sixledger.cli.render.report import headline, verdict_name
from sixledger.cli.terminal import complain
from sixledger.cli.verify_many import Checked
from sixledger.v1 import replay_service_pb2 as pb


@dataclass(slots=True)
class Tally:
    """What many verifications came to; keeps numbers only."""

    #: Ledgers that there are, and processes that share them.
    total: int
    jobs: int
    ledgers: int = 0
    records: int = 0
    status: int = 0
    #: Valid ledgers that no trusted key vouches for.
    unauthenticated: int = 0
    #: By verdict; `unusable` for files that have none.
    verdicts: Counter[str] = field(default_factory=Counter)
    _begun: float = field(default_factory=time.monotonic)

    def add(self, checked: Checked) -> None:
        """Count a file."""
        self.ledgers += 1
        self.status = max(self.status, checked.status)
        if checked.report is None:
            self.verdicts["unusable"] += 1
            return
        self.verdicts[verdict_name(checked.report.verdict)] += 1
        self.records += checked.report.record_count
        if checked.report.verdict == pb.VERDICT_VALID and not checked.report.signer_authenticated:
            self.unauthenticated += 1

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._begun


class Lines:
    """For people: a line for each ledger that does not pass."""

    def __init__(self, console: Console) -> None:
        """Print to `console`."""
        self._console = console

    def wants(self, checked: Checked) -> bool:
        """True if there is something to say about the file."""
        return checked.status != 0

    def line(self, checked: Checked) -> None:
        """Verdict, file, and what is wrong where."""
        if checked.report is None:
            complain(f"{checked.path}: {checked.unusable}")
            return
        said = checked.report.summary.removeprefix(verdict_name(checked.report.verdict)).lstrip(": ")
        line = headline(checked.report, checked.path).append(f"  {one_line(said)}")
        self._console.print(line, soft_wrap=True)

    def summary(self, tally: Tally) -> None:
        """The counts, and how fast it went."""
        words = ", ".join(f"{count:,} {name}" for name, count in sorted(tally.verdicts.items()))
        done = f"{tally.ledgers:,} ledgers" if tally.ledgers == tally.total else _stopped(tally)
        self._console.print(Text(f"{done}: {words}" if words else done, "heading"), soft_wrap=True)
        if tally.unauthenticated:
            told = f"{tally.unauthenticated:,} of them with an unauthenticated signer: no trusted key vouches for them"
            self._console.print(Text(f"{told} (see --key)", "unsure"), soft_wrap=True)
        seconds = tally.seconds
        processes = f", {tally.jobs} processes" if tally.jobs > 1 else ""
        speed = f"{tally.records:,} records in {seconds:,.1f} s, {tally.records / seconds:,.0f} records/s{processes}"
        self._console.print(Text(speed, "faint"))


def _stopped(tally: Tally) -> str:
    return f"stopped after {tally.ledgers:,} of {tally.total:,} ledgers"


class JsonLines:
    """For programs: a document in a line for each ledger, and one for all of them."""

    def __init__(self, document: Callable[[Checked], dict[str, Any]]) -> None:
        """`document` gives that of a file."""
        self._document = document

    def wants(self, checked: Checked) -> bool:
        """Every file has a line."""
        return True

    def line(self, checked: Checked) -> None:
        """The document of the file."""
        _write(self._document(checked))

    def summary(self, tally: Tally) -> None:
        """The only line without a `file`."""
        seconds = tally.seconds
        _write(
            {
                "ledgers": tally.ledgers,
                "of": tally.total,
                "verdicts": dict(sorted(tally.verdicts.items())),
                "signer_unauthenticated": tally.unauthenticated,
                "records": tally.records,
                "seconds": round(seconds, 3),
                "records_per_s": round(tally.records / seconds),
                "jobs": tally.jobs,
                "exit_status": tally.status,
            }
        )


def _write(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


class Verifying:
    """A bar where a terminal watches; without one nothing. A context."""

    def __init__(self, total: int, console: Console) -> None:
        """For so many files, on `console`."""
        columns = (
            TextColumn("verifying"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TextColumn("·"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        )
        self._progress = Progress(
            *columns,
            console=console,
            transient=True,
            disable=not console.is_terminal,
            # The lines go to the standard output, wherever that leads: see `aside`.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Verifying:
        """Draw it."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take it away."""
        self._progress.stop()

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Without the bar, so that a line can be printed where it is."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


class _Rate(ProgressColumn):
    """Ledgers per second."""

    def render(self, task: Task) -> Text:
        """The rate once there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "–/s", style="number")
