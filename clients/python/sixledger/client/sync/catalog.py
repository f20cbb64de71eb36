"""`client.catalog`: what the service offers."""

from __future__ import annotations

from sixledger.client.core.calls import CatalogCalls
from sixledger.client.core.session import Session
from sixledger.client.sync.driver import Driver
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import SignedKeyList
from sixledger.v1 import catalog_service_pb2


class Catalog:
    """Games, variants, rules and the identity of the service."""

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._calls = CatalogCalls(session)

    def games(self) -> list[catalog_service_pb2.GameInfo]:
        """The games with their options and presets, by id."""
        return self._driver.run(self._calls.games())

    def game(self, game: str) -> catalog_service_pb2.GetGameResponse:
        """One game, with its rules for players as Markdown. Raises UnknownGame."""
        return self._driver.run(self._calls.game(game))

    def origin(self) -> VerifierKey:
        """The key that signs the heads of the service now, pinned at first contact or followed from there.

        Raises OriginChanged, KeyRevoked, KeyListRolledBack, KeyListsDiffer or BadKeyList.
        """
        return self._driver.run(self._calls.origin())

    def key_list(self) -> SignedKeyList | None:
        """All keys of the service with their periods, as it shows them now; None from a service without a list.

        They were followed from the pinned key, and are kept in its place. Raises OriginChanged, KeyRevoked,
        KeyListRolledBack, KeyListsDiffer or BadKeyList.
        """
        return self._driver.run(self._calls.key_list())

    def server(self) -> catalog_service_pb2.GetOriginResponse:
        """Name, key and software version that the service shows now, without pinning anything."""
        return self._driver.run(self._calls.server())
