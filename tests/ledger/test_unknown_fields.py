"""Nothing hides in the bytes of a body, however the rest of it is spelt."""

from __future__ import annotations

import pytest
from sixledger.ledger import hashing
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin
from sixledger.ledger.verify import verify_records
from sixledger.v1 import record_pb2, replay_service_pb2
from support.ledgers import KEYS, SERVER_ONLY, Table, copies, head, rounds
from support.wire import unpacked

#: A field that no schema has, of 3 bytes.
UNKNOWN = b"\xc0\x3e\x01"


def respelt(padding: bytes) -> tuple[list[record_pb2.Record], int]:
    """A ledger in which a body is spelt so that `padding` makes it as long as before, chained anew; and that record."""
    for number in range(20):
        honest = Table(2, rounds(2), SERVER_ONLY, immediate=True, name=f"spelling {number}").play().records
        for seq in range(1, len(honest)):
            body = unpacked(record_pb2.Body.DESCRIPTOR, honest[seq].body)
            if len(body) + len(UNKNOWN) == len(honest[seq].body):
                records, previous = copies(honest), hashing.ZERO_HASH
                records[seq].body = body + padding
                for at, record in enumerate(records):
                    match_id = record_pb2.Body.FromString(record.body).match_id
                    record.hash = previous = hashing.record_hash(match_id, at, previous, record.body, record.seals)
                return records, seq
    raise LookupError("no record has lists that are so much shorter")


def test_an_unknown_field_is_found_though_the_body_is_as_long_as_it_should_be() -> None:
    """Another spelling of the known fields makes room for it: lengths alone do not tell."""
    records, seq = respelt(UNKNOWN)
    report = verify_records(records, [head(records, len(records))], trusted=KEYS)
    assert report.verdict == replay_service_pb2.VERDICT_TAMPERED
    assert report.finding.seq == seq
    match = begin(records[0])
    for record in records[:seq]:
        match.apply(record)
    with pytest.raises(LedgerFault, match="unknown fields"):
        match.apply(records[seq])


def test_another_spelling_of_the_same_body_is_the_same_body() -> None:
    """Protobuf is not canonical: the meaning counts."""
    records, _ = respelt(b"")
    report = verify_records(records, [head(records, len(records))], trusted=KEYS)
    assert report.verdict == replay_service_pb2.VERDICT_VALID
