"""Which tokens are worthless, as it is asked for every act: answered from memory, and kept up to date by looking."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sixledger.service.logs import Log
from sixledger.service.store.base import StoreError, TokenFloor
from sixledger.service.store.postgres_link import DATABASE_ERRORS

if TYPE_CHECKING:
    from sixledger.service.store.postgres_link import Pooled

#: Rows get their time before they can be seen by others: look this far back each time.
_OVERLAP = timedelta(seconds=30)

_ALL = "SELECT match_id, seat, generation, changed_at FROM token_floors WHERE until_us > $1"
_NEWER = "SELECT match_id, seat, generation, changed_at FROM token_floors WHERE changed_at > $1"


class Floors:
    """Floors of tokens by match and seat."""

    def __init__(self, tick_s: float) -> None:
        """Look for those of other processes every `tick_s` seconds, once started."""
        self._tick_s = tick_s
        self._floors: dict[tuple[bytes, int], int] = {}
        #: The newest change that was seen, by the database's clock.
        self._seen: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._log = Log("store")

    def get(self, match_id: bytes, seat: int) -> int:
        """The generation below which tokens of the seat are worthless."""
        return self._floors.get((match_id, seat), 0)

    def raised(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        """This process has raised a floor, durably."""
        self._raise(match_id, seat, floor.generation)

    async def read(self, connection: Pooled) -> None:
        """Take what the store has that is not known here."""
        if self._seen is None:
            self._floors.clear()
            rows = await connection.fetch(_ALL, time.time_ns() // 1000)
        else:
            rows = await connection.fetch(_NEWER, self._seen - _OVERLAP)
        for match_id, seat, generation, changed_at in rows:
            self._raise(match_id, seat, generation)
            if self._seen is None or changed_at > self._seen:
                self._seen = changed_at
        if self._seen is None:
            self._seen = await connection.fetchval("SELECT clock_timestamp()")

    def start(self, look: Callable[[], Awaitable[None]]) -> None:
        """Do `look` from now on."""
        self._task = asyncio.get_running_loop().create_task(self._run(look))

    async def close(self) -> None:
        """Look no more, and forget."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
        self._seen = None

    async def _run(self, look: Callable[[], Awaitable[None]]) -> None:
        failed = False
        while True:
            await asyncio.sleep(self._tick_s)
            try:
                await look()
            except (StoreError, *DATABASE_ERRORS) as error:
                if not failed:  # once for each time that the database is away
                    self._log.warning("floors_not_read", type=type(error).__name__)
                failed = True
            else:
                failed = False

    def _raise(self, match_id: bytes, seat: int, generation: int) -> None:
        key = (match_id, seat)
        if generation > self._floors.get(key, 0):
            self._floors[key] = generation
