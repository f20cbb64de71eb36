"""Where acts that come at about the same time wait for each other, to go on one right after the other.

A call goes through much code: the transport, the rules, the store. Whoever comes alone pays for fetching all of it into
the caches of the processor, which costs more than what is done there. So acts are decided together, those of one
match excepted, and then appended together: that also makes the batches of the store.
"""

from __future__ import annotations

import asyncio

#: Nobody waits any longer once so many are here. Half of those who call at the same time would be best: while these are
#: answered, the others come.
ENOUGH = 32
#: Nor after so many turns of the loop that brought nobody: some 100 µs if nothing else happens. A call takes several
#: turns until it comes here.
QUIET_TURNS = 20
#: Nor after so many seconds: turns may be long.
LONGEST_WAIT_S = 0.01


class Rendezvous:
    """A place to meet, on one event loop at a time."""

    def __init__(self, enough: int = ENOUGH) -> None:
        """Nobody is here."""
        self._enough = enough
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        #: How many were here when the loop last turned, how many turns brought nobody, and when the first one came.
        self._seen = self._quiet = 0
        self._since = 0.0

    def meet(self) -> asyncio.Future[None]:
        """To be awaited: done as soon as enough have come, or nobody else seems to."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if not self._waiting or self._loop is not loop:
            self._waiting, self._loop = [], loop
            self._seen = self._quiet = 0
            self._since = loop.time()
            loop.call_soon(self._look)
        self._waiting.append(future)
        return future

    def _look(self) -> None:
        """Once a turn: whether it is time."""
        loop, here = self._loop, len(self._waiting)
        assert loop is not None
        if here < self._enough and loop.time() - self._since < LONGEST_WAIT_S:
            self._quiet = 0 if here > self._seen else self._quiet + 1
            self._seen = here
            if self._quiet < QUIET_TURNS:
                loop.call_soon(self._look)
                return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():  # its caller was cancelled
                future.set_result(None)
