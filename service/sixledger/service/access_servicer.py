"""AccessService: the API keys of the server, for whoever holds one with the scope ADMIN."""

from __future__ import annotations

from sixledger.service import caller
from sixledger.service.api_keys import ApiKeys, shown
from sixledger.service.audit import audit
from sixledger.v1 import access_service_pb2 as pb


class AccessServicer:
    """The calls of AccessService, by their names."""

    def __init__(self, keys: ApiKeys) -> None:
        """Manage these keys."""
        self._keys = keys

    async def CreateApiKey(self, request: pb.CreateApiKeyRequest) -> pb.CreateApiKeyResponse:
        """Make a key."""
        manager = await self._check()
        secret, row = await self._keys.add(
            request.name,
            list(request.scopes),
            valid_s=request.valid_s,
            calls_per_second=request.calls_per_second,
            open_matches=request.open_matches,
            replaces=request.replaces,
            overlap_s=request.overlap_s,
        )
        audit(
            "api_key_rotated" if request.replaces else "api_key_created",
            by=f"key:{manager}",
            key=row.id,
            replaces=request.replaces,
            scopes=row.scopes,
        )
        return pb.CreateApiKeyResponse(secret=secret, key=shown(row))

    async def ListApiKeys(self, request: pb.ListApiKeysRequest) -> pb.ListApiKeysResponse:
        """List the keys."""
        del request
        await self._check()
        return pb.ListApiKeysResponse(keys=[shown(row) for row in await self._keys.rows()])

    async def RevokeApiKey(self, request: pb.RevokeApiKeyRequest) -> pb.RevokeApiKeyResponse:
        """End a key."""
        manager = await self._check()
        row = await self._keys.revoke(request.id, request.overlap_s)
        audit("api_key_revoked", by=f"key:{manager}", key=row.id, ends_us=row.expires_us)
        return pb.RevokeApiKeyResponse(key=shown(row))

    async def _check(self) -> str:
        return (await self._keys.check(caller.current().key, pb.API_SCOPE_ADMIN)).id
