"""A record as a viewer has it: with what was opened of it later, and what it opened itself.

Most of what is opened late nobody looks at again. So it is put together when somebody asks for it; that it fits was
checked before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.message import Message
from sixledger.ledger.records import Facts
from sixledger.v1 import record_pb2


class Replayed(NamedTuple):
    """What a sealed command led to when it was played again. Others hold the messages, too: not to be changed."""

    command: Message
    #: The bytes of the command.
    data: bytes
    signature: bytes
    #: The events that were sealed, by index.
    sealed: list[tuple[int, Message]]

    def __repr__(self) -> str:
        """Without the command and its events, which may be secret."""
        return f"Replayed({len(self.sealed)} sealed events)"

    def facts(self, before: Facts) -> Facts:
        """The facts of the record, once everything is open; `before`: as they were until then."""
        events = before.events.copy()
        for index, event in self.sealed:
            events[index] = _copy(event)
        return Facts(
            before.body, _copy(self.command), self.data, self.signature, events, before.owners, [], before.seals
        )


class Recorded:
    """A record as the viewer has it: what it says, and what it opened of earlier records."""

    __slots__ = ("_facts", "_late", "_opened", "_record", "_replayed", "before", "seq", "shown")

    def __init__(self, seq: int, record: record_pb2.Record, facts: Facts, opened: tuple[Recorded, ...] = ()) -> None:
        """`opened` are earlier records as they are with this one."""
        self.seq = seq
        #: The record and what it said when it came.
        self.shown, self.before = record, facts
        self._opened = opened
        #: What was opened later, and what it came to when it was played again.
        self._late: record_pb2.LateOpenings | None = None
        self._replayed: Replayed | None = None
        self._record: record_pb2.Record | None = record
        self._facts: Facts | None = facts

    def reopened(self, late: record_pb2.LateOpenings, replayed: Replayed) -> Recorded:
        """The record with openings that came later, of all its seals."""
        later = Recorded(self.seq, self.shown, self.before, self._opened)
        later._late, later._replayed = late, replayed
        later._record = later._facts = None
        return later

    def merged(self, late: record_pb2.LateOpenings, facts: Facts) -> Recorded:
        """The record with openings that came later, when it says `facts`."""
        return Recorded(self.seq, _merged(self.record, late), facts, self._opened)

    @property
    def record(self) -> record_pb2.Record:
        """The record with every opening that came, ascending."""
        if self._record is None:
            assert self._late is not None, "what is not there was opened later"
            self._record = _merged(self.shown, self._late)
        return self._record

    @property
    def facts(self) -> Facts:
        """Body, command and events, whole where their seal is open."""
        if self._facts is None:
            assert self._replayed is not None, "what is not there was played again"
            self._facts = self._replayed.facts(self.before)
        return self._facts

    @property
    def opened(self) -> tuple[tuple[int, Facts], ...]:
        """Earlier records with what became public of them by this one: number and facts, ascending."""
        return tuple((earlier.seq, earlier.facts) for earlier in self._opened)

    @property
    def events(self) -> list[Any]:
        """The concrete events in order, whole where their seal is open."""
        return self.facts.events

    @property
    def body(self) -> record_pb2.Body:
        """The public body: time, cause, steps of the match's life."""
        return self.before.body

    def __eq__(self, other: object) -> bool:
        """True if the other one says the same."""
        if not isinstance(other, Recorded):
            return NotImplemented
        mine, others = (self.seq, self.record, self.opened), (other.seq, other.record, other.opened)
        return mine == others and self.facts == other.facts

    __hash__ = None  # type: ignore[assignment]  # its messages can be changed

    def __repr__(self) -> str:
        """Without what it says, which may be secret."""
        return f"Recorded(seq={self.seq})"


def _copy(message: Message) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _merged(record: record_pb2.Record, late: record_pb2.LateOpenings) -> record_pb2.Record:
    openings = sorted([*record.openings, *late.openings], key=lambda opening: opening.seal)
    return record_pb2.Record(body=record.body, seals=record.seals, openings=openings, hash=record.hash)
