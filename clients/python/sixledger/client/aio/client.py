"""The asyncio client of a Sixledger service."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import grpc
from sixledger.client.aio.access import Access
from sixledger.client.aio.catalog import Catalog
from sixledger.client.aio.driver import Driver
from sixledger.client.aio.engine import Engine
from sixledger.client.aio.lobby import Lobby
from sixledger.client.aio.matches import Matches
from sixledger.client.aio.replay import Replay
from sixledger.client.core.session import Session
from sixledger.client.settings import Settings
from sixledger.client.trust import TrustStore
from sixledger.engine.registry import Registry


class AsyncClient:
    """A connection to one service, with an area for each part of its API.

    Use it as a context manager, or close it. What it returns is checked; see `sixledger.client.errors`.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: grpc.ChannelCredentials | None = None,
        trust: TrustStore | None = None,
        settings: Settings | None = None,
        registry: Registry | None = None,
        api_key: str = "",
    ) -> None:
        """Connect to `address` (`host:port`, or another gRPC target) with the first call.

        `tls` are the credentials of a secure channel; without, the connection is not encrypted. `trust` keeps
        the keys of origins, by default in memory; `registry` has the games, by default all installed. `api_key`
        goes with every call: services may want one from whoever opens matches. Send it over TLS alone.
        """
        settings = settings or Settings()
        session = Session(address, settings, trust if trust is not None else TrustStore(), registry)
        self._driver = Driver(address, tls, settings, api_key)
        #: Games, rules and the identity of the service.
        self.catalog = Catalog(self._driver, session)
        #: Hosted matches.
        self.matches = Matches(self._driver, session)
        #: Tables before and after the game, and tokens of owners.
        self.lobby = Lobby(self._driver, session, self.matches.flows)
        #: Engines without hosting: the caller keeps the ledger.
        self.engine = Engine(self._driver, session)
        #: Verification of ledgers.
        self.replay = Replay(self._driver, session)
        #: API keys of the service, for its managers.
        self.access = Access(self._driver, session)

    async def close(self) -> None:
        """End every call and the connection. Harmless when repeated."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()
