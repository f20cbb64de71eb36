"""The report of a verification, for people and for programs."""

from __future__ import annotations

from sixledger.ledger.fairness import fairness
from sixledger.ledger.faults import LedgerFault, Verdict
from sixledger.ledger.folding import fold
from sixledger.ledger.readable import dumps, render
from sixledger.ledger.verify.attribution import attribution, checked_attribution
from sixledger.ledger.verify.rerun import CONFUSED, Rerun
from sixledger.ledger.verify.subject import Subject, fits
from sixledger.v1 import record_pb2, replay_service_pb2

VALID, INCOMPLETE = replay_service_pb2.VERDICT_VALID, replay_service_pb2.VERDICT_INCOMPLETE


def of_fault(subject: Subject, fault: LedgerFault, rerun: Rerun | None) -> replay_service_pb2.VerifyReport:
    """The report of a ledger with this fault."""
    result = _common(subject, fault.verdict)
    finding = result.finding
    finding.layer, finding.message, finding.line = fault.layer, fault.message, fault.line
    for path, recorded, expected in fault.differences:
        finding.differences.add(path=path, recorded=recorded, expected=expected)
    if fault.seq is not None:
        _locate(subject, finding, fault.seq)
        if rerun is not None and (position := _position_before(subject, fault.seq)):
            finding.position_json = position
    good = fault.seq if fault.seq is not None else len(subject.bodies)
    _last_good(subject, result, min(good, len(subject.bodies)) - 1)
    _attribute(subject, result, min(good, len(subject.bodies)), rerun)
    place = f"record {fault.seq}: " if fault.seq is not None else f"line {fault.line}: " if fault.line else ""
    result.summary = (
        f"{_name(fault.verdict)} at {place}{fault.message}" if place else f"{_name(fault.verdict)}: {fault.message}"
    )
    return result


def of_success(subject: Subject, rerun: Rerun) -> replay_service_pb2.VerifyReport:
    """The report of a ledger without a fault: valid, or incomplete."""
    match = rerun.match
    result = _common(subject, VALID)
    result.fairness = str(fairness(match))
    _last_good(subject, result, len(subject.bodies) - 1)
    _attribute(subject, result, len(subject.bodies), rerun)
    outcome = match.game.outcome(match.state) if match.state is not None else None
    if outcome is not None:
        result.winners.extend(outcome.winners)
    unchecked = []
    if rerun.folded:
        what = "sealed parts or an epoch that is not revealed"
        unchecked.append(f"{_ranges(rerun.folded)} could not be replayed in full: {what}")
    if not match.over:
        unchecked.append("the match has not ended: what happens after the last record is open")
    result.unchecked.extend(unchecked)
    result.verdict = INCOMPLETE if unchecked else VALID
    count = len(subject.records)
    said = f"{_name(result.verdict)}: {count} records, {'nothing wrong' if unchecked else 'every one replayed'}"
    result.summary = f"{said}, {_signer(subject)}"
    return result


def _common(subject: Subject, verdict: Verdict.ValueType) -> replay_service_pb2.VerifyReport:
    result = replay_service_pb2.VerifyReport(
        verdict=verdict, record_count=len(subject.records), signer_authenticated=subject.authenticated
    )
    if subject.bodies:
        result.match_id = subject.match_id
    if subject.opened is not None:
        result.ruleset.CopyFrom(subject.opened.ruleset)
    result.unchecked.extend(subject.unchecked)
    return result


def _locate(subject: Subject, finding: replay_service_pb2.Finding, seq: int) -> None:
    finding.seq = seq
    if subject.file is not None and not finding.line:
        finding.line = seq + 2
    body = subject.bodies[seq] if seq < len(subject.bodies) else None
    if body is not None:
        finding.request_id = body.cause.request_id
        of_seat = body.cause.kind == record_pb2.CAUSE_KIND_SEAT or body.cause.timer == record_pb2.TIMER_KIND_TURN
        if of_seat:
            finding.seat = body.cause.seat


def _last_good(subject: Subject, result: replay_service_pb2.VerifyReport, seq: int) -> None:
    """The last right record, and the first properly signed head that covers it."""
    if seq < 0:
        return
    result.last_good.seq, result.last_good.hash = seq, subject.records[seq].hash
    heads = sorted([*subject.heads, *subject.receipts], key=lambda signed: signed.head.count)
    keys = subject.trusted.keys or subject.keys
    for signed in heads:
        if signed.head.count > seq and fits(subject, signed) and any(signed.signed_by(key) for key in keys):
            result.last_good.head = signed.note
            return


def _attribute(subject: Subject, result: replay_service_pb2.VerifyReport, count: int, rerun: Rerun | None) -> None:
    """Who caused the first `count` records, or as many of them as can be believed."""
    found = subject.attribution
    if found is None:
        checked = rerun is not None and rerun.match.seq + 1 >= count
        found = attribution(subject, count) if checked else checked_attribution(subject, count)
    if found.record_count:
        result.attribution.CopyFrom(found)


def _position_before(subject: Subject, seq: int) -> str:
    """The position before record `seq` as JSON, if its epoch is revealed; else empty."""
    if seq == 0:
        return ""
    try:
        match = fold(list(subject.records[:seq]), subject.registry)
        if match.state is None or match.epoch > subject.revealed:
            return ""
        return dumps(render(match.game.position(match.state)))
    except (LedgerFault, *CONFUSED):
        return ""


def _name(verdict: Verdict.ValueType) -> str:
    return replay_service_pb2.Verdict.Name(verdict).removeprefix("VERDICT_")


def _signer(subject: Subject) -> str:
    if not subject.good_heads:
        return "no signed head"
    origin = subject.good_heads[-1].head.origin
    return f"signed by {origin}" if subject.authenticated else f"signer unauthenticated (it calls itself {origin})"


def _ranges(numbers: list[int]) -> str:
    """Record numbers, ascending, as ranges for people."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    words = [str(first) if first == last else f"{first}–{last}" for first, last in parts]
    return f"record{'s' if len(numbers) > 1 else ''} {', '.join(words)}"
