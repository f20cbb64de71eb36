"""Firing the timers that are due. Every replica does it: whoever is first makes the record, the others find it.

Which timers are armed follows from the records, and the store keeps the first deadline of each match beside them. So
nothing is lost by a crash: whoever starts next finds what is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sixledger.service.errors import EXPECTED
from sixledger.service.host import MatchHost
from sixledger.service.logs import Log, places
from sixledger.service.store import Due, StoreError

#: Deadlines read at a time, and matches that are worked on at a time.
_PAGE, _AT_ONCE = 256, 16
#: Seconds until a match is tried again whose timer could not fire; and how many such matches are remembered.
_RETRY_S, _MAX_FAILED = 30.0, 10_000


class Timekeeper:
    """Fires the timers of the matches of one host. `start` it once the store is open, and `close` it before."""

    def __init__(self, host: MatchHost, tick_s: float = 0.5) -> None:
        """Look at the store at least every `tick_s` seconds: another replica may have armed a timer."""
        self._host = host
        self._tick_s = tick_s
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        #: When the next look is planned, by the host's clock.
        self._planned_us = 0
        #: Matches whose timer could not fire, with the time of the loop from which it is tried again.
        self._failed: dict[bytes, float] = {}
        self._log = Log("timekeeper")

    def start(self) -> None:
        """Fire what is due, from now on."""
        self._host.on_deadline = self.expect
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Fire no more."""
        self._host.on_deadline = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def expect(self, deadline_us: int) -> None:
        """A timer was armed here: look again in time for it."""
        if deadline_us < self._planned_us:
            self._woken.set()

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            # What is armed during the look counts as well.
            self._planned_us = 1 << 63
            try:
                wait_s = await self.tick()
            except EXPECTED as error:
                self._log.warning("deadlines_not_read", type=type(error).__name__)
                wait_s = self._tick_s
            self._planned_us = self._host.clock() + int(wait_s * 1_000_000)
            try:
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def tick(self) -> float:
        """Fire everything that is due now. Gives the seconds after which to look again. Raises StoreError."""
        after: Due | None = None
        while True:
            page = await self._host.store.deadlines(after=after, limit=_PAGE)
            now = self._host.clock()
            due = [each for each in page if each.deadline_us < now]
            await self._fire_all(due)
            if len(due) < len(page):
                return min(max((page[len(due)].deadline_us + 1 - now) / 1_000_000, 0.001), self._tick_s)
            if len(page) < _PAGE:
                return self._tick_s
            after = page[-1]

    async def _fire_all(self, due: Sequence[Due]) -> None:
        now = asyncio.get_running_loop().time()
        waiting = [each.match_id for each in due if self._failed.get(each.match_id, 0.0) <= now]
        for start in range(0, len(waiting), _AT_ONCE):
            await asyncio.gather(*map(self._fire, waiting[start : start + _AT_ONCE]))

    def _is_due(self, match_id: bytes) -> bool:
        """True unless the match is known to have no timer that is due."""
        hosted = self._host.peek(match_id)
        return hosted is None or hosted.match.first_deadline_us < self._host.clock()

    async def _fire(self, match_id: bytes) -> None:
        try:
            if await self._host.fire_due(match_id) or not self._is_due(match_id):
                self._failed.pop(match_id, None)  # somebody was faster, if it was not fired here
                return
            pause_s = self._tick_s  # no reason to look all the time
        except StoreError as error:  # of no match's making: its time has come as soon as the store is back
            pause_s = self._tick_s
            self._log.warning("timer_not_kept", match=match_id.hex(), type=type(error).__name__)
        except Exception as error:  # a match that is broken must not keep the others from their time
            pause_s = _RETRY_S
            where = [{"type": type(error).__name__, "at": places(error.__traceback__)}]
            self._log.error("timer_failed", match=match_id.hex(), errors=where)
        if len(self._failed) >= _MAX_FAILED:
            self._failed.clear()
        self._failed[match_id] = asyncio.get_running_loop().time() + pause_s
