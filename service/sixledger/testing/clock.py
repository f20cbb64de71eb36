"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Lock

#: Where a clock begins unless told otherwise: 2026-01-01T12:00:00Z.
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class ManualClock:
    """Gives microseconds since 1970-01-01 UTC when called. Any thread may move it, but never back."""

    def __init__(self, start: datetime = NOON) -> None:
        """`start` must know its time zone."""
        if start.tzinfo is None:
            raise ValueError("the start needs a time zone, for example datetime(2026, 1, 1, tzinfo=UTC)")
        self._now = _microseconds(start)
        self._lock = Lock()

    def __call__(self) -> int:
        """Now."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        """Move on by so many seconds. Raises ValueError for negative ones."""
        if seconds < 0:
            raise ValueError("a clock does not run backwards")
        with self._lock:
            self._now += round(seconds * 1_000_000)

    @property
    def now(self) -> datetime:
        """Now, with the time zone UTC."""
        return datetime.fromtimestamp(self() / 1_000_000, UTC)


def _microseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
