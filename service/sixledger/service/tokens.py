r"""Tokens of seats and owners, and invitations: signed statements that the server need not keep.

    payload = version u8 || role u8 || match (16) || seat u16be || generation u16be || zero u8
              || expiry u64be (seconds since 1970-01-01 UTC)
    token   = "sixl_" || base64url(payload || HMAC-SHA-256(token key, "sixledger/token/1\n" || payload))

A token is a bearer secret: whoever has it acts for the seat. It never appears in a log or an error.

What the server does keep is a floor for some seats: a token of a lower generation is worthless. It is raised when a
seat is given up and when tokens are revoked.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from sixledger.service.errors import bad_token, foreign_seat

_PREFIX = "sixl_"
_PAYLOAD = struct.Struct(">BB16sHHxQ")
_VERSION = 2
_LENGTH = len(_PREFIX) + (_PAYLOAD.size + 32) * 4 // 3
_MAX_EXPIRY_S = 2**63
_MOST_KNOWN = 4096

#: What stands for the owner and for invitations where others have a seat; also for any seat in an invitation.
OWNER_SEAT, INVITATIONS, ANY_SEAT = 0xFFFF, 0xFFFE, 0xFFFF
#: The floor that no token reaches: nobody acts for the seat any more.
LOCKED = 0xFFFF


class Role(IntEnum):
    """Whom a token speaks for."""

    SEAT = 1
    OWNER = 2
    #: Nobody yet: whoever joins with it.
    INVITATION = 3


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says. `expiry_s` is in seconds since 1970-01-01 UTC."""

    role: Role
    match_id: bytes
    seat: int
    generation: int
    expiry_s: int
    #: The seat under which the floor of the token is kept.
    floor_seat: int


class TokenMint:
    """Makes and checks tokens with one key."""

    def __init__(
        self, key: bytes, lifetime_s: int, floor: Callable[[bytes, int], int] = lambda match_id, seat: 0
    ) -> None:
        """`key` is 32 bytes; tokens are valid for `lifetime_s` seconds, and not below the `floor` of match and seat."""
        self._key = key
        self.lifetime_s = lifetime_s
        self._floor = floor
        #: What recently used tokens say, so that a seat's next act need not be authenticated anew.
        self._known: dict[str, Claims] = {}

    def __repr__(self) -> str:
        return "TokenMint()"

    def seat(self, match_id: bytes, seat: int, time_us: int) -> str:
        """The token of a seat that was taken at `time_us`. The same arguments give the same token, until it is revoked.

        Raises BAD_TOKEN for a locked seat, as the next two do.
        """
        return self._make(Role.SEAT, match_id, seat, time_us, self.lifetime_s)

    def owner(self, match_id: bytes, time_us: int) -> str:
        """The token of the owner of a match that was opened at `time_us`."""
        return self._make(Role.OWNER, match_id, OWNER_SEAT, time_us, self.lifetime_s)

    def invitation(self, match_id: bytes, seat: int | None, time_us: int, valid_s: int) -> str:
        """An invitation to a seat, or to any, for so many seconds."""
        return self._make(Role.INVITATION, match_id, ANY_SEAT if seat is None else seat, time_us, valid_s)

    def again(self, role: Role, match_id: bytes, seat: int, made_us: int, now_us: int) -> str:
        """The token of a seat or an owner for whom one was made at `made_us`: the same one while it is young."""
        young = now_us - made_us < self.lifetime_s * 1_000_000 // 2
        return self._make(role, match_id, seat, made_us if young else now_us, self.lifetime_s)

    def claims(self, token: str, match_id: bytes, time_us: int, *, revoked: bool = False) -> Claims:
        """What `token` says, if it is valid for the match at `time_us`; with `revoked` also if it was revoked.

        Raises BAD_TOKEN or FOREIGN_SEAT.
        """
        return self._check(token, match_id, time_us, revoked=revoked)

    def expiry_us(self, token: str) -> int:
        """Until when a token is valid, in microseconds since 1970-01-01 UTC. Raises BAD_TOKEN."""
        return (self._known.get(token) or self._read(token)).expiry_s * 1_000_000

    def tag(self, peer: str) -> str:
        """A name for a peer that does not tell who it is."""
        keyed = hmac.new(self._key, b"sixledger/peer/1\n" + peer.encode(), "sha256")
        return f"~{keyed.hexdigest()[:24]}"

    def check_seat(self, token: str, match_id: bytes, time_us: int) -> int:
        """The seat that `token` speaks for in the match at `time_us`. Raises BAD_TOKEN or FOREIGN_SEAT."""
        claims = self._check(token, match_id, time_us)
        if claims.role is not Role.SEAT:
            raise foreign_seat("not that of a seat")
        return claims.seat

    def check_owner(self, token: str, match_id: bytes, time_us: int) -> None:
        """Check that `token` is the owner's. Raises BAD_TOKEN or FOREIGN_SEAT."""
        if self._check(token, match_id, time_us).role is not Role.OWNER:
            raise foreign_seat("not the owner's")

    def check_viewer(self, token: str, match_id: bytes, time_us: int) -> int | None:
        """The seat that reads, None for a spectator: an empty token, or the owner's."""
        if not token:
            return None
        claims = self._check(token, match_id, time_us)
        if claims.role is Role.INVITATION:
            raise foreign_seat("an invitation: join with it")
        return claims.seat if claims.role is Role.SEAT else None

    def _make(self, role: Role, match_id: bytes, seat: int, time_us: int, valid_s: int) -> str:
        expiry_s = min(time_us // 1_000_000 + valid_s, _MAX_EXPIRY_S)
        generation = self._floor(match_id, INVITATIONS if role is Role.INVITATION else seat)
        if generation >= LOCKED:
            raise bad_token("is not given out: the owner of the table has locked the seat")
        payload = _PAYLOAD.pack(_VERSION, role, match_id, seat, generation, expiry_s)
        return _PREFIX + base64.urlsafe_b64encode(payload + self._mac(payload)).decode()

    def _mac(self, payload: bytes) -> bytes:
        # Not hmac.digest, which lets other threads run for every few bytes: getting the turn back can take 5 ms.
        return hmac.new(self._key, b"sixledger/token/1\n" + payload, "sha256").digest()

    def _check(self, token: str, match_id: bytes, time_us: int, *, revoked: bool = False) -> Claims:
        claims = self._known.get(token) or self._read(token)
        if claims.expiry_s * 1_000_000 < time_us:
            raise bad_token("has expired")
        if claims.match_id != match_id:
            raise foreign_seat("for another match")
        if claims.generation < self._floor(match_id, claims.floor_seat) and not revoked:
            raise bad_token("was revoked, or its seat was given up")
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
        version, role, token_match, seat, generation, expiry_s = _PAYLOAD.unpack(payload)
        if version != _VERSION:
            raise bad_token("has a version that this server does not know")
        floor_seat = INVITATIONS if role == Role.INVITATION else seat
        claims = Claims(Role(role), token_match, seat, generation, expiry_s, floor_seat)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[token] = claims
        return claims
