"""The course of a match: where it stands after each record, and through whose eyes that can be seen.

    course = Course(records)
    moment = course.at(27)
    course.view(moment, Eyes(seat=2))

Pure: no terminal, no file, no network. Going anywhere costs at most `every` records of folding, because the
match is kept at intervals. What cannot be folded ends the course: the records before it stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sixledger.engine import visibility
from sixledger.engine.game import Game
from sixledger.engine.registry import Registry
from sixledger.ledger import records as records_
from sixledger.ledger.faults import LedgerFault, tampered
from sixledger.ledger.folding import begin
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.v1 import record_pb2


@dataclass(frozen=True, slots=True)
class Eyes:
    """Who looks: a seat, everybody's hands at once, or, with neither, a spectator."""

    seat: int | None = None
    everything: bool = False


SPECTATOR = Eyes()
ALL_HANDS = Eyes(everything=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record in the list of the course. `round` and `turn` are those that it leads to; 0 before the start."""

    seq: int
    time_us: int
    kind: record_pb2.CauseKind.ValueType
    #: The acting seat; None if no seat acted.
    seat: int | None
    round: int
    turn: int


@dataclass(frozen=True, slots=True)
class Moment:
    """After a record: what it says, and the match as it stands then. Do not change the match."""

    entry: Entry
    record: record_pb2.Record = field(repr=False)
    facts: Facts = field(repr=False)
    match: Match = field(repr=False)

    def events(self, eyes: Eyes) -> list[Any]:
        """The events of the record, with the secrets that `eyes` had when they happened."""
        if eyes.everything:
            return self.facts.events
        return [visibility.redact(event, eyes.seat) for event in self.facts.events]

    def command(self, eyes: Eyes) -> tuple[Any, bool] | None:
        """The command of the record as `eyes` had it, and whether it is whole; None if there is none."""
        facts = self.facts
        if facts.command is None:
            return None
        if facts.command_bytes is None:
            return facts.command, False
        if eyes.everything:
            return facts.command, True
        seen = visibility.redact(facts.command, eyes.seat, giver=self.entry.seat)
        return seen, seen == facts.command


class Course:
    """The records of one match, and where it stands after each of them."""

    def __init__(
        self, records: Iterable[record_pb2.Record] = (), *, registry: Registry | None = None, every: int = 32
    ) -> None:
        """`records` are from 0 on, verified or to be believed; the match is kept after each `every` of them."""
        if every < 1:
            raise ValueError("the interval must be at least 1")
        self.entries: list[Entry] = []
        #: What ended the course: the record after the last entry cannot follow.
        self.fault: LedgerFault | None = None
        self._registry = registry
        self._every = every
        self._records: list[record_pb2.Record] = []
        #: By record: seats that may open a seal of it which is closed here (bit set), and those of all up to it.
        self._missing: list[int] = []
        self._sealed: list[int] = []
        self._kept: dict[int, Match] = {}
        self._last: Moment | None = None
        self._head: Match | None = None
        self._blank: Match | None = None
        self._seats = 0
        #: Records with which a turn or a round begins, ascending.
        self._turns: list[int] = []
        self._rounds: list[int] = []
        self.extend(records)

    def __len__(self) -> int:
        """Number of records."""
        return len(self.entries)

    # -- growing -----------------------------------------------------------------------------------

    def extend(self, records: Iterable[record_pb2.Record]) -> int:
        """Take further records, in order, up to the first that cannot follow; how many were taken."""
        before = len(self)
        for record in records:
            if self.fault is not None:
                break
            try:
                self._append(record)
            except LedgerFault as fault:
                self._end(fault)
            except CONFUSED:
                self._end(tampered("rules", "the record cannot follow here"))
        return len(self) - before

    def _end(self, fault: LedgerFault) -> None:
        fault.seq = len(self)
        self.fault, self._head = fault, None

    def _append(self, record: record_pb2.Record) -> None:
        seq = len(self)
        if seq == 0:
            match = begin(record, self._registry)
            self._blank = match.copy()
        elif self._head is None:
            match = self.at(seq - 1).match.copy()
        else:
            match = self._head
        facts = match.apply(record, check_signatures=False)
        round_, turn = _place(match)
        cause = facts.body.cause
        seat = cause.seat if cause.kind == record_pb2.CAUSE_KIND_SEAT else None
        before = self.entries[-1] if self.entries else None
        self._head, self._seats = match, len(match.seats)
        self._records.append(record)
        self.entries.append(Entry(seq, facts.body.time_us, cause.kind, seat, round_, turn))
        self._missing.append(_missing(record, facts))
        self._sealed.append((self._sealed[-1] if self._sealed else 0) | self._missing[-1])
        if seq % self._every == 0:
            self._kept[seq] = match.copy()
        if before is None or before.round != round_:
            self._rounds.append(seq)
        if before is None or (before.round, before.turn) != (round_, turn):
            self._turns.append(seq)

    def reopen(self, opened: Iterable[tuple[int, record_pb2.Record]]) -> None:
        """Take records again that have more openings than before, by number. The rest of them is the same."""
        first = len(self)
        for seq, record in opened:
            if record.hash != self._records[seq].hash:
                raise ValueError(f"this is another record {seq} than the one that is here")
            self._records[seq] = record
            self._missing[seq] = _missing(record, records_.read(record, self.game.schema))
            first = min(first, seq)
        if first == len(self):
            return
        for seq in range(first, len(self)):
            self._sealed[seq] = (self._sealed[seq - 1] if seq else 0) | self._missing[seq]
        # What was folded with fewer openings knows too little.
        self._kept = {seq: match for seq, match in self._kept.items() if seq < first}
        self._last = self._head = None

    # -- going -------------------------------------------------------------------------------------

    @property
    def game(self) -> Game[Any]:
        """The rules of the match. Raises LookupError without records."""
        return self._begun.game

    @property
    def seats(self) -> int:
        """Number of seats, as it is after the last record. Raises LookupError without records."""
        return self._seats if self._seats else len(self._begun.seats)

    @property
    def _begun(self) -> Match:
        if self._blank is None:
            raise LookupError("the course has no records")
        return self._blank

    def at(self, seq: int) -> Moment:
        """The match after record `seq`. Raises IndexError if the course does not reach it."""
        if not 0 <= seq < len(self):
            raise IndexError(f"the course has records 0 to {len(self) - 1}, not {seq}")
        last = self._last
        if last is not None and last.entry.seq == seq:
            return last
        start = seq // self._every * self._every
        while start not in self._kept and start > 0:
            start -= self._every
        if last is not None and max(start, 0) <= last.entry.seq < seq:
            match, done = last.match.copy(), last.entry.seq
        elif start in self._kept:
            match, done = self._kept[start].copy(), start
        else:
            match, done = self._begun.copy(), -1
        facts: Facts | None = None
        for number in range(done + 1, seq + 1):
            facts = match.apply(self._records[number], check_signatures=False)
            if number % self._every == 0 and number not in self._kept:
                self._kept[number] = match.copy()
        if facts is None:
            facts = records_.read(self._records[seq], match.game.schema)
        self._last = Moment(self.entries[seq], self._records[seq], facts, match)
        return self._last

    def turn(self, seq: int, steps: int) -> int:
        """The record that begins the turn `steps` (1 or -1) from `seq`; the end or the start if there is none.

        Back from within a turn is its own beginning.
        """
        return self._beginning(self._turns, seq, steps)

    def round(self, seq: int, steps: int) -> int:
        """The record that begins the round `steps` (1 or -1) from `seq`; as `turn`."""
        return self._beginning(self._rounds, seq, steps)

    def _beginning(self, places: list[int], seq: int, steps: int) -> int:
        if steps > 0:
            index = bisect_right(places, seq)
            return places[index] if index < len(places) else len(self) - 1
        index = bisect_left(places, seq) - 1
        return places[index] if index >= 0 else 0

    def begins(self, seq: int) -> bool:
        """True if a turn begins with record `seq`; what comes before the start is none."""
        index = bisect_left(self._turns, seq)
        return index < len(self._turns) and self._turns[index] == seq and self.entries[seq].round > 0

    def turns(self) -> list[Entry]:
        """The records with which a turn begins."""
        return [self.entries[seq] for seq in self._turns]

    def find(self, round_: int, turn: int | None = None) -> int | None:
        """The record with which a round, or a turn of it, begins; None if the course does not reach it."""
        for seq in self._turns:
            entry = self.entries[seq]
            if entry.round == round_ and turn in (None, entry.turn):
                return seq
        return None

    # -- seeing ------------------------------------------------------------------------------------

    def sees(self, eyes: Eyes, seq: int) -> bool:
        """True if everything that `eyes` may see up to record `seq` is open here."""
        if eyes.everything:
            return not self._sealed[seq] & ((1 << self.seats) - 1)
        return eyes.seat is None or not self._sealed[seq] >> eyes.seat & 1

    def view(self, moment: Moment, eyes: Eyes) -> Any:
        """What `eyes` see, the game's View; all hands look at the table as a spectator. None before the start."""
        match = moment.match
        return match.game.view(match.state, eyes.seat) if match.state is not None else None

    def hands(self, moment: Moment) -> list[Any]:
        """The views of all seats; none before the start."""
        match = moment.match
        return (
            [match.game.view(match.state, seat) for seat in range(len(match.seats))] if match.state is not None else []
        )


def _missing(record: record_pb2.Record, facts: Facts) -> int:
    """The seats that may open something at once which is not open."""
    missing = 0
    for index in facts.closed:
        missing |= record.seals[index].audience
    return missing


def _place(match: Match) -> tuple[int, int]:
    """Round and turn; of games whose views count neither, the epoch and the decision."""
    if match.state is None:
        return 0, 0
    view = match.game.view(match.state, None)
    return getattr(view, "round", match.epoch), getattr(view, "turn", match.decision)
