"""Both libraries give the same signatures, and the same answers to honest, broken and crafted ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from sixledger.ledger import ed25519

L = 2**252 + 27742317777372353535851937790883648493
Fits = Callable[[bytes, bytes, bytes], bool]


def by_cryptography(key: bytes, signature: bytes, message: bytes) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ed25519, "_open", None)
        return ed25519.fits(Ed25519PublicKey.from_public_bytes(key), key, signature, message)


def by_sodium(key: bytes, signature: bytes, message: bytes) -> bool:
    assert ed25519._open is not None, "the extras install it"
    return ed25519.fits(Ed25519PublicKey.from_public_bytes(key), key, signature, message)


def both(key: bytes, signature: bytes, message: bytes) -> bool:
    said = by_cryptography(key, signature, message)
    assert by_sodium(key, signature, message) == said
    return said


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=300))
def test_both_make_the_same_signature(seed: bytes, message: bytes) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    signature = ed25519.signing(private)(message)
    assert signature == private.sign(message)
    assert both(private.public_key().public_bytes_raw(), signature, message)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=40), st.integers(0, 511))
def test_both_refuse_a_changed_signature(seed: bytes, message: bytes, bit: int) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    signature = bytearray(private.sign(message))
    signature[bit // 8] ^= 1 << bit % 8
    assert not both(private.public_key().public_bytes_raw(), bytes(signature), message)


@given(st.binary(max_size=130), st.binary(max_size=40))
def test_both_refuse_what_is_no_signature(signature: bytes, message: bytes) -> None:
    key = Ed25519PrivateKey.from_private_bytes(b"s" * 32).public_key().public_bytes_raw()
    assert not both(key, signature, message)


def _scalar(seed: bytes) -> int:
    half = bytearray(hashlib.sha512(seed).digest()[:32])
    half[0] &= 248
    half[31] = half[31] & 127 | 64
    return int.from_bytes(half, "little")


def test_both_take_a_signature_whose_r_is_the_identity() -> None:
    """The equation allows it, and only the holder of the key can make it: libsodium alone would refuse."""
    seed, message, identity = b"k" * 32, b"a move", (1).to_bytes(32, "little")
    key = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    challenge = int.from_bytes(hashlib.sha512(identity + key + message).digest(), "little") % L
    signature = identity + (challenge * _scalar(seed) % L).to_bytes(32, "little")
    assert both(key, signature, message)
    beyond = identity + (challenge * _scalar(seed) % L + L).to_bytes(32, "little")
    assert not both(key, beyond, message)


def test_a_signature_has_one_spelling() -> None:
    """S + L satisfies the equation, too, and is refused."""
    private = Ed25519PrivateKey.from_private_bytes(b"p" * 32)
    signature = private.sign(b"a move")
    again = signature[:32] + (int.from_bytes(signature[32:], "little") + L).to_bytes(32, "little")
    assert not both(private.public_key().public_bytes_raw(), again, b"a move")
