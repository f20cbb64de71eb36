"""The layers in their order, and the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sixledger.engine.registry import Registry
from sixledger.ledger import records as records_
from sixledger.ledger.faults import LedgerFault, UnusableInput, tampered
from sixledger.ledger.file import Source, header_line, load
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.verify import report
from sixledger.ledger.verify.rerun import Rerun
from sixledger.ledger.verify.subject import (
    Subject,
    check_chain,
    check_heads,
    check_openings,
    check_seeds,
    known_keys,
)
from sixledger.v1 import record_pb2, replay_service_pb2

INCOMPLETE, VALID = replay_service_pb2.VERDICT_INCOMPLETE, replay_service_pb2.VERDICT_VALID


def verify(
    source: Source,
    *,
    trusted: Iterable[VerifierKey] = (),
    receipts: Iterable[str] = (),
    registry: Registry | None = None,
) -> replay_service_pb2.VerifyReport:
    """Verify a ledger file: a path, its bytes or an open binary file, plain or gzipped.

    `trusted` are the keys that may have signed the last head; without any, the keys in the file are used and
    the signer stays unauthenticated. `receipts` are signed heads of the match that somebody kept: the ledger
    must agree with them. Raises UnusableInput if `source` is no ledger at all.
    """
    trusted = tuple(trusted)
    subject = Subject((), trusted=trusted, registry=registry)
    try:
        subject.file = load(source)
        if not subject.file.records:
            raise LedgerFault(replay_service_pb2.VERDICT_TRUNCATED, "parse", "the file has no records")
        subject.records = subject.file.records
        subject.heads = subject.file.heads
        subject.keys = known_keys(subject.file.keys, trusted)
    except LedgerFault as fault:
        return report.of_fault(subject, fault, None)
    return _verify(subject, receipts)


def verify_records(
    records: Sequence[record_pb2.Record],
    heads: Iterable[str] = (),
    *,
    keys: Iterable[VerifierKey] = (),
    trusted: Iterable[VerifierKey] = (),
    registry: Registry | None = None,
) -> replay_service_pb2.VerifyReport:
    """Verify records in memory, from 0 on. `heads` are signed notes, `keys` those that may have signed them.

    Raises UnusableInput if there are no records.
    """
    if not records:
        raise UnusableInput("there are no records to verify")
    trusted = tuple(trusted)
    subject = Subject(records, keys=known_keys(keys, trusted), trusted=trusted, registry=registry)
    return _verify(subject, heads)


def exit_status(result: replay_service_pb2.VerifyReport, *, partial: bool = False) -> int:
    """Exit status of a command: 0 valid, 1 not. `partial` lets an incomplete ledger pass. (2: UnusableInput.)"""
    good = (VALID, INCOMPLETE) if partial else (VALID,)
    return 0 if result.verdict in good else 1


def _verify(subject: Subject, extra_heads: Iterable[str]) -> replay_service_pb2.VerifyReport:
    rerun: Rerun | None = None
    try:
        check_chain(subject)
        _take_heads(subject, extra_heads)
        check_heads(subject, required=subject.file is not None)
        check_openings(subject)
        check_seeds(subject)
        _check_header(subject)
        rerun = Rerun.of(subject)
        rerun.run()
        _check_shown(subject, rerun)
    except LedgerFault as fault:
        return report.of_fault(subject, fault, rerun)
    return report.of_success(subject, rerun)


def _take_heads(subject: Subject, notes: Iterable[str]) -> None:
    """Add heads that did not come with the file, in the order of their counts."""
    heads = list(subject.heads)
    for note in notes:
        try:
            heads.append(SignedHead.parse(note))
        except BadNote as error:
            raise tampered("heads", f"a head cannot be read: {error}") from error
    ...
