"""The queries of the PostgreSQL store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sixledger.service.store.base import ApiKeyRow, Cursor, Due, MatchRow, RecordsArchived

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Pooled

_COLUMNS = (
    "match_id, game, seats, created_us, root_secret, status, joined, owner, private, no_spectators, rematch_of, "
    "next_deadline_us, archived, archived_hash"
)
_KEY_COLUMNS = "id, name, digest, scopes, created_us, expires_us, calls_per_second, open_matches, owner"


class Reader:
    """Answers from one connection. Each answer is of one moment."""

    def __init__(self, connection: Pooled) -> None:
        self._connection = connection

    async def match(self, match_id: bytes) -> MatchRow | None:
        """As Store.match."""
        row = await self._connection.fetchrow(f"SELECT {_COLUMNS} FROM matches WHERE match_id = $1", match_id)  # noqa: S608 - constants
        return None if row is None else MatchRow(*row)

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        """As Store.records."""
        rows = await self._connection.fetch(
            "SELECT record FROM records WHERE match_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3", match_id, first, limit
        )
        if any(row[0] is None for row in rows):
            raise RecordsArchived(f"the records of match {match_id.hex()} are archived")
        return [row[0] for row in rows]

    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        """As Store.find_request."""
        found: int | None = await self._connection.fetchval(
            "SELECT seq FROM records WHERE match_id = $1 AND kind = $2 AND seat = $3 AND request_id = $4",
            match_id,
            kind,
            seat,
            request_id,
        )
        return found

    async def display_names(self, match_id: bytes) -> dict[int, str]:
        """As Store.display_names."""
        rows = await self._connection.fetch("SELECT seat, name FROM display_names WHERE match_id = $1", match_id)
        return {row[0]: row[1] for row in rows}

    async def list_matches(
        self,
        status: int | None,
        game: str | None,
        after: Cursor | None,
        limit: int,
        free_seats: bool,
        owner: str | None,
    ) -> list[MatchRow]:
        """As Store.list_matches. Owner, status and game have indices in the order of the pages."""
        conditions: list[str] = []
        values: list[object] = []

        def value(given: object) -> str:
            values.append(given)
            return f"${len(values)}"

        if owner is None:
            conditions.append("NOT private")
        else:
            conditions.append(f"owner = {value(owner)} AND owner <> ''")  # the second part is that of the index
        if free_seats:
            conditions.append("joined < seats")
        if game is not None:
            conditions.append(f"game = {value(game)}")
        if status is not None:
            conditions.append(f"status = {value(status)}")
        if after is not None:
            conditions.append(f"(created_us, match_id) < ({value(after.created_us)}, {value(after.match_id)})")
        rows = await self._connection.fetch(
            f"SELECT {_COLUMNS} FROM matches WHERE {' AND '.join(conditions)} "  # noqa: S608 - constants
            f"ORDER BY created_us DESC, match_id DESC LIMIT {value(limit)}",
            *values,
        )
        return [MatchRow(*row) for row in rows]

    async def count_matches(self, owner: str, statuses: Sequence[int]) -> int:
        """As Store.count_matches."""
        found: int = await self._connection.fetchval(
            "SELECT count(*) FROM matches WHERE owner = $1 AND owner <> '' AND status = ANY ($2::bigint[])",
            owner,
            statuses,
        )
        return found

    async def bots(self, match_id: bytes) -> dict[int, str]:
        """As Store.bots."""
        rows = await self._connection.fetch("SELECT seat, bot FROM bots WHERE match_id = $1", match_id)
        return {row[0]: row[1] for row in rows}

    async def matches_with_bots(self, statuses: Sequence[int]) -> list[bytes]:
        """As Store.matches_with_bots."""
        rows = await self._connection.fetch(
            "SELECT match_id FROM matches m WHERE status = ANY ($1::bigint[]) "
            "AND EXISTS (SELECT FROM bots b WHERE b.match_id = m.match_id) ORDER BY created_us, match_id",
            statuses,
        )
        return [row[0] for row in rows]

    async def match_ids(self, statuses: Sequence[int], after: bytes | None, limit: int) -> list[bytes]:
        """As Store.match_ids."""
        rows = await self._connection.fetch(
            "SELECT match_id FROM matches WHERE status = ANY ($1::bigint[]) AND match_id > $2 "
            "ORDER BY match_id LIMIT $3",
            statuses,
            after or b"",
            limit,
        )
        return [row[0] for row in rows]

    async def kept_secrets(self, after: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """As Store.kept_secrets."""
        rows = await self._connection.fetch(
            "SELECT match_id, root_secret FROM matches WHERE match_id > $1 ORDER BY match_id LIMIT $2",
            after or b"",
            limit,
        )
        return [(row[0], row[1]) for row in rows]

    async def archivable(self, status: int, before_us: int, after: Cursor | None, limit: int) -> list[Cursor]:
        """As Store.archivable."""
        rows = await self._connection.fetch(
            "SELECT created_us, match_id FROM matches WHERE status = $1 AND archived = 0 AND created_us < $2 "
            "AND (created_us, match_id) > ($3, $4) ORDER BY created_us, match_id LIMIT $5",
            status,
            before_us,
            *((after.created_us, after.match_id) if after else (-1, b"")),
            limit,
        )
        return [Cursor(*row) for row in rows]

    async def deadlines(self, after: Due | None, limit: int) -> list[Due]:
        """As Store.deadlines."""
        rows = await self._connection.fetch(
            "SELECT next_deadline_us, match_id FROM matches WHERE next_deadline_us > 0 "
            "AND (next_deadline_us, match_id) > ($1, $2) ORDER BY next_deadline_us, match_id LIMIT $3",
            *(after or (0, b"")),
            limit,
        )
        return [Due(*row) for row in rows]

    async def floor(self, match_id: bytes, seat: int) -> int:
        """As Store.look_up_floor."""
        found: int | None = await self._connection.fetchval(
            "SELECT generation FROM token_floors WHERE match_id = $1 AND seat = $2", match_id, seat
        )
        return found or 0

    async def api_keys(self) -> list[ApiKeyRow]:
        """As Store.api_keys."""
        rows = await self._connection.fetch(f"SELECT {_KEY_COLUMNS} FROM api_keys ORDER BY created_us, id")  # noqa: S608 - constants
        return [ApiKeyRow(*row) for row in rows]
