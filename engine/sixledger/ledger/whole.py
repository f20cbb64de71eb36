"""A record with all its openings, as bytes from which each viewer gets his part.

A server makes a record once and shows it to many. As a message it would be taken apart and put together again
for each of them; here what somebody may not see is cut out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sixledger.ledger import wire
from sixledger.v1 import record_pb2

#: An opening in a record: audience and epoch of its seal, and where its field begins and ends.
Place: TypeAlias = tuple[int, int, int, int]
#: Record, hash, openings, and where these are counted from.
Made: TypeAlias = tuple[bytes, bytes, Sequence[Place], int]

#: Keys of `Record.openings` and of `LateOpenings.openings`: the same field under another number.
_OPENING = wire.key(record_pb2.Record.OPENINGS_FIELD_NUMBER)
_LATE = wire.key(record_pb2.LateOpenings.OPENINGS_FIELD_NUMBER)


def may_open(audience: int, epoch: int, viewer: int | None, revealed: int) -> bool:
    """True if `viewer` (a seat, or None for everybody) may open a seal when epochs up to `revealed` are."""
    return 0 < epoch <= revealed or (viewer is not None and bool(audience >> viewer & 1))


class WholeRecord:
    """A record with all its openings. Not to be changed."""

    __slots__ = ("_base", "_places", "data", "hash")

    def __init__(self, data: bytes, record_hash: bytes, places: Sequence[Place], base: int = 0) -> None:
        """`data` is a serialised Record, `places` are its openings, counted from `base`."""
        self.data = data
        self.hash = record_hash
        self._places = places
        self._base = base

    @classmethod
    def of(cls, record: record_pb2.Record) -> WholeRecord:
        """The record in a message, without fields that this build does not know: no hash covers them."""
        at = _length(len(record.body)) if record.body else 0
        at += sum([_length(seal.ByteSize()) for seal in record.seals])
        places: list[Place] = []
        for opening in record.openings:
            seal, end = record.seals[opening.seal], at + _length(opening.ByteSize())
            places.append((seal.audience, seal.epoch, at, end))
            at = end
        at += _length(len(record.hash)) if record.hash else 0
        return cls(record.SerializeToString(deterministic=True)[:at], record.hash, tuple(places))

    def __repr__(self) -> str:
        """Without the record, which holds secrets."""
        return f"WholeRecord({len(self.data)} bytes)"

    @property
    def made(self) -> Made:
        """What it is made from, for whoever keeps thousands: the garbage collector need not look at plain tuples."""
        return self.data, self.hash, self._places, self._base

    @property
    def message(self) -> record_pb2.Record:
        """The record as a message of its own."""
        return record_pb2.Record.FromString(self.data)

    def shown(self, viewer: int | None, revealed: int) -> bytes:
        """The serialised Record with the openings that `viewer` may have when epochs up to `revealed` are revealed."""
        data, base, places = self.data, self._base, self._places
        seat = 0 if viewer is None else 1 << viewer
        allowed = [place for place in places if 0 < place[1] <= revealed or place[0] & seat]  # as `may_open`
        if len(allowed) == len(places):
            return data
        openings = [data[base + start : base + end] for _, _, start, end in allowed]
        return b"".join((data[: base + places[0][2]], *openings, data[base + places[-1][3] :]))

    def freed(self, seq: int, viewer: int | None, before: int, after: int) -> bytes:
        """The serialised LateOpenings of what `viewer` gains when the revealed epochs go from `before` to `after`.

        `seq` is the number of the record. Empty if that is nothing.
        """
        data, base = self.data, self._base
        seat = 0 if viewer is None else 1 << viewer
        gained = [
            _LATE + data[base + start + len(_OPENING) : base + end]
            for audience, epoch, start, end in self._places
            if before < epoch <= after and not audience & seat
        ]
        if not gained:
            return b""
        number = wire.varint(record_pb2.LateOpenings.SEQ_FIELD_NUMBER << 3) + wire.varint(seq) if seq else b""
        return number + b"".join(gained)


def _length(content: int) -> int:
    """How long a field with so many bytes is. Its key has one byte."""
    return 1 + len(wire.varint(content)) + content
