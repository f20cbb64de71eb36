"""How often and how much a caller may call: a rate, and a number of streams at a time.

The rate is a token bucket in its form as one number a caller ("generic cell rate algorithm"): the moment at which
the bucket would be full again. A call costs a look at the clock and one entry of a dictionary.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from sixledger.service import caller
from sixledger.service.api_keys import ApiKeys
from sixledger.service.errors import quota_exceeded, rate_limited

#: Seconds whose calls may come at once.
BURST_S = 2.0
#: Callers that are remembered; those that made no call for a while are forgotten first.
MAX_CALLERS = 100_000
_NEVER = float("inf")


class Rates:
    """How fast each caller may call."""

    def __init__(
        self, *, burst_s: float = BURST_S, max_callers: int = MAX_CALLERS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`burst_s` seconds of calls may come at once."""
        self._burst_s = burst_s
        self._max_callers = max_callers
        self._clock = clock
        #: By caller: when all its calls so far are paid for.
        self._paid: dict[str, float] = {}

    def take(self, who: str, per_second: float, cost: int = 1) -> float:
        """Seconds to wait before `cost` calls may be made; 0: they may now, and are counted."""
        now = self._clock()
        paid = self._paid.get(who, now)
        paid = max(paid, now) + cost / per_second
        # One call is always possible in the end, however slow the rate.
        excess = paid - now - max(self._burst_s, cost / per_second)
        if excess > 1e-9:
            return excess
        self._paid[who] = paid
        if len(self._paid) > self._max_callers:
            self._forget(now)
        return 0.0

    def _forget(self, now: float) -> None:
        self._paid = {who: paid for who, paid in self._paid.items() if paid > now}
        if len(self._paid) > self._max_callers // 2:
            # Many are busy: those that may call again soonest lose the least by starting anew.
            kept = sorted(self._paid.items(), key=lambda item: item[1])[self._max_callers // 2 :]
            self._paid = dict(kept)


class Admission:
    """Lets calls in, or raises RATE_LIMITED or QUOTA_EXCEEDED."""

    def __init__(
        self,
        keys: ApiKeys,
        *,
        calls_per_second: float = 0,
        streams: int = 0,
        rates: Rates | None = None,
        proxies: caller.Networks = (),
    ) -> None:
        """What a caller without limits of its own may do; 0: as much as it likes.

        For calls that one of the `proxies` passes on, the caller is whom that names.
        """
        self._proxies = proxies
        self._keys = keys
        self._calls_per_second = calls_per_second
        self._streams = streams
        self._rates = rates or Rates()
        self._open: Counter[str] = Counter()

    def call(self, context: Any) -> None:
        """Let a call in, and say who makes it. Raises RATE_LIMITED."""
        if self._calls_per_second or self._proxies:
            who = caller.caller_of(context, self._proxies)
            caller.enter(who)
            if self._calls_per_second:
                self._charge(who, 1)
        else:
            caller.enter(context)

    def stream(self, context: Any) -> Callable[[], None]:
        """Let a stream in; what to call when it has ended. Raises RATE_LIMITED or QUOTA_EXCEEDED."""
        self.call(context)
        if not self._streams:
            return _nothing
        name, _ = self._named(caller.current())
        if self._open[name] >= self._streams:
            raise quota_exceeded("streams", self._streams)
        self._open[name] += 1
        return lambda: self._close(name)

    def charge(self, cost: int) -> None:
        """Count what the running call does as `cost` calls more. Raises RATE_LIMITED."""
        if self._calls_per_second and cost > 0:
            self._charge(caller.current(), cost)

    def _charge(self, who: caller.Caller, cost: int) -> None:
        name, per_second = self._named(who)
        wait_s = self._rates.take(name, per_second, cost)
        if wait_s:
            raise rate_limited(wait_s)

    def _named(self, who: caller.Caller) -> tuple[str, float]:
        """Under which name a caller is counted, and its rate. A key that is not known yet counts for its peer."""
        key = self._keys.known(who.key) if who.key else None
        if key is None:
            return who.peer, self._calls_per_second
        return key.owner, key.calls_per_second or self._calls_per_second

    def _close(self, name: str) -> None:
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


def _nothing() -> None:
    """The end of a stream that was not counted."""
