"""One transaction for many appends, with a result for each."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from sixledger.service.store.base import (
    Appended,
    AppendResult,
    Entry,
    MatchRow,
    RequestTaken,
    SeqTaken,
    TokenFloor,
)
from sixledger.service.store.sqlite_archive import Leave, Return, come_back, leave
from sixledger.service.store.sqlite_schema import SEQ_BITS

#: Rows of one INSERT. A statement costs a wait for the interpreter lock, and compiling it grows with its rows.
_CHUNK = 64

# A row of a batch as SQLite spreads it over the tables. A statement of its own for each table, and for the begin and
# the end of the transaction, would cost six waits for the interpreter lock a batch instead of one.
_ARRIVALS = f"""
CREATE TEMP VIEW arrivals AS SELECT 0 AS number, 0 AS match, 0 AS seq, 0 AS kind, 0 AS seat, 0 AS request, 0 AS record;
CREATE TEMP TRIGGER arrive INSTEAD OF INSERT ON arrivals BEGIN
    INSERT INTO records VALUES (new.number, new.record);
    INSERT INTO places VALUES (new.match << {SEQ_BITS} | new.seq, new.number);
    INSERT INTO requests VALUES (new.match, new.kind, new.seat, new.request, new.seq);
END;
"""  # noqa: S608 - a constant
#: Of a row of arrivals.
_COLUMNS = 7

_APPENDED = Appended()
_SEQ_TAKEN = SeqTaken()
#: Next number of a match whose records have left: no record has it.
_CLOSED = -1

RAISE_FLOOR = (
    "INSERT INTO token_floors VALUES (?, ?, ?, ?) ON CONFLICT (match_id, seat) DO UPDATE SET "
    "generation = max(generation, excluded.generation), until_us = max(until_us, excluded.until_us)"
)
PUT_API_KEY = "INSERT OR REPLACE INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OPEN_MATCH = f"INSERT INTO matches VALUES ({','.join('?' * 15)})"  # noqa: S608 - question marks
#: The names of a match, of a seat and with this text; each given twice, and null is any.
FITTING_NAMES = (
    "(? IS NULL OR match = (SELECT id FROM matches WHERE match_id = ?)) AND (? IS NULL OR seat = ?) "
    "AND (? IS NULL OR name = ?)"
)
ERASE_NAMES = f"DELETE FROM display_names WHERE {FITTING_NAMES}"  # noqa: S608 - constants
RESEAL = "UPDATE matches SET root_secret = ? WHERE match_id = ? AND root_secret = ?"
_SET_NAME = "INSERT INTO display_names VALUES (?, ?, ?) ON CONFLICT (match, seat) DO UPDATE SET name = excluded.name"


class Job(NamedTuple):
    """An append, or with a `row` the creation of its match."""

    entry: Entry
    row: MatchRow | None


class Aside(NamedTuple):
    """A change beside the matches, which may be made twice: a statement, and the floor that it raises."""

    statement: str
    values: tuple[object, ...]
    floor: tuple[bytes, int, TokenFloor] | None = None


class _Head(NamedTuple):
    match: int
    next_seq: int


class _Placed(NamedTuple):
    #: Of the job in its batch.
    number: int
    match: int
    job: Job


class BatchWriter:
    """Writes batches in which no match occurs twice. It must be the only one that writes the database.

    That is why it may remember the head of each match it wrote to, `max_heads` at most.
    """

    def __init__(self, connection: sqlite3.Connection, *, max_heads: int = 100_000) -> None:
        self._connection = connection
        connection.executescript(_ARRIVALS)
        self._max_heads = max_heads
        #: By match id, the longest unused first.
        self._heads: dict[bytes, _Head] = {}
        #: Floors of tokens by match id and seat. Others may read it at any time.
        self.floors: dict[tuple[bytes, int], int] = {
            (match_id, seat): generation
            for match_id, seat, generation in connection.execute(
                "SELECT match_id, seat, generation FROM token_floors WHERE until_us > ?", (time.time_ns() // 1000,)
            )
        }
        self._read_numbers()

    def write_all(self, jobs: Sequence[Job | Aside | Leave | Return]) -> list[AppendResult]:
        """As `write`, with changes beside the matches among the jobs; if it raises, those may have been made.

        What leaves for an archive or comes back has the result Appended if it is so now, else SeqTaken.
        """
        asides = [job for job in jobs if isinstance(job, Aside)]
        if asides:
            self._write_asides(asides)
        moved = iter([self._move(job) for job in jobs if isinstance(job, Leave | Return)])
        appends = iter(self.write([job for job in jobs if isinstance(job, Job)]))
        results: list[AppendResult] = []
        for job in jobs:
            if isinstance(job, Aside):
                results.append(_APPENDED)
            else:
                results.append(next(appends) if isinstance(job, Job) else next(moved))
        return results

    def _move(self, job: Leave | Return) -> AppendResult:
        """Let the records of a match leave, or come back, in a transaction of its own."""
        self._roll_back()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if isinstance(job, Leave):
                done, added = leave(self._connection, job), 0
            else:
                done, added = come_back(self._connection, job, self._records + 1)
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._heads.pop(job.match_id, None)
        self._records += added
        return _APPENDED if done else _SEQ_TAKEN

    def _write_asides(self, asides: Sequence[Aside]) -> None:
        self._roll_back()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for aside in asides:
                self._connection.execute(aside.statement, aside.values)
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        for aside in asides:
            if aside.floor is not None:
                self._raise_floor(*aside.floor)

    def _raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        self.floors[match_id, seat] = max(floor.generation, self.floors.get((match_id, seat), 0))

    def write(self, jobs: Sequence[Job]) -> list[AppendResult]:
        """Make the batch durable; results in the order of the jobs. If it raises, nothing was changed."""
        self._read_heads(jobs)
        results: list[AppendResult] = [_SEQ_TAKEN] * len(jobs)
        fitting: list[_Placed] = []
        doubtful: list[_Placed] = []
        matches: int = self._matches
        for index, job in enumerate(jobs):
            entry = job.entry
            head = self._heads.get(entry.match_id)
            if job.row is not None:
                if head is None:
                    matches += 1
                    fitting.append(_Placed(index, matches, job))
            elif head is not None:
                placed = _Placed(index, head.match, job)
                (fitting if entry.seq == head.next_seq else doubtful).append(placed)
        if doubtful:
            self._find_taken(doubtful, results)
        if fitting:
            try:
                self._commit(fitting)
            except sqlite3.IntegrityError:
                # An idempotency key was used before. Rare enough to be looked up only now.
                self._find_taken(fitting, results)
                fitting = [placed for placed in fitting if results[placed.number] is _SEQ_TAKEN]
                self._commit(fitting)
        self._remember(fitting)
        for placed in fitting:
            results[placed.number] = _APPENDED
        return results

    def _remember(self, written: list[_Placed]) -> None:
        for _, match, job in written:
            entry = job.entry
            self._heads.pop(entry.match_id, None)
            self._heads[entry.match_id] = _Head(match, entry.seq + 1)
            if job.row is not None:
                self._matches = match
            if entry.floor is not None:
                self._raise_floor(entry.match_id, entry.seat, entry.floor)
        self._records += len(written)
        excess = len(self._heads) - self._max_heads
        for match_id in list(islice(self._heads, max(excess, 0))):
            del self._heads[match_id]

    def _read_numbers(self) -> None:
        (self._matches,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM matches").fetchone()
        (self._records,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()

    def _read_heads(self, jobs: Sequence[Job]) -> None:
        """Remember the heads of the batch's matches; a match that does not exist has none."""
        missing = [job.entry.match_id for job in jobs if job.entry.match_id not in self._heads]
        if not missing:
            return
        marks = ",".join("?" * len(missing))
        rows = self._connection.execute(
            f"""SELECT match_id, m.id, (
                SELECT p.id FROM places p WHERE p.id >= m.id << {SEQ_BITS} AND p.id < (m.id + 1) << {SEQ_BITS}
                ORDER BY p.id DESC LIMIT 1
            ), m.archived FROM matches m WHERE match_id IN ({marks})""",  # noqa: S608 - question marks and a constant
            missing,
        ).fetchall()
        for match_id, match, last, archived in rows:
            self._heads[match_id] = _Head(match, _CLOSED if archived else last - (match << SEQ_BITS) + 1)

    def _find_taken(self, batch: list[_Placed], results: list[AppendResult]) -> None:
        """Put RequestTaken into `results` for those whose idempotency key was used before."""
        keys: list[object] = []
        for _, match, job in batch:
            keys += (match, job.entry.kind, job.entry.seat, job.entry.request_id)
        rows = self._connection.execute(
            "SELECT match, seq FROM requests WHERE (match, kind, seat, request_id) IN (VALUES "  # noqa: S608 - marks
            + ",".join(["(?,?,?,?)"] * len(batch))
            + ")",
            keys,
        ).fetchall()
        taken = dict(rows)
        for placed in batch:
            if placed.match in taken:
                results[placed.number] = RequestTaken(taken[placed.match])

    def _commit(self, batch: list[_Placed]) -> None:
        if not batch:
            return
        self._roll_back()  # only if that failed after the last failure
        arrivals, others = self._sort_out(batch)
        execute = self._connection.execute
        try:
            if others or len(batch) > _CHUNK:
                execute("BEGIN IMMEDIATE")
                for statement, values in others:
                    execute(statement, values)
                step = _COLUMNS * _CHUNK
                for start in range(0, len(arrivals), step):
                    chunk = arrivals[start : start + step]
                    execute(_insert_sql(len(chunk) // _COLUMNS), chunk)
                execute("COMMIT")
            else:
                execute(_insert_sql(len(batch)), arrivals)  # a transaction of its own
        except sqlite3.IntegrityError:
            self._roll_back()
            raise
        except BaseException:
            self._roll_back()
            # After an I/O error trust nothing but the database.
            self._heads.clear()
            self._read_numbers()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # a full disk may have ended it already
            self._connection.execute("ROLLBACK")

    def _sort_out(self, batch: list[_Placed]) -> tuple[list[object], list[tuple[str, tuple[object, ...]]]]:
        """The values of all arrivals, and the statements for what else changes."""
        arrivals: list[object] = []
        others: list[tuple[str, tuple[object, ...]]] = []
        for number, (_, match, (entry, row)) in enumerate(batch, self._records + 1):
            if row is not None:
                others.append((
                    _OPEN_MATCH,
                    (
                        match, row.match_id, row.game, row.seats, row.created_us, row.root_secret, row.status,
                        row.joined, row.owner, row.private, row.no_spectators, row.rematch_of, row.next_deadline_us,
                        0, b"",
                    ),
                ))  # fmt: skip
            arrivals += (number, match, entry.seq, entry.kind, entry.seat, entry.request_id, entry.record)
            if not entry.is_plain:
                others += _changes(match, entry)
        return arrivals, others


def _changes(match: int, entry: Entry) -> Iterator[tuple[str, tuple[object, ...]]]:
    """What an entry changes beside its record."""
    if entry.status is not None:
        yield "UPDATE matches SET status = ? WHERE id = ?", (entry.status, match)
    if entry.joined is not None:
        yield "UPDATE matches SET joined = ? WHERE id = ?", (entry.joined, match)
    if entry.display_name:
        yield _SET_NAME, (match, entry.seat, entry.display_name)
    elif entry.display_name is not None:
        yield "DELETE FROM display_names WHERE match = ? AND seat = ?", (match, entry.seat)
    if entry.seats is not None:
        yield "UPDATE matches SET seats = ? WHERE id = ?", (entry.seats, match)
    if entry.next_deadline_us is not None:
        yield "UPDATE matches SET next_deadline_us = ? WHERE id = ?", (entry.next_deadline_us, match)
    if entry.bot:
        yield "INSERT OR REPLACE INTO bots VALUES (?, ?, ?)", (match, entry.seat, entry.bot)
    elif entry.bot is not None:
        yield "DELETE FROM bots WHERE match = ? AND seat = ?", (match, entry.seat)
    if entry.floor is not None:
        yield RAISE_FLOOR, (entry.match_id, entry.seat, entry.floor.generation, entry.floor.until_us)


@cache
def _insert_sql(rows: int) -> str:
    row = "(" + ",".join("?" * _COLUMNS) + ")"
    return f"INSERT INTO arrivals VALUES {','.join([row] * rows)}"  # noqa: S608 - question marks
