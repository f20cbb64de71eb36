"""The tables of the SQLite store, and how its file is made, recognised and connected to."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sixledger.service.store.base import StoreError

#: `PRAGMA user_version` of the tables below. A change of them gets the next number and a migration.
SCHEMA_VERSION = 5
#: `PRAGMA application_id`: "6LGR". Tells our files from other people's.
APPLICATION_ID = 0x364C4752
#: RETURNING, and the repairs of WAL that came with it.
OLDEST_SQLITE = (3, 35, 0)

#: Seconds that a connection waits for the lock of another program.
LOCK_TIMEOUT_S = 5

#: The place of a record is its match's number and its own in one integer: `match << SEQ_BITS | seq`.
SEQ_BITS = 32

# Records lie in the order of their arrival, so that a batch fills whole pages at the end of the table;
# only the small rows of `places` and `requests` are spread over pages. Keeping the records of a match
# side by side instead wrote a page per record, and took 1.7 times as long.

_TABLES = """
CREATE TABLE matches (
    id INTEGER PRIMARY KEY, match_id BLOB NOT NULL UNIQUE, game TEXT NOT NULL, seats INTEGER NOT NULL,
    created_us INTEGER NOT NULL, root_secret BLOB NOT NULL, status INTEGER NOT NULL, joined INTEGER NOT NULL
);
CREATE INDEX matches_by_time ON matches (created_us, match_id);
CREATE INDEX matches_by_status ON matches (status, created_us, match_id);
CREATE INDEX matches_by_game ON matches (game, created_us, match_id);
CREATE INDEX matches_by_game_and_status ON matches (game, status, created_us, match_id);
CREATE TABLE records (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE places (id INTEGER PRIMARY KEY, record INTEGER NOT NULL);
CREATE TABLE requests (
    match INTEGER NOT NULL, kind INTEGER NOT NULL, seat INTEGER NOT NULL, request_id BLOB NOT NULL,
    seq INTEGER NOT NULL, PRIMARY KEY (match, kind, seat, request_id)
) WITHOUT ROWID;
CREATE TABLE display_names (
    match INTEGER NOT NULL, seat INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (match, seat)
) WITHOUT ROWID;
"""

#: What each version after the first one changes. A new file goes through all of them.
_MIGRATIONS = {
    2: """
ALTER TABLE matches ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE matches ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE matches ADD COLUMN no_spectators INTEGER NOT NULL DEFAULT 0;
ALTER TABLE matches ADD COLUMN rematch_of BLOB NOT NULL DEFAULT x'';
CREATE INDEX matches_by_owner ON matches (owner, created_us, match_id) WHERE owner <> '';
CREATE INDEX open_matches_by_owner ON matches (owner, status) WHERE owner <> '';
CREATE TABLE bots (
    match INTEGER NOT NULL, seat INTEGER NOT NULL, bot TEXT NOT NULL, PRIMARY KEY (match, seat)
) WITHOUT ROWID;
CREATE TABLE token_floors (
    match_id BLOB NOT NULL, seat INTEGER NOT NULL, generation INTEGER NOT NULL, until_us INTEGER NOT NULL,
    PRIMARY KEY (match_id, seat)
) WITHOUT ROWID;
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL, scopes INTEGER NOT NULL, created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL, calls_per_second INTEGER NOT NULL, open_matches INTEGER NOT NULL, owner TEXT NOT NULL
) WITHOUT ROWID;
""",
    3: """
ALTER TABLE matches ADD COLUMN next_deadline_us INTEGER NOT NULL DEFAULT 0;
CREATE INDEX matches_by_deadline ON matches (next_deadline_us, match_id) WHERE next_deadline_us > 0;
""",
    4: """
ALTER TABLE matches ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE matches ADD COLUMN archived_hash BLOB NOT NULL DEFAULT x'';
CREATE INDEX matches_to_archive ON matches (status, created_us, match_id) WHERE archived = 0;
""",
    # Lists for everybody show public matches alone; a page must not cost the more, the more private ones there are.
    5: """
CREATE INDEX public_matches_by_time ON matches (created_us, match_id) WHERE private = 0;
CREATE INDEX public_matches_by_status ON matches (status, created_us, match_id) WHERE private = 0;
CREATE INDEX public_matches_by_game ON matches (game, created_us, match_id) WHERE private = 0;
CREATE INDEX public_matches_by_game_and_status ON matches (game, status, created_us, match_id) WHERE private = 0;
DROP INDEX matches_by_time;
DROP INDEX matches_by_game;
DROP INDEX matches_by_game_and_status;
""",
}


def connect(path: Path, *, cache_kib: int, writes: bool = False) -> sqlite3.Connection:
    """Open a connection that may be handed from thread to thread, each using it alone.

    `cache_kib` bounds its page cache. `writes` is for the only connection that may change a row.
    """
    # 256 statements: the writer has one for each number of rows up to its chunk, per table.
    connection = sqlite3.connect(
        path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{cache_kib:d}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        # A batch is put together in a table of its own first: no file elsewhere, which may be full, is to see secrets.
        connection.execute("PRAGMA temp_store = MEMORY")
        # Erased names are overwritten where that costs no extra page; some builds would do it at any price.
        connection.execute("PRAGMA secure_delete = FAST")
        if not writes:
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def check_library() -> None:
    """Raise StoreError if Python's SQLite is too old."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old, {oldest} or newer is needed: use a newer Python or library"
        )


def create_file(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one: the store keeps root secrets.

    SQLite gives its files beside it the same permissions.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
    except FileExistsError:
        return
    if os.name == "posix":
        # The name must survive a crash, not only what is written to the file.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to WAL and create the tables, or check that they are ours and bring them up to date. Raises StoreError."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    is_new = not tables and not version and not application
    if not is_new and application != APPLICATION_ID:
        raise StoreError(f"{path} is a database of something else, not a Sixledger store: name another file")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}, this release knows {SCHEMA_VERSION}: it was written by a newer "
            "release, upgrade Sixledger"
        )
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(f"{path} cannot use write-ahead logging (journal mode {mode}): put it on a local disk")
    steps = _TABLES if is_new else ""
    steps += "".join(_MIGRATIONS[number] for number in range(max(version, 1) + 1, SCHEMA_VERSION + 1))
    if steps:
        try:
            # All of it or nothing: the version is part of the transaction.
            connection.executescript(
                f"BEGIN IMMEDIATE; {steps} PRAGMA application_id = {APPLICATION_ID:d}; "
                f"PRAGMA user_version = {SCHEMA_VERSION:d}; COMMIT;"
            )
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
