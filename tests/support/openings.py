"""Late openings of records that are messages: what servers cut from bytes, said once more in the plainest way."""

from __future__ import annotations

from sixledger.ledger.whole import may_open
from sixledger.v1 import record_pb2


def late_openings(record: record_pb2.Record, viewer: int | None, before: int, after: int) -> list[record_pb2.Opening]:
    """The openings that `viewer` gains when the revealed epochs go from `before` to `after`."""

    def opens(opening: record_pb2.Opening, revealed: int) -> bool:
        seal = record.seals[opening.seal]
        return may_open(seal.audience, seal.epoch, viewer, revealed)

    return [opening for opening in record.openings if opens(opening, after) and not opens(opening, before)]


def add_openings(record: record_pb2.Record, openings: list[record_pb2.Opening]) -> None:
    """Add late openings to a record in place, keeping them ascending. Raises AssertionError for a repeated one."""
    merged = {opening.seal: opening for opening in record.openings}
    for opening in openings:
        assert opening.seal not in merged, f"seal {opening.seal} is opened twice"
        merged[opening.seal] = opening
    copies = [record_pb2.Opening(seal=at, salt=merged[at].salt, value=merged[at].value) for at in sorted(merged)]
    del record.openings[:]
    record.openings.extend(copies)
