"""`client.access`: the API keys of a service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sixledger.client.aio.driver import Driver
from sixledger.client.core.calls import AccessCalls
from sixledger.client.core.session import Session
from sixledger.v1 import access_service_pb2


class Access:
    """API keys, for a client whose own key has the scope ADMIN."""

    def __init__(self, driver: Driver, session: Session) -> None:
        """Made by the client."""
        self._driver = driver
        self._calls = AccessCalls(session)

    async def create_key(
        self,
        name: str,
        scopes: Iterable[access_service_pb2.ApiScope.ValueType],
        *,
        valid: int = 0,
        calls_per_second: int = 0,
        open_matches: int = 0,
        replaces: str = "",
        overlap: int = 0,
    ) -> access_service_pb2.CreateApiKeyResponse:
        """Make a key; its `secret` is shown this once.

        It is valid for `valid` seconds (0: until it is revoked). `calls_per_second` and `open_matches` are limits of
        its own. With `replaces` it takes over from the key with this id, which ends after `overlap` seconds; what is
        not given is as it was there. Raises BadApiKey, MissingScope or Malformed.
        """
        return await self._driver.run(
            self._calls.create(name, scopes, valid, calls_per_second, open_matches, replaces, overlap)
        )

    async def list_keys(self) -> Sequence[access_service_pb2.ApiKey]:
        """All keys without their secrets, oldest first, those that have ended too. Raises BadApiKey or MissingScope."""
        return await self._driver.run(self._calls.list())

    async def revoke_key(self, key_id: str, *, overlap: int = 0) -> access_service_pb2.ApiKey:
        """End a key in `overlap` seconds. Raises BadApiKey, MissingScope, or Malformed for an unknown id."""
        return await self._driver.run(self._calls.revoke(key_id, overlap))
