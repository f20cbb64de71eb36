"""`sixledger verify`: proves that a ledger is what was played."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text
from sixledger.cli.failures import UNUSABLE, one_line
from sixledger.cli.keys import read_verifier_key, trust_store
from sixledger.cli.render.report import document, headline, report, verdict_name
from sixledger.cli.terminal import complain, err, out, write_json
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.verify import exit_status
from sixledger.ledger.verify import verify as verify_ledger
from sixledger.v1 import replay_service_pb2

#: The first line of a ledger is far shorter.
_HEADER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """A file and what came of it: a report, or why the file cannot be used."""

    path: str
    status: int
    report: replay_service_pb2.VerifyReport | None = None
    unusable: str = ""


def verify(
    files: Annotated[list[str], Parameter(help="Ledger files: .ledger.jsonl, also gzipped.")],
    /,
    *,
    key: Annotated[
        list[str] | None,
        Parameter(negative="", help="Verifier key of the server, or a file that holds it. Default: trusted keys."),
    ] = None,
    partial: Annotated[
        bool, Parameter(negative="", help="Let a ledger pass whose sealed parts prevent a full replay.")
    ] = False,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> int:
    """Prove that ledgers are what was played, or name what is wrong.

    Checks every hash, signature, seal, seed and rule. Exit status: 0 all valid, 1 one is not, 2 one cannot be
    used.
    """
    keys = [read_verifier_key(text) for text in key] if key else None
    console = err()
    checked = list(_progress((_check(path, keys, partial=partial) for path in files), len(files), console))
    if as_json:
        _print_json(checked)
    else:
        _print(checked, out())
    return max(each.status for each in checked)


def trusted_for(origin: str) -> list[VerifierKey]:
    """The pinned key of an origin, if there is one: keys of others say nothing about its ledgers."""
    pinned = trust_store().get(origin)
    return [pinned] if pinned is not None else []


def _check(path: str, keys: Sequence[VerifierKey] | None, *, partial: bool) -> Checked:
    trusted = keys if keys is not None else trusted_for(_origin(Path(path)))
    try:
        found = verify_ledger(path, trusted=trusted)
    except UnusableInput as error:
        return Checked(path, UNUSABLE, unusable=one_line(str(error)))
    return Checked(path, exit_status(found, partial=partial), found)


def _origin(path: Path) -> str:
    """The origin that a ledger names in its first line; empty if it names none."""
    try:
        with path.open("rb") as file:
            data = file.read(_HEADER_BYTES)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, _HEADER_BYTES)
        header: Any = json.loads(data.partition(b"\n")[0])
        return str(header["origin"])
    except (OSError, ValueError, zlib.error, LookupError, TypeError, RecursionError):
        return ""  # the verifier says what is wrong with the file


def _progress(checks: Iterator[Checked], total: int, console: Console) -> Iterator[Checked]:
    """Pass the checks on, with a bar where a terminal watches several."""
    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=total < 2 or not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        for each in checks:
            progress.advance(task)
            yield each


def _print(checked: Sequence[Checked], console: Console) -> None:
    for each in checked:
        if each.report is None:
            complain(f"{each.path}: {each.unusable}")
        elif len(checked) > 1 and each.status == 0:
            console.print(headline(each.report, each.path), soft_wrap=True)
        else:
            console.print(report(each.report, each.path))
            console.print()
    if len(checked) > 1:
        found = Counter(verdict_name(c.report.verdict) if c.report is not None else "unusable" for c in checked)
        words = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
        console.print(Text(f"{len(checked)} ledgers: {words}", "heading"))


def _print_json(checked: Sequence[Checked]) -> None:
    """One document for each file; a single file gives a single document, several give a list."""
    documents = [
        document(each.report, each.path, each.status)
        if each.report is not None
        else {"file": each.path, "verdict": None, "exit_status": each.status, "summary": each.unusable}
        for each in checked
    ]
    write_json(documents[0] if len(documents) == 1 else documents)
