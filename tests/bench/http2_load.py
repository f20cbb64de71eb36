"""The load of the benchmark of the HTTP/2 transport: two servers of the same product, one over each transport.

Windows of unary commands, of commands on play streams one by one and ten at a time, and of engine sessions over HTTP/2
take turns with unary commands and echo calls over grpcio. Prints what it measured as JSON.

    python -m bench.http2_load <address over HTTP/2> <address over grpcio> <rounds> <seconds of a window> <workers>
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.loops import tell
from bench.stream_load import _TEN, StreamLoad, script
from bench.unary_load import _CARDS, _SEATS, Window, Work, _echo_request


class _Side:
    """The load of one server."""

    def __init__(self, address: str, seconds: float, workers: int) -> None:
        self.load = StreamLoad(address)
        self._seconds = seconds
        self._workers = workers
        self._rates: dict[str, float] = {}

    async def window(self, work: Work, *, may_end: bool = False) -> Window:
        self.load.sizes.clear()
        return await self.load.window(self._seconds, self._workers, work, may_end=may_end)

    async def commands(self, kind: str, work: Callable[..., Work], *, at_once: int = 1, first: bool) -> Window:
        """A window of commands in matches that were opened before."""
        # A match is good for 20 commands and a few more; some to spare if this window is faster.
        rate = self._rates.get(kind, 10_000.0)
        wanted = self._workers * at_once + int(rate * self._seconds / (_SEATS * _CARDS) * 1.5)
        ready = await self.load.prepare_many(wanted, self._workers)
        found = await self.window(work(ready), may_end=first)
        self._rates[kind] = found.calls / found.wall_s
        return found


async def main(http2: str, grpcio: str, rounds: int, seconds: float, workers: int) -> list[dict[str, Any]]:
    """Measure: a window of each kind in turn, after one of each that does not count."""
    new, old = (_Side(address, seconds, workers) for address in (http2, grpcio))
    sessions = script()
    windows: list[dict[str, Any]] = []
    try:
        for number in range(rounds + 1):
            first = number == 0
            found: dict[str, Window] = {}
            found["unary"] = await new.commands("unary", lambda ready: partial(new.load.play, ready), first=first)
            sizes = new.load.mean_sizes()
            found["grpcio_echo"] = await old.window(partial(old.load.echo, _echo_request(*sizes)))
            found["grpcio_unary"] = await old.commands(
                "unary", lambda ready: partial(old.load.play, ready), first=first
            )
            found["play"] = await new.commands("play", lambda ready: partial(new.load.play_stream, ready), first=first)
            sizes = new.load.mean_sizes()
            found["grpcio_play_echo"] = await old.window(partial(old.load.echoes, _echo_request(*sizes)))
            found["ten"] = await new.commands(
                "ten", lambda ready: partial(new.load.play_stream, ready, at_once=_TEN), at_once=_TEN, first=first
            )
            found["session"] = await new.window(partial(new.load.session, sessions))
            sizes = new.load.mean_sizes()
            found["grpcio_session_echo"] = await old.window(partial(old.load.echoes, _echo_request(*sizes)))
            windows.append({kind: window.as_dict() for kind, window in found.items()})
        return windows[1:]
    finally:
        await new.load.close()
        await old.load.close()


if __name__ == "__main__":
    tell(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])))
