"""The queries of the SQLite store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from sixledger.service.store.base import ApiKeyRow, Cursor, Due, MatchRow, RecordsArchived
from sixledger.service.store.sqlite_schema import SEQ_BITS
from sixledger.service.store.sqlite_writer import FITTING_NAMES

_COLUMNS = (
    "match_id, game, seats, created_us, root_secret, status, joined, owner, private, no_spectators, rematch_of, "
    "next_deadline_us, archived, archived_hash"
)
_KEY_COLUMNS = "id, name, digest, scopes, created_us, expires_us, calls_per_second, open_matches, owner"
_LARGEST_SEQ = (1 << SEQ_BITS) - 1


class Reader:
    """Answers from one connection, for one thread at a time. Each answer is of one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def match(self, match_id: bytes) -> MatchRow | None:
        """As Store.match."""
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM matches WHERE match_id = ?", (match_id,)).fetchall()  # noqa: S608 - constants
        return _row(row[0]) if row else None

    def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As Store.records."""
        match = self._number(match_id)
        if match is None or first > _LARGEST_SEQ:
            return []
        start = match << SEQ_BITS
        rows = self._connection.execute(
            """SELECT r.record FROM places p LEFT JOIN records r ON r.id = p.record
            WHERE p.id BETWEEN ? AND ? ORDER BY p.id LIMIT ?""",
            (start | first, start | _LARGEST_SEQ, limit),
        ).fetchall()
        if any(record is None for (record,) in rows):
            raise RecordsArchived(f"the records of match {match_id.hex()} are archived")
        return [record for (record,) in rows]

    def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """As Store.find_request."""
        rows = self._connection.execute(
            """SELECT seq FROM requests WHERE match = (SELECT id FROM matches WHERE match_id = ?)
            AND kind = ? AND seat = ? AND request_id = ?""",
            (match_id, kind, seat, request_id),
        ).fetchall()
        return int(rows[0][0]) if rows else None

    def display_names(self, match_id: bytes) -> dict[int, str]:
        """As Store.display_names."""
        return dict(
            self._connection.execute(
                "SELECT seat, name FROM display_names WHERE match = (SELECT id FROM matches WHERE match_id = ?)",
                (match_id,),
            ).fetchall()
        )

    def list_matches(
        self,
        status: int | None,
        game: str | None,
        after: Cursor | None,
        limit: int,
        free_seats: bool,
        owner: str | None,
    ) -> list[MatchRow]:
        """As Store.list_matches.

        Owner, status and game have indices in the order of the pages; the rest is looked at row by row, which is
        little work where the status is given: most open tables are public and have free seats.
        """
        conditions: list[str] = []
        values: list[object] = []
        if owner is None:
            conditions.append("private = 0")
        else:
            conditions.append("owner = ? AND owner <> ''")  # the second part is that of the index
            values.append(owner)
        if free_seats:
            conditions.append("joined < seats")
        if game is not None:
            conditions.append("game = ?")
            values.append(game)
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if after is not None:
            conditions.append("(created_us, match_id) < (?, ?)")
            values += (after.created_us, after.match_id)
        where = "WHERE " + " AND ".join(conditions)
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM matches {where} ORDER BY created_us DESC, match_id DESC LIMIT ?",  # noqa: S608 - constants
            (*values, limit),
        ).fetchall()
        return [_row(row) for row in rows]

    def count_matches(self, owner: str, statuses: Sequence[int]) -> int:
        """As Store.count_matches."""
        rows = self._connection.execute(
            "SELECT count(*) FROM matches WHERE owner = ? AND owner <> '' AND "  # noqa: S608 - question marks
            f"status IN ({_marks(statuses)})",
            (owner, *statuses),
        ).fetchall()
        return int(rows[0][0])

    def bots(self, match_id: bytes) -> dict[int, str]:
        """As Store.bots."""
        return dict(
            self._connection.execute(
                "SELECT seat, bot FROM bots WHERE match = (SELECT id FROM matches WHERE match_id = ?)", (match_id,)
            ).fetchall()
        )

    def matches_with_bots(self, statuses: Sequence[int]) -> list[bytes]:
        """As Store.matches_with_bots."""
        rows = self._connection.execute(
            f"SELECT match_id FROM matches WHERE status IN ({_marks(statuses)}) "  # noqa: S608 - question marks
            "AND id IN (SELECT match FROM bots) ORDER BY created_us, match_id",
            tuple(statuses),
        ).fetchall()
        return [match_id for (match_id,) in rows]

    def match_ids(self, statuses: Sequence[int], after: bytes | None, limit: int) -> list[bytes]:
        """As Store.match_ids."""
        rows = self._connection.execute(
            f"SELECT match_id FROM matches WHERE status IN ({_marks(statuses)}) AND match_id > ? "  # noqa: S608 - question marks
            "ORDER BY match_id LIMIT ?",
            (*statuses, after or b"", limit),
        ).fetchall()
        return [match_id for (match_id,) in rows]

    def count_names(self, match_id: bytes | None, seat: int | None, name: str | None) -> int:
        """How many display names fit, as for Store.erase_names."""
        rows = self._connection.execute(
            f"SELECT count(*) FROM display_names WHERE {FITTING_NAMES}",  # noqa: S608 - constants
            (match_id, match_id, seat, seat, name, name),
        ).fetchall()
        return int(rows[0][0])

    def kept_secrets(self, after: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """As Store.kept_secrets."""
        return self._connection.execute(
            "SELECT match_id, root_secret FROM matches WHERE match_id > ? ORDER BY match_id LIMIT ?",
            (after or b"", limit),
        ).fetchall()

    def archivable(self, status: int, before_us: int, after: Cursor | None, limit: int) -> list[Cursor]:
        """As Store.archivable."""
        rows = self._connection.execute(
            """SELECT created_us, match_id FROM matches
            WHERE status = ? AND archived = 0 AND created_us < ? AND (created_us, match_id) > (?, ?)
            ORDER BY created_us, match_id LIMIT ?""",
            (status, before_us, *((after.created_us, after.match_id) if after else (-1, b"")), limit),
        ).fetchall()
        return [Cursor(*row) for row in rows]

    def deadlines(self, after: Due | None, limit: int) -> list[Due]:
        """As Store.deadlines."""
        rows = self._connection.execute(
            """SELECT next_deadline_us, match_id FROM matches
            WHERE next_deadline_us > 0 AND (next_deadline_us, match_id) > (?, ?)
            ORDER BY next_deadline_us, match_id LIMIT ?""",
            (*(after or (0, b"")), limit),
        ).fetchall()
        return [Due(*row) for row in rows]

    def api_keys(self) -> list[ApiKeyRow]:
        """As Store.api_keys."""
        rows = self._connection.execute(f"SELECT {_KEY_COLUMNS} FROM api_keys ORDER BY created_us, id").fetchall()  # noqa: S608 - constants
        return [ApiKeyRow(*row) for row in rows]

    def _number(self, match_id: bytes) -> int | None:
        rows = self._connection.execute("SELECT id FROM matches WHERE match_id = ?", (match_id,)).fetchall()
        return int(rows[0][0]) if rows else None


def _row(values: Any) -> MatchRow:
    values = list(values)
    values[8:10] = map(bool, values[8:10])
    return MatchRow(*values)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
