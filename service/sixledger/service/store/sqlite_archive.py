"""Records that leave a SQLite store for an archive, and come back.

The place of each record stays, and names no record while it is away; so do the idempotency keys.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from sixledger.service.store.sqlite_schema import SEQ_BITS

#: In the place of a record that has left. Records are numbered from 1 on.
_NOWHERE = 0


class Leave(NamedTuple):
    """The records of a match leave, but for record 0: how many there are in all, and the hash of the last one."""

    match_id: bytes
    records: int
    last_hash: bytes


class Return(NamedTuple):
    """The records of a match come back; all of them are given. Its repr does not show them."""

    match_id: bytes
    records: list[bytes]

    def __repr__(self) -> str:
        """Without the records, which hold secrets."""
        return f"Return({len(self.records)} records)"


def leave(connection: sqlite3.Connection, job: Leave) -> bool:
    """As Store.archive, in the transaction of the caller."""
    found = _find(connection, job.match_id)
    if found is None:
        return False
    match, archived, archived_hash = found
    if archived:
        return (archived, archived_hash) == (job.records, job.last_hash)
    if _count(connection, match) != job.records:
        return False
    first, last = _places(match)
    places = first + 1, last
    connection.execute("DELETE FROM records WHERE id IN (SELECT record FROM places WHERE id BETWEEN ? AND ?)", places)
    # Numbers of records are given again after a restart: a place must not name one that another match will have.
    connection.execute("UPDATE places SET record = ? WHERE id BETWEEN ? AND ?", (_NOWHERE, *places))
    connection.execute(
        "UPDATE matches SET archived = ?, archived_hash = ? WHERE id = ?", (job.records, job.last_hash, match)
    )
    return True


def come_back(connection: sqlite3.Connection, job: Return, number: int) -> tuple[bool, int]:
    """As Store.unarchive, in the transaction of the caller; and how many were added, numbered from `number` on."""
    found = _find(connection, job.match_id)
    if found is None:
        return False, 0
    match, archived, _ = found
    if not archived:
        return _count(connection, match) == len(job.records), 0
    if archived != len(job.records):
        return False, 0
    back, second = job.records[1:], _places(match)[0] + 1
    connection.executemany("INSERT INTO records VALUES (?, ?)", enumerate(back, number))
    connection.executemany(
        "UPDATE places SET record = ? WHERE id = ?", ((number + index, second + index) for index in range(len(back)))
    )
    connection.execute("UPDATE matches SET archived = 0, archived_hash = x'' WHERE id = ?", (match,))
    return True, len(back)


def _find(connection: sqlite3.Connection, match_id: bytes) -> tuple[int, int, bytes] | None:
    rows: list[tuple[int, int, bytes]] = connection.execute(
        "SELECT id, archived, archived_hash FROM matches WHERE match_id = ?", (match_id,)
    ).fetchall()
    return rows[0] if rows else None


def _count(connection: sqlite3.Connection, match: int) -> int:
    rows = connection.execute("SELECT count(*) FROM places WHERE id BETWEEN ? AND ?", _places(match)).fetchall()
    return int(rows[0][0])


def _places(match: int) -> tuple[int, int]:
    return match << SEQ_BITS, (match + 1 << SEQ_BITS) - 1
