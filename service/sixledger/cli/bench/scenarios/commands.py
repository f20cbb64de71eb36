"""unary, play, shared and cold: commands, beside an echo of the same size sent in the same way."""

from __future__ import annotations

from statistics import median

from sixledger.cli.bench.found import Found, Side
from sixledger.cli.bench.lanes import command_lanes, echo_lanes
from sixledger.cli.bench.matches import CARDS, Caller, Table
from sixledger.cli.bench.plan import Plan
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Exhausted, Window

#: Commands of a prepared match: two seats play one round.
PER_MATCH = 2 * CARDS
#: How p99 may stand to the echo's at half of what the server takes.
P99_REACH = 3.0
#: How long the first look at what a server takes is, at most, in seconds.
_GLANCE_S = 0.5
#: Windows that find out how much a server takes, before half of it is sent, are no longer than this, in seconds.
_LOOK_S = 3.0


class Commands:
    """Windows of commands and of echo, by turns."""

    def __init__(self, session: Session, caller: Caller) -> None:
        self._session, self._caller, self._plan = session, caller, session.plan
        #: Matches on each play stream; 0: every command is a call.
        self._share = {"play": 1, "shared": self._plan.count}.get(self._plan.scenario, 0)
        self._cold = self._plan.scenario == "cold"
        self._sizes = (0, 0)
        self._seen = 0.0

    async def _supply(self, commands: float) -> Supply:
        """Matches for so many commands, and one more for each lane."""
        count = int(commands / PER_MATCH * 1.1) + self._plan.concurrency + 1
        if self._cold:
            count = max(count, self._plan.count)

        async def opened(number: int) -> Table:
            return await self._caller.open(number)

        return Supply(await self._session.prepare(count, opened), cold=self._cold)

    async def look(self) -> None:
        """Find out roughly what the server takes: it says how many matches a window needs."""
        supply = await self._supply(self._plan.concurrency * PER_MATCH)
        async with command_lanes(self._caller, self._plan.concurrency, supply, share=self._share) as lanes:
            window = await self._session.closed(lanes, 0, "a first look", _GLANCE_S, warm=True)
        self._seen = max(window.per_s, 1.0)

    async def saturated(self, number: int, seconds: float) -> Window:
        """As many commands as the server takes. Raises Exhausted if it takes far more than before."""
        supply = await self._supply(self._seen * (seconds + min(self._plan.warmup_s, 1.0)) * 1.5)
        async with command_lanes(self._caller, self._plan.concurrency, supply, share=self._share) as lanes:
            window = await self._session.closed(lanes, number, "saturating with commands", seconds)
        if not window.done:
            raise Exhausted
        self._sizes, self._seen = supply.mean_sizes(), max(self._seen, window.per_s)
        return window

    async def at(self, rate: float, number: int) -> Window:
        """Commands at their moments."""
        plan = self._plan
        supply = await self._supply(len(self._session.moments(rate, number)))
        async with command_lanes(self._caller, plan.concurrency, supply, share=self._share) as lanes:
            window = await self._session.open(lanes, rate, number, f"{rate:,.0f} commands a second")
        self._sizes = supply.mean_sizes()
        return window

    async def echo_saturated(self, number: int, seconds: float) -> Window:
        """As many echo calls as the server takes."""
        async with echo_lanes(self._caller, self._plan.concurrency, self._sizes, streams=self._share > 0) as lanes:
            return await self._session.closed(lanes, number, "saturating with echo", seconds)

    async def echo_at(self, rate: float, number: int) -> Window:
        """Echo calls at the same moments."""
        async with echo_lanes(self._caller, self._plan.concurrency, self._sizes, streams=self._share > 0) as lanes:
            return await self._session.open(lanes, rate, number, f"{rate:,.0f} echo calls a second")


async def commands(session: Session) -> Found:
    """The scenario in the mode of its plan."""
    plan = session.plan
    found = Found(plan.scenario, plan.mode)
    caller = session.caller(plan.concurrency)
    try:
        side = Commands(session, caller)
        rate = plan.rate
        if plan.mode != "rate":
            rate = await _saturate(plan, side, found) / 2
        if plan.mode != "saturate":
            await _send(plan, side, found, rate)
    finally:
        await caller.close()
    return found


async def _saturate(plan: Plan, side: Commands, found: Found) -> float:
    """Find out what the server takes at most: replies a second."""
    seconds = plan.seconds if plan.mode == "saturate" else min(plan.seconds, _LOOK_S)
    measured, echoed = [], []
    await side.look()
    for number in range(plan.rounds):
        measured.append(await side.saturated(number, seconds))
        if plan.echo:
            echoed.append(await side.echo_saturated(number, seconds))
    echo = Side("echo, saturated", echoed) if plan.echo else None
    found.compare_saturation(Side("commands, saturated", measured), echo)
    return max(median(window.per_s for window in measured), 2.0)


async def _send(plan: Plan, side: Commands, found: Found, rate: float) -> None:
    """Send at a rate."""
    measured, echoed = [], []
    for number in range(plan.rounds):
        measured.append(await side.at(rate, number))
        if plan.echo:
            echoed.append(await side.echo_at(rate, number))
    reach = P99_REACH if plan.mode == "half" and plan.scenario != "cold" else None
    found.compare(Side("commands", measured), Side("echo", echoed) if plan.echo else None, p99_reach=reach)
