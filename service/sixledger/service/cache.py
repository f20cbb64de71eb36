"""A bounded cache of hosted matches: the least recently used leave first."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

from sixledger.ledger.match import Match
from sixledger.service.hosted import Hosted


class MatchCache:
    """Hosted matches by id. Each is loaded once, however many ask for it at the same time."""

    def __init__(self, capacity: int, is_pinned: Callable[[bytes], bool]) -> None:
        """`is_pinned` tells of matches that somebody follows: they stay, for they would be read again at once."""
        self._capacity = capacity
        self._is_pinned = is_pinned
        self._matches: OrderedDict[bytes, Hosted] = OrderedDict()
        self._loading: dict[bytes, asyncio.Task[Hosted]] = {}
        #: How often a match was here, and how often it was not, for whoever asked.
        self.hits = 0
        self.misses = 0
        #: How many had to leave for others.
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._matches)

    def peek(self, match_id: bytes) -> Hosted | None:
        """The match, if it is here."""
        hosted = self._matches.get(match_id)
        if hosted is not None:
            self.hits += 1
            self._matches.move_to_end(match_id)
        return hosted

    def matches(self) -> Iterator[Match]:
        """Where the matches stand that are here."""
        return (hosted.match for hosted in self._matches.values())

    def forget_heads(self) -> None:
        """Let the heads of all matches be signed anew."""
        for hosted in self._matches.values():
            hosted.forget_heads()

    def put(self, hosted: Hosted) -> None:
        """Keep a match; others may have to leave."""
        self._matches[hosted.match.match_id] = hosted
        excess = len(self._matches) - self._capacity
        if excess <= 0:
            return
        for match_id, other in list(islice(self._matches.items(), excess + 16)):
            if excess > 0 and other is not hosted and not other.lock.locked() and not self._is_pinned(match_id):
                del self._matches[match_id]
                self.evictions += 1
                excess -= 1

    def drop(self, match_id: bytes) -> None:
        """Forget a match."""
        self._matches.pop(match_id, None)

    async def get(self, match_id: bytes, load: Callable[[], Awaitable[Hosted]]) -> Hosted:
        """The match, loaded if it is not here. Raises what `load` raises, and keeps nothing then."""
        hosted = self.peek(match_id)
        if hosted is not None:
            return hosted
        self.misses += 1
        task = self._loading.get(match_id)
        if task is None:
            task = asyncio.ensure_future(self._load(match_id, load))
            self._loading[match_id] = task
            # The outcome is looked at even if every caller has left by then.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(task)
        finally:
            del task  # what it raises leads here, and from here to the task: a ring

    async def _load(self, match_id: bytes, load: Callable[[], Awaitable[Hosted]]) -> Hosted:
        try:
            hosted = await load()
            self.put(hosted)
            return hosted
        finally:
            del self._loading[match_id]
