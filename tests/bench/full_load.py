"""The load of the benchmark of everything: the same commands to two servers by turns.

    python -m bench.full_load <rounds> <seconds of a window> <workers> <address> <key> <address> <key>

A key of `-` is none. Prints the windows of each round as JSON, in the order of the servers.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bench.loops import tell
from bench.unary_load import _CARDS, _SEATS, Load


class KeyedLoad(Load):
    """Shows an API key with every call."""

    def __init__(self, address: str, key: str) -> None:
        super().__init__(address)
        self._metadata = None if key == "-" else [("authorization", f"Bearer {key}")]

    def stub(self, number: int, method: str) -> Callable[[bytes], Awaitable[bytes]]:
        call = self.channel(number).unary_unary(method)
        return partial(call, metadata=self._metadata)


async def main(
    rounds: int, seconds: float, workers: int, servers: list[tuple[str, str]]
) -> list[list[dict[str, float]]]:
    """Measure: a window of each server by turns, after one of each that does not count."""
    loads = [KeyedLoad(*server) for server in servers]
    try:
        found: list[list[dict[str, float]]] = []
        rate = 6000.0
        for number in range(rounds + 1):
            windows = []
            for load in loads:
                ready = await load.prepare_many(workers + int(rate * seconds / (_SEATS * _CARDS) * 1.5), workers)
                windows.append(await load.window(seconds, workers, partial(load.play, ready), may_end=number == 0))
            rate = max(window.calls / window.wall_s for window in windows)
            found.append([window.as_dict() for window in windows])
        return found[1:]
    finally:
        for load in loads:
            await load.close()


def _run(arguments: list[str]) -> Any:
    servers = list(zip(arguments[3::2], arguments[4::2], strict=True))
    return main(int(arguments[0]), float(arguments[1]), int(arguments[2]), servers)


if __name__ == "__main__":
    tell(_run(sys.argv[1:]))
