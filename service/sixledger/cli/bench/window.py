"""A window of measuring: requests at the moments of a schedule, or as many as the server takes.

The rule that keeps it honest: in an open window a request's latency is counted from the moment at which it was due,
not from the moment at which it was sent. While a server stalls, requests go on becoming due; each of them waited, and
each counts ("coordinated omission" is what leaves them out).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from grpc.aio import AioRpcError
from sixledger.cli.bench.histogram import Histogram
from sixledger.cli.bench.meter import Meter, Reading

#: Does one request, as one caller who waits for each reply.
Lane = Callable[[], Awaitable[None]]
#: Is told how far a window is, 0 to 1.
Tell = Callable[[float], None]

#: Below this, a wait is not worth a timer.
_AT_ONCE_S = 0.00002
_TELL_S = 0.2


class Exhausted(Exception):
    """A lane has nothing left that it could ask for."""


class Refused(Exception):
    """A request was answered with a failure inside a stream that goes on."""

    def __init__(self, status: str) -> None:
        """`status` is the name of a gRPC status, or of a reason."""
        super().__init__(status)
        self.status = status


@dataclass(slots=True)
class Window:
    """What happened from the end of the warm-up to the last reply."""

    #: From the moment at which each request was due (`model` open), or was sent (closed), to its reply.
    latency: Histogram = field(default_factory=Histogram)
    #: How much later than possible the load itself sent requests: its own imprecision, which is part of `latency`.
    lag: Histogram = field(default_factory=Histogram)
    model: str = "open"
    #: Requests a second that were due; None in a closed window.
    rate: float | None = None
    #: Requests that were due, that got a reply, that failed (by status), and that nobody waited for any longer.
    due: int = 0
    done: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unfinished: int = 0
    wall_s: float = 0.0
    used: Reading = field(default_factory=lambda: Reading(0.0))

    @property
    def per_s(self) -> float:
        """Replies a second."""
        return self.done / self.wall_s if self.wall_s else 0.0


class _Run:
    """What both kinds of window have in common: the clock, the warm-up, counting."""

    def __init__(self, window: Window, meter: Meter, warmup_s: float, begun: float | None = None) -> None:
        self.window, self.meter = window, meter
        meter.look()
        self.begun = time.perf_counter() if begun is None else begun
        #: From here on everything counts.
        self.counts_from = self.begun + warmup_s
        self._warm_up = asyncio.create_task(self._read_when_warm())
        self._first: Reading | None = None
        self._first_at = 0.0

    async def _read_when_warm(self) -> None:
        if (wait := self.counts_from - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        self._first, self._first_at = self.meter.read(), time.perf_counter()

    async def ask(self, lane: Lane, due: float) -> None:
        """One request; counts it if it was due after the warm-up."""
        try:
            await lane()
        except (AioRpcError, Refused) as error:
            if due >= self.counts_from:
                self.window.failed[error.status if isinstance(error, Refused) else error.code().name] += 1
            return
        if due >= self.counts_from:
            self.window.done += 1
            self.window.latency.add(time.perf_counter() - due)

    async def close(self) -> Window:
        """The window, once nothing more happens in it."""
        self._warm_up.cancel()
        await asyncio.gather(self._warm_up, return_exceptions=True)
        if self._first is None:  # all was done before the warm-up ended
            self._first, self._first_at = self.meter.read(), time.perf_counter()
        self.window.used = self.meter.read().since(self._first)
        self.window.wall_s = max(time.perf_counter() - self._first_at, 1e-9)
        return self.window


async def open_window(
    lanes: Sequence[Lane],
    moments: Sequence[float],
    *,
    seconds: float,
    warmup_s: float = 0.0,
    drain_s: float = 10.0,
    begun: float | None = None,
    rate: float | None = None,
    meter: Meter | None = None,
    tell: Tell | None = None,
) -> Window:
    """Send a request at each of `moments` (seconds from `begun` on, ascending), whatever the replies do.

    `begun` is a moment of `time.perf_counter`, by default now; `rate` is what the schedule was made for.

    A free lane takes the next moment and waits for it. If none is free, requests that are due queue up, and the time
    in the queue is part of their latency. `seconds` is how long the schedule is, warm-up included; `drain_s` after its
    end nobody waits any longer: requests without a reply count as unfinished, with the time that they have waited.
    """
    counted = sum(moment >= warmup_s for moment in moments)
    window = Window(due=counted, rate=rate or counted / (seconds - warmup_s))
    run = _Run(window, meter or Meter(), warmup_s, begun)
    first, left = run.begun, iter(moments)
    clock, waiting = time.perf_counter, Counter[float]()

    async def work(lane: Lane) -> None:
        for moment in left:
            free, due = clock(), first + moment
            if (wait := due - free) > _AT_ONCE_S:
                await asyncio.sleep(wait)
            if due >= run.counts_from:
                window.lag.add(clock() - max(due, free))
            waiting[due] += 1
            await run.ask(lane, due)
            waiting[due] -= 1

    tasks = [asyncio.create_task(work(lane)) for lane in lanes]
    try:
        await _until_done(tasks, seconds + drain_s, seconds, tell)
    finally:
        await _cancel(tasks)
    now = clock()
    overdue = [due for due in waiting.elements() if due >= run.counts_from]
    overdue += [due for moment in left if (due := first + moment) >= run.counts_from]
    for due in overdue:
        window.latency.add(now - due)
    window.unfinished = len(overdue)
    return await run.close()


async def closed_window(
    lanes: Sequence[Lane],
    seconds: float,
    *,
    warmup_s: float = 0.0,
    meter: Meter | None = None,
    tell: Tell | None = None,
) -> Window:
    """Let every lane send its next request as soon as it has the reply to the last: what the server can take at most.

    Latencies of such a window say how long a reply took, not how long callers would have waited: a slow server is asked
    less. Ends early when a lane is `Exhausted`.
    """
    window = Window(model="closed")
    run = _Run(window, meter or Meter(), warmup_s)
    clock, stop = time.perf_counter, False

    async def work(lane: Lane) -> None:
        nonlocal stop
        while not stop and (begun := clock()) < run.begun + seconds:
            try:
                await run.ask(lane, begun)
            except Exhausted:
                stop = True

    tasks = [asyncio.create_task(work(lane)) for lane in lanes]
    try:
        await _until_done(tasks, seconds + 30, seconds, tell)
    finally:
        await _cancel(tasks)
    window.due = window.done + window.failed.total()
    return await run.close()


async def _until_done(tasks: Sequence[asyncio.Task[None]], limit_s: float, seconds: float, tell: Tell | None) -> None:
    """Wait for the tasks, at most so long. Raises what any of them raises."""
    begun, pending = time.perf_counter(), set(tasks)
    while pending and (passed := time.perf_counter() - begun) < limit_s:
        if tell is not None:
            tell(min(passed / seconds, 1.0))
        done, pending = await asyncio.wait(
            pending, timeout=min(_TELL_S, limit_s - passed), return_when=asyncio.FIRST_EXCEPTION
        )
        for task in done:
            task.result()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
