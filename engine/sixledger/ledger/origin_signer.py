"""Signing heads with several keys, each in its period: how an origin changes its key while it works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import keys
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.ledger.key_list import SignedKeyList


def _wall_clock() -> int:
    return time.time_ns() // 1000


class OriginSigner(HeadSigner):
    """Signs each head with the key whose period holds its time, so that all replicas sign alike.

    The keys and their list can be replaced while others sign. Where no key may sign, as the last one has ended without
    a successor, the newest that was not revoked signs on: a verifier will say that it had expired, but nobody's match
    stops.
    """

    def __init__(
        self,
        private_keys: Iterable[Ed25519PrivateKey],
        key_list: SignedKeyList,
        clock: Callable[[], int] = _wall_clock,
    ) -> None:
        """`clock` gives microseconds since 1970-01-01 UTC. Raises ValueError if a key that is needed is missing."""
        self._clock = clock
        #: Grows whenever the keys are replaced.
        self.generation = 0
        self._adopt(private_keys, key_list)

    def replace(self, private_keys: Iterable[Ed25519PrivateKey], key_list: SignedKeyList) -> bool:
        """Sign with these from now on; False if the list is the one in use. Raises ValueError, and goes on as before.

        A list of another origin is refused, and so is one with a lower number: clients would refuse it.
        """
        held = self.signed_list.content
        if key_list.content.origin != held.origin:
            raise ValueError(f"the key list is of {key_list.content.origin}, not of {held.origin}")
        if key_list.content.number < held.number:
            raise ValueError(f"key list {key_list.content.number} is older than the one in use, {held.number}")
        if key_list.content == held:
            return False
        self._adopt(private_keys, key_list)
        self.generation += 1
        return True

    def _adopt(self, private_keys: Iterable[Ed25519PrivateKey], key_list: SignedKeyList) -> None:
        origin = key_list.content.origin
        halves = {keys.public_bytes(private): private for private in private_keys}
        good = [entry.key for entry in key_list.content.keys if entry.revoked_us is None]
        if not good:
            raise ValueError(f"every key of {origin} is revoked: make a new one")
        missing = [key.hash.hex() for key in good if key.public_key not in halves]
        if missing:
            raise ValueError(f"the private half of the key {missing[0]} is missing")
        listed = [entry.key for entry in key_list.content.keys if entry.key.public_key in halves]
        signers = {key: HeadSigner(origin, halves[key.public_key]) for key in listed}
        # One assignment: others sign meanwhile.
        self._held = (key_list, signers, signers[good[-1]])
        self.origin = origin

    @property
    def signed_list(self) -> SignedKeyList:
        """The keys of the origin, as they are published."""
        return self._held[0]

    @property
    def verifier_key(self) -> VerifierKey:
        """The key that signs what happens now."""
        return self._at(self._clock()).verifier_key

    @property
    def verifier_keys(self) -> tuple[VerifierKey, ...]:
        """All keys that may have signed a head."""
        return self.signed_list.verifier_keys

    def sign(self, match_id: bytes, count: int, record_hash: bytes, time_us: int) -> str:
        """The signed note for the first `count` records of a match."""
        return self._at(time_us).sign(match_id, count, record_hash, time_us)

    def _at(self, time_us: int) -> HeadSigner:
        key_list, signers, newest = self._held
        entry = key_list.content.signing(time_us)
        return newest if entry is None else signers.get(entry.key, newest)
