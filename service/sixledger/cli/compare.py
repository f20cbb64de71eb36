"""`sixledger compare`: whether two people were told the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import INVALID, OK, one_line, unusable
from sixledger.cli.keys import pinned_trusts, read_trusts
from sixledger.cli.receipts import is_ledger, parse_heads
from sixledger.cli.terminal import out, write_json
from sixledger.ledger import file, viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.key_list import Trust
from sixledger.ledger.verify.accounts import Account, Comparison, Relation, Voucher
from sixledger.ledger.verify.histories import compare_accounts

#: A ledger is known by far fewer bytes; files of heads are read up to this size.
_MAX_BYTES = 32 << 20


def compare(
    first: Annotated[str, Parameter(help="A ledger, or a file of signed heads.")],
    second: Annotated[str, Parameter(help="Another one of the same match.")],
    /,
    *,
    key: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="Verifier key of the server, or a file with it or its key list. Default: trusted keys."
        ),
    ] = None,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> int:
    """Compare two exports of one match: the same history, one that ends earlier, or another one.

    Exports for different viewers are the same history with more or fewer sealed parts open. Two heads for one
    number of records prove fraud even without a ledger, and so do two histories that one key has signed. Exit status:
    0 nothing contradicts, 1 something does or the matches differ, 2 there is nothing to compare.
    """
    trusted = trusts(key)
    accounts = [read_account(path) for path in (first, second)]
    try:
        found = compare_accounts(*accounts, trusted=trusted)
    except UnusableInput as error:
        raise unusable(one_line(str(error))) from None
    if as_json:
        write_json(document(found))
    else:
        _print(found, out())
    return OK if found.agrees else INVALID


def trusts(given: Sequence[str] | None) -> list[Trust]:
    """The keys and key lists that were given; without any, all that this person trusts. Raises Failure."""
    return list(read_trusts(given)) if given else list(pinned_trusts().values())


def read_account(path: str) -> Account:
    """A ledger or a file of heads. Raises Failure."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(_MAX_BYTES)
    except OSError as error:
        raise unusable(f"{path}: {error.strerror or error}") from None
    name = Path(path).name
    if not is_ledger(data):
        return Account.of_heads(name, parse_heads(path, data))
    try:
        ledger, fault = file.load_prefix(path)
        return Account.of_ledger(name, ledger, one_line(fault.message) if fault is not None else "")
    except UnusableInput as error:
        raise unusable(f"{path}: {one_line(str(error))}") from None
    except LedgerFault as error:
        raise unusable(f"{path}: not even the header can be read: {one_line(error.message)}") from None


# -- words ---------------------------------------------------------------------------------------


def title(found: Comparison) -> tuple[str, str]:
    """The result in capitals, and a style."""
    if found.fraud is not None:
        return "FRAUD PROVEN", "bad"
    return {
        Relation.SAME: ("SAME HISTORY", "good"),
        Relation.PREFIX: ("SAME HISTORY, ONE ENDS EARLIER", "good"),
        Relation.DIFFERENT: ("DIFFERENT HISTORIES", "bad"),
        Relation.OTHER_MATCH: ("TWO MATCHES", "bad"),
    }[found.relation]


def sentences(found: Comparison) -> list[str]:
    """What was found, in plain words."""
    first, second = found.accounts
    said: list[str] = []
    if found.relation is Relation.OTHER_MATCH:
        return ["These are accounts of two matches; nothing in one says anything about the other."]
    if found.fraud is not None:
        said.append(fraud_words(found.fraud))
    if found.seq is not None:
        said.append(f"The first difference is in record {found.seq}; the {found.seq} records before it are the same.")
    elif found.relation is Relation.PREFIX:
        shorter, longer = sorted(found.accounts, key=lambda account: account.count)
        said.append(
            f"Nothing in one contradicts the other. {shorter.name} ends with record {shorter.count - 1}, "
            f"{longer.name} goes on to record {longer.count - 1}."
        )
    elif found.relation is Relation.SAME and first.records and second.records:
        said.append(f"Both tell the same {first.count} records.")
        if first.openings != second.openings:
            more, fewer = sorted(found.accounts, key=lambda account: -account.openings)
            said.append(
                f"{more.name} has {more.openings - fewer.openings} more sealed parts open, as it was made for another "
                "viewer. That is no difference of history."
            )
        elif first.viewer != second.viewer:
            said.append("They were made for different viewers. That is no difference of history.")
    elif found.relation is Relation.SAME:
        said.append("The signed heads agree with each other and with what they vouch for.")
    if found.relation is Relation.DIFFERENT and found.fraud is None:
        said.append(_unproven(found))
    return [*said, *(f"{note[:1].upper()}{note[1:]}." for note in found.notes)]


def fraud_words(pair: tuple[Voucher, Voucher]) -> str:
    """What two heads that contradict each other prove."""
    earlier, later = (voucher.signed.head for voucher in pair)
    assert pair[0].key is not None, "a proof is signed"
    whose = f"the holder of the key {pair[0].key.hash.hex()} of {earlier.origin}"
    if earlier.count == later.count:
        what = f"two different statements about the first {earlier.count} records of one match"
    else:
        what = (
            f"two histories of one match that contradict each other: heads of {earlier.count} and {later.count} records"
        )
    trust = "" if pair[0].trusted else " You do not trust this key yet: check that it is the server's."
    return f"Proven: {whose} has signed {what}. Nobody without that key can have made both.{trust}"


def _unproven(found: Comparison) -> str:
    """Who is to blame is open: why."""
    signed = [bool(vouchers) for vouchers in found.vouchers]
    names = [account.name for account in found.accounts]
    if found.seq is None:
        return "Who is to blame is not shown by these files alone."
    if signed[0] != signed[1]:
        good, bad = (names[0], names[1]) if signed[0] else (names[1], names[0])
        return f"A signed head vouches for that record as {good} tells it, and none as {bad} tells it: believe {good}."
    if not any(signed):
        return "No signed head vouches for that record in either of them."
    return "The two are signed with different keys: the one of the server's true key is to be believed."


def viewer_words(name: str) -> str:
    """A viewer's name in words; empty if there is none."""
    if not name:
        return ""
    try:
        seat = viewers.parse(name)
    except ValueError:
        return "an unknown viewer"
    return f"seat {seat}" if seat is not None else "the operator" if name == viewers.OPERATOR else "a spectator"


# -- output --------------------------------------------------------------------------------------


def _print(found: Comparison, console: Console) -> None:
    words, style = title(found)
    first, second = found.accounts
    console.print(
        Text.assemble((f" {words} ", f"verdict.{style}"), " ", (f"{first.name}  {second.name}", "heading")),
        soft_wrap=True,
    )
    console.print()
    for sentence in sentences(found):
        console.print(Padding(Text(sentence), (0, 0, 0, 1)))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="faint", no_wrap=True)
    facts.add_column(overflow="fold")
    if found.match_id:
        facts.add_row("match", Text(found.match_id.hex()))
    for index, account in enumerate(found.accounts):
        facts.add_row(account.name, Text(about(account)))
        for head in found.vouchers[index][-1:]:
            facts.add_row("", Text(voucher_words(head), "good" if head.trusted else "unsure"))
    for path, mine, other in found.differences:
        facts.add_row("field", Text(path, "heading"))
        facts.add_row(f"  {first.name}", Text(mine))
        facts.add_row(f"  {second.name}", Text(other))
    console.print()
    console.print(Padding(facts, (0, 0, 0, 1)))


def about(account: Account) -> str:
    """One account in a line."""
    if not account.records:
        count = len(account.heads)
        return f"{count} signed head{'' if count == 1 else 's'}, the last of {account.count} records"
    viewer = viewer_words(account.viewer)
    return f"{account.count} records, for {viewer}, {account.openings} sealed parts open"


def voucher_words(voucher: Voucher) -> str:
    """Who vouches for what."""
    assert voucher.key is not None, "what nobody signed vouches for nothing"
    trust = "a trusted key" if voucher.trusted else "a key that you do not trust yet"
    return (
        f"vouched for by the head of {voucher.signed.head.count} records, signed by {voucher.key.origin} with {trust}"
    )


def document(found: Comparison) -> dict[str, Any]:
    """The comparison as JSON."""
    return {
        "relation": str(found.relation),
        "agrees": found.agrees,
        "fraud": [_voucher(voucher) for voucher in found.fraud] if found.fraud is not None else None,
        "summary": " ".join(sentences(found)),
        "match_id": found.match_id.hex() or None,
        "seq": found.seq,
        "differences": [{"path": path, "first": mine, "second": other} for path, mine, other in found.differences],
        "accounts": [
            {
                "file": account.name,
                "records": account.count,
                "intact_records": account.intact if account.records else None,
                "viewer": account.viewer or None,
                "openings": account.openings,
                "vouched_by": [_voucher(voucher) for voucher in found.vouchers[index]],
            }
            for index, account in enumerate(found.accounts)
        ],
        "notes": list(found.notes),
    }


def _voucher(voucher: Voucher) -> dict[str, Any]:
    return {
        "count": voucher.signed.head.count,
        "origin": voucher.signed.head.origin,
        "key": str(voucher.key) if voucher.key is not None else None,
        "trusted": voucher.trusted,
        "head": voucher.signed.note,
    }
