"""The layers in their order, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sixledger.engine.registry import Registry
from sixledger.ledger import records as records_
from sixledger.ledger.faults import TRUNCATED, LedgerFault, UnusableInput, tampered
from sixledger.ledger.file import Source, header_line, load
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey
from sixledger.ledger.key_list import Trust
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.verify import report, unlike
from sixledger.ledger.verify.accept import accepted
from sixledger.ledger.verify.compare import MAX_DIFFERENCES
from sixledger.ledger.verify.rerun import Rerun
from sixledger.ledger.verify.signers import Trusted
from sixledger.ledger.verify.subject import (
    Subject,
    at,
    check_chain,
    check_heads,
    check_openings,
    check_seeds,
    check_viewer,
    known_keys,
)
from sixledger.v1 import record_pb2, replay_service_pb2

INCOMPLETE, VALID = replay_service_pb2.VERDICT_INCOMPLETE, replay_service_pb2.VERDICT_VALID


def verify(
    source: Source,
    *,
    trusted: Iterable[Trust] = (),
    receipts: Iterable[str] = (),
    registry: Registry | None = None,
) -> replay_service_pb2.VerifyReport:
    """Verify a ledger file: a path, its bytes or an open binary file, plain or gzipped.

    `trusted` are the keys that may have signed the last head, or the key lists of origins, which also say when each
    key was valid; without any, the keys in the file are used and the signer stays unauthenticated. `receipts` are
    signed heads of the match that somebody kept: the ledger must agree with them. Raises UnusableInput if `source` is
    no ledger at all.
    """
    subject = Subject((), trusted=Trusted(trusted), registry=registry)
    try:
        subject.file = load(source)
        if not subject.file.records:
            raise LedgerFault(TRUNCATED, "parse", "the file has no records")
        subject.records = subject.file.records
        subject.heads = subject.file.heads
        subject.keys = known_keys(subject.file.keys, subject.trusted.keys)
    except LedgerFault as fault:
        return report.of_fault(subject, fault, None)
    return _verify(subject, receipts)


def verify_records(
    records: Sequence[record_pb2.Record],
    heads: Iterable[str] = (),
    *,
    keys: Iterable[VerifierKey] = (),
    trusted: Iterable[Trust] = (),
    registry: Registry | None = None,
) -> replay_service_pb2.VerifyReport:
    """Verify records in memory, from 0 on. `heads` are signed notes, `keys` those that may have signed them.

    Raises UnusableInput if there are no records.
    """
    if not records:
        raise UnusableInput("there are no records to verify")
    trusted_ = Trusted(trusted)
    subject = Subject(records, keys=known_keys(keys, trusted_.keys), trusted=trusted_, registry=registry)
    return _verify(subject, heads)


def exit_status(result: replay_service_pb2.VerifyReport, *, partial: bool = False) -> int:
    """Exit status of a command: 0 valid, 1 not, where `partial` lets an incomplete ledger pass; 2 is UnusableInput."""
    good = (VALID, INCOMPLETE) if partial else (VALID,)
    return 0 if result.verdict in good else 1


def _verify(subject: Subject, receipts: Iterable[str]) -> replay_service_pb2.VerifyReport:
    receipts = list(receipts)
    if (report_ := _accepted(replace(subject, parts=[], unchecked=[]), receipts)) is not None:
        return report_
    rerun: Rerun | None = None
    try:
        check_chain(subject)
        subject.receipts = [_receipt(note) for note in receipts]
        check_heads(subject)
        check_openings(subject)
        check_seeds(subject)
        _check_header(subject)
        rerun = Rerun.of(subject)
        _check_shown(subject, rerun)
        rerun.run()
    except LedgerFault as fault:
        return report.of_fault(subject, fault, rerun)
    return report.of_success(subject, rerun)


def _accepted(subject: Subject, receipts: Sequence[str]) -> replay_service_pb2.VerifyReport | None:
    """The report of a ledger in which nothing is wrong; None if something is: the layers say what."""
    rerun = accepted(subject)
    if rerun is None:
        return None
    try:
        subject.receipts = [_receipt(note) for note in receipts]
        check_heads(subject)
        check_viewer(subject)
        _check_header(subject)
        _check_shown(subject, rerun)
    except LedgerFault:
        return None
    return report.of_success(subject, rerun)


def _receipt(note: str) -> SignedHead:
    try:
        return SignedHead.parse(note)
    except BadNote as error:
        raise tampered("heads", f"a signed head cannot be read: {error}") from error


def _check_header(subject: Subject) -> None:
    """The header of a file says nothing but what follows from the records and the heads. Raises LedgerFault."""
    file = subject.file
    if file is None:
        return
    used = [key for key in file.keys if any(signed.signed_by(key) for signed in file.heads)]
    origin = file.heads[-1].head.origin if file.heads else ""
    expected = header_line(file.records, file.viewer, origin, used)
    if file.header != expected:
        fault = tampered("parse", "the header is not the one that belongs to the records and the heads")
        fault.differences = _json_differences("header", file.header, expected)
        fault.line = 1
        raise fault


def _check_shown(subject: Subject, rerun: Rerun) -> None:
    """The readable copy of each record says what the record says. Raises LedgerFault."""
    if subject.file is None:
        return
    schema = rerun.match.game.schema
    for seq, (record, body) in enumerate(zip(subject.records, subject.bodies, strict=True)):
        try:
            expected = dumps(shown(records_.read(record, schema, body), schema))
        except LedgerFault as fault:
            raise at(fault, seq) from None
        if expected != subject.file.shown[seq]:
            wrong = tampered("parse", "the readable copy does not say what the record says")
            wrong.differences = _json_differences("shown", subject.file.shown[seq], expected)
            raise at(wrong, seq)


def _json_differences(path: str, recorded: str, expected: str) -> list[tuple[str, str, str]]:
    """Where a line of the file differs from what it should be, field by field."""
    try:
        return unlike.differences(path, json.loads(recorded), json.loads(expected))[:MAX_DIFFERENCES]
    except (ValueError, RecursionError):
        return []
