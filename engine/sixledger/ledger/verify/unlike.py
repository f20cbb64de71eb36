"""Where two records of two accounts differ, in the words of the schema."""

from __future__ import annotations

from typing import Any

from sixledger.engine.schema import Schema
from sixledger.ledger import hashing, records
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.heads import b64
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.records import Parts
from sixledger.ledger.verify.compare import ABSENT, Difference, text
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.v1 import record_pb2

#: Stands for what is not there.
_GONE = object()


def differ(
    match_id: bytes, seq: int, mine: record_pb2.Record, other: record_pb2.Record, schema: Schema | None
) -> list[Difference]:
    """Where two records that stand at one place differ; openings that one of them lacks are no difference."""
    parts = Parts.of(mine), Parts.of(other)
    opened = [{seal: (salt, value) for seal, salt, value in each.openings} for each in parts]
    both = opened[0].keys() & opened[1].keys()
    if mine.body != other.body or parts[0].seals != parts[1].seals or parts[0].hash != parts[1].hash:
        return _readable(mine, other, both, schema) or _raw(mine, other)

    def fit(seal: int, opening: tuple[bytes, bytes]) -> str:
        seals = parts[0].seals
        right = seal < len(seals) and hashing.commitment(match_id, seq, seal, *opening) == seals[seal][2]
        return "fits its seal" if right else "does not fit its seal"

    unequal = [seal for seal in sorted(both) if opened[0][seal] != opened[1][seal]]
    return [(f"openings[{seal}]", fit(seal, opened[0][seal]), fit(seal, opened[1][seal])) for seal in unequal]


def _readable(
    mine: record_pb2.Record, other: record_pb2.Record, both: set[int], schema: Schema | None
) -> list[Difference]:
    """The differing fields by their names, as far as both accounts have them open."""
    if schema is None:
        return []
    try:
        return differences("", *(_shown(record, both, schema) for record in (mine, other)))
    except (LedgerFault, *CONFUSED):
        return []


def _shown(record: record_pb2.Record, common: set[int], schema: Schema) -> dict[str, Any]:
    """What a record says with no other openings than the common ones."""
    openings = [opening for opening in record.openings if opening.seal in common]
    reduced = record_pb2.Record(body=record.body, seals=record.seals, openings=openings, hash=record.hash)
    return shown(records.read(reduced, schema), schema)


def differences(path: str, mine: Any, other: Any) -> list[Difference]:
    """The leaves in which two JSON values differ."""
    if mine == other:
        return []
    if isinstance(mine, dict) and isinstance(other, dict):
        names = [*mine, *(name for name in other if name not in mine)]
        return [
            each
            for name in names
            for each in differences(f"{path}.{name}" if path else name, mine.get(name, _GONE), other.get(name, _GONE))
        ]
    if isinstance(mine, list) and isinstance(other, list):
        size = max(len(mine), len(other))
        padded = [[*each, *[_GONE] * (size - len(each))] for each in (mine, other)]
        return [
            each
            for index, pair in enumerate(zip(*padded, strict=True))
            for each in differences(f"{path}[{index}]", *pair)
        ]
    return [(path, _said(mine), _said(other))]


def _said(value: Any) -> str:
    if value is _GONE:
        return ABSENT
    return text(dumps(value) if isinstance(value, (dict, list)) else value)


def _raw(mine: record_pb2.Record, other: record_pb2.Record) -> list[Difference]:
    """Differences of two records that say the same: in what is sealed, in their bytes, in their hash."""
    found: list[Difference] = []
    for index in range(max(len(mine.seals), len(other.seals))):
        pair = [record.seals[index] if index < len(record.seals) else None for record in (mine, other)]
        if pair[0] != pair[1]:
            values = [b64(each.commitment) if each is not None else ABSENT for each in pair]
            if values[0] == values[1]:
                values = [f"audience {each.audience:b}, epoch {each.epoch}" for each in pair if each is not None]
            found.append((f"seals[{index}]", values[0], values[1]))
    if mine.body != other.body:
        found.append(("body", text(mine.body), text(other.body)))
    if not found:
        found.append(("hash", b64(mine.hash), b64(other.hash)))
    return found
