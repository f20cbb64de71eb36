"""Records that leave a PostgreSQL store for an archive, and come back.

The row of a record that has left stays: its number and its idempotency key are in it. Each move is a transaction that
holds the row of the match, so that of two processes that want the same one is first, and the other finds it done.
Its statements have a bounded number of rows, so that none runs into the time limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncpg
    from sixledger.service.store.postgres_link import Pooled

#: Records, and bytes of them, that a statement moves at most; a single longer one goes alone.
_ROWS, _BYTES = 2000, 4 << 20

_LOCK = "SELECT archived, archived_hash FROM matches WHERE match_id = $1 FOR UPDATE"
_COUNT = "SELECT count(*) FROM records WHERE match_id = $1"
_MARK = "UPDATE matches SET archived = $2, archived_hash = $3 WHERE match_id = $1"
_DROP = "UPDATE records SET record = NULL WHERE match_id = $1 AND seq >= $2 AND seq < $3"
_KEEP = """
UPDATE records r SET record = k.record FROM unnest($2::bigint[], $3::bytea[]) AS k (seq, record)
WHERE r.match_id = $1 AND r.seq = k.seq
"""


async def archive(connection: Pooled, match_id: bytes, records: int, last_hash: bytes) -> bool:
    """As Store.archive."""
    async with connection.transaction():
        found = await _locked(connection, match_id, records)
        if found is None:
            return False
        if found["archived"]:
            return bool(found["archived_hash"] == last_hash)
        await connection.execute(_MARK, match_id, records, last_hash)
        for first in range(1, records, _ROWS):
            await connection.execute(_DROP, match_id, first, first + _ROWS)
    return True


async def unarchive(connection: Pooled, match_id: bytes, records: Sequence[bytes]) -> bool:
    """As Store.unarchive."""
    async with connection.transaction():
        found = await _locked(connection, match_id, len(records))
        if found is None:
            return False
        if found["archived"]:
            await connection.execute(_MARK, match_id, 0, b"")
            first = 1
            while first < len(records):
                end = _end(records, first)
                await connection.execute(_KEEP, match_id, list(range(first, end)), list(records[first:end]))
                first = end
    return True


def _end(records: Sequence[bytes], first: int) -> int:
    """Up to which record those from `first` on go in one statement."""
    end, size = first + 1, len(records[first])
    while end < len(records) and end - first < _ROWS and size + len(records[end]) <= _BYTES:
        size += len(records[end])
        end += 1
    return end


async def _locked(connection: Pooled, match_id: bytes, records: int) -> asyncpg.Record | None:
    """Archived number and hash of a match, held until the end of the transaction; None if it does not fit."""
    found = await connection.fetchrow(_LOCK, match_id)
    if found is None or await connection.fetchval(_COUNT, match_id) != records:
        return None
    return found
