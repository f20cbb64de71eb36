"""`sixledger db`: the tables of a store in PostgreSQL."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.terminal import out, write_json
from sixledger.service.config import Settings
from sixledger.service.store import StoreError
from sixledger.service.store.urls import POSTGRES_SCHEMES, needs_asyncpg

if TYPE_CHECKING:
    from sixledger.service.store.postgres_migrations import Migration, Status

T = TypeVar("T")

#: Names the database, besides the variable of the server's store.
VARIABLE = "SIXLEDGER_DSN"
#: Exit status of `status` if the tables are not those of this release.
BEHIND = 1

app = App(
    name="db",
    help="Look after the tables of a store in PostgreSQL.",
    help_epilogue=(
        "Examples:\n\n    SIXLEDGER_DSN=postgresql://sixledger:…@db.example/sixledger sixledger db migrate\n"
        "    sixledger db status --json\n\n"
        "Without --dsn the database is that of SIXLEDGER_DSN, of SIXLEDGER_POSTGRES_DIRECT or of SIXLEDGER_STORE."
    ),
)

Dsn = Annotated[
    str | None,
    Parameter(help="postgresql://USER@HOST/DATABASE. With a password, rather as SIXLEDGER_DSN: all can read options."),
]
Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]


@app.command
def migrate(*, dsn: Dsn = None, as_json: Json = False) -> None:
    """Make the tables, or bring them up to date. Any number of these may run at once: one does it."""

    async def work(connection: Any) -> tuple[Sequence[Migration], Status]:
        from sixledger.service.store import postgres_migrations

        return await postgres_migrations.migrate(connection), await postgres_migrations.status(connection)

    applied, found = _with(dsn, work)
    if as_json:
        write_json({"applied": [each.version for each in applied], "version": found.version})
        return
    for each in applied:
        out().print(Text(f"applied {each.version:04} {each.name}"), soft_wrap=True)
    out().print(Text(f"the tables have version {found.version}, as this release needs"), soft_wrap=True)


@app.command
def status(*, dsn: Dsn = None, as_json: Json = False) -> int:
    """Show which migrations the database has. Exit status 1 if some are pending."""

    async def work(connection: Any) -> Status:
        from sixledger.service.store import postgres_migrations

        return await postgres_migrations.status(connection)

    found = _with(dsn, work)
    if as_json:
        write_json(
            {
                "version": found.version,
                "applied": [
                    {
                        "version": each.version,
                        "name": each.name,
                        "checksum": each.checksum,
                        "applied_at": each.applied_at.isoformat(),
                    }
                    for each in found.applied
                ],
                "pending": [
                    {"version": each.version, "name": each.name, "checksum": each.checksum} for each in found.pending
                ],
            }
        )
    else:
        table = Table(box=None, pad_edge=False, header_style="heading")
        for heading in ("version", "name", "applied"):
            table.add_column(heading, no_wrap=True)
        for row in found.applied:
            table.add_row(f"{row.version:04}", row.name, f"{row.applied_at:%Y-%m-%d %H:%M:%S %Z}")
        for step in found.pending:
            table.add_row(f"{step.version:04}", step.name, "pending: run `sixledger db migrate`")
        out().print(table)
    return BEHIND if found.pending else 0


def _with(dsn: str | None, work: Callable[[Any], Awaitable[T]]) -> T:
    """What `work` gives with a connection to the database. Raises Failure."""
    try:
        settings = Settings.from_environment(os.environ)
        url = dsn or os.environ.get(VARIABLE) or settings.postgres_direct or settings.store
        if url.partition(":")[0] not in POSTGRES_SCHEMES:
            raise ValueError(
                f"name the database with --dsn or {VARIABLE}, as in postgresql://USER@HOST/DATABASE; other stores "
                "bring their tables up to date when they are opened"
            )
        with needs_asyncpg():
            from sixledger.service.store.postgres_link import DATABASE_ERRORS, Link, close, told
        link = Link(url, replace(settings.postgres, direct=""))
    except ValueError as error:
        raise unusable(str(error)) from None

    async def run() -> T:
        try:
            connection = await link.connect()
            try:
                return await work(connection)
            finally:
                await close(connection)
        except DATABASE_ERRORS as error:
            raise StoreError(f"the database cannot do it: {told(error)}") from error

    try:
        return asyncio.run(run())
    except StoreError as error:
        raise Failure(str(error)) from None
