"""The load of the comparison with boardgame.io: a process of its own that plays on both servers by turns.

The same windows, histograms and schedule for both, those of `sixledger bench`; a match of either has one move in
flight. Reads what to do as a line of JSON, prints what it found.

    python -m bench.boardgame.load
"""

from __future__ import annotations

import asyncio
import json
import selectors
import sys
from random import Random
from statistics import median
from typing import Any

import httpx
from bench.boardgame.players import Match
from sixledger.cli.bench.found import Side
from sixledger.cli.bench.lanes import command_lanes
from sixledger.cli.bench.matches import Caller, Table, at_once
from sixledger.cli.bench.meter import Meter
from sixledger.cli.bench.schedule import schedule
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Window, closed_window, open_window

_WARM_S = 0.5
_PER_MATCH = 20
#: Matches of a frontend that has them all on one stream.
SHARE = 25


class Sixledger:
    """Windows of commands, a call each or on play streams."""

    def __init__(self, caller: Caller, pid: int, matches: int, *, share: int) -> None:
        """`share`: matches of one play stream; 0: every command is a call."""
        self._caller, self._meter, self._matches, self._share = caller, Meter(pid), matches, share
        self._per_s = 3000.0

    async def _supply(self, moves: float) -> Supply:
        async def opened(number: int) -> Table:
            return await self._caller.open(number)

        return Supply(await at_once(int(moves / _PER_MATCH * 1.2) + self._matches + 1, 32, opened))

    async def saturated(self, seconds: float) -> Window:
        """As many moves as the server takes."""
        supply = await self._supply(self._per_s * (seconds + _WARM_S) * 1.3)
        async with command_lanes(self._caller, self._matches, supply, share=self._share) as lanes:
            window = await closed_window(lanes, seconds + _WARM_S, warmup_s=_WARM_S, meter=self._meter)
        self._per_s = max(window.per_s, 1.0)
        return window

    async def at(self, moments: Any, seconds: float) -> Window:
        """Moves at their moments."""
        supply = await self._supply(len(moments))
        async with command_lanes(self._caller, self._matches, supply, share=self._share) as lanes:
            return await open_window(lanes, moments, seconds=seconds, warmup_s=_WARM_S, meter=self._meter)


async def compare(wanted: dict[str, Any]) -> dict[str, Any]:
    """For each round a window of each server: all that they take, and at half of what boardgame.io takes.

    Ours are named by how they are called, and by their transport.
    """
    seconds, matches, port = wanted["seconds"], wanted["matches"], wanted["port"]
    callers = {server["transport"]: Caller(server["address"]) for server in wanted["ours"]}
    ours = {
        f"{how} {server['transport']}": Sixledger(callers[server["transport"]], server["pid"], matches, share=share)
        for server in wanted["ours"]
        for how, share in (("unary", 0), ("play", 1), ("shared", SHARE))
    }
    chance = Random(1)
    found: dict[str, list[Window]] = {f"{name}{half}": [] for name in (*ours, "theirs") for half in ("", " half")}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as lobby:
        theirs = await at_once(matches, 16, lambda number: Match.open(lobby, port, chance))
        meter = Meter(wanted["their_pid"])
        try:
            for each in range(wanted["rounds"] + 1):
                windows = {"theirs": await closed_window(theirs, seconds + _WARM_S, warmup_s=_WARM_S, meter=meter)}
                for name, server in ours.items():
                    windows[name] = await server.saturated(seconds)
                if each == 0:
                    continue  # the first of each does not count
                for name, window in windows.items():
                    found[name].append(window)
            rate = max(median(window.per_s for window in found["theirs"]) / 2, 1.0)
            for each in range(wanted["rounds"]):
                length = seconds + _WARM_S
                moments = schedule(rate, length, seed=each)
                found["theirs half"].append(
                    await open_window(theirs, moments, seconds=length, warmup_s=_WARM_S, meter=meter)
                )
                for name, server in ours.items():
                    found[f"{name} half"].append(await server.at(moments, length))
        finally:
            for match in theirs:
                await match.close()
            for caller in callers.values():
                await caller.close()
    return {name: [Side(name, [window]).as_dict() for window in windows] for name, windows in found.items()}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.DefaultSelector())) as runner:
        result = runner.run(compare(json.loads(sys.stdin.readline())))
    sys.stdout.write(json.dumps(result) + "\n")
