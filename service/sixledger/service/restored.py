"""Matches that came back from a backup: they can be read and aborted, and nothing else.

A backup may lack the newest records of a match, and heads of those were signed and handed out. Whoever played on would
make a second history of the match, and two heads of one match and count prove fraud by themselves (DESIGN 6). So the
operator marks what was open when the backup was made (`sixledger admin restored`), before the first server starts.

The mark is a floor of tokens under a number that no seat has: it is durable, it is known in memory, and processes that
share a store learn of each other's, all of which a mark needs as well.
"""

from __future__ import annotations

from collections.abc import Collection

from sixledger.service.errors import ServiceError
from sixledger.service.store import Store, TokenFloor
from sixledger.v1 import error_pb2

#: Stands where others have a seat; seats, and what else tokens speak for, have 16 bits.
_MARK = 1 << 16
_FOR_EVER = 2**63 - 1
#: Matches that are read at a time.
_PAGE = 500


def is_restored(store: Store, match_id: bytes) -> bool:
    """True if the match came back from a backup. Answers at once."""
    return store.token_floor(match_id, _MARK) > 0


async def mark(store: Store, match_id: bytes) -> None:
    """From now on the match can only be read and aborted. It cannot be undone. Raises StoreError."""
    await store.raise_floor(match_id, _MARK, TokenFloor(1, _FOR_EVER))


async def with_status(store: Store, statuses: Collection[int]) -> list[bytes]:
    """All matches of these statuses, by match id. Raises StoreError."""
    found: list[bytes] = []
    while page := await store.match_ids(statuses, after=found[-1] if found else None, limit=_PAGE):
        found += page
    return found


def refusal(match_id: bytes) -> ServiceError:
    """What is said to whoever wants to go on with such a match."""
    return ServiceError(
        error_pb2.REASON_RESTORED,
        f"match {match_id.hex()} was restored from a backup and may lack its newest records: it can only be read",
        metadata={"match": match_id.hex()},
    )
