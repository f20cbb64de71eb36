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
from sixledger.cli.failures import printable, unusable
from sixledger.cli.receipts import read_receipts
from sixledger.cli.render.report import headline
from sixledger.cli.terminal import out, write_json
from sixledger.engine.version import __version__
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import MAGIC


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
        target.write_text(page(found), encoding="utf-8", errors="backslashreplace")  # names of files may be no text
    if as_json:
        write_json(found)
        return case.status
    console = out()
    console.print(headline(case.report, str(path)), soft_wrap=True)
    console.print(Text(f" {found['verdict']['title']}"), soft_wrap=True)
    console.print(Text.assemble(" Report: ", (printable(str(target)), "heading")), soft_wrap=True)
    return case.status


def _stem(path: Path) -> str:
    """The name of a ledger without its endings."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".ledger")
    return name or "ledger"


def _commands(case: Case, ledger: str, keys: list[str], receipts: list[str], export: str | None) -> list[str]:
    """The commands with which anybody gets the same result. Keys that were taken from the own store are spelled out.

    So are key lists, wherever they are from: without them a revoked key would count again.
    """
    given = list(keys)
    ledger, export, keys, receipts = _in_one_folder(ledger, export, keys, receipts)
    lists = {name: text for name, path in zip(keys, given, strict=True) if (text := _list_in(path))}
    if not keys:
        for trust in case.trusted:
            keys.append(str(trust) if isinstance(trust, VerifierKey) else f"server{len(lists) + 1}.keys")
            if not isinstance(trust, VerifierKey):
                lists[keys[-1]] = trust.note
    words = [word for each in keys for word in ("--key", each)]
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
    written = [f"printf %s {shlex.quote(text)} > {shlex.quote(name)}" for name, text in lists.items()]
    first, install, *rest = map(shlex.join, lines)
    return [first, install, *written, *rest]


def _list_in(path: str) -> str:
    """The key list in a file; empty if it is none."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):  # it is a key itself
        return ""
    return text if text.startswith(MAGIC) else ""


def _in_one_folder(
    ledger: str, export: str | None, keys: list[str], receipts: list[str]
) -> tuple[str, str | None, list[str], list[str]]:
    """The same files by their names alone, as somebody has them who got them all in one folder.

    Two files of one name cannot be told apart like that: then all keep their paths.
    """
    files = [
        each
        for each in (ledger, export, *receipts, *keys)
        if each is not None and ("+" not in each or Path(each).exists())
    ]
    names = {each: Path(each).name for each in files}
    if len(set(names.values())) < len(names):
        return ledger, export, keys, receipts
    other = names[export] if export is not None else None
    return names[ledger], other, [names.get(each, each) for each in keys], [names[each] for each in receipts]
