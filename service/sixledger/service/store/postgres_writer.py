"""Batches of appends: one statement, one round trip, a result for each.

A record's row has both its keys, (match, number) and (match, kind, seat, request id), so one INSERT compares and sets:
it skips what is taken, and tells what it has inserted. What it skipped is looked up afterwards; that is rare.
The statement is its own transaction. If the connection breaks while it runs, it is sent again: what the first one has
made durable is found by its keys then, and what it has not is made now. Nothing is ever guessed.

A commit that waits for a synchronous standby is never cancelled: PostgreSQL would end the wait, and show to everybody
what its own machine alone has. And what was found after a lost answer is written once more before it is confirmed,
which waits for the standby: a primary that has crashed shows what no standby has, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sixledger.service.store.base import (
    Appended,
    AppendResult,
    Entry,
    MatchRow,
    RequestTaken,
    SeqTaken,
    StoreError,
    UnknownOutcome,
)
from sixledger.service.store.postgres_checks import check_server
from sixledger.service.store.postgres_link import (
    DATABASE_ERRORS,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Link,
    Trouble,
    close,
    told,
    trouble,
)
from sixledger.service.store.postgres_sql import APPEND, APPEND_AND_CHANGE, CREATE, FIND, FIND_DURABLY

if TYPE_CHECKING:
    import asyncpg
    from sixledger.service.store.postgres_link import Connection

#: Seconds that an answer may take longer than a statement may run.
_PATIENCE_S = 2.0
#: Longer than any answer: the driver's own time limit would cancel what runs.
_NO_LIMIT_S = 24 * 3600.0

_APPENDED = Appended()
_SEQ_TAKEN = SeqTaken()

Result = AppendResult | StoreError


class Job(NamedTuple):
    """An append, or with a `row` the creation of its match."""

    entry: Entry
    row: MatchRow | None


class BatchWriter:
    """Writes batches in which no match occurs twice, on a connection of its own that it renews when it is lost."""

    def __init__(self, link: Link, *, appended: Callable[[list[bytes]], None] | None = None) -> None:
        """`appended` is told the matches of each batch that have a new record."""
        self._link = link
        self._appended = appended
        self._connection: Connection | None = None

    async def open(self, connection: Connection) -> None:
        """Write on this connection, which was checked, until it is lost."""
        self._connection = connection

    async def close(self) -> None:
        """Close the connection."""
        await close(self._connection)
        self._connection = None

    async def write(self, jobs: Sequence[Job]) -> list[Result]:
        """Make the batch durable; the result of each job, in order, which may be the StoreError of its caller."""
        creations = [job for job in jobs if job.row is not None]
        if not creations:
            results = await self._settle(jobs, again=False)
        elif len(creations) == len(jobs):
            results = await self._settle(creations, again=False)
        else:
            appends = iter(await self._settle([job for job in jobs if job.row is None], again=False))
            created = iter(await self._settle(creations, again=False))
            results = [next(appends if job.row is None else created) for job in jobs]
        if self._appended is not None:
            grown = [job.entry.match_id for job, result in zip(jobs, results, strict=True) if result is _APPENDED]
            if grown:
                self._appended(grown)
        return results

    async def _settle(self, jobs: Sequence[Job], *, again: bool) -> list[Result]:
        """The results of jobs that are all appends or all creations. `again`: they may have been made already."""
        clock = asyncio.get_running_loop().time
        until, pause_s = clock() + self._link.settings.retry_s, FIRST_PAUSE_S
        while True:
            sent = False
            try:
                connection = await self._connected()
                sent = True
                return await self._send(connection, jobs, again)
            except DATABASE_ERRORS as error:
                kind = trouble(error)
                if kind is Trouble.LOST:
                    again = again or sent
                    await self._drop()
                elif kind is Trouble.VALUE and len(jobs) > 1:
                    # One that does not fit must not fail the others.
                    half = len(jobs) // 2
                    return [
                        *await self._settle(jobs[:half], again=again),
                        *await self._settle(jobs[half:], again=again),
                    ]
                if kind not in (Trouble.LOST, Trouble.COLLISION) or clock() + pause_s > until:
                    return _failures(error, len(jobs), unknown=again)
            except StoreError as error:  # the database is no longer one that may be used
                await self._drop()
                return _failures(error, len(jobs), unknown=again)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = None
            connection = await self._link.connect(by_key=True)
            try:
                # It may be another server than before.
                await check_server(connection, self._link.settings)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    async def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _send(self, connection: Connection, jobs: Sequence[Job], again: bool) -> list[Result]:
        # In the order of the keys: two batches that meet in several rows must meet in the same order.
        if jobs[0].row is not None:
            rows = await self._fetch(connection, CREATE, *_creation_columns(jobs))
        else:
            changing = [job.entry for job in jobs if _changes(job.entry)]
            columns = _record_columns(jobs)
            if changing:
                rows = await self._fetch(connection, APPEND_AND_CHANGE, *columns, *_change_columns(changing))
            else:
                rows = await self._fetch(connection, APPEND, *columns)
        if len(rows) == len(jobs):
            return [_APPENDED] * len(jobs)
        made = {row[0] for row in rows}
        results: list[Result] = [_APPENDED if job.entry.match_id in made else _SEQ_TAKEN for job in jobs]
        await self._look_up(connection, jobs, results, again)
        return results

    async def _look_up(self, connection: Connection, jobs: Sequence[Job], results: list[Result], again: bool) -> None:
        """Find out of those that were not inserted whose idempotency key was used before, and by which record."""
        skipped = [index for index, result in enumerate(results) if result is _SEQ_TAKEN]
        entries = [jobs[index].entry for index in skipped]
        found = await self._fetch(
            connection,
            FIND_DURABLY if again else FIND,
            [entry.match_id for entry in entries],
            [entry.kind for entry in entries],
            [entry.seat for entry in entries],
            [entry.request_id for entry in entries],
        )
        taken = {row[0]: (row[1], row[2]) for row in found}
        for index, entry in zip(skipped, entries, strict=True):
            if entry.match_id not in taken:
                continue
            seq, record = taken[entry.match_id]
            if again and seq == entry.seq and record == entry.record:
                results[index] = _APPENDED  # by the statement whose answer was lost
            else:
                results[index] = RequestTaken(seq)

    async def _fetch(self, connection: Connection, statement: str, *values: object) -> list[asyncpg.Record]:
        """The rows of a statement; a connection whose answer takes too long is dropped, and nothing is cancelled."""
        limit_s = self._link.settings.statement_timeout_s + _PATIENCE_S
        limit = asyncio.get_running_loop().call_later(limit_s, connection.terminate)
        try:
            return await connection.fetch(statement, *values, timeout=_NO_LIMIT_S)
        finally:
            limit.cancel()


def _failures(error: Exception, count: int, *, unknown: bool) -> list[Result]:
    """An error for each caller."""
    made: list[Result] = []
    for _ in range(count):
        if unknown:
            each: StoreError = UnknownOutcome(
                f"the connection was lost in a write that may have been made, and has not come back: {told(error)}"
            )
        else:
            each = StoreError(f"the store could not write, nothing was changed: {told(error)}")
        each.__cause__ = error
        made.append(each)
    return made


def _changes(entry: Entry) -> bool:
    """True if more than a record becomes durable."""
    return (
        entry.status is not None
        or entry.joined is not None
        or entry.display_name is not None
        or entry.seats is not None
        or entry.bot is not None
        or entry.floor is not None
        or entry.next_deadline_us is not None
    )


def _record_columns(jobs: Sequence[Job]) -> tuple[list[object], ...]:
    entries = [job.entry for job in jobs]
    return (
        [entry.match_id for entry in entries],
        [entry.seq for entry in entries],
        [entry.kind for entry in entries],
        [entry.seat for entry in entries],
        [entry.request_id for entry in entries],
        [entry.record for entry in entries],
    )


def _change_columns(entries: Sequence[Entry]) -> tuple[list[object], ...]:
    return (
        [entry.match_id for entry in entries],
        [entry.seat for entry in entries],
        [entry.status for entry in entries],
        [entry.joined for entry in entries],
        [entry.seats for entry in entries],
        [entry.next_deadline_us for entry in entries],
        [entry.display_name for entry in entries],
        [entry.bot for entry in entries],
        [entry.floor.generation if entry.floor is not None else None for entry in entries],
        [entry.floor.until_us if entry.floor is not None else None for entry in entries],
    )


def _creation_columns(jobs: Sequence[Job]) -> tuple[list[object], ...]:
    rows = [job.row for job in jobs if job.row is not None]
    return (
        [row.match_id for row in rows],
        [row.game for row in rows],
        [row.seats for row in rows],
        [row.created_us for row in rows],
        [row.root_secret for row in rows],
        [row.status for row in rows],
        [row.joined for row in rows],
        [row.owner for row in rows],
        [row.private for row in rows],
        [row.no_spectators for row in rows],
        [row.rematch_of for row in rows],
        [row.next_deadline_us for row in rows],
        *_record_columns(jobs)[2:],
    )
