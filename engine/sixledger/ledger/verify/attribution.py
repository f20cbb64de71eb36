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
    """Who caused the first `count` records, whose signatures were found right."""
    collector = Attributor()
    for seq, (record, body) in enumerate(islice(zip(subject.records, subject.bodies, strict=True), count)):
        collector.take(seq, record, body, body.cause)
    return collector.attribution(count)


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


class Attributor:
    """Collects who caused which records, one after the other.

    The message that comes of it names each record exactly once. `holders` has an entry for whoever held a seat, in the
    order in which they took it: `seat`, `since` (the record with which), `public_key` and `key_id` (empty: the holder
    does not sign), `hosted` (the operator plays it), and ascending numbers of records: `signed_records` (with that
    key; checked), `sealed_records` (the signature is sealed for the viewer of this ledger), `unsigned_records` (nobody
    signed: the operator can have made them), `timer_records` (the time of the seat was over). `table` are those of the
    table's owner, `timers` those of deadlines that are of no one seat.
    """

    def __init__(self) -> None:
        """Before the first record."""
        self._result = replay_service_pb2.Attribution()
        self._table: list[int] = []
        self._timers: list[int] = []
        self._current: dict[int, _Holder] = {}

    def take(self, seq: int, record: record_pb2.Record, body: record_pb2.Body, cause: record_pb2.Cause) -> None:
        """Record `seq`, the next, with its body and cause; its signature was found right."""
        if not body.command:  # no record has both
            _take_steps(self._result, self._current, body.lifecycle, seq)
        kind = cause.kind
        if kind == SEAT:
            self._current[cause.seat].take(seq, cause.signature, record)
        elif kind == TIMER:
            of_seat = cause.timer == record_pb2.TIMER_KIND_TURN
            (self._current[cause.seat].timer if of_seat else self._timers).append(seq)
        else:
            self._table.append(seq)

    def take_command(self, seq: int, seat: int) -> None:
        """Record `seq`, the next: a command of a seat, signed and open to this viewer if the seat signs at all."""
        self._current[seat].commands.append(seq)

    def attribution(self, count: int) -> replay_service_pb2.Attribution:
        """Who caused the records, `count` of them, all that were taken."""
        result = self._result
        result.record_count = count
        result.table.extend(self._table)
        result.timers.extend(self._timers)
        for holder in self._current.values():
            holder.write()
        return result


class _Holder:
    """Whoever holds a seat. Lists are filled first: appending to those of a message costs more."""

    __slots__ = ("_message", "commands", "sealed", "signed", "timer", "unsigned")

    def __init__(self, message: replay_service_pb2.Holder) -> None:
        self._message = message
        self.signed: list[int] = []
        self.sealed: list[int] = []
        self.unsigned: list[int] = []
        self.timer: list[int] = []
        #: Where commands belong of which everything is open.
        self.commands = self.signed if message.public_key else self.unsigned

    def take(self, seq: int, signature: bytes, record: record_pb2.Record) -> None:
        """A record that the holder caused. A command with secret fields has its signature in seal 0."""
        if self.commands is self.unsigned or signature or (record.openings and record.openings[0].seal == 0):
            self.commands.append(seq)
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
