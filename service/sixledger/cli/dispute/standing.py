"""Who can have made what is wrong: what signed heads vouch for, and what key lists say of the keys of heads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from google.protobuf.message import DecodeError
from sixledger.cli.dispute.case import Case
from sixledger.ledger import hashing
from sixledger.ledger.heads import SignedHead
from sixledger.ledger.key_list import ListedKey
from sixledger.ledger.records import Parts
from sixledger.ledger.verify.signers import Trusted
from sixledger.v1 import record_pb2, replay_service_pb2


class Author(Enum):
    """Who signed a record exactly as it stands in the file."""

    #: Somebody with a key of the server that is trusted.
    SERVER = "server"
    #: Somebody with a key of the server that was stolen, as the server says: the server or the thief.
    STOLEN = "stolen"
    #: Somebody with a key that nobody trusted vouches for.
    STRANGER = "stranger"
    #: No head in the file vouches for it: anybody can have written it.
    ANYBODY = "anybody"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the signatures say about a report."""

    author: Author
    #: True if the first bad record itself is out of form, not its readable copy or the file around it.
    malformed: bool = False
    #: The key whose head the key list refuses, for a report that says so, and whether that head is only a receipt.
    refused: ListedKey | None = None
    receipt_refused: bool = False
    #: True if a head that counts here is of a key that was stolen later, as the server says.
    doubted: bool = False


def standing(case: Case, report: replay_service_pb2.VerifyReport) -> Standing:
    """How the signatures of a case stand to a report about it: its own, or one about the records alone."""
    trusted = Trusted(case.trusted)
    seq = report.finding.seq if report.finding.HasField("seq") else None
    refused, receipt_refused = None, False
    if report.verdict == replay_service_pb2.VERDICT_BAD_SIGNATURE and report.finding.layer == "heads":
        refused, receipt_refused = _refused(case, trusted)
    return Standing(
        Author.SERVER if report.signer_authenticated else _author(case, trusted, seq),
        _is_malformed(case, report),
        refused,
        receipt_refused,
        any(trusted.vouches(signed) and trusted.doubt(signed) for signed in _heads(case)),
    )


def _heads(case: Case) -> list[SignedHead]:
    """In the order in which the verifier looks at them."""
    return sorted([*case.ledger.heads, *case.receipts], key=lambda signed: signed.head.count)


def _author(case: Case, trusted: Trusted, seq: int | None) -> Author:
    """Who vouches for record `seq` as it stands, or for the last record; the verifier may not have looked so far."""
    count = _chained(case)
    least = seq + 1 if seq is not None else len(case.ledger.records)
    covering = [
        signed
        for signed in _heads(case)
        if least <= signed.head.count <= count and signed.head.hash == case.ledger.records[signed.head.count - 1].hash
    ]
    found = {_author_of(case, trusted, signed) for signed in covering}
    return next((author for author in Author if author in found), Author.ANYBODY)


def _author_of(case: Case, trusted: Trusted, signed: SignedHead) -> Author:
    if trusted.vouches(signed):
        key_list = trusted.lists.get(signed.head.origin)
        in_time = key_list is None or not key_list.judge(signed)
        if in_time and (not trusted.doubt(signed) or signed in case.receipts):
            return Author.SERVER
        return Author.STOLEN
    return Author.STRANGER if any(signed.signed_by(key) for key in case.ledger.keys) else Author.ANYBODY


def _chained(case: Case) -> int:
    """How many records the hashes tie together, whatever is in them: of these the last hash vouches for all."""
    records = case.ledger.records
    try:
        match_id = record_pb2.Body.FromString(records[0].body).match_id if records else b""
    except DecodeError:
        return 0
    previous = hashing.ZERO_HASH
    for seq, record in enumerate(records):
        seals, _, hash_ = Parts.of(record)
        if hashing.chain_hash(match_id, seq, previous, record.body, seals) != hash_:
            return seq
        previous = hash_
    return len(records)


def _is_malformed(case: Case, report: replay_service_pb2.VerifyReport) -> bool:
    """True if the report stops at the form of a record. Its readable copy is not looked at without the file."""
    layers = ("chain", "parse")
    alone = case.inner if case.inner is not None else report
    if report.finding.layer not in layers or alone.finding.layer not in layers:
        return False
    return report.finding.HasField("seq") and alone.finding.HasField("seq") and alone.finding.seq == report.finding.seq


def _refused(case: Case, trusted: Trusted) -> tuple[ListedKey | None, bool]:
    for signed in (*case.ledger.heads, *case.receipts):
        key_list = trusted.lists.get(signed.head.origin)
        if key_list is not None and (entry := key_list.entry(signed)) is not None and key_list.judge(signed):
            return entry, signed not in case.ledger.heads
    return None, False
