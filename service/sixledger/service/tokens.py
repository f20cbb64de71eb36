r"""Tokens of seats and owners: signed statements that the server need not keep.

    payload = version u8 || role u8 || match (16) || seat u16be || expiry u64be (seconds since 1970-01-01 UTC)
    token   = "sixl_" || base64url(payload || HMAC-SHA-256(token key, "sixledger/token/1\n" || payload))

A token is a bearer secret: whoever has it acts for the seat. It never appears in a log or an error.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

from sixledger.service.errors import bad_token, foreign_seat

_PREFIX = "sixl_"
_PAYLOAD = struct.Struct(">BB16sHQ")
_VERSION = 1
_LENGTH = len(_PREFIX) + (_PAYLOAD.size + 32) * 4 // 3
_MAX_EXPIRY_S = 2**63
_MOST_KNOWN = 4096


class Role(IntEnum):
    """Whom a token speaks for."""

    SEAT = 1
    OWNER = 2


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says. `expiry_s` is in seconds since 1970-01-01 UTC."""

    role: Role
    match_id: bytes
    seat: int
    expiry_s: int


class TokenMint:
    """Makes and checks tokens with one key."""

    def __init__(self, key: bytes, lifetime_s: int) -> None:
        """`key` is 32 bytes; tokens are valid for `lifetime_s` seconds."""
        self._key = key
        self._lifetime_s = lifetime_s
        #: What recently used tokens say, so that a seat's next act need not be authenticated anew.
        self._known: dict[str, Claims] = {}

    def __repr__(self) -> str:
        return "TokenMint()"

    def seat(self, match_id: bytes, seat: int, time_us: int) -> str:
        """The token of a seat that was taken at `time_us`. The same arguments give the same token."""
        return self._make(Role.SEAT, match_id, seat, time_us)

    def owner(self, match_id: bytes, time_us: int) -> str:
        """The token of the owner of a match that was opened at `time_us`."""
        return self._make(Role.OWNER, match_id, 0, time_us)

    def check_seat(self, token: str, match_id: bytes, time_us: int) -> int:
        """The seat that `token` speaks for in the match at `time_us`. Raises BAD_TOKEN or FOREIGN_SEAT."""
        claims = self._check(token, match_id, time_us)
        if claims.role is not Role.SEAT:
            raise foreign_seat("the owner's, not that of a seat")
        return claims.seat

    def check_owner(self, token: str, match_id: bytes, time_us: int) -> None:
        """Check that `token` is the owner's. Raises BAD_TOKEN or FOREIGN_SEAT."""
        if self._check(token, match_id, time_us).role is not Role.OWNER:
            raise foreign_seat("that of a seat, not the owner's")

    def check_viewer(self, token: str, match_id: bytes, time_us: int) -> int | None:
        """The seat that reads, None for a spectator: an empty token, or the owner's."""
        if not token:
            return None
        claims = self._check(token, match_id, time_us)
        return claims.seat if claims.role is Role.SEAT else None

    def _make(self, role: Role, match_id: bytes, seat: int, time_us: int) -> str:
        expiry_s = min(time_us // 1_000_000 + self._lifetime_s, _MAX_EXPIRY_S)
        payload = _PAYLOAD.pack(_VERSION, role, match_id, seat, expiry_s)
        return _PREFIX + base64.urlsafe_b64encode(payload + self._mac(payload)).decode()

    def _mac(self, payload: bytes) -> bytes:
        # Not hmac.digest, which lets other threads run for every few bytes: getting the turn back can take 5 ms.
        return hmac.new(self._key, b"sixledger/token/1\n" + payload, "sha256").digest()

    def _check(self, token: str, match_id: bytes, time_us: int) -> Claims:
        claims = self._known.get(token) or self._read(token)
        if claims.expiry_s * 1_000_000 < time_us:
            raise bad_token("has expired")
        if claims.match_id != match_id:
            raise foreign_seat("for another match")
        return claims

    def _read(self, token: str) -> Claims:
        """What a token says, if this server made it. Raises BAD_TOKEN."""
        if not token:
            raise bad_token("is missing")
        if len(token) != _LENGTH or not token.startswith(_PREFIX):
            raise bad_token("cannot be read")
        try:
            data = base64.b64decode(token[len(_PREFIX) :], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise bad_token("cannot be read") from None
        payload = data[: _PAYLOAD.size]
        if not hmac.compare_digest(data[_PAYLOAD.size :], self._mac(payload)):
            raise bad_token("was not made by this server")
        version, role, token_match, seat, expiry_s = _PAYLOAD.unpack(payload)
        if version != _VERSION:
            raise bad_token("has a version that this server does not know")
        claims = Claims(Role(role), token_match, seat, expiry_s)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[token] = claims
        return claims
