"""The keys of a server: one signs heads, one authenticates tokens.

They live in a file of their own, readable by its owner alone. All replicas of a service share it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_FORMAT = 1


class KeyFileError(ValueError):
    """The key file cannot be used. Says why, without its content."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """Both keys, 32 bytes each."""

    head_key: bytes = field(repr=False)
    token_key: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> Keyring:
        """New keys, from the operating system's randomness."""
        return cls(secrets.token_bytes(32), secrets.token_bytes(32))

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """The key that signs heads."""
        return Ed25519PrivateKey.from_private_bytes(self.head_key)

    @classmethod
    def load(cls, path: Path) -> Keyring:
        """The keys in a file. Raises KeyFileError or OSError."""
        if os.name == "posix" and path.stat().st_mode & 0o007:
            raise KeyFileError(f"{path} can be read by everybody: chmod 600 it, or make new keys if somebody may have")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise KeyFileError(f"{path} has a format that this release does not know")
            keys = [base64.b64decode(content[name], validate=True) for name in ("head_key", "token_key")]
        except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError, binascii.Error):
            raise KeyFileError(f"{path} is no key file: restore it, or remove it to make new keys") from None
        if any(len(key) != 32 for key in keys):
            raise KeyFileError(f"{path} is no key file: its keys do not have 32 bytes")
        return cls(*keys)

    def save(self, path: Path) -> None:
        """Write a new file, durably, for its owner alone. Raises FileExistsError if there is one."""
        keys = {"head_key": self.head_key, "token_key": self.token_key}
        encoded = {name: base64.b64encode(key).decode() for name, key in keys.items()}
        text = json.dumps({"format": _FORMAT, **encoded}, indent=1) + "\n"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written beside it and linked into place, so that no other process ever reads half a file.
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.link(beside, path)
        finally:
            beside.unlink()
        if os.name == "posix":
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @classmethod
    def load_or_create(cls, path: Path) -> Keyring:
        """The keys in the file, made if there is none. Raises KeyFileError or OSError."""
        if not path.exists():
            with suppress(FileExistsError):  # another process was faster: its keys are ours
                cls.generate().save(path)
        return cls.load(path)
