"""Whom to believe: the key of an origin is pinned at first contact, as ssh keeps the keys of hosts.

When an origin changes its key, its key list is followed, if a key that is trusted by then vouches for it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from sixledger.client.errors import (
    BadKeyList,
    BadTrustStore,
    KeyListRolledBack,
    KeyListsDiffer,
    KeyRevoked,
    OriginChanged,
)
from sixledger.client.files import write_private
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import SignedKeyList, Trust, short
from sixledger.ledger.key_succession import Step, step

_FORMAT = 1


class TrustStore:
    """The pinned keys and key lists, by origin, and which origin answered at which address.

    In memory, or in a JSON file with mode 0600 that every change replaces atomically. One store may serve
    many clients of a process.
    """

    def __init__(self, path: str | Path | None = None, keys: Iterable[str | VerifierKey] = ()) -> None:
        """`keys` are pinned from the start, as text `<origin>+<hash>+<base64 key>` or read already.

        Raises BadTrustStore if the file cannot be read, OriginChanged if it knows another key.
        """
        self.path = Path(path) if path is not None else None
        self._lock = Lock()
        self._keys: dict[str, VerifierKey] = {}
        self._lists: dict[str, SignedKeyList] = {}
        #: Keys that must never be trusted again, as text.
        self._revoked: set[str] = set()
        self._origins: dict[str, str] = {}
        self._load()
        for key in keys:
            self.pin(VerifierKey.parse(key) if isinstance(key, str) else key)

    @property
    def keys(self) -> list[VerifierKey]:
        """The key of each origin that signs now, sorted by origin."""
        with self._lock:
            return [self._keys[origin] for origin in sorted(self._keys)]

    def get(self, origin: str) -> VerifierKey | None:
        """The key of an origin that signs now; None if none is trusted."""
        with self._lock:
            return self._keys.get(origin)

    def key_list(self, origin: str) -> SignedKeyList | None:
        """The key list of an origin; None if it is not known to have had another key."""
        with self._lock:
            return self._lists.get(origin)

    def trusted(self, origin: str) -> Trust | None:
        """What a verifier is to trust for an origin: its key list, or else its pinned key.

        None if there is neither, or if the key that signs now was revoked, and no other vouches for the next.
        """
        with self._lock:
            current = self._keys.get(origin)
            if current is None or str(current) in self._revoked:
                return None
            return self._lists.get(origin) or current

    def pin(self, key: VerifierKey, address: str = "") -> None:
        """Pin a key that was met at `address`, or find that it is the pinned one, or in the trusted list.

        Raises OriginChanged if the origin has another key, or if another origin answered at the address; KeyRevoked if
        the key was revoked.
        """
        with self._lock:
            self._load()
            self._check_address(key.origin, address)
            self._check_revoked(key)
            pinned, held = self._keys.get(key.origin), self._lists.get(key.origin)
            listed = held is not None and (entry := held.content.find(key)) is not None and entry.revoked_us is None
            if pinned is not None and pinned != key and not listed:
                advice = "if its operator announced a new key, forget the pinned one"
                raise OriginChanged(f"{key.origin} shows the key {key}, pinned is {pinned}; {advice}")
            if pinned is None:
                self._keys[key.origin] = key
            if self._met(key.origin, address) or pinned is None:
                self._save()

    def follow(self, key_list: SignedKeyList, address: str = "", now_us: int | None = None) -> Step:
        """Take a key list of an origin in place of its pinned key or earlier list; SAME, or NEWER if it is news.

        At first contact it is believed as a key is. `now_us` is the reader's time, in microseconds since 1970.
        Raises OriginChanged if no trusted key vouches for it, KeyRevoked, KeyListRolledBack, KeyListsDiffer, or
        BadKeyList if it takes back what the earlier list says. Nothing but a revocation is kept then.
        """
        now_us = time.time_ns() // 1000 if now_us is None else now_us
        origin, content = key_list.content.origin, key_list.content
        with self._lock:
            self._load()
            self._check_address(origin, address)
            held: Trust | None = self._lists.get(origin) or self._keys.get(origin)
            found = Step.NEWER if held is None else step(held, key_list, now_us)
            if found not in (Step.SAME, Step.NEWER):
                assert held is not None
                raise self._refusal(found, held, key_list)
            signing = content.signing(now_us)
            current = signing.key if signing is not None else content.keys[-1].key
            self._check_revoked(current)
            known = self._keys.get(origin) == current and self._lists.get(origin) == key_list
            # A list that says no more than its key is not worth keeping.
            if content.number > 1 or len(content.keys) > 1 or content.time_us:
                self._lists[origin] = key_list
            else:
                known = self._keys.get(origin) == current
            self._keys[origin] = current
            self._revoked |= {str(entry.key) for entry in content.keys if entry.is_compromised}
            if self._met(origin, address) or not known:
                self._save()
            return Step.SAME if known else found

    def forget(self, origin: str) -> None:
        """Drop the keys of an origin and its addresses: the next key shown will be believed, unless it was revoked."""
        with self._lock:
            self._load()
            self._keys.pop(origin, None)
            self._lists.pop(origin, None)
            self._origins = {address: name for address, name in self._origins.items() if name != origin}
            self._save()

    def _refusal(self, found: Step, held: Trust, key_list: SignedKeyList) -> Exception:
        """The error for a list that must not be followed. A revocation is remembered."""
        content = key_list.content
        name = f"key list {content.number} of {content.origin}"
        if found is Step.OLDER:
            return KeyListRolledBack(f"{name} is older than one that it showed before")
        if found is Step.FORKED:
            assert isinstance(held, SignedKeyList)
            return KeyListsDiffer(f"there are two different versions of {name}", (held.note, key_list.note))
        if found is Step.REWRITTEN:
            return BadKeyList(f"{name} takes back what an earlier one says")
        if found is Step.REVOKED:
            trusted = {held} if isinstance(held, VerifierKey) else set(held.verifier_keys)
            gone = [e.key for e in content.keys if e.is_compromised and e.key in trusted & key_list.signers]
            self._revoked |= {str(key) for key in gone}
            self._save()
            return _revoked(gone[-1])
        shown = content.signing(content.time_us)
        advice = "if its operator announced a new key, forget the pinned one"
        which = f"the key {shown.key}" if shown is not None else name
        pinned = self._keys[content.origin]
        return OriginChanged(f"{content.origin} shows {which}; the pinned {pinned} does not vouch for it; {advice}")

    def _check_address(self, origin: str, address: str) -> None:
        before = self._origins.get(address, origin) if address else origin
        if before != origin:
            raise OriginChanged(f"at {address} answers {origin}, before it was {before}")

    def _check_revoked(self, key: VerifierKey) -> None:
        if str(key) in self._revoked:
            raise _revoked(key)

    def _met(self, origin: str, address: str) -> bool:
        """Note who answers at an address; True if that is news."""
        if not address or address in self._origins:
            return False
        self._origins[address] = origin
        return True

    def _load(self) -> None:
        """Take what the file holds by now: other processes pin keys too."""
        if self.path is None or not self.path.exists():
            return
        try:
            content: Any = json.loads(self.path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError("unknown format")
            keys = [VerifierKey.parse(text) for text in content["keys"]]
            origins = {str(address): str(origin) for address, origin in content["addresses"].items()}
            lists = {origin: _list_of(origin, note) for origin, note in content.get("key_lists", {}).items()}
            revoked = {str(VerifierKey.parse(text)) for text in content.get("revoked", [])}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadTrustStore(f"{self.path} is no trust store that this build can read") from error
        self._keys = {key.origin: key for key in keys}
        self._lists = lists
        self._revoked = revoked
        self._origins = origins

    def _save(self) -> None:
        if self.path is None:
            return
        content: dict[str, Any] = {
            "format": _FORMAT,
            "keys": [str(self._keys[origin]) for origin in sorted(self._keys)],
            "addresses": dict(sorted(self._origins.items())),
        }
        if self._lists:
            content["key_lists"] = {origin: self._lists[origin].note for origin in sorted(self._lists)}
        if self._revoked:
            content["revoked"] = sorted(self._revoked)
        write_private(self.path, json.dumps(content, indent=2) + "\n")

    def __repr__(self) -> str:
        """Where it is and how much it holds."""
        return f"TrustStore(path={str(self.path) if self.path else None!r}, {len(self._keys)} keys)"


def _list_of(origin: str, note: str) -> SignedKeyList:
    key_list = SignedKeyList.parse(note)
    if key_list.content.origin != origin:
        raise ValueError("a key list of another origin")
    return key_list


def _revoked(key: VerifierKey) -> KeyRevoked:
    advice = "ask its operator for the new key on another way, forget the old one and trust that"
    return KeyRevoked(f"the key {short(key)} is compromised, by its own word: {advice}")
