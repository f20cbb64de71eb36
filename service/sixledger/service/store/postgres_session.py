"""The connections and tasks of an open PostgreSQL store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeVar

from sixledger.service.store.base import AppendResult, StoreError
from sixledger.service.store.loop_commit import LoopCommit
from sixledger.service.store.postgres_checks import check_server
from sixledger.service.store.postgres_floors import Floors
from sixledger.service.store.postgres_link import DATABASE_ERRORS, Link, close
from sixledger.service.store.postgres_migrations import migrate, require_current
from sixledger.service.store.postgres_wakeups import Wakeups
from sixledger.service.store.postgres_writer import BatchWriter, Job

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Pool, Pooled

T = TypeVar("T")


class Session:
    """The connections and tasks of an open store."""

    def __init__(
        self, link: Link, heard: Callable[[Collection[bytes] | None], None], flushed: Callable[[int, float], None]
    ) -> None:
        settings = link.settings
        self._link = link
        self._resources = AsyncExitStack()
        self._wakeups = Wakeups(link, heard) if settings.wakeups else None
        self._writer = BatchWriter(link, appended=None if self._wakeups is None else self._wakeups.publish)
        self._pool: Pool | None = None
        self.remarks: list[str] = []
        self.floors = Floors(settings.floor_tick_s)
        self.commits: LoopCommit[Job, AppendResult] = LoopCommit(
            self._writer.write, max_jobs=settings.max_batch, max_bytes=settings.max_batch_bytes, wrote=flushed
        )

    async def start(self) -> None:
        """Connect, check or make the tables, start the tasks. Raises StoreError or what the driver raises."""
        async with AsyncExitStack() as resources:
            if self._link.settings.migrate:
                await self._migrate()
            connection = await self._link.connect(by_key=True)
            resources.push_async_callback(self._writer.close)
            await self._writer.open(connection)
            remark = await check_server(connection, self._link.settings)
            await require_current(connection)
            if remark is not None:
                self.remarks.append(remark)
            pool = self._pool = await self._link.pool()
            resources.push_async_callback(_close_pool, pool)
            resources.push_async_callback(self.floors.close)
            await self.floors.read(connection)
            self.floors.start(lambda: self.run(self.floors.read))
            if self._wakeups is not None:
                resources.push_async_callback(self._wakeups.close)
                self._wakeups.start()
            self._resources = resources.pop_all()

    async def _migrate(self) -> None:
        connection = await self._link.connect(direct=True)
        try:
            await check_server(connection, self._link.settings)
            for step in await migrate(connection):
                self.remarks.append(f"the tables were brought to version {step.version} ({step.name})")
        finally:
            await close(connection)

    async def stop(self) -> None:
        """Finish the appends and reads that were taken, and close everything."""
        self.commits.refuse()
        await self.commits.join()
        await self._resources.aclose()

    async def run(self, query: Callable[[Pooled], Awaitable[T]]) -> T:
        """What a query gives, on a connection of the pool, tried anew if the connection is lost."""
        pool = self._pool
        if pool is None:
            raise StoreError("the store is not open")

        async def attempt() -> T:
            async with pool.acquire(timeout=self._link.settings.statement_timeout_s) as connection:
                return await query(connection)

        return await self._link.patiently(attempt)


async def _close_pool(pool: Pool) -> None:
    """Wait for the queries that run, but not for a database that has gone."""
    try:
        await asyncio.wait_for(pool.close(), 5)
    except (TimeoutError, *DATABASE_ERRORS):
        pool.terminate()
