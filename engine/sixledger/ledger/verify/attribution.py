"""Who did what: every record found right, given to a key, to a seat without one, to a timer or to the table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from sixledger.ledger import keys
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin
from sixledger.ledger.verify.subject import Subject
from sixledger.v1 import record_pb2, replay_service_pb2

SEAT, TIMER = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TIMER

#: What a game may raise when it is asked about a state that hostile events led to, beside LedgerFault.
_CONFUSED = (ValueError, LookupError, AssertionError, TypeError, AttributeError, ArithmeticError)


def attribution(subject: Subject, count: int) -> replay_service_pb2.Attribution:
    """Who caused the first `count` records, whose signatures were found right.

    The message names each record exactly once. `holders` has an entry for whoever held a seat, in the order in which
    they took it: `seat`, `since` (the record with which), `public_key` and `key_id` (empty: the holder does not sign),
    `hosted` (the operator plays it), and ascending numbers of records: `signed_records` (with that key; checked),
    `sealed_records` (the signature is sealed for the viewer of this ledger), `unsigned_records` (nobody signed: the
    operator can have made them), `timer_records` (the time of the seat was over). `table` are those of the table's
    owner, `timers` those of deadlines that are of no one seat.
    """
    result = replay_service_pb2.Attribution(record_count=count)
    table: list[int] = []
    timers: list[int] = []
    current: dict[int, _Holder] = {}
    for seq, (body, cause) in enumerate(islice(zip(subject.bodies, subject.causes, strict=True), count)):
        if not body.command:  # no record has both
            _take_steps(result, current, body.lifecycle, seq)
        kind = cause.kind
        if kind == SEAT:
            holder = current[cause.seat]
            if holder.has_key:
                holder.take(seq, cause.signature, subject.records[seq])
            else:
                holder.unsigned.append(seq)
        elif kind == TIMER:
            of_seat = cause.timer == record_pb2.TIMER_KIND_TURN
            (current[cause.seat].timer if of_seat else timers).append(seq)
        else:
            table.append(seq)
    result.table.extend(table)
    result.timers.extend(timers)
    for holder in current.values():
        holder.write()
    return result


def checked_attribution(subject: Subject, most: int) -> replay_service_pb2.Attribution:
    """Who caused the first records, `most` at most, of a ledger whose signatures were not checked yet.

    For a ledger that is refused before its rules are looked at: as many as can be believed, none if record 0 cannot.
    """
    count = 0
    if not most:
        return replay_service_pb2.Attribution()
    try:
        match = begin(subject.records[0], subject.registry)
        for record in subject.records[:most]:
            match.apply(record)
            count += 1
    except (LedgerFault, *_CONFUSED):
        pass  # the report names the fault that was found first; here it only matters how far one can go
    return attribution(subject, count)


class _Holder:
    """Whoever holds a seat. Lists are filled first: appending to those of a message costs more."""

    __slots__ = ("_message", "has_key", "sealed", "signed", "timer", "unsigned")

    def __init__(self, message: replay_service_pb2.Holder) -> None:
        self._message = message
        self.has_key = bool(message.public_key)
        self.signed: list[int] = []
        self.sealed: list[int] = []
        self.unsigned: list[int] = []
        self.timer: list[int] = []

    def take(self, seq: int, signature: bytes, record: record_pb2.Record) -> None:
        """A record that a seat with a key caused. A command with secret fields has its signature in seal 0."""
        if signature or (record.openings and record.openings[0].seal == 0):
            self.signed.append(seq)
        else:
            self.sealed.append(seq)

    def write(self) -> None:
        """Put the records into the message."""
        message = self._message
        message.signed_records.extend(self.signed)
        message.sealed_records.extend(self.sealed)
        message.unsigned_records.extend(self.unsigned)
        message.timer_records.extend(self.timer)


def _take_steps(
    result: replay_service_pb2.Attribution,
    current: dict[int, _Holder],
    steps: Iterable[record_pb2.Lifecycle],
    seq: int,
) -> None:
    """Who holds the seats after these steps. Whoever leaves a seat still holds it in the record of leaving."""
    for step in steps:
        name = step.WhichOneof("step")
        if name == "joined":
            joined = step.joined
            _sit_down(result, current, joined.seat, seq, joined.public_key, hosted=joined.hosted)
        elif name == "closed":
            for seat, closed in enumerate(step.closed.seats):
                if seat not in current:  # a match that starts at once: nobody joined
                    _sit_down(result, current, seat, seq, closed.public_key, hosted=closed.hosted)


def _sit_down(
    result: replay_service_pb2.Attribution,
    current: dict[int, _Holder],
    seat: int,
    seq: int,
    public_key: bytes,
    *,
    hosted: bool,
) -> None:
    if seat in current:
        current[seat].write()
    key_id = keys.key_id(public_key) if public_key else b""
    message = result.holders.add(seat=seat, since=seq, public_key=public_key, key_id=key_id, hosted=hosted)
    current[seat] = _Holder(message)
