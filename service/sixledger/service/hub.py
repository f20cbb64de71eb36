"""Wake-ups for those who follow a match. A hint may get lost; whoever waits also looks by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Hub:
    """Wakes the watchers of this process. Nothing is queued: a watcher that is busy misses nothing but hints."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, set[asyncio.Event]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """True once watching has ended here."""
        return self._closed

    def watched(self, match_id: bytes) -> bool:
        """True if somebody follows the match."""
        return match_id in self._waiting

    @contextmanager
    def register(self, match_id: bytes) -> Iterator[asyncio.Event]:
        """An event that is set by every hint about the match; its holder clears it before it looks."""
        event = asyncio.Event()
        self._waiting.setdefault(match_id, set()).add(event)
        try:
            yield event
        finally:
            waiting = self._waiting[match_id]
            waiting.discard(event)
            if not waiting:
                del self._waiting[match_id]

    def hint(self, match_id: bytes) -> None:
        """Something may have happened in the match."""
        for event in self._waiting.get(match_id, ()):
            event.set()

    def close(self) -> None:
        """Wake everybody for the last time."""
        self._closed = True
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
