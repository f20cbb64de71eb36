"""Reading what other processes have appended to matches that somebody follows here, as soon as they tell.

A wake-up names matches and nothing more. Whatever goes wrong here, `Pulse` finds out by the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from sixledger.service.errors import EXPECTED
from sixledger.service.host import MatchHost
from sixledger.service.logs import Log, places

#: Matches that are read at a time.
_AT_ONCE = 16


class News:
    """Catches up with the store in the matches that wake-ups name; those who follow them are hinted then."""

    def __init__(self, host: MatchHost) -> None:
        """For the matches of one host."""
        self._host = host
        #: Matches to be read. One that is told again while it is read is read again.
        self._pending: dict[bytes, None] = {}
        self._woken = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._log = Log("news")

    def start(self) -> None:
        """Read from now on."""
        self._host.hub.on_news = self._heard
        self._host.store.on_foreign = self._host.hub.heard
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()) for _ in range(_AT_ONCE)]

    async def close(self) -> None:
        """Read no more."""
        self._host.store.on_foreign = None
        self._host.hub.on_news = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def _heard(self, match_ids: Collection[bytes]) -> None:
        for match_id in match_ids:
            self._pending[match_id] = None
        self._woken.set()

    async def _run(self) -> None:
        while True:
            while not self._pending:
                self._woken.clear()
                await self._woken.wait()
            match_id = next(iter(self._pending))
            del self._pending[match_id]
            try:
                await self._host.fresh(match_id, news="wakeup")
            except EXPECTED:
                pass  # whoever follows the match meets it as well, and can say so
            except Exception as error:  # a match that is broken must not keep the others waiting
                where = [{"type": type(error).__name__, "at": places(error.__traceback__)}]
                self._log.error("news_not_read", match=match_id.hex(), errors=where)
