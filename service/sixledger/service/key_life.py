"""Changing the keys that sign the heads of an origin: the next key, and the end of one that must not be used."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import KeyList, ListedKey, Reason, SignedKeyList
from sixledger.ledger.keys import public_bytes
from sixledger.service.keyring import Keyring


class KeyLifeError(ValueError):
    """The keys cannot be changed like this. Says why."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The keys after a change, and the key that takes over."""

    keyring: Keyring
    successor: VerifierKey
    #: True if the key was not in the list before.
    is_new: bool


def rotate(keyring: Keyring, origin: str, at_us: int, now_us: int) -> Changed:
    """Let another key sign from `at_us` on: the one that is waiting, or a new one. Raises KeyLifeError."""
    held = keyring.signed_list(origin).content
    if at_us < now_us:
        raise KeyLifeError("a key cannot begin in the past: heads of that time are signed already")
    entries = list(held.keys)
    good = [index for index, entry in enumerate(entries) if entry.revoked_us is None]
    if not good:
        raise KeyLifeError(f"every key of {origin} is revoked: make a new key file, and tell your players")
    last = good[-1]
    is_waiting = len(good) > 1 and (entries[last].not_before_us or 0) > now_us
    before = good[-2] if is_waiting else last
    if at_us <= (entries[before].not_before_us or 0):
        raise KeyLifeError("the key before it does not begin before that time")
    entries[before] = replace(entries[before], not_after_us=at_us)
    if is_waiting:
        entries[last] = replace(entries[last], not_before_us=at_us)
        return Changed(_signed(keyring, held, entries, now_us), entries[last].key, is_new=False)
    secret, key = _new_key(origin)
    entries.append(ListedKey(key, at_us))
    return Changed(_signed(keyring, held, entries, now_us, secret), key, is_new=True)


def revoke(keyring: Keyring, origin: str, key_hash: str, reason: Reason, since_us: int, now_us: int) -> Changed:
    """Let a key sign no more, nor for the past. Raises KeyLifeError.

    The next key in the list signs in its place, for its whole period: what is exported from now on is vouched for by
    a key that is good. If there is none, a new one is made, which those who trust only the revoked key cannot follow.
    """
    held = keyring.signed_list(origin).content
    entries = list(held.keys)
    index = next((index for index, entry in enumerate(entries) if entry.key.hash.hex() == key_hash), None)
    if index is None:
        known = ", ".join(entry.key.hash.hex() for entry in entries)
        raise KeyLifeError(f"{origin} has no key {key_hash}; it has {known}")
    revoked = entries[index]
    if revoked.is_compromised or (revoked.revoked_us is not None and reason is not Reason.COMPROMISED):
        raise KeyLifeError(f"the key {key_hash} is revoked already: {revoked.reason}")
    if since_us > now_us or (reason is not Reason.COMPROMISED and since_us != now_us):
        raise KeyLifeError("a key is revoked now; only a compromise reaches back, and none is known ahead")
    entries[index] = replace(revoked, revoked_us=since_us, reason=reason)
    begin = revoked.not_before_us
    good = [number for number, entry in enumerate(entries) if entry.revoked_us is None]
    later = [number for number in good if number > index]
    if later:
        stand_in = later[0]
        start = entries[stand_in].not_before_us
        start = None if begin is None or start is None else min(begin, start)
        entries[stand_in] = replace(entries[stand_in], not_before_us=start)
    elif good and (end := entries[good[-1]].not_after_us) is not None and end > now_us:
        stand_in = good[-1]  # the revoked key had not begun: the one before it goes on
        entries[stand_in] = replace(entries[stand_in], not_after_us=revoked.not_after_us)
    else:
        secret, key = _new_key(origin)
        entries.append(ListedKey(key, begin))
        return Changed(_signed(keyring, held, entries, now_us, secret), key, is_new=True)
    return Changed(_signed(keyring, held, entries, now_us), entries[stand_in].key, is_new=False)


def _new_key(origin: str) -> tuple[bytes, VerifierKey]:
    secret = secrets.token_bytes(32)
    return secret, VerifierKey(origin, public_bytes(Ed25519PrivateKey.from_private_bytes(secret)))


def _signed(
    keyring: Keyring, held: KeyList, entries: list[ListedKey], now_us: int, secret: bytes | None = None
) -> Keyring:
    content = KeyList(held.origin, held.number + 1, max(now_us, held.time_us), tuple(entries))
    halves = keyring.signing_keys
    if secret is not None:
        halves.append(Ed25519PrivateKey.from_private_bytes(secret))
    return keyring.with_list(SignedKeyList.sign(content, halves), secret)
