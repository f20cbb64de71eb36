"""A server in a process of its own, whose clock can be wrong, whose wake-ups can get lost, whose files can be full.

    python replica.py '{"listen": "127.0.0.1:7655", …}'

The argument holds settings. Orders come by standard input, one a line: `skew SECONDS`, `drop SHARE` (of its wake-ups,
0 to 1), `files BYTES` (no file may grow beyond; −1: any may). It ends with its parent, whose pipe closes then.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

from sixledger.service import logs
from sixledger.service.config import Settings
from sixledger.service.matches import wall_clock
from sixledger.service.process import loop_factory
from sixledger.service.server import Server


class Orders:
    """What the nemesis wants of this process."""

    def __init__(self, skew_s: float, drop: float) -> None:
        self.skew_us = int(skew_s * 1_000_000)
        self.drop = drop

    def clock(self) -> int:
        """Microseconds since 1970-01-01 UTC, as this machine wrongly believes."""
        return wall_clock() + self.skew_us

    def listen(self) -> None:
        """Follow orders until there is nobody left to give any."""
        for line in sys.stdin:
            name, _, value = line.partition(" ")
            if name == "skew":
                self.skew_us = int(float(value) * 1_000_000)
            elif name == "drop":
                self.drop = float(value)
            elif name == "files":
                most = int(value)
                hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY if most < 0 else most, hard))
        os._exit(3)


def lose_wakeups(orders: Orders) -> None:
    """Let this process tell others only of some of its records."""
    try:
        from sixledger.service.store.postgres_wakeups import Wakeups
    except ImportError:
        return
    publish, random = Wakeups.publish, Random()

    def sometimes(self: Wakeups, match_ids: Collection[bytes]) -> None:
        if random.random() >= orders.drop:
            publish(self, match_ids)

    Wakeups.publish = sometimes  # type: ignore[method-assign]


async def serve(settings: Settings, orders: Orders) -> None:
    """Serve until killed."""
    async with Server(settings, clock=orders.clock) as server:
        await server.wait()


def main() -> None:
    """Run."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    orders = Orders(given.pop("skew_s", 0.0), given.pop("drop", 0.0))
    threading.Thread(target=orders.listen, name="orders", daemon=True).start()
    lose_wakeups(orders)
    for name in ("data_dir", "key_file"):
        given[name] = Path(given[name])
    settings = Settings(**given)
    logs.configure("warning")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(settings, orders))


if __name__ == "__main__":
    main()
