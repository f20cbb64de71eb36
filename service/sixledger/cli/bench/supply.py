"""The matches that commands are played in."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sixledger.cli.bench.matches import Table
from sixledger.cli.bench.window import Exhausted

_SIZES = 2000


class Supply:
    """Matches for lanes to play in, and the sizes of what they sent."""

    def __init__(self, tables: Sequence[Table], *, cold: bool = False) -> None:
        """`cold`: matches take turns, a command each, so that none is asked twice while a cache could hold it."""
        self._tables = deque(tables)
        self._cold = cold
        self.sizes: list[tuple[int, int]] = []

    def take(self, before: Table | None) -> Table:
        """The match for the next command of a lane, whose last one was in the match `before`. Raises Exhausted."""
        if before is not None and not before.at_end:
            if not self._cold:
                return before
            self._tables.append(before)
        if not self._tables:
            raise Exhausted
        return self._tables.popleft()

    def note(self, request: int, reply: int) -> None:
        """Remember how large messages are."""
        if len(self.sizes) < _SIZES:
            self.sizes.append((request, reply))

    def mean_sizes(self) -> tuple[int, int]:
        """Mean sizes of requests and replies in bytes. Raises ValueError if nothing was sent."""
        if not self.sizes:
            raise ValueError("no command got a reply; what does the server say?")
        request, reply = (sum(each) // len(self.sizes) for each in zip(*self.sizes, strict=True))
        return request, reply
