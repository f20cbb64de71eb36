"""Whom to believe: the key of an origin is pinned at first contact, as ssh keeps the keys of hosts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from sixledger.client.errors import BadTrustStore, OriginChanged
from sixledger.client.files import write_private
from sixledger.ledger.heads import VerifierKey

_FORMAT = 1


class TrustStore:
    """The pinned keys, by origin, and which origin answered at which address.

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
        self._origins: dict[str, str] = {}
        self._load()
        for key in keys:
            self.pin(VerifierKey.parse(key) if isinstance(key, str) else key)

    @property
    def keys(self) -> list[VerifierKey]:
        """The pinned keys, sorted by origin."""
        with self._lock:
            return [self._keys[origin] for origin in sorted(self._keys)]

    def get(self, origin: str) -> VerifierKey | None:
        """The pinned key of an origin; None if there is none."""
        with self._lock:
            return self._keys.get(origin)

    def pin(self, key: VerifierKey, address: str = "") -> None:
        """Pin a key that was met at `address`, or find that it is the pinned one.

        Raises OriginChanged if the origin has another key, or if another origin answered at the address.
        """
        with self._lock:
            self._load()
            pinned = self._keys.get(key.origin)
            if pinned is not None and pinned != key:
                advice = "if its operator announced a new key, forget the pinned one"
                raise OriginChanged(f"{key.origin} shows the key {key}, pinned is {pinned}; {advice}")
            before = self._origins.get(address, key.origin) if address else key.origin
            if before != key.origin:
                raise OriginChanged(f"at {address} answers {key.origin}, before it was {before}")
            if pinned is None or (address and address not in self._origins):
                self._keys[key.origin] = key
                if address:
                    self._origins[address] = key.origin
                self._save()

    def forget(self, origin: str) -> None:
        """Drop the key of an origin and its addresses: the next key shown will be believed."""
        with self._lock:
            self._load()
            self._keys.pop(origin, None)
            self._origins = {address: name for address, name in self._origins.items() if name != origin}
            self._save()

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
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadTrustStore(f"{self.path} is no trust store that this build can read") from error
        self._keys = {key.origin: key for key in keys}
        self._origins = origins

    def _save(self) -> None:
        if self.path is None:
            return
        content = {
            "format": _FORMAT,
            "keys": [str(self._keys[origin]) for origin in sorted(self._keys)],
            "addresses": dict(sorted(self._origins.items())),
        }
        write_private(self.path, json.dumps(content, indent=2) + "\n")

    def __repr__(self) -> str:
        """Where it is and how much it holds."""
        return f"TrustStore(path={str(self.path) if self.path else None!r}, {len(self._keys)} keys)"
