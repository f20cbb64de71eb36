"""Working on the store of a server itself, where no server runs or several share it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import Parameter
from sixledger.cli.failures import Failure, unusable
from sixledger.service.config import Settings
from sixledger.service.errors import ServiceError
from sixledger.service.store import Store, StoreError, open_store

T = TypeVar("T")

DataDir = Annotated[Path | None, Parameter(help="Folder of the store, as for `sixledger serve`.")]
StoreUrl = Annotated[str | None, Parameter(help="The store, as for `sixledger serve`.")]


def with_store(
    data_dir: Path | None, store: str | None, work: Callable[[Store], Awaitable[T]], *, locked: str = "stop it first"
) -> T:
    """What `work` gives for the store, opened for it. Raises Failure.

    `locked` is what to do if a server that runs keeps the store for itself.
    """
    try:
        settings = Settings.from_environment(os.environ, data_dir=data_dir, store=store)
        seal = settings.seal()
    except ValueError as error:
        raise unusable(str(error)) from None
    if settings.store_url == "memory:":
        raise unusable("a store in memory keeps nothing: name a file or a database")

    async def run() -> T:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with open_store(settings.store_url, postgres=settings.postgres, seal=seal) as opened:
            return await work(opened)

    try:
        return asyncio.run(run())
    except StoreError as error:
        raise Failure(f"{error} (if a server runs on it, {locked})") from None
    except ServiceError as error:
        raise unusable(error.message) from None
    except ValueError as error:
        raise unusable(str(error)) from None
