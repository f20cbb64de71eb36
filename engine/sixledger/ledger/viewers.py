"""Whose ledger it is: a viewer is known by the openings that the ledger holds.

A viewer is named `spectator`, `seat:N` or `operator`. With the epochs that the ledger reveals, each name
stands for exactly one set of openings; a ledger is named after the weakest viewer with its set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sixledger.ledger.records import Parts, redact
from sixledger.v1 import record_pb2

SPECTATOR, OPERATOR = "spectator", "operator"
_SEAT = re.compile(r"seat:(0|[1-9][0-9]?)")

Records = Sequence[record_pb2.Record]


def seat_name(seat: int) -> str:
    """The name of the viewer in a seat."""
    return f"seat:{seat}"


def parse(name: str) -> int | None:
    """The seat of a viewer's name; None for a spectator and the operator. Raises ValueError."""
    found = _SEAT.fullmatch(name)
    if found is None and name not in (SPECTATOR, OPERATOR):
        raise ValueError(f"{name!r} is no viewer; give {SPECTATOR}, seat:N or {OPERATOR}")
    return int(found[1]) if found else None


def revealed_epoch(bodies: Iterable[record_pb2.Body]) -> int:
    """The highest epoch that the records reveal."""
    return max((reveal.epoch for body in bodies for reveal in body.reveals), default=0)


def redact_all(records: Records, viewer: str, revealed: int) -> list[record_pb2.Record]:
    """The records with the openings of `viewer` and no others; the operator keeps all."""
    seat = parse(viewer)
    if viewer == OPERATOR:
        return list(records)
    return [redact(record, seat, revealed) for record in records]


def _is_public(epoch: int, revealed: int) -> bool:
    return 0 < epoch <= revealed


def entitled(parts: Parts, viewer: str, revealed: int) -> list[int]:
    """The seals of a record that `viewer` may have open."""
    seat = parse(viewer)
    if viewer == OPERATOR:
        return list(range(len(parts.seals)))
    bit = 0 if seat is None else 1 << seat
    return [
        index for index, (audience, epoch, _) in enumerate(parts.seals) if audience & bit or _is_public(epoch, revealed)
    ]


def is_complete(parts: Parts, viewer: str, revealed: int) -> bool:
    """True if the record has exactly the openings that `viewer` may have."""
    return [index for index, _, _ in parts.openings] == entitled(parts, viewer, revealed)


def weakest(ledger: Sequence[Parts], seats: int, revealed: int) -> tuple[str | None, int]:
    """The weakest viewer who has exactly the openings of `ledger`, and the number of the last record looked at.

    None if no viewer has: then the number is that of the record with which the last possible viewer drops out.
    """
    public, everything = True, True
    candidates = (1 << seats) - 1
    for number, parts in enumerate(ledger):
        seals, openings = parts.seals, parts.openings
        if len(openings) == len(seals) and all(0 < epoch <= revealed for _, epoch, _ in seals):
            continue  # public and open: every viewer has it so
        opened = {index for index, _, _ in openings}
        for index, (audience, epoch, _) in enumerate(seals):
            is_open = index in opened
            if _is_public(epoch, revealed):
                if not is_open:
                    return None, number
            elif is_open:
                public = False
                candidates &= audience
            else:
                everything = False
                candidates &= ~audience
        if not (public or candidates or everything):
            return None, number
    last = len(ledger) - 1
    if public:
        return SPECTATOR, last
    if candidates:
        return seat_name((candidates & -candidates).bit_length() - 1), last
    return OPERATOR, last
