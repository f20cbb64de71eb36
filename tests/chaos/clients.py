"""The connections of all players and watchers, and how they insist on an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from random import Random
from typing import Any, TypeVar

import grpc
import grpc.aio
from chaos import history as told
from chaos.cluster import Cluster
from chaos.history import History
from sixledger.client import AsyncClient, Settings
from sixledger.client.errors import ServiceError, TransportError
from sixledger.v1 import match_service_pb2_grpc

T = TypeVar("T")

#: Seconds for one attempt of a call.
TIMEOUT_S = 3.0


class Clients:
    """Real clients, each with its own order of replicas, and bare stubs of each replica."""

    def __init__(self, cluster: Cluster, history: History, random: Random, number: int) -> None:
        """So many clients; nothing is connected yet."""
        self._cluster, self._number = cluster, number
        self.history, self.random = history, random
        self._clients: list[AsyncClient] = []
        #: One for each replica, through its wire.
        self.stubs: list[Any] = []
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Clients:
        count = len(self._cluster.replicas)
        for number in range(self._number):
            order = [(number + step) % count for step in range(count)]
            client = AsyncClient(self._cluster.target(order), settings=_settings(number))
            self._clients.append(await self._resources.enter_async_context(client))
        for replica in self._cluster.replicas:
            channel = grpc.aio.insecure_channel(f"127.0.0.1:{replica.clients.port}")
            await self._resources.enter_async_context(channel)
            self.stubs.append(match_service_pb2_grpc.MatchServiceStub(channel))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    def any(self) -> AsyncClient:
        """One of the clients."""
        return self.random.choice(self._clients)

    async def insist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` gives, tried until the service has an answer, however long that takes."""
        while True:
            try:
                return await attempt()
            except (ServiceError, TransportError) as error:
                if not error.retryable:
                    raise
            await asyncio.sleep(self.random.uniform(0.05, 0.5))

    def broken(self, by: str, match: str, error: BaseException) -> None:
        """Note that the service did what it must never do."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        self.history.add(told.BROKEN, by, match=match, detail=f"{type(error).__name__}: {error}"[:1000])


def reason(error: ServiceError | TransportError) -> str:
    """Why a call failed, as a name."""
    return error.reason if isinstance(error, ServiceError) else error.code


def _settings(number: int) -> Settings:
    return Settings(
        timeout=TIMEOUT_S,
        patience=6.0,
        longest_pause=0.5,
        keepalive=10.0,
        keepalive_timeout=3.0,
        play_stream=number % 3 == 2,
        max_message=(16 << 20) + number,  # clients with the same options would share their connections
    )
