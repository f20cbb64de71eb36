"""churn and growth: whole lives of matches, from opening to their end, and what one costs as more are stored."""

from __future__ import annotations

from statistics import median

from sixledger.cli.bench.found import Figure, Found, Ratio, Side
from sixledger.cli.bench.lanes import UnaryLane, echo_lanes
from sixledger.cli.bench.matches import Caller, Table
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Lane, Window

#: Sizes of messages of the echo: about those of commands.
_SIZES = (130, 600)
#: How the cost of a match with the most stored matches may stand to that with the fewest.
FLAT = 1.2


class Lives:
    """Lanes that each live through one match after the other."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.lived = 0
        self._commands = 0

    def lane(self, number: int) -> Lane:
        """Caller `number`."""

        async def live() -> None:
            table = await self._caller.open(number, rounds=1)
            supply = Supply([table])
            play = UnaryLane(self._caller, number, supply)
            while not table.at_end:
                await play()
            self.lived += 1
            self._commands += len(supply.sizes)

        return live

    @property
    def calls(self) -> int:
        """Calls in a life, on average; 26 before there was any."""
        return round((self._caller.calls + self._commands) / self.lived) if self.lived else 26


async def churn(session: Session) -> Found:
    """Matches opened, played and ended; the baseline makes as many echo calls, one after the other."""
    plan = session.plan
    found = Found(plan.scenario, plan.mode)
    caller = session.caller()
    try:
        lives = Lives(caller)
        lanes = [lives.lane(number) for number in range(plan.concurrency)]
        rate = plan.rate
        if plan.mode != "rate":
            seconds = plan.seconds if plan.mode == "saturate" else min(plan.seconds, 3.0)
            pairs = [await _saturated(session, caller, lives, lanes, each, seconds) for each in range(plan.rounds)]
            measured, echoed = _sides("matches, saturated", "echo, saturated", pairs)
            found.compare_saturation(measured, echoed)
            rate = max(median(each.per_s for each in measured.windows), 0.2) / 2
        if plan.mode != "saturate":
            pairs = []
            for number in range(plan.rounds):
                window = await session.open(lanes, rate, number, f"{rate:,.1f} matches a second")
                echo = None
                if plan.echo:
                    async with echo_lanes(caller, plan.concurrency, _SIZES, streams=False, calls=lives.calls) as echoes:
                        echo = await session.open(echoes, rate, number, "as many calls of the echo")
                pairs.append((window, echo))
            found.compare(*_sides("matches", "echo", pairs))
        found.figures.append(Figure("calls in the life of a match", lives.calls, "calls"))
    finally:
        await caller.close()
    return found


async def _saturated(
    session: Session, caller: Caller, lives: Lives, lanes: list[Lane], number: int, seconds: float, calls: int = 0
) -> tuple[Window, Window | None]:
    """As many matches as the server takes, then echo; a request of it has the calls of a life, or that many."""
    window = await session.closed(lanes, number, "as many matches as it takes", seconds)
    if not session.plan.echo:
        return window, None
    async with echo_lanes(caller, len(lanes), _SIZES, streams=False, calls=calls or lives.calls) as echoes:
        return window, await session.closed(echoes, number, "as many calls of the echo", seconds)


def _sides(name: str, echo: str, pairs: list[tuple[Window, Window | None]]) -> tuple[Side, Side | None]:
    echoed = [window for _, window in pairs if window is not None]
    return Side(name, [window for window, _ in pairs]), Side(echo, echoed) if echoed else None


async def growth(session: Session) -> Found:
    """What a match's life costs server and database with ever more stored matches, by what echo calls cost then.

    The echo beside each size takes out that the machine itself is faster or slower at times.
    """
    plan = session.plan
    found = Found(plan.scenario, None)
    caller, stored = session.caller(), 0
    by_size: list[tuple[int, float]] = []
    try:

        async def opened(number: int) -> Table:
            return await caller.open(number, dealt=False)

        for size in plan.sizes:
            if size > stored:
                await session.prepare(size - stored, opened, "stored matches")
                stored = size
            lives = Lives(caller)
            lanes = [lives.lane(number) for number in range(min(plan.concurrency, 16))]
            pairs = [
                await _saturated(session, caller, lives, lanes, each, plan.seconds, calls=1)
                for each in range(plan.rounds)
            ]
            stored += lives.lived
            measured, echoed = _sides(f"{size:,} stored", f"echo, {size:,} stored", pairs)
            found.sides += [measured] if echoed is None else [measured, echoed]
            if (cost := _cost(measured, echoed)) is not None:
                by_size.append((size, cost))
                unit = "echo calls" if echoed is not None else "µs"
                found.figures.append(Figure(f"cost of a match with {size:,} stored", cost, unit))
    finally:
        await caller.close()
    if len(by_size) > 1:
        (few, first), (many, last) = by_size[0], by_size[-1]
        ratio = Ratio.of(f"cost of a match, {many:,} stored by {few:,}", [(last, first)], reach=FLAT)
        found.ratios += [] if ratio is None else [ratio]
    return found


def _cost(measured: Side, echoed: Side | None) -> float | None:
    """Processor time of server and database for a life: in echo calls, or in µs without an echo; None: not known."""
    costs = []
    for number, window in enumerate(measured.windows):
        if window.used.server_s is None or not window.done:
            return None
        cost = (window.used.server_s + (window.used.database_s or 0.0)) / window.done
        if echoed is None:
            costs.append(cost * 1e6)
            continue
        echo = echoed.windows[number]
        if not echo.used.server_s or not echo.done:
            return None
        costs.append(cost / (echo.used.server_s / echo.done))
    return median(costs)
