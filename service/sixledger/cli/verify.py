"""`sixledger verify`: proves that a ledger is what was played."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

from cyclopts import Parameter, validators
from rich.text import Text
from sixledger.cli.failures import OK, UNUSABLE
from sixledger.cli.keys import pinned_trusts, read_trusts
from sixledger.cli.receipts import Receipts, read_receipts
from sixledger.cli.render.many import JsonLines, Lines, Tally, Verifying
from sixledger.cli.render.report import document, report
from sixledger.cli.terminal import complain, err, out, write_json
from sixledger.cli.verify_many import Checked, Terms, check, check_all, default_jobs, find
from sixledger.ledger.key_list import Trust


def verify(
    files: Annotated[
        list[str], Parameter(help="Ledger files (.ledger.jsonl, also gzipped), or folders: all ledgers below them.")
    ],
    /,
    *,
    key: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="Verifier key of the server, or a file with it or its key list. Default: trusted keys."
        ),
    ] = None,
    receipt: Annotated[
        list[str] | None,
        Parameter(negative="", help="File of signed heads that somebody kept: the ledger must agree with them."),
    ] = None,
    partial: Annotated[
        bool, Parameter(negative="", help="Let a ledger pass whose sealed parts prevent a full replay.")
    ] = False,
    jobs: Annotated[
        int | None,
        Parameter(
            validator=validators.Number(gte=1, lte=1024), help="Processes for many ledgers. Default: one per core."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        Parameter(
            "--json", negative="", help="Print JSON for a program; for several ledgers a line each, then a summary."
        ),
    ] = False,
) -> int:
    """Prove that ledgers are what was played, or name what is wrong.

    Checks every hash, signature, seal, seed and rule. With a receipt it also finds that the end of a ledger was cut
    off, or that all of it was rewritten and signed anew. Of several ledgers each that is not valid gets a line, and all
    together a summary. Exit status: 0 all valid, 1 one is not, 2 one cannot be used.
    """
    keys = read_trusts(key) if key else None
    pinned = {} if keys is not None else pinned_trusts()
    receipts = read_receipts(receipt)
    terms = Terms(keys, pinned, receipts.notes(), partial=partial)
    paths = find(files)
    #: The matches of the ledgers.
    met: set[bytes] = set()
    if paths == files and len(paths) == 1:
        status = _one(check(paths[0], terms), receipts, met, as_json=as_json)
    else:
        status = _many(paths, terms, jobs or default_jobs(len(paths)), met, as_json=as_json)
    if said := receipts.complaint(met):
        complain(said)
        return UNUSABLE
    return status


def trusted_for(origin: str) -> list[Trust]:
    """The pinned key of an origin, if there is one: keys of others say nothing about its ledgers."""
    pinned = pinned_trusts().get(origin)
    return [pinned] if pinned is not None else []


def _one(checked: Checked, receipts: Receipts, met: set[bytes], *, as_json: bool) -> int:
    """The whole report of a single ledger."""
    if checked.report is not None:
        met.add(checked.report.match_id)
    if as_json:
        write_json(json_of(checked))
    elif checked.report is None:
        complain(f"{checked.path}: {checked.unusable}")
    else:
        console = out()
        console.print(report(checked.report, checked.path))
        if checked.status == OK and (held := len(receipts.of(checked.report.match_id))):
            agree = "1 receipt agrees" if held == 1 else f"{held} receipts agree"
            console.print(Text(f" {agree} with the ledger", "good"))
        console.print()
    return checked.status


def _many(paths: list[str], terms: Terms, jobs: int, met: set[bytes], *, as_json: bool) -> int:
    """A line for each ledger that is not valid (JSON: for each), and a summary, also when the user stops it."""
    shown = JsonLines(json_of) if as_json else Lines(out())
    tally = Tally(len(paths), jobs)
    try:
        with closing(check_all(paths, terms, jobs)) as results, Verifying(len(paths), err()) as bar:
            for checked in results:
                tally.add(checked)
                if checked.report is not None and terms.receipts:
                    met.add(checked.report.match_id)
                if shown.wants(checked):
                    with bar.aside():
                        shown.line(checked)
                bar.advance()
    finally:
        shown.summary(tally)
    return tally.status


def json_of(checked: Checked) -> dict[str, Any]:
    """The document of one file."""
    if checked.report is not None:
        return document(checked.report, checked.path, checked.status)
    return {"file": checked.path, "verdict": None, "exit_status": UNUSABLE, "summary": checked.unusable}
