"""The report of a verification, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sixledger.v1 import replay_service_pb2 as pb

_STYLES = {pb.VERDICT_VALID: "good", pb.VERDICT_INCOMPLETE: "unsure"}


def verdict_name(verdict: pb.Verdict.ValueType) -> str:
    """The verdict as DESIGN 7 spells it."""
    return pb.Verdict.Name(verdict).removeprefix("VERDICT_")


def verdict_style(report: pb.VerifyReport) -> str:
    """Green, yellow or red."""
    if report.verdict == pb.VERDICT_VALID and not report.signer_authenticated:
        return "unsure"
    return _STYLES.get(report.verdict, "bad")


def headline(report: pb.VerifyReport, path: str) -> Text:
    """The verdict and the file, in one line."""
    style = verdict_style(report)
    line = Text.assemble((f" {verdict_name(report.verdict)} ", f"verdict.{style}"), " ", (path, "heading"))
    if report.verdict == pb.VERDICT_VALID and not report.signer_authenticated:
        line.append("  signer unauthenticated", "unsure")
    return line


def report(report: pb.VerifyReport, path: str) -> RenderableType:
    """The whole report: the verdict first, then what is wrong, then what was and was not checked."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="faint", no_wrap=True)
    facts.add_column(overflow="fold")
    fine = report.verdict in _STYLES
    if report.HasField("finding"):
        _finding(facts, report.finding, report.summary)
    if report.HasField("last_good") and not fine:
        facts.add_row("last good record", _last_good(report.last_good))
    if report.match_id:
        facts.add_row("match", Text(report.match_id.hex()))
    if report.HasField("ruleset"):
        facts.add_row("rules", Text(f"{report.ruleset.id}@{report.ruleset.version}"))
    facts.add_row("records", Text(f"{report.record_count:,}"))
    if fine:
        facts.add_row("signer", _signer(report))
    if report.fairness:
        facts.add_row("deal", Text(report.fairness))
    for index, holder in enumerate(report.attribution.holders):
        facts.add_row("who did what" if index == 0 else "", holder_line(holder))
    if report.winners:
        facts.add_row("winner" if len(report.winners) == 1 else "winners", Text(seats(report.winners)))
    for index, item in enumerate(report.unchecked):
        facts.add_row("not checked" if index == 0 else "", Text(item, "unsure"))
    summary = Padding(Text(report.summary.removeprefix(f"{verdict_name(report.verdict)}: ")), (0, 0, 1, 1))
    return Group(headline(report, path), Text(), summary, Padding(facts, (0, 0, 0, 1)))


def seats(numbers: Sequence[int]) -> str:
    """Seats in words."""
    return ("seat " if len(numbers) == 1 else "seats ") + ", ".join(map(str, numbers))


def document(report: pb.VerifyReport, path: str, status: int) -> dict[str, Any]:
    """The report as JSON: identifiers and hashes in hexadecimal, absent parts as null."""
    finding = report.finding if report.HasField("finding") else None
    good = report.last_good if report.HasField("last_good") else None
    return {
        "file": path,
        "verdict": verdict_name(report.verdict),
        "exit_status": status,
        "summary": report.summary,
        "match_id": report.match_id.hex() or None,
        "ruleset": {"id": report.ruleset.id, "version": report.ruleset.version} if report.HasField("ruleset") else None,
        "record_count": report.record_count,
        "signer_authenticated": report.signer_authenticated,
        "fairness": report.fairness,
        "attribution": attribution_document(report.attribution) if report.HasField("attribution") else None,
        "winners": list(report.winners),
        "unchecked": list(report.unchecked),
        "finding": _finding_document(finding) if finding is not None else None,
        "last_good": {"seq": good.seq, "hash": good.hash.hex(), "head": good.head or None} if good else None,
    }


def holder_line(holder: pb.Holder) -> Text:
    """Who held a seat and how many acts are whose, in one line."""
    line = Text(f"seat {holder.seat}  ")
    key = "played by the operator" if holder.hosted else "no key"
    line.append(f"key {holder.key_id.hex()}" if holder.public_key else key, "heading")
    counts = (
        (len(holder.signed_records), "signed", "good"),
        (len(holder.sealed_records), "sealed: signature not seen yet", "unsure"),
        (len(holder.unsigned_records), "unsigned", "faint" if holder.hosted else "unsure"),
        (len(holder.timer_records), "by its timer", "faint"),
    )
    said = [(f"{count:,} {what}", style) for count, what, style in counts if count]
    for index, (words, style) in enumerate(said):
        line.append("  " if index == 0 else ", ").append(words, style)
    return line


def attribution_document(found: pb.Attribution) -> dict[str, Any]:
    """Who caused which records, as JSON; keys in hexadecimal, null without one."""
    return {
        "record_count": found.record_count,
        "holders": [
            {
                "seat": each.seat,
                "since": each.since,
                "public_key": each.public_key.hex() or None,
                "key_id": each.key_id.hex() or None,
                "hosted": each.hosted,
                "signed": list(each.signed_records),
                "sealed": list(each.sealed_records),
                "unsigned": list(each.unsigned_records),
                "timer": list(each.timer_records),
            }
            for each in found.holders
        ],
        "table": list(found.table),
        "timers": list(found.timers),
    }


# -- parts ---------------------------------------------------------------------------------------


def _finding(facts: Table, finding: pb.Finding, summary: str) -> None:
    where = Text(f"record {finding.seq}" if finding.HasField("seq") else "the file", "bad")
    where.append(f", line {finding.line}" if finding.line else "", "default")
    where.append(f", by seat {finding.seat}" if finding.HasField("seat") else "", "default")
    facts.add_row("first wrong place", where)
    facts.add_row("found by", Text(f"layer {finding.layer}"))
    if finding.message not in summary:
        facts.add_row("what is wrong", Text(finding.message))
    if finding.request_id:
        facts.add_row("request", Text(finding.request_id.hex()))
    for difference in finding.differences:
        facts.add_row("field", Text(difference.path, "heading"))
        facts.add_row("  recorded", Text(difference.recorded, "bad"))
        facts.add_row("  expected", Text(difference.expected, "good"))
    if finding.position_json:
        facts.add_row("position before", Text("is known; --json shows it", "faint"))


def _last_good(good: pb.LastGood) -> Text:
    line = Text(f"{good.seq}")
    line.append(", vouched for by a signed head" if good.head else "", "good")
    return line.append(f"\nhash {good.hash.hex()[:32]}…", "faint")  # --json has it all


def _signer(report: pb.VerifyReport) -> Text:
    if report.signer_authenticated:
        return Text("the last head is signed by a trusted key", "good")
    return Text("unauthenticated: no trusted key vouches for the last head (see --key)", "unsure")


def _finding_document(finding: pb.Finding) -> dict[str, Any]:
    return {
        "seq": finding.seq if finding.HasField("seq") else None,
        "line": finding.line or None,
        "layer": finding.layer,
        "seat": finding.seat if finding.HasField("seat") else None,
        "request_id": finding.request_id.hex() or None,
        "message": finding.message,
        "differences": [
            {"path": each.path, "recorded": each.recorded, "expected": each.expected} for each in finding.differences
        ],
        "position": finding.position_json or None,
    }
