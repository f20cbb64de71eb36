"""The queries of the SQLite store."""

from __future__ import annotations

import sqlite3

from sixledger.service.store.base import Cursor, MatchRow
from sixledger.service.store.sqlite_schema import SEQ_BITS

_COLUMNS = "match_id, game, seats, created_us, root_secret, status, joined"
_LARGEST_SEQ = (1 << SEQ_BITS) - 1


class Reader:
    """Answers from one connection, for one thread at a time. Each answer is of one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def match(self, match_id: bytes) -> MatchRow | None:
        """As Store.match."""
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM matches WHERE match_id = ?", (match_id,)).fetchall()  # noqa: S608 - constants
        return MatchRow(*row[0]) if row else None

    def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As Store.records."""
        match = self._number(match_id)
        if match is None or first > _LARGEST_SEQ:
            return []
        start = match << SEQ_BITS
        rows = self._connection.execute(
            """SELECT r.record FROM places p CROSS JOIN records r ON r.id = p.record
            WHERE p.id BETWEEN ? AND ? ORDER BY p.id LIMIT ?""",
            (start | first, start | _LARGEST_SEQ, limit),
        ).fetchall()
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

    def list_matches(self, status: int | None, game: str | None, after: Cursor | None, limit: int) -> list[MatchRow]:
        """As Store.list_matches. Each set of filters has an index in the order of the pages."""
        conditions: list[str] = []
        values: list[object] = []
        if game is not None:
            conditions.append("game = ?")
            values.append(game)
        if status is not None:
            conditions.append("status = ?")
            values.append(status)
        if after is not None:
            conditions.append("(created_us, match_id) < (?, ?)")
            values += (after.created_us, after.match_id)
        where = "WHERE " + " AND ".join(conditions) if conditions else ""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM matches {where} ORDER BY created_us DESC, match_id DESC LIMIT ?",  # noqa: S608 - constants
            (*values, limit),
        ).fetchall()
        return [MatchRow(*row) for row in rows]

    def _number(self, match_id: bytes) -> int | None:
        rows = self._connection.execute("SELECT id FROM matches WHERE match_id = ?", (match_id,)).fetchall()
        return int(rows[0][0]) if rows else None
