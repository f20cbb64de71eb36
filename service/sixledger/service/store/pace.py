"""Whether writing may stop the event loop: it may as long as the disk is quick.

A stop of the loop is cheaper than a thread while it is short: two threads of a busy process fight for the
interpreter, which costs about as much as a stop of ALLOWED_S. What is longer holds everybody up, also those who
write nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

#: The loop may wait so long for a write, in seconds.
ALLOWED_S = 0.001
#: Seconds beyond that, not made up for by quick writes, after which the loop is left alone.
PATIENCE_S = 0.005
#: The loop is left alone for so many times what was too much: a slow disk holds it up 2 % of the time at most.
REST = 50


class Pace:
    """Judges a disk by how long the loop waits for it. A single slow write is forgiven, more are not."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        #: Seconds of stops beyond what is allowed, less what quick writes have made up for.
        self._excess_s = 0.0
        self._rests_until = float("-inf")

    @property
    def is_quick(self) -> bool:
        """True if the next write may stop the loop."""
        return self._clock() >= self._rests_until

    def took(self, seconds: float) -> None:
        """The loop has waited so long for a write."""
        excess = self._excess_s + seconds - ALLOWED_S
        if excess > PATIENCE_S:
            self._rests_until = self._clock() + REST * excess
            excess = 0.0
        self._excess_s = max(excess, 0.0)

    def failed(self) -> None:
        """A write on the loop went wrong: leave it alone for a while."""
        self.took(ALLOWED_S + 4 * PATIENCE_S)
