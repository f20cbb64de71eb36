"""Wake-ups for those who follow a match. A hint may get lost; whoever waits also looks by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

#: The key of those who follow no match, and only want to know when the server stops or time has passed.
NO_MATCH = b""
#: The position of those: no record is new to them.
NO_POSITION = 1 << 62


class Waiter:
    """Somebody who waits for news of one match. One task waits; anybody may hint.

    Much smaller than an event of asyncio: a server has one for each idle watcher.
    """

    __slots__ = ("_future", "due", "hinted", "position")

    def __init__(self, position: int = NO_POSITION) -> None:
        """`position` is the number of the next record that would be news."""
        self.position = position
        #: When to wake in any case, by the loop's clock.
        self.due = float("inf")
        #: True from a hint on until the waiter clears it, which it does before it looks.
        self.hinted = False
        self._future: asyncio.Future[None] | None = None

    def hint(self) -> None:
        """Wake the waiter."""
        self.hinted = True
        future = self._future
        if future is not None and not future.done():
            future.set_result(None)

    def clear(self) -> None:
        """Look again from now on."""
        self.hinted = False

    async def wait(self) -> None:
        """Wait for a hint; returns at once if there was one."""
        if self.hinted:
            return
        self._future = asyncio.get_running_loop().create_future()
        try:
            await self._future
        finally:
            self._future = None


class Hub:
    """Wakes the watchers of this process. Nothing is queued: a watcher that is busy misses nothing but hints."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, set[Waiter]] = {}
        self._closed = False
        #: Told of matches that somebody follows here, and in which another process may have appended.
        self.on_news: Callable[[Collection[bytes]], None] | None = None

    @property
    def closed(self) -> bool:
        """True once watching has ended here."""
        return self._closed

    @property
    def match_ids(self) -> Collection[bytes]:
        """The matches that somebody follows."""
        return [match_id for match_id in self._waiting if match_id]

    def watched(self, match_id: bytes) -> bool:
        """True if somebody follows the match."""
        return match_id in self._waiting

    def count(self, match_id: bytes) -> int:
        """How many follow the match."""
        return len(self._waiting.get(match_id, ()))

    @property
    def watchers(self) -> int:
        """How many follow a match, of all matches."""
        return sum(len(waiting) for match_id, waiting in self._waiting.items() if match_id)

    def add(self, match_id: bytes, waiter: Waiter) -> None:
        """Hint `waiter` whenever something may have happened in the match (or NO_MATCH), and when this closes."""
        self._waiting.setdefault(match_id, set()).add(waiter)

    def remove(self, match_id: bytes, waiter: Waiter) -> None:
        """Hint it no more. Harmless when repeated."""
        waiting = self._waiting.get(match_id)
        if waiting is not None:
            waiting.discard(waiter)
            if not waiting:
                del self._waiting[match_id]

    def hint(self, match_id: bytes) -> None:
        """Something may have happened in the match."""
        for waiter in self._waiting.get(match_id, ()):
            waiter.hint()

    def heard(self, match_ids: Collection[bytes] | None) -> None:
        """Another process may have appended in these matches, or in any (None): those that are followed are news."""
        if self.on_news is None or self._closed:
            return
        followed = self.match_ids if match_ids is None else [each for each in match_ids if each in self._waiting]
        if followed:
            self.on_news(followed)

    def sweep(self, match_id: bytes, seq: int) -> None:
        """Wake those who have not seen record `seq` of the match: their hint got lost."""
        for waiter in self._waiting.get(match_id, ()):
            if waiter.position <= seq:
                waiter.hint()

    def wake_due(self, now: float) -> None:
        """Wake everybody whose time has come."""
        for waiting in self._waiting.values():
            for waiter in waiting:
                if waiter.due <= now:
                    waiter.hint()

    def close(self) -> None:
        """Wake everybody for the last time."""
        self._closed = True
        for waiting in self._waiting.values():
            for waiter in waiting:
                waiter.hint()
