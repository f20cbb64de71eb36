"""What all calls of one client share: its settings, its trust, and the key of the origin it talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

from google.protobuf.message import Message
from sixledger.client.core.flow import Backoff, Flow, Open, Sleep, Unary, Upload, repeated
from sixledger.client.core.origin_keys import OriginKeys
from sixledger.client.errors import BadHead, BadKeyList, KeyListRolledBack, TransportError
from sixledger.client.settings import Settings
from sixledger.client.trust import TrustStore
from sixledger.engine.registry import Registry
from sixledger.ledger import key_list
from sixledger.ledger.heads import BadNote, SignedHead, VerifierKey
from sixledger.ledger.key_list import SignedKeyList
from sixledger.v1 import catalog_service_pb2

CATALOG, MATCHES, ENGINE, REPLAY = "CatalogService", "MatchService", "EngineService", "ReplayService"
ACCESS = "AccessService"

#: Seconds between two looks whether another table has asked for the keys.
_GLANCE_S = 0.02


class Session:
    """Calls with the client's limits, and the pinned key of the origin."""

    def __init__(self, address: str, settings: Settings, trust: TrustStore, registry: Registry | None = None) -> None:
        """`address` is where the keys of origins are met; `registry` has the games, default all installed."""
        self.address = address
        self.settings = settings
        self.trust = trust
        self.registry = registry
        self._origin: OriginKeys | None = None
        #: Held while somebody asks for changed keys: all tables meet them at the same time.
        self._asking = Lock()

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

    def origin_keys(self) -> Flow[OriginKeys]:
        """The keys that sign the heads of this service; pinned at first contact. Raises what `learn` raises."""
        if self._origin is None:
            yield from self.learn()
        assert self._origin is not None
        return self._origin

    def learn(self) -> Flow[SignedKeyList | None]:
        """Ask the service for its keys, and follow from those that are trusted; the result is their list, if any.

        A replica that was not told of new keys yet gets time for it. Raises OriginChanged, KeyRevoked, KeyListsDiffer,
        KeyListRolledBack or BadKeyList.
        """
        backoff = Backoff(self.settings)
        while True:
            reply = yield from self.call(CATALOG, "GetOrigin", catalog_service_pb2.GetOriginRequest())
            try:
                return self._believe(reply)
            except KeyListRolledBack as error:
                try:
                    pause = backoff.after(TransportError("UNAVAILABLE", error.message))
                except TransportError:
                    raise error from None
            yield pause

    def meet(self, head: str) -> Flow[None]:
        """Before a head is checked: ask for the keys again if it is signed with one that is not known to be good."""
        if not head or self._origin is None or self._origin.is_usual(head):
            return
        try:
            signed = SignedHead.parse(head)
        except BadNote:
            return  # whoever checks it will say so
        while self._origin.wrong_key(signed):
            if not self._asking.acquire(blocking=False):
                yield Sleep(_GLANCE_S)
                continue
            try:
                if self._origin.wrong_key(signed):
                    yield from self.learn()
            finally:
                self._asking.release()
            return

    def _believe(self, reply: catalog_service_pb2.GetOriginResponse) -> SignedKeyList | None:
        try:
            key = VerifierKey.parse(reply.verifier_key)
            shown = SignedKeyList.parse(reply.key_list) if reply.key_list else None
        except key_list.BadKeyList as error:
            raise BadKeyList(str(error)) from error
        except ValueError as error:
            raise BadHead(f"the origin shows no key that can be used: {error}") from error
        if key.origin != reply.origin:
            raise BadHead("the origin shows a key that is not its own")
        if shown is None:
            self.trust.pin(key, self.address)
        else:
            entry = shown.content.find(key)
            if entry is None or entry.revoked_us is not None:
                raise BadKeyList("the key that the origin shows is not in its own list, or revoked there")
            self.trust.follow(shown, self.address)
        held = self.trust.key_list(key.origin) or shown
        if self._origin is None:
            self._origin = OriginKeys(key, held)
        else:
            self._origin.take(key, held)
        return held
