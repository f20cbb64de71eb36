"""The load of the benchmark of several workers: the same commands to servers of one and of two processes, by turns.

    python -m bench.workers_load <rounds> <seconds of a window> <players> <address> <pid> <address> <pid>

`pid` is that of the process that was started: the CPU time of the processes below it counts, too. Prints the windows of
each round as JSON: of the servers in their order, then of the first one with every call on another connection.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

import grpc
import psutil
from bench.loops import tell
from bench.unary_load import _CARDS, _SEATS, Load

#: Each connection stays at one worker. With many of them both get about as many.
_CONNECTIONS = 32


class WorkersLoad(Load):
    """Calls over many connections to a server of several processes."""

    def __init__(self, address: str, pid: int, *, scattered: bool = False) -> None:
        """`scattered`: every call on the next connection; else each player stays on one."""
        super().__init__(address)
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channels += [
            grpc.aio.insecure_channel(address, options) for _ in range(_CONNECTIONS - len(self._channels))
        ]
        self._process = psutil.Process(pid)
        self._scattered = scattered
        self._calls = count()

    def channel(self, number: int) -> Any:
        return self._channels[number % _CONNECTIONS]

    def stub(self, number: int, method: str) -> Callable[[bytes], Awaitable[bytes]]:
        if not self._scattered:
            return super().stub(number, method)
        stubs = [channel.unary_unary(method) for channel in self._channels]

        async def call(request: bytes) -> bytes:
            reply: bytes = await stubs[next(self._calls) % _CONNECTIONS](request)
            return reply

        return call

    async def _server_cpu(self) -> float:
        processes = [self._process, *self._process.children(recursive=True)]
        times = [process.cpu_times() for process in processes]
        return float(sum(each.user + each.system for each in times))


async def main(
    rounds: int, seconds: float, players: int, servers: list[tuple[str, int]]
) -> list[list[dict[str, float]]]:
    """Measure, after a round that does not count."""
    loads = [*(WorkersLoad(*server) for server in servers), WorkersLoad(*servers[0], scattered=True)]
    try:
        found: list[list[dict[str, float]]] = []
        rate = 6000.0
        for number in range(rounds + 1):
            windows = []
            for load in loads:
                ready = await load.prepare_many(players + int(rate * seconds / (_SEATS * _CARDS) * 1.5), players)
                windows.append(await load.window(seconds, players, partial(load.play, ready), may_end=number == 0))
            rate = max(window.calls / window.wall_s for window in windows)
            found.append([window.as_dict() for window in windows])
        return found[1:]
    finally:
        for load in loads:
            await load.close()


def _run(arguments: list[str]) -> Any:
    servers = [(address, int(pid)) for address, pid in zip(arguments[3::2], arguments[4::2], strict=True)]
    return main(int(arguments[0]), float(arguments[1]), int(arguments[2]), servers)


if __name__ == "__main__":
    tell(_run(sys.argv[1:]))
