"""What a store keeps and promises.

A store keeps match rows and records, both as given, and appends by compare-and-set on the record's
number. What `create` or `append` has confirmed survives a crash of the process and of the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class MatchRow:
    """The row of a match: what is needed to list it and to go on with it."""

    #: 16 bytes.
    match_id: bytes
    game: str
    seats: int
    #: Microseconds since 1970-01-01 UTC, of record 0.
    created_us: int
    #: 32 bytes, never logged or sent.
    root_secret: bytes = field(repr=False)
    #: Value of `sixledger.v1.MatchStatus`.
    status: int
    #: Taken seats.
    joined: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One record to append, with what must become durable together with it."""

    match_id: bytes
    seq: int
    #: The serialised Record, with all its openings.
    record: bytes = field(repr=False)
    #: Idempotency key of the record's cause: value of `CauseKind`, seat, 16 bytes.
    kind: int
    seat: int
    request_id: bytes
    #: New values of the match row, if they change.
    status: int | None = None
    joined: int | None = None
    #: Name that `seat` shows to people, if it changes now; empty to erase it.
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """The record is durable."""


@dataclass(frozen=True, slots=True)
class SeqTaken:
    """Another record has this number, or the number before it or the match does not exist.

    Read on and decide again.
    """


@dataclass(frozen=True, slots=True)
class RequestTaken:
    """The idempotency key was used before, by the record `seq`."""

    seq: int


AppendResult = Appended | SeqTaken | RequestTaken


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of matches ended: the next one starts after it."""

    created_us: int
    match_id: bytes


class StoreError(Exception):
    """The store cannot do it now (disk full, database locked, closed). Nothing was changed."""


class Store(ABC):
    """A store of matches and their ledgers.

    `async with store:` opens and closes it. Arguments out of range (an id that is not 16 bytes, a
    negative number) raise ValueError and reach no storage. An `append` or `create` whose caller is
    cancelled may still become durable; its idempotency key tells.
    """

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @abstractmethod
    async def open(self) -> None:
        """Open or create the store. Raises StoreError."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what was begun and close. From then on everything raises StoreError; a second close is harmless."""

    @abstractmethod
    async def create(self, row: MatchRow, first: Entry) -> bool:
        """Keep a new match with its record 0. False, and nothing changed, if the match id exists."""

    @abstractmethod
    async def append(self, entry: Entry) -> AppendResult:
        """Append one record. Several callers may wait at once; each gets its own result.

        RequestTaken goes before SeqTaken where both apply, so that a command sent again finds its record.
        """

    @abstractmethod
    async def match(self, match_id: bytes) -> MatchRow | None:
        """The row of a match, or None."""

    @abstractmethod
    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """At most `limit` records from number `first` on, in order; empty if there are none."""

    @abstractmethod
    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """The number of the record with this idempotency key, or None."""

    @abstractmethod
    async def display_names(self, match_id: bytes) -> dict[int, str]:
        """Names by seat."""

    @abstractmethod
    async def list_matches(
        self, *, status: int | None, game: str | None, after: Cursor | None, limit: int
    ) -> Sequence[MatchRow]:
        """Matches, newest first (ties by match id, descending), at most `limit`, after the cursor."""
