"""Exported ledgers: what the checker needs of them, and what the verifier says."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2, replay_service_pb2


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """What matters of a record here."""

    hash: str
    #: Hexadecimal; empty for what a timer did.
    request: str
    #: −1: the table or a timer.
    seat: int
    #: True if the service plays the seat itself: no client has asked for it.
    hosted: bool = False


@dataclass(slots=True)
class Ledger:
    """A ledger as one replica exported it."""

    match: str
    replica: str
    records: list[LedgerRecord] = field(default_factory=list)
    #: The verifier's, for one export of each match; None: not asked.
    verdict: str | None = None


def read_ledger(path: Path, replica: str) -> Ledger:
    """The records of an exported file, without judging them."""
    data = path.read_bytes()
    lines = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).splitlines()
    ledger = Ledger(json.loads(lines[0])["match"], replica)
    hosted: set[int] = set()
    for line in lines[1:]:
        content = json.loads(line)
        if "body" not in content:
            continue
        body = record_pb2.Body.FromString(base64.b64decode(content["body"]))
        hosted |= {step.joined.seat for step in body.lifecycle if step.joined.hosted}
        cause, hash_ = body.cause, base64.b64decode(content["hash"]).hex()
        of_seat = cause.kind == record_pb2.CAUSE_KIND_SEAT
        seat = cause.seat if of_seat else -1
        ledger.records.append(LedgerRecord(hash_, cause.request_id.hex(), seat, of_seat and seat in hosted))
    return ledger


def judge(path: Path, trusted: Iterable[VerifierKey], heads: Iterable[str]) -> str:
    """The verifier's verdict on a file, held against every signed head that a client of the match got."""
    report = verify(path, trusted=trusted, receipts=heads)
    name = replay_service_pb2.Verdict.Name(report.verdict).removeprefix("VERDICT_")
    return name if report.verdict == replay_service_pb2.VERDICT_VALID else f"{name}: {report.summary}"
