"""The tables of a PostgreSQL store: made and changed by numbered files, each applied once.

What was applied stands in the table `sixledger_migrations`, with a checksum. All of a run happens in one transaction
under a lock, so that many servers may begin at once, and a failure leaves everything as it was.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from sixledger.service.store.base import StoreError

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Connection

_FOLDER = "migrations"
_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
#: Key of the advisory lock under which one process migrates: "6LGR".
LOCK = 0x364C4752

_TABLE = """
CREATE TABLE IF NOT EXISTS sixledger_migrations (
    version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
_ADVICE = "run `sixledger db migrate` with this release, then start the server"


@dataclass(frozen=True, slots=True)
class Migration:
    """A step from one version of the tables to the next."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of its text, in hexadecimal."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration that a database has gone through."""

    version: int
    name: str
    checksum: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """Which migrations a database has, and which it lacks."""

    applied: Sequence[Applied]
    pending: Sequence[Migration]

    @property
    def version(self) -> int:
        """The version of the tables; 0: there are none."""
        return self.applied[-1].version if self.applied else 0


@cache
def known() -> tuple[Migration, ...]:
    """The migrations of this release, in order."""
    found = []
    for entry in files("sixledger.service.store").joinpath(_FOLDER).iterdir():
        if match := _NAME.fullmatch(entry.name):
            # Whatever line ends a checkout has, the checksum is the same.
            text = "\n".join(entry.read_text(encoding="utf-8").splitlines()) + "\n"
            found.append(Migration(int(match[1]), match[2], text))
    found.sort(key=lambda each: each.version)
    if [each.version for each in found] != list(range(1, len(found) + 1)) or not found:
        raise RuntimeError("the migrations of this installation are not numbered 1, 2, 3 …: install it again")
    return tuple(found)


async def status(connection: Connection, steps: Sequence[Migration] | None = None) -> Status:
    """Which of `steps` (default: those of this release) the database has. Raises StoreError if they do not fit."""
    steps = known() if steps is None else steps
    if await connection.fetchval("SELECT to_regclass('sixledger_migrations')") is None:
        return Status((), tuple(steps))
    rows = await connection.fetch(
        "SELECT version, name, checksum, applied_at FROM sixledger_migrations ORDER BY version"
    )
    applied = [Applied(*row) for row in rows]
    if len(applied) > len(steps):
        raise StoreError(
            f"the tables have version {applied[-1].version}, this release knows {len(steps)}: they were made by a "
            "newer release, upgrade Sixledger"
        )
    for row, step in zip(applied, steps, strict=False):
        if (row.version, row.checksum) != (step.version, step.checksum):
            raise StoreError(
                f"migration {row.version} ({row.name}) of the database differs from that of this release: one of them "
                "was changed after its release; use the release that made the tables"
            )
    return Status(applied, tuple(steps[len(applied) :]))


async def migrate(connection: Connection, steps: Sequence[Migration] | None = None) -> Sequence[Migration]:
    """Bring the tables up to date; what was applied. Nothing, if another process was faster. Raises StoreError."""
    async with connection.transaction():
        # A large table may take its time, and another process that migrates as well.
        await connection.execute("SET LOCAL statement_timeout = 0", timeout=60)
        await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK:d})", timeout=3600)
        await connection.execute(_TABLE)
        pending = (await status(connection, steps)).pending
        for step in pending:
            await connection.execute(step.sql, timeout=24 * 3600)
            await connection.execute(
                "INSERT INTO sixledger_migrations (version, name, checksum) VALUES ($1, $2, $3)",
                step.version,
                step.name,
                step.checksum,
            )
    return pending


async def require_current(connection: Connection) -> None:
    """Raise StoreError, saying what to do, unless the tables are exactly those of this release."""
    found = await status(connection)
    if found.pending:
        has = f"the tables have version {found.version}" if found.applied else "the database has no tables yet"
        raise StoreError(f"{has}, this release needs version {found.pending[-1].version}: {_ADVICE}")
