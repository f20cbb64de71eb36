"""Working on the store of a server itself, where no server runs or several share it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import structlog
from cyclopts import Parameter
from sixledger.cli.failures import Failure, unusable
from sixledger.service import logs
from sixledger.service.config import Settings
from sixledger.service.errors import ServiceError
from sixledger.service.store import SqliteStore, Store, StoreError, StoreInUse, open_store

T = TypeVar("T")

DataDir = Annotated[Path | None, Parameter(help="Folder of the store, as for `sixledger serve`.")]
StoreUrl = Annotated[str | None, Parameter(help="The store, as for `sixledger serve`.")]


def with_store(
    data_dir: Path | None,
    store: str | None,
    work: Callable[[Store], Awaitable[T]],
    *,
    locked: str = "",
    may_make: bool = False,
) -> T:
    """What `work` gives for the store, opened for it. Raises Failure.

    `locked` is what else to do if a server that runs keeps the store for itself. A file that is not there is
    made only if it `may_make` one: behind a mistyped path nothing would be found, and nobody would notice.
    """
    try:
        settings = Settings.from_environment(os.environ, data_dir=data_dir, store=store)
        seal = settings.seal()
    except ValueError as error:
        raise unusable(str(error)) from None
    if settings.store_url == "memory:":
        raise unusable("a store in memory keeps nothing: name a file or a database")

    try:
        opened = open_store(settings.store_url, postgres=settings.postgres, seal=seal)
    except ValueError as error:
        raise unusable(str(error)) from None
    if isinstance(opened, SqliteStore) and not may_make and not opened.path.exists():
        raise unusable(f"there is no store {opened.path}: name that of the server with --data-dir or --store")

    async def run() -> T:
        if isinstance(opened, SqliteStore):
            settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with opened:
            return await work(opened)

    try:
        with _logging_aside():
            return asyncio.run(run())
    except StoreInUse as error:
        raise Failure(f"{error}{locked}") from None
    except StoreError as error:
        raise Failure(str(error)) from None
    except ServiceError as error:
        raise unusable(error.message) from None
    except ValueError as error:
        raise unusable(str(error)) from None


@contextmanager
def _logging_aside() -> Iterator[None]:
    """What the service has to warn of goes to the standard error: the output may be JSON for a program."""
    before = structlog.get_config()
    logs.configure("warning")
    try:
        yield
    finally:
        structlog.configure(**before)
