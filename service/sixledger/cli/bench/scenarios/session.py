"""What every scenario works with: the plan, connections, the meter, and somebody who listens how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sixledger.cli.bench.matches import Caller, Table, at_once, channels_for
from sixledger.cli.bench.meter import Meter
from sixledger.cli.bench.plan import Plan
from sixledger.cli.bench.schedule import schedule
from sixledger.cli.bench.window import Lane, Window, closed_window, open_window

#: How long nobody waits any longer for replies after the end of a schedule, at least.
_DRAIN_S = 10.0
#: Callers that prepare matches at once.
_PREPARING = 32


@dataclass(slots=True)
class Session:
    """One scenario on its way."""

    plan: Plan
    meter: Meter
    #: Is told what happens now and how far it is, 0 to 1.
    say: Callable[[str, float], None]

    def caller(self, streams: int = 0) -> Caller:
        """Connections for so many streams."""
        return self.connected(channels_for(streams))

    def connected(self, channels: int) -> Caller:
        """So many connections."""
        plan = self.plan
        return Caller(plan.address, tls=plan.tls, key=plan.api_key, channels=channels, seed=plan.seed)

    async def prepare(self, count: int, make: Callable[[int], Awaitable[Table]], what: str = "matches") -> list[Table]:
        """So many matches."""
        done = 0

        async def counted(number: int) -> Table:
            nonlocal done
            made = await make(number)
            done += 1
            if done % 20 == 0:
                self.say(f"preparing {count} {what}", done / count)
            return made

        return await at_once(count, _PREPARING, counted)

    def moments(self, rate: float, number: int) -> Sequence[float]:
        """The schedule of window `number`; each has its own, and both sides of a round have the same."""
        plan = self.plan
        return schedule(rate, plan.warmup_s + plan.seconds, arrivals=plan.arrivals, seed=plan.seed * 1000 + number)

    async def open(
        self, lanes: Sequence[Lane], rate: float, number: int, what: str, begun: float | None = None
    ) -> Window:
        """Requests at their moments, window `number`, which has `begun` then, by default now."""
        plan = self.plan
        return await open_window(
            lanes,
            self.moments(rate, number),
            seconds=plan.warmup_s + plan.seconds,
            warmup_s=plan.warmup_s,
            drain_s=max(_DRAIN_S, plan.seconds),
            begun=begun,
            rate=rate,
            meter=self.meter,
            tell=lambda share: self.say(f"{what}, window {number + 1}", share),
        )

    async def closed(
        self, lanes: Sequence[Lane], number: int, what: str, seconds: float, *, warm: bool = False
    ) -> Window:
        """As many requests as the server takes, window `number`; without a warm-up if everything is `warm`."""
        warmup = 0.0 if warm else min(self.plan.warmup_s, 1.0)
        return await closed_window(
            lanes,
            warmup + seconds,
            warmup_s=warmup,
            meter=self.meter,
            tell=lambda share: self.say(f"{what}, window {number + 1}", share),
        )
