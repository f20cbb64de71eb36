"""What every store refuses before it begins: arguments that no store could keep.

A store that writes many appends in one transaction relies on it: a value that the database driver
rejects would otherwise fail the appends of others too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sixledger.service.store.base import ApiKeyRow, Cursor, Due, Entry, MatchRow, TokenFloor

#: Longest record that a store takes.
MAX_RECORD_BYTES = 64 * 1024 * 1024
#: Record numbers, seats and kinds fit 32 bits.
_MAX_U32 = 2**32 - 1
_MAX_I64 = 2**63 - 1


def check_creation(row: MatchRow, first: Entry) -> None:
    """Raise ValueError unless `row` and record 0 fit together and can be kept."""
    check_id("match_id", row.match_id)
    if len(row.root_secret) != 32:
        raise ValueError(f"root_secret must be 32 bytes, not {len(row.root_secret)}")
    _check_text("game", row.game)
    _check_number("seats", row.seats, _MAX_U32)
    _check_number("created_us", row.created_us, _MAX_I64)
    _check_number("status", row.status, _MAX_U32)
    _check_number("joined", row.joined, _MAX_U32)
    _check_number("next_deadline_us", row.next_deadline_us, _MAX_I64)
    _check_text("owner", row.owner)
    if row.rematch_of:
        check_id("rematch_of", row.rematch_of)
    if row.archived or row.archived_hash:
        raise ValueError("a new match has its records here: archived must be 0")
    _check_fields(first)
    if first.match_id != row.match_id:
        raise ValueError("record 0 belongs to another match than the row")
    if first.seq != 0:
        raise ValueError(f"a match begins with record 0, not {first.seq}")


def check_entry(entry: Entry) -> None:
    """Raise ValueError unless `entry` can be appended to a match that exists."""
    _check_fields(entry)
    if entry.seq == 0:
        raise ValueError("record 0 is kept by create, append begins with record 1")


def check_id(name: str, value: bytes) -> None:
    """Raise ValueError unless `value` is an id of 16 bytes."""
    if len(value) != 16:
        raise ValueError(f"{name} must be 16 bytes, not {len(value)}")


def check_key(match_id: bytes, kind: int, seat: int, request_id: bytes) -> None:
    """Raise ValueError unless this can be an idempotency key."""
    check_id("match_id", match_id)
    check_id("request_id", request_id)
    _check_number("kind", kind, _MAX_U32)
    _check_number("seat", seat, _MAX_U32)


def check_page(first: int, limit: int) -> None:
    """Raise ValueError unless a page of `limit` records from `first` on can be asked for."""
    _check_number("first", first, _MAX_I64)
    _check_number("limit", limit, _MAX_I64)


def check_floor(match_id: bytes, seat: int, floor: TokenFloor) -> None:
    """Raise ValueError unless this floor can be kept."""
    check_id("match_id", match_id)
    _check_number("seat", seat, _MAX_U32)
    _check_number("generation", floor.generation, 2**16 - 1)
    _check_number("until_us", floor.until_us, _MAX_I64)


def check_api_key(row: ApiKeyRow) -> None:
    """Raise ValueError unless this key can be kept."""
    if len(row.digest) != 32:
        raise ValueError(f"digest must be 32 bytes, not {len(row.digest)}")
    for name in ("id", "name", "owner"):
        _check_text(name, getattr(row, name))
    for name in ("scopes", "calls_per_second", "open_matches"):
        _check_number(name, getattr(row, name), _MAX_U32)
    for name in ("created_us", "expires_us"):
        _check_number(name, getattr(row, name), _MAX_I64)


def check_statuses(owner: str, statuses: Collection[int]) -> None:
    """Raise ValueError unless matches of an owner with these statuses can be asked for."""
    _check_text("owner", owner)
    for status in statuses:
        _check_number("status", status, _MAX_U32)


def check_match_ids(statuses: Collection[int], after: bytes | None, limit: int) -> None:
    """Raise ValueError unless matches of these statuses can be asked for."""
    check_statuses("", statuses)
    if after is not None:
        check_id("after", after)
    _check_number("limit", limit, _MAX_I64)


def check_erasure(match_id: bytes | None, seat: int | None, name: str | None) -> None:
    """Raise ValueError unless it is said which names to erase. A name is not repeated: it is personal data."""
    if match_id is None and seat is None and name is None:
        raise ValueError("say which display names to erase: of a match, of a seat, or a name")
    if match_id is not None:
        check_id("match_id", match_id)
    if seat is not None:
        _check_number("seat", seat, _MAX_U32)
    if name is not None:
        _check_text("name", name)


def check_listing(
    status: int | None, game: str | None, after: Cursor | None, limit: int, owner: str | None = None
) -> None:
    """Raise ValueError unless a page of matches can be asked for like this."""
    _check_number("limit", limit, _MAX_I64)
    if status is not None:
        _check_number("status", status, _MAX_U32)
    if game is not None:
        _check_text("game", game)
    if owner is not None:
        _check_text("owner", owner)
    if after is not None:
        _check_number("created_us", after.created_us, _MAX_I64)
        check_id("match_id", after.match_id)


def check_secrets_page(after: bytes | None, limit: int) -> None:
    """Raise ValueError unless a page of root secrets can be asked for like this."""
    _check_number("limit", limit, _MAX_I64)
    if after is not None:
        check_id("match_id", after)


def check_archivable(status: int, before_us: int, after: Cursor | None, limit: int) -> None:
    """Raise ValueError unless a page of matches to archive can be asked for like this."""
    check_listing(status, None, after, limit)
    _check_number("before_us", before_us, _MAX_I64)


def check_archive(match_id: bytes, records: int, last_hash: bytes) -> None:
    """Raise ValueError unless the records of a match can leave like this."""
    check_id("match_id", match_id)
    _check_number("records", records, _MAX_U32)
    if records < 2:
        raise ValueError("records must be at least 2: a match that has ended has more than record 0")
    if len(last_hash) != 32:
        raise ValueError(f"last_hash must be 32 bytes, not {len(last_hash)}")


def check_unarchive(match_id: bytes, records: Sequence[bytes]) -> None:
    """Raise ValueError unless the records of a match can come back like this."""
    check_id("match_id", match_id)
    if len(records) < 2:
        raise ValueError("records must be at least 2: a match that has ended has more than record 0")
    for record in records:
        if len(record) > MAX_RECORD_BYTES:
            raise ValueError(f"a record may have {MAX_RECORD_BYTES} bytes, not {len(record)}")


def check_deadlines(after: Due | None, limit: int) -> None:
    """Raise ValueError unless a page of deadlines can be asked for like this."""
    _check_number("limit", limit, _MAX_I64)
    if after is not None:
        _check_number("deadline_us", after.deadline_us, _MAX_I64)
        check_id("match_id", after.match_id)


def _check_fields(entry: Entry) -> None:
    # One condition for the ordinary case: this runs for every append.
    if (
        len(entry.match_id) == 16
        and len(entry.request_id) == 16
        and 0 <= entry.seq <= _MAX_U32
        and 0 <= entry.kind <= _MAX_U32
        and 0 <= entry.seat <= _MAX_U32
        and len(entry.record) <= MAX_RECORD_BYTES
        and entry.is_plain
    ):
        return
    check_id("match_id", entry.match_id)
    check_id("request_id", entry.request_id)
    _check_number("seq", entry.seq, _MAX_U32)
    _check_number("kind", entry.kind, _MAX_U32)
    _check_number("seat", entry.seat, _MAX_U32)
    if len(entry.record) > MAX_RECORD_BYTES:
        raise ValueError(f"a record may have {MAX_RECORD_BYTES} bytes, not {len(entry.record)}")
    if entry.status is not None:
        _check_number("status", entry.status, _MAX_U32)
    if entry.joined is not None:
        _check_number("joined", entry.joined, _MAX_U32)
    if entry.display_name is not None:
        _check_text("display_name", entry.display_name)
    if entry.seats is not None:
        _check_number("seats", entry.seats, _MAX_U32)
    if entry.next_deadline_us is not None:
        _check_number("next_deadline_us", entry.next_deadline_us, _MAX_I64)
    if entry.bot is not None:
        _check_text("bot", entry.bot)
    if entry.floor is not None:
        check_floor(entry.match_id, entry.seat, entry.floor)


def _check_number(name: str, value: int, largest: int) -> None:
    if not 0 <= value <= largest:
        raise ValueError(f"{name} must be between 0 and {largest}, not {value}")


def _check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        # Without the text: a display name is personal data.
        raise ValueError(f"{name} is not valid Unicode: lone surrogate at {error.start}") from None
    if "\0" in value:
        raise ValueError(f"{name} must not contain NUL")
