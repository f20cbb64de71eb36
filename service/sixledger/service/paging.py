"""Tokens of the pages of a list: opaque to the caller, stable while matches are added."""

from __future__ import annotations

import base64
import binascii
import struct

from sixledger.ledger.hashing import sha256
from sixledger.service.errors import malformed
from sixledger.service.store import Cursor

_TOKEN = struct.Struct(">4sQ16s")


def _filter_tag(status: int, game: str, more: str) -> bytes:
    return sha256(b"sixledger/page/1\n", status.to_bytes(4, "big"), game.encode(), b"\0", more.encode())[:4]


def page_token(cursor: Cursor, status: int, game: str, more: str = "") -> str:
    """The token of the page after `cursor`, in the list with these filters; `more` stands for all others."""
    packed = _TOKEN.pack(_filter_tag(status, game, more), cursor.created_us, cursor.match_id)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_page_token(token: str, status: int, game: str, more: str = "") -> Cursor | None:
    """Where the page begins; None: at the first match. Raises MALFORMED."""
    if not token:
        return None
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        tag, created_us, match_id = _TOKEN.unpack(packed)
    except (binascii.Error, ValueError, struct.error):
        raise malformed("page_token", "is not a token of a reply of this call") from None
    if tag != _filter_tag(status, game, more) or created_us >= 2**63:
        raise malformed("page_token", "belongs to a list with other filters")
    return Cursor(created_us, match_id)
