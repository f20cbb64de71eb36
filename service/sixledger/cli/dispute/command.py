"""`sixledger dispute`: a report about a ledger for whoever must settle a dispute."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text
from sixledger.cli.compare import trusts
from sixledger.cli.dispute.case import Case, open_case
from sixledger.cli.dispute.facts import facts
from sixledger.cli.dispute.page import page
from sixledger.cli.failures import unusable
from sixledger.cli.receipts import read_receipts
from sixledger.cli.render.report import headline
from sixledger.cli.terminal import out, write_json
from sixledger.engine.version import __version__


def dispute(
    ledger: Annotated[str, Parameter(help="The ledger in dispute.")],
    /,
    *,
    key: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="Verifier key of the server, or a file with it or its key list. Default: trusted keys."
        ),
    ] = None,
    receipt: Annotated[
        list[str] | None, Parameter(negative="", help="File of signed heads of the match that somebody kept.")
    ] = None,
    export: Annotated[str | None, Parameter(help="Another export of the match, or somebody’s heads.")] = None,
    output: Annotated[
        Path | None,
        Parameter(("-o", "--output"), help="HTML file to write. Default: named like the ledger; none with --json."),
    ] = None,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> int:
    """Write a report for people that settles a dispute about a match.

    The verdict comes first, in plain words; then the first bad record with recorded and recomputed values, the table
    before it, who signed what, how fair the deal was, what could not be checked, and how to check it all again. One
    HTML file without anything to fetch; it holds what the ledger holds, hidden cards included. Exit status: 0 nothing
    is wrong, 1 something is or cannot be checked yet, 2 the input cannot be used.
    """
    path = Path(ledger)
    target = output if output is not None or as_json else Path(_stem(path) + ".dispute.html")
    if target is not None and not target.parent.is_dir():
        raise unusable(f"there is no folder {target.parent}")
    if target is not None and target.exists() and target.resolve() == path.resolve():
        raise unusable(f"{target} is the ledger itself: give the report another name")
    case = open_case(path, trusts(key), read_receipts(receipt), export)
    found = facts(case, _commands(case, ledger, key or [], receipt or [], export))
    if target is not None:
        target.write_text(page(found), encoding="utf-8")
    if as_json:
        write_json(found)
        return case.status
    console = out()
    console.print(headline(case.report, str(path)), soft_wrap=True)
    console.print(Text(f" {found['verdict']['title']}"), soft_wrap=True)
    console.print(Text.assemble(" Report: ", (str(target), "heading")), soft_wrap=True)
    return case.status


def _stem(path: Path) -> str:
    """The name of a ledger without its endings."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".ledger")
    return name or "ledger"


def _commands(case: Case, ledger: str, keys: list[str], receipts: list[str], export: str | None) -> list[str]:
    """The commands with which anybody gets the same result. Keys that were taken from the own store are spelled out."""
    given = keys or [str(each) for each in case.trusted_keys]
    words = [word for each in given for word in ("--key", each)]
    kept = [word for each in receipts for word in ("--receipt", each)]
    other = ["--export", export] if export is not None else []
    lines = [
        ["sha256sum", ledger],
        ["pip", "install", f"sixledger[cli]=={__version__}"],
        ["sixledger", "verify", ledger, *words, *kept],
        *([["sixledger", "compare", ledger, export, *words]] if export is not None else []),
        ["sixledger", "replay", ledger, *words],
        ["sixledger", "dispute", ledger, *words, *kept, *other, "-o", "report.html"],
    ]
    return [shlex.join(line) for line in lines]
