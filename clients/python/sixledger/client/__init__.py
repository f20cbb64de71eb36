"""Clients of a Sixledger service: `Client` blocks, `AsyncClient` is for asyncio; both have the same surface.

What a service answers is checked record by record, and a lie raises `ServerCheated`.
"""

from __future__ import annotations

from sixledger.client import errors
from sixledger.client.aio.client import AsyncClient
from sixledger.client.aio.engine_session import AsyncEngineSession
from sixledger.client.aio.streams import AsyncMatchStream
from sixledger.client.aio.tables import AsyncSeatedMatch, AsyncWatchedMatch
from sixledger.client.bots import Policy, run_bot, run_bot_async
from sixledger.client.core.evidence import Evidence
from sixledger.client.core.feed import WatchItem
from sixledger.client.core.hosting import CreatedMatch
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.timing import time_limits
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ClientError, ServerCheated, ServiceError, TransportError
from sixledger.client.settings import Settings
from sixledger.client.sync.client import Client
from sixledger.client.sync.engine_session import EngineSession
from sixledger.client.sync.streams import MatchStream
from sixledger.client.sync.tables import SeatedMatch, WatchedMatch
from sixledger.client.trust import TrustStore

__all__ = [
    "AsyncClient",
    "AsyncEngineSession",
    "AsyncMatchStream",
    "AsyncSeatedMatch",
    "AsyncWatchedMatch",
    "Client",
    "ClientError",
    "CreatedMatch",
    "Credentials",
    "EngineSession",
    "Evidence",
    "MatchStream",
    "Policy",
    "Recorded",
    "SeatedMatch",
    "ServerCheated",
    "ServiceError",
    "Settings",
    "TransportError",
    "TrustStore",
    "WatchItem",
    "WatchedMatch",
    "errors",
    "run_bot",
    "run_bot_async",
    "time_limits",
]
