"""Whether the other end of a connection still lives, and whether it asks that of us too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

#: Pings that come sooner than so many seconds after each other while nothing else is said, and how many are borne.
PING_PAUSE_S, HASTY_PINGS = 10.0, 3


class Keepalive:
    """Asks after a time of silence, and gives up if no answer comes."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        silence_s: float,
        answer_s: float,
        ask: Callable[[], None],
        give_up: Callable[[], None],
    ) -> None:
        """`ask` after `silence_s` seconds without a word, `give_up` when the answer takes longer than `answer_s`."""
        #: When the other end was last heard, by the clock of the loop; whoever hears it says so.
        self.heard_at = loop.time()
        self._loop = loop
        self._silence_s = silence_s
        self._answer_s = answer_s
        self._ask = ask
        self._give_up = give_up
        self._timer = loop.call_later(silence_s, self._look)

    def stop(self) -> None:
        """Ask no more."""
        self._timer.cancel()

    def _look(self) -> None:
        due = self.heard_at + self._silence_s
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._look)
            return
        self._ask()
        self._timer = self._loop.call_later(self._answer_s, self._answered, self.heard_at)

    def _answered(self, heard_before: float) -> None:
        if self.heard_at > heard_before:
            self._look()
        else:
            self._give_up()


class PingPolicy:
    """Counts pings that come too soon, as gRPC's servers do."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._hasty = 0

    def forgive(self) -> None:
        """Something else was said: gRPC measures its lines with pings while messages pass."""
        self._hasty = 0

    def is_borne(self, now: float) -> bool:
        """Whether a ping at that time is one that may be."""
        if now - self._last < PING_PAUSE_S:
            self._hasty += 1
        self._last = now
        return self._hasty <= HASTY_PINGS
