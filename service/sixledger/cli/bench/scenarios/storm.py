"""reconnect-storm: what happens when a network comes back."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from statistics import median
from typing import Any

from sixledger.cli.bench import echo
from sixledger.cli.bench.found import Figure, Found, Side
from sixledger.cli.bench.lanes import UnaryLane
from sixledger.cli.bench.listeners import CAUGHT_UP, PATIENCE_S, WATCH
from sixledger.cli.bench.matches import END
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Lane, Refused, Window, open_window
from sixledger.v1 import match_service_pb2


async def reconnect_storm(session: Session) -> Found:
    """All watchers lose their connections at one moment and come back: from there until each has caught up."""
    plan = session.plan
    found = Found(plan.scenario, None)
    caller = session.caller()
    try:
        count = max(plan.count // 10, 1)
        tables = await session.prepare(count, caller.open)
        # Records that were not seen yet are part of coming back.
        for table in tables:
            play = UnaryLane(caller, 0, Supply([table]))
            for _ in range(4):
                await play()
        resume = [
            match_service_pb2.WatchMatchRequest(match_id=table.match_id, first_seq=1).SerializeToString()
            for table in tables
        ]
        measured, echoed = [], []
        for number in range(plan.rounds):
            session.say(f"storm {number + 1} of {plan.rounds}", number / plan.rounds)
            measured.append(await _storm(session, WATCH, [resume[each % count] for each in range(plan.count)]))
            if plan.echo:
                echoed.append(await _storm(session, echo.LISTEN, [b""] * plan.count))
    finally:
        await caller.close()
    found.compare(Side("reconnects", measured), Side("bare reconnects", echoed) if plan.echo else None)
    lasted = median(window.latency.percentile(100) for window in measured)
    found.figures += [
        Figure("watchers", plan.count, "streams"),
        Figure("until the last has caught up", lasted, "ms"),
    ]
    return found


async def _storm(session: Session, method: str, requests: Sequence[bytes]) -> Window:
    """Open so many streams at once over new connections; a request ends when its stream has caught up."""
    plan = session.plan
    callers = [session.connected(1) for _ in range(min(plan.concurrency, max(len(requests) // 4, 1)))]
    bare = method == echo.LISTEN
    calls: list[Any] = []

    def lane(number: int) -> Lane:
        async def come_back() -> None:
            caller = callers[number % len(callers)]
            call = caller.channel(0).unary_stream(method)(requests[number], metadata=caller.metadata)
            calls.append(call)
            while (message := await call.read()) is not END:
                if bare or message[0] == CAUGHT_UP:
                    return
            raise Refused("STREAM_ENDED")

        return come_back

    try:
        return await open_window(
            [lane(number) for number in range(len(requests))],
            array("d", [0.0] * len(requests)),
            seconds=1.0,
            drain_s=PATIENCE_S,
            meter=session.meter,
        )
    finally:
        for call in calls:
            call.cancel()
        for caller in callers:
            await caller.close()
        await asyncio.sleep(0.5)  # the server sees them go
