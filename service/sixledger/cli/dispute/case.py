"""Everything that is known of a disputed ledger, collected once for the page and for JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sixledger.cli.compare import read_account
from sixledger.cli.failures import one_line, unusable
from sixledger.cli.receipts import Receipts
from sixledger.cli.replay.course import Course, Eyes, Moment
from sixledger.engine.registry import Registry
from sixledger.ledger import file, viewers
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.file import LedgerFile
from sixledger.ledger.heads import SignedHead, VerifierKey
from sixledger.ledger.key_list import Trust
from sixledger.ledger.records import read_body
from sixledger.ledger.verify import exit_status, verify, verify_records
from sixledger.ledger.verify.accounts import Account, Comparison
from sixledger.ledger.verify.histories import compare_accounts
from sixledger.ledger.verify.signers import Trusted
from sixledger.v1 import record_pb2, replay_service_pb2


@dataclass(slots=True)
class Case:
    """A ledger, what the verifier says of it, and what is known from elsewhere."""

    path: Path
    #: SHA-256 of the file, hexadecimal, and its size in bytes.
    sha256: str
    size: int
    ledger: LedgerFile
    report: replay_service_pb2.VerifyReport
    #: What a check of the records alone says, where the fault is in the heads or the form; else None.
    inner: replay_service_pb2.VerifyReport | None
    #: The records that are right, as far as they can be followed.
    course: Course = field(repr=False)
    trusted: Sequence[Trust] = ()
    #: The receipts of the match.
    receipts: Sequence[SignedHead] = ()
    comparison: Comparison | None = None
    #: Why there is no comparison though another account was given.
    not_compared: str = ""

    @property
    def status(self) -> int:
        """Exit status: 0 if nothing is wrong or different, 1 if something is or cannot be checked yet."""
        differs = self.comparison is not None and not self.comparison.agrees
        return max(exit_status(self.report), int(differs))

    @property
    def trusted_keys(self) -> list[VerifierKey]:
        """The keys that may vouch for the ledger, those of key lists included."""
        return list(Trusted(self.trusted).keys)

    @property
    def viewer(self) -> str:
        """For whom the ledger was made, as its header says."""
        return self.ledger.viewer

    @property
    def seat(self) -> int | None:
        """The seat of the viewer; None for a spectator and the operator."""
        try:
            return viewers.parse(self.ledger.viewer)
        except ValueError:
            return None

    @property
    def bad(self) -> int | None:
        """The number of the first bad record; None if none is bad."""
        finding = self.report.finding
        return finding.seq if self.report.HasField("finding") and finding.HasField("seq") else None

    @property
    def moment(self) -> Moment | None:
        """The match before the first bad record, or at the end of what is right; None if nothing can be followed."""
        bad = self.bad
        last = len(self.course) - 1 if bad is None else min(bad - 1, len(self.course) - 1)
        return self.course.at(last) if last >= 0 else None

    @property
    def eyes(self) -> Eyes:
        """Through whose eyes the ledger is told: all hands if it has them."""
        moment = self.moment
        if moment is not None and self.course.sees(Eyes(everything=True), moment.entry.seq):
            return Eyes(everything=True)
        seat = self.seat
        return Eyes(seat if seat is not None and len(self.course) and seat < self.course.seats else None)

    def hands(self) -> list[tuple[int, Any]]:
        """The seats whose hand this ledger shows at the moment, with their views."""
        moment = self.moment
        if moment is None or moment.match.state is None or moment.match.over:
            return []
        seen = [seat for seat in range(len(moment.match.seats)) if self.course.sees(Eyes(seat), moment.entry.seq)]
        return [(seat, self.course.view(moment, Eyes(seat))) for seat in seen]

    def body(self, seq: int) -> record_pb2.Body | None:
        """The body of a record as it stands in the file; None if there is none that can be read."""
        try:
            return read_body(self.ledger.records[seq], strict=False) if seq < len(self.ledger.records) else None
        except LedgerFault:
            return None


def open_case(
    path: Path,
    trusted: Sequence[Trust],
    receipts: Receipts,
    other: str | None = None,
    registry: Registry | None = None,
) -> Case:
    """Verify a ledger and collect what is known. Raises Failure if it is none, or a receipt is of another match."""
    try:
        ledger, broken = file.load_prefix(path)
    except UnusableInput as error:
        raise unusable(f"{path}: {one_line(str(error))}") from None
    except LedgerFault as fault:
        raise unusable(f"{path}: not even the header can be read: {one_line(fault.message)}") from None
    match_id = _match_of(ledger)
    if match_id and (said := receipts.complaint([match_id])):
        raise unusable(said)
    own = [key for key in trusted if _origin(key) == ledger.origin] or list(trusted)
    report = verify(path, trusted=own, receipts=receipts.of(match_id), registry=registry)
    inner = _inner(ledger, report, registry) if broken is not None or _beside_records(report) else None
    good = _good(report, inner, len(ledger.records))
    case = Case(
        path,
        *_digest(path),
        ledger,
        report,
        inner,
        Course(ledger.records[:good], registry=registry),
        own,
        receipts.by_match.get(match_id, []),
    )
    if other is not None:
        theirs = read_account(other)
        try:
            mine = Account.of_ledger(path.name, ledger, one_line(broken.message) if broken is not None else "")
        except UnusableInput as error:
            case.not_compared = one_line(str(error))
            return case
        try:
            case.comparison = compare_accounts(mine, theirs, trusted=trusted, registry=registry)
        except UnusableInput as error:
            raise unusable(one_line(str(error))) from None
    return case


def _digest(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return digest, stream.tell()


def _origin(trust: Trust) -> str:
    return trust.origin if isinstance(trust, VerifierKey) else trust.content.origin


def _match_of(ledger: LedgerFile) -> bytes:
    """The match of record 0; of nothing readable the empty one."""
    try:
        return read_body(ledger.records[0], strict=False).match_id if ledger.records else b""
    except LedgerFault:
        return b""


def _beside_records(report: replay_service_pb2.VerifyReport) -> bool:
    """True if the fault is not in what the records say, so that their rules were not looked at."""
    return report.HasField("finding") and report.finding.layer in ("heads", "parse")


def _inner(
    ledger: LedgerFile, report: replay_service_pb2.VerifyReport, registry: Registry | None
) -> replay_service_pb2.VerifyReport | None:
    """What the records say by themselves, whoever signed them."""
    return verify_records(ledger.records, registry=registry) if ledger.records else None


def _good(report: replay_service_pb2.VerifyReport, inner: replay_service_pb2.VerifyReport | None, count: int) -> int:
    """How many records from the first on are right."""
    if exit_status(report, partial=True) == 0:
        return count
    judged = inner if inner is not None and not report.record_count else report
    if exit_status(judged, partial=True) == 0:
        return count
    return judged.last_good.seq + 1 if judged.HasField("last_good") else 0
