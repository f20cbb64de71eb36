"""Root secrets at rest: sealed under a key of the operator, so that a copy of the store foretells no draw.

A sealed secret is `1 | id of the key (8) | nonce (12) | AES-256-GCM of the secret, with its tag (48)`, bound to its
match. The first key seals; all of them open. What was kept before there was a key is 32 plain bytes, and is read as
that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sixledger.service.store.base import MatchRow, StoreError

_VERSION = 1
_ID, _NONCE, _SECRET, _TAG = 8, 12, 32, 16
_SEALED = 1 + _ID + _NONCE + _SECRET + _TAG
_CONTEXT = b"sixledger/root-secret/1\n"


class Seal:
    """Keys that seal root secrets. Its repr shows none of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Keys of 32 bytes; the first one seals. Raises ValueError."""
        if not keys:
            raise ValueError("there is no key")
        if any(len(key) != 32 for key in keys):
            raise ValueError("a key has 32 bytes: 64 hexadecimal digits")
        self._keys = {_key_id(key): AESGCM(key) for key in keys}
        self._current = _key_id(keys[0])

    @classmethod
    def parse(cls, text: str) -> Seal:
        """Keys as a file or a variable has them: 64 hexadecimal digits each, a line each or between commas.

        Empty lines, and those that begin with `#`, mean nothing. Raises ValueError, which repeats no key.
        """
        lines = [line.strip() for line in text.replace(",", "\n").splitlines()]
        try:
            keys = [bytes.fromhex(line) for line in lines if line and not line.startswith("#")]
        except ValueError:
            raise ValueError("a key has 32 bytes: 64 hexadecimal digits") from None
        return cls(keys)

    @property
    def current(self) -> str:
        """The id of the key that seals."""
        return self._current.hex()

    def close(self, match_id: bytes, secret: bytes) -> bytes:
        """Seal a root secret."""
        nonce = os.urandom(_NONCE)
        sealed = self._keys[self._current].encrypt(nonce, secret, _CONTEXT + match_id)
        return bytes([_VERSION]) + self._current + nonce + sealed

    def open(self, match_id: bytes, kept: bytes) -> bytes:
        """The root secret of a match, from what is kept. Raises StoreError."""
        return _open(self._keys, match_id, kept)

    def is_current(self, kept: bytes) -> bool:
        """True if it was sealed under the key that seals now."""
        return len(kept) == _SEALED and kept[1 : 1 + _ID] == self._current


def key_of(kept: bytes) -> str | None:
    """The id of the key under which a secret was sealed; None: it is plain."""
    return None if len(kept) == _SECRET else kept[1 : 1 + _ID].hex()


def sealed(seal: Seal | None, row: MatchRow) -> MatchRow:
    """A row as it is to be kept."""
    return row if seal is None else replace(row, root_secret=seal.close(row.match_id, row.root_secret))


def opened(seal: Seal | None, row: MatchRow) -> MatchRow:
    """A row as it was, from what is kept. Raises StoreError."""
    if len(row.root_secret) == _SECRET:
        return row
    return replace(row, root_secret=_open(seal._keys if seal is not None else {}, row.match_id, row.root_secret))


def listed(seal: Seal | None, row: MatchRow) -> MatchRow:
    """As `opened`, for a list: one match whose key is not here must not hide all others. Its secret is empty."""
    try:
        return opened(seal, row)
    except StoreError:
        return replace(row, root_secret=b"")


def _open(keys: dict[bytes, AESGCM], match_id: bytes, kept: bytes) -> bytes:
    if len(kept) == _SECRET:
        return kept
    if len(kept) != _SEALED or kept[0] != _VERSION:
        raise StoreError(f"the secret of match {match_id.hex()} is sealed in a way that this release does not know")
    key = keys.get(kept[1 : 1 + _ID])
    if key is None:
        raise StoreError(
            f"the secret of match {match_id.hex()} is sealed under the key {key_of(kept)}, which is not here: add it "
            "to secret_key_file or secret_keys"
        )
    nonce, data = kept[1 + _ID : 1 + _ID + _NONCE], kept[1 + _ID + _NONCE :]
    try:
        return key.decrypt(nonce, data, _CONTEXT + match_id)
    except InvalidTag:
        raise StoreError(f"the sealed secret of match {match_id.hex()} was changed") from None


def _key_id(key: bytes) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(b"sixledger/secret-key-id/1\n" + key)
    return digest.finalize()[:_ID]
