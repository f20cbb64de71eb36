"""The keys of the origin that a client talks to, as far as it believes them by now."""

from __future__ import annotations

import binascii

from sixledger.ledger.heads import SignedHead, VerifierKey, format_time
from sixledger.ledger.key_list import SignedKeyList, Trust

#: Before and after every time of a head, as text.
_FIRST, _LAST = "", "~"


class OriginKeys:
    """The key that signs now, and the list of all keys if the origin has published one. All tables share it."""

    def __init__(self, current: VerifierKey, key_list: SignedKeyList | None = None) -> None:
        """What was pinned or followed."""
        self.take(current, key_list)

    @classmethod
    def of(cls, keys: VerifierKey | OriginKeys) -> OriginKeys:
        """The keys themselves, or those of an origin of which only one is known."""
        return cls(keys) if isinstance(keys, VerifierKey) else keys

    def take(self, current: VerifierKey, key_list: SignedKeyList | None) -> None:
        """Believe these from now on."""
        self._held = (current, key_list)
        self._usual = _usual(current, key_list)

    @property
    def origin(self) -> str:
        """The name of the origin."""
        return self.current.origin

    @property
    def current(self) -> VerifierKey:
        """The key that signs now."""
        return self._held[0]

    @property
    def trust(self) -> Trust:
        """What a verifier is to trust: the list, or else the key."""
        current, key_list = self._held
        return current if key_list is None else key_list

    @property
    def keys(self) -> tuple[VerifierKey, ...]:
        """All keys that may have signed a head."""
        current, key_list = self._held
        return (current,) if key_list is None else key_list.verifier_keys

    def continues(self, key: str) -> bool:
        """True if `key`, a verifier key as text, is the current one, or one that signed the list of all."""
        current, key_list = self._held
        return key == str(current) or (key_list is not None and any(str(each) == key for each in key_list.signers))

    def wrong_key(self, signed: SignedHead) -> str:
        """Why the key of a head cannot have signed it just now, in words; empty: it can. No signature is checked."""
        current, key_list = self._held
        if key_list is not None:
            return key_list.judge(signed) or key_list.in_doubt(signed)
        known = signed.key_hash == current.hash and signed.head.origin == current.origin
        return "" if known else "its key is not the pinned one"

    def is_usual(self, note: str) -> bool:
        """True if a head names the current key and a time in its period: the common case, found without reading it.

        What is no right head may be called usual: whoever checks it will say so.
        """
        origin, key_hash, begin, end = self._usual
        lines = note.split("\n", 6)
        tail = note[note.rfind(" ") + 1 :]
        try:
            named = binascii.a2b_base64(tail[:8])[:4]
        except ValueError:
            return False
        return len(lines) == 7 and lines[1] == origin and named == key_hash and begin <= lines[5] < end

    def signed(self, signed: SignedHead) -> bool:
        """True if one of the keys signed the head."""
        return any(signed.signed_by(key) for key in self.keys)

    def was_good(self, signed: SignedHead) -> bool:
        """True if a head that was kept is to be believed: its key was good then, even if it was stolen since."""
        key_list = self._held[1]
        return self.signed(signed) and (key_list is None or not key_list.judge(signed))

    def __str__(self) -> str:
        """The key that signs now."""
        return str(self.current)


def _usual(current: VerifierKey, key_list: SignedKeyList | None) -> tuple[str, bytes, str, str]:
    """Origin and hash of the current key, its begin and its end as heads spell times."""
    begin, end = _FIRST, _LAST
    if key_list is not None:
        entry = key_list.content.find(current)
        if entry is None or entry.revoked_us is not None:
            return current.origin, current.hash, _LAST, _FIRST
        begin = begin if entry.not_before_us is None else format_time(entry.not_before_us)
        end = end if entry.not_after_us is None else format_time(entry.not_after_us)
    return current.origin, current.hash, begin, end
