"""watchers and idle: streams in numbers, beside as many bare server streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from sixledger.cli.bench import echo
from sixledger.cli.bench.found import Figure, Found, Ratio, Side
from sixledger.cli.bench.lanes import UnaryLane, command_lanes, echo_lanes
from sixledger.cli.bench.listeners import WATCH, Listeners, watching
from sixledger.cli.bench.matches import Caller, Table
from sixledger.cli.bench.scenarios.commands import PER_MATCH
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Window

_IDLE, _BARE = "an idle match with a stream", "a bare idle stream"
#: A window that begins a little later is ready when it does, in seconds.
_AHEAD_S = 0.05
#: Streams that are opened and left before memory is looked at.
_FIRST = 50


async def watchers(session: Session) -> Found:
    """One match with many watchers: from the moment a command was due to each delivery of its record."""
    plan = session.plan
    found = Found(plan.scenario, plan.mode)
    caller = session.caller(plan.count)
    measured, echoed, size = [], [], 600
    try:
        for number in range(plan.rounds):
            table = await caller.open(0, seats=10, rounds=100)
            supply = Supply([table])
            play = UnaryLane(caller, 0, supply)

            async def act(table: Table = table, play: UnaryLane = play) -> None:
                if table.at_end:
                    await caller.look(0, table)
                await play()

            session.say(f"{plan.count:,} watchers come", 0.0)
            listeners = Listeners(caller, WATCH, [watching(table)] * plan.count, bare=False)
            measured.append(await _delivered(session, listeners, act, number, "records"))
            size = listeners.bytes // max(listeners.delivered, 1)
            if plan.echo:
                say, message = caller.stub(0, echo.SAY), bytes(size)

                async def speak(say: Callable[[bytes], Awaitable[bytes]] = say, message: bytes = message) -> None:
                    await say(message)

                bare = Listeners(caller, echo.LISTEN, [b""] * plan.count, bare=True)
                echoed.append(await _delivered(session, bare, speak, number, "bare messages"))
    finally:
        await caller.close()
    found.compare(Side("deliveries", measured), Side("bare deliveries", echoed) if plan.echo else None)
    found.figures += [Figure("watchers", plan.count, "streams"), Figure("message", size, "bytes")]
    return found


async def _delivered(
    session: Session, listeners: Listeners, act: Callable[[], Awaitable[None]], number: int, what: str
) -> Window:
    """A window whose requests are the deliveries of what `act` sends at its moments."""
    plan = session.plan
    try:
        await listeners.ready()
        moments = session.moments(plan.rate, number)
        begun = time.perf_counter() + _AHEAD_S
        listeners.count_from(begun + plan.warmup_s)
        left = iter(moments)

        async def lane() -> None:
            listeners.expect(begun + next(left))
            await act()
            await listeners.all_have()

        window = await session.open([lane], plan.rate, number, f"{what} to {listeners.count:,} watchers", begun)
    finally:
        await listeners.close()
    # From the commands, each once, to their deliveries.
    window.unfinished = window.due * listeners.count - len(listeners.latency)
    window.due *= listeners.count
    window.done = len(listeners.latency)
    window.latency = listeners.latency
    window.rate = plan.rate * listeners.count  # deliveries
    return window


async def idle(session: Session) -> Found:
    """Matches in which nothing happens, a stream each: their memory and time, and commands to others meanwhile."""
    plan = session.plan
    found = Found(plan.scenario, plan.mode)
    caller = session.caller(2 * plan.count)
    try:

        async def opened(number: int) -> Table:
            return await caller.open(number, dealt=False)

        tables = await session.prepare(plan.count, opened, "idle matches")
        requests = [watching(table) for table in tables]
        await _warm(caller, requests[:_FIRST], plan.echo)
        async with AsyncExitStack() as streams:
            bare, stay = None, await streams.enter_async_context(AsyncExitStack())
            if plan.echo:
                # They stay while the others come, or these would use the memory that they left.
                bare = await _resting(session, caller, echo.LISTEN, [b""] * plan.count, found, _BARE, stay)
            watched = await _resting(session, caller, WATCH, requests, found, _IDLE, streams)
            await stay.aclose()
            ratio = Ratio.of("memory of an idle match's stream by that of a bare one", [(watched, bare)])
            found.ratios += [] if ratio is None else [ratio]
            await _beside(session, caller, found)
    finally:
        await caller.close()
    return found


async def _warm(caller: Caller, requests: Sequence[bytes], with_echo: bool) -> None:
    """Open the first streams of a server, which cost it more than all others, and leave."""
    for method in (WATCH, echo.LISTEN) if with_echo else (WATCH,):
        listeners = Listeners(caller, method, requests, bare=method == echo.LISTEN)
        await listeners.ready()
        await listeners.close()
    await asyncio.sleep(0.2)


async def _resting(
    session: Session,
    caller: Caller,
    method: str,
    requests: Sequence[bytes],
    found: Found,
    what: str,
    streams: AsyncExitStack,
) -> float | None:
    """Open the streams, for as long as `streams` lives, and let them rest: bytes of memory for each, if known."""
    plan = session.plan
    session.meter.look()
    before = session.meter.read()
    listeners = Listeners(caller, method, requests, bare=method == echo.LISTEN)
    streams.push_async_callback(listeners.close)
    await listeners.ready()
    opened = session.meter.read()
    session.say(f"{len(requests):,} streams rest", 0.0)
    await asyncio.sleep(plan.seconds)
    rested = session.meter.read().since(opened)
    grown = opened.since(before).server_bytes
    if grown is None or rested.server_s is None:
        return None
    each = grown / len(requests)
    found.figures += [
        Figure(f"{what}: memory", each / 1024, "KiB"),
        Figure(f"{what}: server CPU a second", rested.server_s / plan.seconds / len(requests) * 1e6, "µs"),
    ]
    return each


async def _beside(session: Session, caller: Caller, found: Found) -> None:
    """Commands at the rate of the plan in matches of their own, and echo calls."""
    plan = session.plan
    measured, echoed = [], []
    for number in range(plan.rounds):
        count = len(session.moments(plan.rate, number)) // PER_MATCH + plan.concurrency + 1
        supply = Supply(await session.prepare(count, caller.open))
        async with command_lanes(caller, plan.concurrency, supply, share=0) as lanes:
            measured.append(await session.open(lanes, plan.rate, number, "commands beside idle matches"))
        if plan.echo:
            sizes = supply.mean_sizes()
            async with echo_lanes(caller, plan.concurrency, sizes, streams=False) as lanes:
                echoed.append(await session.open(lanes, plan.rate, number, "echo calls beside idle matches"))
    found.compare(Side("commands", measured), Side("echo", echoed) if plan.echo else None)
