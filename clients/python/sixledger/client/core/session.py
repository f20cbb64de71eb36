"""What all calls of one client share: its settings, its trust, and the key of the origin it talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import Message
from sixledger.client.core.flow import Flow, Open, Unary, Upload, repeated
from sixledger.client.errors import BadHead
from sixledger.client.settings import Settings
from sixledger.client.trust import TrustStore
from sixledger.engine.registry import Registry
from sixledger.ledger.heads import VerifierKey
from sixledger.v1 import catalog_service_pb2

CATALOG, MATCHES, ENGINE, REPLAY = "CatalogService", "MatchService", "EngineService", "ReplayService"
ACCESS = "AccessService"


class Session:
    """Calls with the client's limits, and the pinned key of the origin."""

    def __init__(self, address: str, settings: Settings, trust: TrustStore, registry: Registry | None = None) -> None:
        """`address` is where the keys of origins are met; `registry` has the games, default all installed."""
        self.address = address
        self.settings = settings
        self.trust = trust
        self.registry = registry
        self._key: VerifierKey | None = None

    def call(self, service: str, method: str, request: Message) -> Flow[Any]:
        """The reply of a unary call, repeated while the service cannot be reached."""
        return repeated(Unary(service, method, request, self.settings.timeout), self.settings)

    def upload(self, service: str, method: str, requests: Callable[[], Iterator[Message]]) -> Flow[Any]:
        """The reply of a call that streams requests; `requests` makes them anew for each attempt."""
        return repeated(Upload(service, method, requests, self.settings.transfer_timeout), self.settings)

    def watch(self, request: Message) -> Open:
        """Open the stream of a watched match."""
        return Open(MATCHES, "WatchMatch", request, self.settings.watch_timeout)

    def download(self, request: Message) -> Open:
        """Open the stream of an exported ledger."""
        return Open(MATCHES, "ExportLedger", request, self.settings.transfer_timeout)

    def origin_key(self) -> Flow[VerifierKey]:
        """The key that signs the heads of this service; pinned at first contact. Raises OriginChanged."""
        if self._key is None:
            reply = yield from self.call(CATALOG, "GetOrigin", catalog_service_pb2.GetOriginRequest())
            try:
                key = VerifierKey.parse(reply.verifier_key)
            except ValueError as error:
                raise BadHead(f"the origin shows no key that can be used: {error}") from error
            if key.origin != reply.origin:
                raise BadHead("the origin shows a key that is not its own")
            self.trust.pin(key, self.address)
            self._key = key
        return self._key
