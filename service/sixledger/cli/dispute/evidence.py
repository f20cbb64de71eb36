"""Who signed what, what receipts say, and what could not be checked."""

from __future__ import annotations

from typing import Any

from sixledger.cli.dispute.case import Case
from sixledger.cli.dispute.story import name, time
from sixledger.ledger.heads import SignedHead
from sixledger.v1 import replay_service_pb2 as pb

#: What no ledger can show, however flawless (docs/spec/ledger.md, 11).
BEYOND = (
    "whether somebody at the server looked at hidden cards, or told a player about them",
    "whether players agreed with each other outside the game",
    "which person sits behind a seat or a key",
    "whether the clocks of the server were right: only that time never ran backwards and that limits were kept by them",
    "whether the server held back, delayed or refused a move that never became a record",
)


def seats(case: Case) -> list[dict[str, Any]]:
    """For whoever held a seat: its key, and how many acts stand under whose signature."""
    moment = case.moment
    given = [seat.contribution for seat in moment.match.seats] if moment is not None else []
    asked = [seat.contributes for seat in moment.match.seats] if moment is not None else []
    rows = []
    for holder in case.report.attribution.holders:
        seat = holder.seat
        current = all(each.since <= holder.since for each in case.report.attribution.holders if each.seat == seat)
        contribution = "none"
        if current and seat < len(given):
            contribution = "in the deal" if given[seat] else "promised, not in the deal" if asked[seat] else "none"
        rows.append(
            {
                "seat": seat,
                "name": name(seat),
                "since": holder.since,
                "left": not current,
                "key_id": holder.key_id.hex(),
                "hosted": holder.hosted,
                "holder": _holder(holder),
                "signed": len(holder.signed_records),
                "sealed": len(holder.sealed_records),
                "unsigned": len(holder.unsigned_records),
                "timer": len(holder.timer_records),
                "contribution": contribution,
            }
        )
    return sorted(rows, key=lambda row: (row["seat"], row["since"]))


def _holder(holder: pb.Holder) -> str:
    if holder.hosted:
        return "a bot of the server"
    return "signs with its own key" if holder.public_key else "does not sign"


def other_acts(case: Case) -> dict[str, int]:
    """Acts of the table and of clocks that are of no seat, and how many records are covered."""
    found = case.report.attribution
    return {"table": len(found.table), "timers": len(found.timers), "covered": found.record_count}


def signer(case: Case) -> dict[str, Any]:
    """Who signed the heads of the file."""
    heads = case.ledger.heads
    keys = [key for key in case.ledger.keys if any(signed.signed_by(key) for signed in heads)]
    return {
        "origin": case.ledger.origin,
        "authenticated": case.report.signer_authenticated,
        "trusted_last": _trusted_last(case),
        "heads": len(heads),
        "last_count": heads[-1].head.count if heads else 0,
        "keys": [str(key) for key in keys],
        "trusted": [str(key) for key in case.trusted_keys],
    }


def _trusted_last(case: Case) -> bool:
    """True if a trusted key signed the last head of the file, whatever else is wrong."""
    last = case.ledger.heads[-1:]
    return any(signed.signed_by(key) for signed in last for key in case.trusted_keys)


def heads(case: Case) -> list[dict[str, Any]]:
    """The receipts that were given, and how each stands to the ledger."""
    return [_receipt(case, signed) for signed in sorted(case.receipts, key=lambda signed: signed.head.count)]


def _receipt(case: Case, signed: SignedHead) -> dict[str, Any]:
    head = signed.head
    known = [*case.trusted_keys, *case.ledger.keys]
    by = next((key for key in known if signed.signed_by(key)), None)
    records = case.ledger.records
    if by is None:
        words, tone = "signed with no known key: it proves nothing", "unsure"
    elif head.count > len(records):
        words, tone = f"vouches for {head.count} records, the file has {len(records)}", "bad"
    elif head.hash == records[head.count - 1].hash:
        words, tone = "agrees with the ledger", "good"
    else:
        words, tone = "contradicts the ledger", "bad"
    return {
        "count": head.count,
        "origin": head.origin,
        "time": time(head.time_us),
        "key": by.hash.hex() if by is not None else "",
        "words": words,
        "tone": tone,
        "note": signed.note,
    }


def unchecked(case: Case) -> list[str]:
    """What could not be checked, and why."""
    report = case.report
    said = [f"{each[:1].upper()}{each[1:]}." for each in report.unchecked]
    count, bad = len(case.ledger.records), case.bad
    if report.HasField("finding") and bad is not None and bad + 1 < count:
        said.append(f"Records {bad + 1} to {count - 1}: what follows a bad record cannot be judged.")
    elif report.HasField("finding") and case.inner is None and report.finding.layer != "rules":
        said.append("The rules: the fault was found before the moves were made again.")
    if not report.signer_authenticated and not _trusted_last(case):
        said.append(_signer_words(case))
    if case.not_compared:
        said.append(f"The other account: {case.not_compared}.")
    if not case.receipts:
        said.append(
            "Whether the server showed somebody else another history: no signed head that a player kept was given "
            "(--receipt), and no other export (--export)."
            if case.comparison is None
            else "Heads that players kept: none was given (--receipt)."
        )
    for holder in report.attribution.holders:
        if holder.hosted:
            said.append(f"{name(holder.seat)} was played by the server itself: nobody else vouches for its moves.")
        elif not holder.public_key:
            said.append(f"{name(holder.seat)} does not sign: the server could have made up its moves.")
        if holder.sealed_records:
            what = f"{len(holder.sealed_records)} acts of {name(holder.seat)} are still sealed"
            said.append(f"{what}: their signatures can be checked when they are open.")
    return list(dict.fromkeys(said))


def _signer_words(case: Case) -> str:
    if not case.trusted_keys:
        return (
            f"Who signed the ledger: it calls itself {case.ledger.origin}, and no key of that server was given (--key)."
        )
    return "Who signed the ledger: not the key that you trust."
