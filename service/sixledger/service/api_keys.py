"""API keys: made, checked, rotated and revoked. The store keeps a hash of each, so nobody can read one there.

    key = "sixk_" || id (16 hexadecimal digits) || "_" || base64url of 32 random bytes

A plain SHA-256 of the whole key is kept: what it hides has 256 random bits, which no dictionary holds.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import replace

from sixledger.ledger.hashing import sha256
from sixledger.service.errors import ServiceError, bad_api_key, malformed
from sixledger.service.store import ApiKeyRow, Store
from sixledger.v1 import access_service_pb2 as pb
from sixledger.v1 import error_pb2

_KEY = re.compile(r"sixk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
_SCOPES: tuple[pb.ApiScope.ValueType, ...] = (pb.API_SCOPE_CREATE, pb.API_SCOPE_LIST, pb.API_SCOPE_ADMIN)
#: How old what is known of the keys may be, in seconds: other processes change them too.
MAX_AGE_S = 2.0


def _digest(key: str) -> bytes:
    return sha256(b"sixledger/api-key/1\n", key.encode())


def scopes_of(row: ApiKeyRow) -> list[pb.ApiScope.ValueType]:
    """What a key is good for."""
    return [scope for scope in _SCOPES if row.scopes >> scope & 1]


def shown(row: ApiKeyRow) -> pb.ApiKey:
    """A key for its manager."""
    return pb.ApiKey(
        id=row.id,
        name=row.name,
        scopes=scopes_of(row),
        created_us=row.created_us,
        expires_us=row.expires_us,
        calls_per_second=row.calls_per_second,
        open_matches=row.open_matches,
    )


class ApiKeys:
    """The API keys of a store."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        """`clock` gives microseconds since 1970-01-01 UTC."""
        self._store = store
        self._clock = clock
        self._rows: dict[str, ApiKeyRow] = {}
        self._read_at = float("-inf")

    # -- checking --------------------------------------------------------------------------------

    def known(self, key: str) -> ApiKeyRow | None:
        """The key, if it is valid and known here already. Answers at once."""
        found = _KEY.fullmatch(key)
        row = self._rows.get(found[1]) if found is not None else None
        if row is None or not hmac.compare_digest(row.digest, _digest(key)) or self._has_ended(row):
            return None
        return row

    async def check(self, key: str, scope: pb.ApiScope.ValueType) -> ApiKeyRow:
        """The valid key with this scope. Raises BAD_API_KEY or MISSING_SCOPE; neither repeats the key."""
        if not key:
            raise bad_api_key("is missing")
        found = _KEY.fullmatch(key)
        if found is None:
            raise bad_api_key("cannot be read")
        await self._refresh()
        row = self._rows.get(found[1])
        if row is None or not hmac.compare_digest(row.digest, _digest(key)):
            raise bad_api_key("is unknown")
        if self._has_ended(row):
            raise bad_api_key("has expired or was revoked")
        if not row.scopes >> scope & 1:
            name = pb.ApiScope.Name(scope).removeprefix("API_SCOPE_").lower()
            message = f"the API key {row.id} does not have the scope {name}"
            raise ServiceError(error_pb2.REASON_MISSING_SCOPE, message, metadata={"scope": name, "key": row.id})
        return row

    def _has_ended(self, row: ApiKeyRow) -> bool:
        return bool(row.expires_us) and row.expires_us <= self._clock()

    async def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._read_at >= MAX_AGE_S:
            self._rows = {row.id: row for row in await self._store.api_keys()}
            self._read_at = now

    # -- managing --------------------------------------------------------------------------------

    async def rows(self) -> list[ApiKeyRow]:
        """All keys, oldest first, those that have ended too."""
        return list(await self._store.api_keys())

    async def add(
        self,
        name: str,
        scopes: Collection[pb.ApiScope.ValueType],
        *,
        valid_s: int = 0,
        calls_per_second: int = 0,
        open_matches: int = 0,
        replaces: str = "",
        overlap_s: int = 0,
    ) -> tuple[str, ApiKeyRow]:
        """A new key, to be shown once, and what is kept of it. Raises MALFORMED.

        One that `replaces` another takes over what is not given, and its matches; the old one ends after
        `overlap_s` seconds.
        """
        old = await self._row(replaces, "replaces") if replaces else None
        name = name or (old.name if old is not None else "")
        if not 1 <= len(name) <= 64 or not name.isprintable():
            raise malformed("name", "must have 1 to 64 characters that can be shown")
        if any(scope not in _SCOPES for scope in scopes):
            raise malformed("scopes", "has a scope that this release does not know")
        bits = sum(1 << scope for scope in set(scopes)) or (old.scopes if old is not None else 0)
        if not bits:
            raise malformed("scopes", "must name one at least")
        now, key_id = self._clock(), secrets.token_hex(8)
        key = f"sixk_{key_id}_{base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip('=')}"
        row = ApiKeyRow(
            key_id,
            name,
            _digest(key),
            bits,
            now,
            now + valid_s * 1_000_000 if valid_s else 0,
            calls_per_second or (old.calls_per_second if old is not None else 0),
            open_matches or (old.open_matches if old is not None else 0),
            old.owner if old is not None else key_id,
        )
        await self._put(row)
        if old is not None:
            await self._end(old, overlap_s)
        return key, row

    async def revoke(self, key_id: str, overlap_s: int = 0) -> ApiKeyRow:
        """End a key in `overlap_s` seconds; one that ends earlier keeps its end. Raises MALFORMED."""
        return await self._end(await self._row(key_id, "id"), overlap_s)

    async def _row(self, key_id: str, field: str) -> ApiKeyRow:
        for row in await self._store.api_keys():
            if row.id == key_id:
                return row
        raise malformed(field, "is not the id of a key")

    async def _end(self, row: ApiKeyRow, overlap_s: int) -> ApiKeyRow:
        end_us = self._clock() + overlap_s * 1_000_000
        if not row.expires_us or row.expires_us > end_us:
            row = replace(row, expires_us=end_us)
            await self._put(row)
        return row

    async def _put(self, row: ApiKeyRow) -> None:
        await self._store.put_api_key(row)
        self._rows[row.id] = row
