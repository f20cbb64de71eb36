"""Ed25519 by libsodium where PyNaCl is installed, else by `cryptography`: the same answers, in half the time.

Signatures are deterministic, so both make the same. What fits is what `cryptography` says: libsodium refuses a few
signatures that the equation allows (those whose R is of small order), and every verifier must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_open: Any = None
_sign: Any = None
_Refused: type[Exception] = InvalidSignature
with suppress(ImportError):  # it comes with the extras; engine and ledger do without
    from nacl import bindings, exceptions

    _open, _sign, _Refused = bindings.crypto_sign_open, bindings.crypto_sign, exceptions.CryptoError

SIGNATURE = 64


def signing(private_key: Ed25519PrivateKey) -> Callable[[bytes], bytes]:
    """Makes signatures of 64 bytes. As secret as the key."""
    if _sign is None:
        return private_key.sign
    sign, halves = _sign, private_key.private_bytes_raw() + private_key.public_key().public_bytes_raw()
    return lambda message: sign(message, halves)[:SIGNATURE]


def fits(public_key: Ed25519PublicKey, data: bytes, signature: bytes, message: bytes) -> bool:
    """True if the signature fits the message: cofactorless, with S < L. `data` are the 32 bytes of the key."""
    if _open is not None and len(signature) == SIGNATURE:
        try:
            _open(signature + message, data)
        except _Refused:
            pass  # hardly ever, and then the other one says why
        else:
            return True
    try:
        public_key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
