"""What a store keeps and promises.

A store keeps match rows and records, both as given, and appends by compare-and-set on the record's
number. What `create` or `append` has confirmed survives a crash of the process and of the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from sixledger.service.store.sealing import Seal


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
    #: Who opened it: the owner of an API key, or a tag of the peer; empty: nobody in particular.
    owner: str = ""
    #: In no list but that of its owner.
    private: bool = False
    #: Only its seats may look on.
    no_spectators: bool = False
    #: The match that it is a rematch of, 16 bytes; empty if none.
    rematch_of: bytes = b""
    #: The first deadline of its armed timers, in microseconds since 1970-01-01 UTC; 0: none is armed.
    next_deadline_us: int = 0
    #: How many records it has in an archive, where those behind record 0 have gone; 0: all are here.
    archived: int = 0
    #: Hash of the last of those, 32 bytes; empty if all are here.
    archived_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class TokenFloor:
    """Tokens of a seat below this generation are worthless."""

    #: 0 to 65535.
    generation: int
    #: From when on all older tokens have expired anyway, and the floor may be forgotten; microseconds since 1970.
    until_us: int


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """An API key as it is kept: without its secret."""

    #: 16 hexadecimal digits.
    id: str
    name: str
    #: SHA-256 of the whole key, 32 bytes.
    digest: bytes = field(repr=False)
    #: Bit s is set: it has the value s of `sixledger.v1.ApiScope`.
    scopes: int
    created_us: int
    #: From when on it is worthless; 0: never.
    expires_us: int
    #: 0: as many as anybody.
    calls_per_second: int
    open_matches: int
    #: Id of the first key of its line: rotation hands the matches on.
    owner: str


@dataclass(slots=True)  # not frozen: one is made for each command, and freezing makes that four times as slow
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
    #: Number of seats, if it changes now: fewer play.
    seats: int | None = None
    #: Name of the bot of the server that takes `seat` now; empty if it has gone.
    bot: str | None = None
    #: Makes older tokens of `seat` worthless.
    floor: TokenFloor | None = None
    #: New value of the match row, if it changes; 0: no timer is armed any more.
    next_deadline_us: int | None = None

    @property
    def is_plain(self) -> bool:
        """True if nothing changes but that there is a record more: so it is for almost every command."""
        return (
            self.status is None
            and self.joined is None
            and self.display_name is None
            and self.seats is None
            and self.bot is None
            and self.floor is None
            and self.next_deadline_us is None
        )


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


class Due(NamedTuple):
    """A match with an armed timer."""

    #: Its first deadline, in microseconds since 1970-01-01 UTC.
    deadline_us: int
    match_id: bytes


class StoreError(Exception):
    """The store cannot do it now (disk full, database locked, closed). Nothing was changed."""


class StoreInUse(StoreError):
    """Another process has the store for itself."""


class UnknownOutcome(StoreError):
    """The store was lost in the middle of a write, and has not come back in time to be asked.

    The write may have become durable or not; its idempotency key tells, once the store is back.
    """


class RecordsArchived(StoreError):
    """The records that were asked for have left the store for an archive: `MatchRow.archived` of the match."""


class Store(ABC):
    """A store of matches and their ledgers.

    `async with store:` opens and closes it. Arguments out of range (an id that is not 16 bytes, a
    negative number) raise ValueError and reach no storage. An `append` or `create` whose caller is
    cancelled may still become durable; its idempotency key tells.
    """

    #: Told, from any thread, how many appends a flush made durable and how many seconds it took.
    on_flush: Callable[[int, float], None] | None = None
    #: Told, on the loop, of matches in which another process may have appended, or None: in any. Only a store that
    #: several processes share tells it, and it is no more than a hint: it may come late, twice, or not at all.
    on_foreign: Callable[[Collection[bytes] | None], None] | None = None
    #: What an operator should know of the store, once it is open.
    remarks: Sequence[str] = ()
    #: Seals root secrets before they are kept, and opens them; None: they are kept as they are. Set it before `open`.
    seal: Seal | None = None

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

        RequestTaken goes before SeqTaken where both apply, so that a command sent again finds its record. Nothing is
        appended to a match whose records have left for an archive.
        """

    @abstractmethod
    async def match(self, match_id: bytes) -> MatchRow | None:
        """The row of a match, or None."""

    @abstractmethod
    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """At most `limit` records from number `first` on, in order; empty if there are none.

        Raises RecordsArchived if any of them have left the store.
        """

    @abstractmethod
    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """The number of the record with this idempotency key, or None."""

    @abstractmethod
    async def display_names(self, match_id: bytes) -> dict[int, str]:
        """Names by seat."""

    @abstractmethod
    async def list_matches(
        self,
        *,
        status: int | None,
        game: str | None,
        after: Cursor | None,
        limit: int,
        free_seats: bool = False,
        owner: str | None = None,
    ) -> Sequence[MatchRow]:
        """Matches, newest first (ties by match id, descending), at most `limit`, after the cursor.

        `free_seats`: only those with fewer taken seats than seats. `owner`: only those of this owner, private ones
        too; else only public ones. A root secret whose key is not here is empty.
        """

    @abstractmethod
    async def count_matches(self, owner: str, statuses: Collection[int]) -> int:
        """How many matches of `owner` have one of these statuses."""

    @abstractmethod
    async def bots(self, match_id: bytes) -> dict[int, str]:
        """Bots that the server plays, by seat."""

    @abstractmethod
    async def matches_with_bots(self, statuses: Collection[int]) -> Sequence[bytes]:
        """The matches of these statuses in which the server plays a seat, oldest first."""

    @abstractmethod
    async def match_ids(self, statuses: Collection[int], *, after: bytes | None, limit: int) -> Sequence[bytes]:
        """At most `limit` matches of these statuses, private ones too, by match id, after the given one."""

    @abstractmethod
    async def erase_names(self, match_id: bytes | None, seat: int | None, name: str | None) -> int:
        """Erase the display names that fit what is given (None: any); how many there were.

        Raises ValueError if nothing is given.
        """

    @abstractmethod
    async def kept_secrets(self, *, after: bytes | None, limit: int) -> Sequence[tuple[bytes, bytes]]:
        """At most `limit` matches by match id, after the given one, each with its root secret as it is kept."""

    @abstractmethod
    async def replace_secret(self, match_id: bytes, before: bytes, after: bytes) -> bool:
        """Keep another form of the root secret of a match. False, and nothing changed, if the kept one is another."""

    @abstractmethod
    async def archivable(self, status: int, before_us: int, *, after: Cursor | None, limit: int) -> Sequence[Cursor]:
        """At most `limit` matches of this status that were opened before a time and have their records here.

        Oldest first (ties by match id), after the given one.
        """

    @abstractmethod
    async def archive(self, match_id: bytes, records: int, last_hash: bytes) -> bool:
        """Drop the records behind record 0 of a match, which has `records` in all, safe elsewhere.

        `last_hash` is the hash of the last one. Numbers and idempotency keys stay, and so do record 0, which lists
        show, and the match row. The match must have ended: nothing may be about to be appended to it. All or nothing,
        and harmless when repeated. True: it is archived like that now. False, and nothing changed: there is no such
        match, or it has another number of records.
        """

    @abstractmethod
    async def unarchive(self, match_id: bytes, records: Sequence[bytes]) -> bool:
        """Keep the records of an archived match again: all of them are given, from number 0 on.

        All or nothing, and harmless when repeated. True: its records are here now. False, and nothing changed: there
        is no such match, or another number of records has left.
        """

    @abstractmethod
    async def deadlines(self, *, after: Due | None, limit: int) -> Sequence[Due]:
        """At most `limit` matches with armed timers, after the given one.

        The first deadline comes first; ties by match id.
        """

    @abstractmethod
    def token_floor(self, match_id: bytes, seat: int) -> int:
        """The generation below which tokens of the seat are worthless; 0 if nothing is known.

        Answers from memory, at once: it is asked for every act. What this process has raised is known when
        `raise_floor` or `append` returns; where several processes share a store, what others have raised within
        about a second.
        """

    async def look_up_floor(self, match_id: bytes, seat: int) -> int:
        """As `token_floor`, with all that other processes have raised by now.

        For whoever makes a token or raises a floor: a token that is below the floor when it is made would be worthless,
        and a floor that is not above the one that there is would change nothing.
        """
        return self.token_floor(match_id, seat)

    @abstractmethod
    async def raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        """Make tokens of the seat below the floor worthless. A floor lower than the kept one changes nothing."""

    @abstractmethod
    async def put_api_key(self, row: ApiKeyRow) -> None:
        """Keep an API key, in place of the one with the same id."""

    @abstractmethod
    async def api_keys(self) -> Sequence[ApiKeyRow]:
        """All API keys, oldest first (ties by id)."""
