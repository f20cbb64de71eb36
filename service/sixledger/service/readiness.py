"""Live and ready are two things: a server that waits for its store lives, and should get no calls.

Readiness looks every few seconds whether the store answers, and tells the health service of gRPC, the metrics, and
whoever asks the operator port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from grpc_health.v1 import health_pb2
from grpc_health.v1._async import HealthServicer
from sixledger.service.errors import EXPECTED
from sixledger.service.logs import Log
from sixledger.service.store import Store

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics

#: A match that no store has. To look for it is the least that a store can be asked.
_NO_MATCH = bytes(16)
#: Seconds after which a store that has not answered counts as away.
_PATIENCE_S = 3.0


class Readiness:
    """Whether a server should get calls. `start` it once the server answers, and `close` it before the store."""

    def __init__(
        self,
        store: Store,
        health: HealthServicer,
        *,
        names: Collection[str],
        draining: Callable[[], bool],
        tick_s: float = 2.0,
        metrics: Metrics | None = None,
    ) -> None:
        """Tell `health` of the services `names`; look every `tick_s` seconds. `draining` says that the server stops."""
        self._store = store
        self._health = health
        self._names = ("", *names)
        self._draining = draining
        self._tick_s = tick_s
        self._metrics = metrics
        self._answers = False
        self._task: asyncio.Task[None] | None = None
        self._log = Log("readiness")

    @property
    def missing(self) -> str:
        """Why the server should get no calls; an empty text: it should."""
        if self._draining():
            return "stopping"
        return "" if self._answers else "the store does not answer"

    async def start(self) -> None:
        """Look now, and from now on."""
        await self.look()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def look(self) -> None:
        """Ask the store, and tell if the answer is another one than before."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._store.match(_NO_MATCH)
        except (TimeoutError, *EXPECTED) as error:
            answers, why = False, type(error).__name__
        else:
            answers, why = True, ""
        first = self._task is None
        if answers != self._answers or first:
            self._answers = answers
            serving = health_pb2.HealthCheckResponse
            status = serving.SERVING if answers else serving.NOT_SERVING
            for name in self._names:
                await self._health.set(name, status)
            if not answers:
                self._log.error("not_ready", type=why, hint="the store does not answer")
            elif not first:
                self._log.info("ready_again")
        self.measure()

    def measure(self) -> None:
        """Tell the metrics how it stands."""
        if self._metrics is not None:
            self._metrics.ready(not self.missing)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._tick_s)
            await self.look()
