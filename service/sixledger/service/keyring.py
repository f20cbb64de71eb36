"""The keys of a server: those that sign heads, with their published list, and one that authenticates tokens.

They live in a file of their own, readable by its owner alone. All replicas of a service share it.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.key_list import BadKeyList, SignedKeyList, first_list

#: Of a file with the one key that its origin ever had, and of one with several keys and their list.
_SINGLE, _LISTED = 1, 2


class KeyFileError(ValueError):
    """The key file cannot be used. Says why, without its content."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The private keys, 32 bytes each."""

    #: The newest key that signs heads.
    head_key: bytes = field(repr=False)
    token_key: bytes = field(repr=False)
    #: The keys that signed heads before it, oldest first.
    older_keys: tuple[bytes, ...] = field(default=(), repr=False)
    #: The signed list of all keys; empty while there is and was but one.
    key_list: str = ""

    @classmethod
    def generate(cls) -> Keyring:
        """New keys, from the operating system's randomness."""
        return cls(secrets.token_bytes(32), secrets.token_bytes(32))

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """The newest key that signs heads."""
        return Ed25519PrivateKey.from_private_bytes(self.head_key)

    @property
    def signing_keys(self) -> list[Ed25519PrivateKey]:
        """All keys that sign heads, oldest first."""
        return [Ed25519PrivateKey.from_private_bytes(key) for key in (*self.older_keys, self.head_key)]

    def signed_list(self, origin: str) -> SignedKeyList:
        """The published list of the keys of `origin`. Raises KeyFileError if they are another's, ValueError for a name.

        A single key has the first list, which is the same each time it is made.
        """
        if not self.key_list:
            return first_list(HeadSigner(origin, self.signing_key).verifier_key, self.signing_key)
        held = SignedKeyList.parse(self.key_list)
        if held.content.origin != origin:
            raise KeyFileError(f"the key file is of the origin {held.content.origin}, not of {origin}: name that one")
        return held

    def with_list(self, key_list: SignedKeyList, new_key: bytes | None = None) -> Keyring:
        """The same keys, and `new_key` as the newest, under a new list."""
        if new_key is None:
            return replace(self, key_list=key_list.note)
        older = (*self.older_keys, self.head_key)
        return replace(self, key_list=key_list.note, head_key=new_key, older_keys=older)

    @classmethod
    def load(cls, path: Path) -> Keyring:
        """The keys in a file. Raises KeyFileError or OSError."""
        if os.name == "posix" and path.stat().st_mode & 0o007:
            raise KeyFileError(f"{path} can be read by everybody: chmod 600 it, or make new keys if somebody may have")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] not in (_SINGLE, _LISTED):
                raise KeyFileError(f"{path} has a format that this release does not know")
            head_key, token_key = (_decoded(content[name]) for name in ("head_key", "token_key"))
            if content["format"] == _SINGLE:
                return cls(head_key, token_key)
            older = tuple(_decoded(key) for key in content["older_keys"])
            note = SignedKeyList.parse(content["key_list"]).note
        except KeyFileError:
            raise
        except BadKeyList as error:
            raise KeyFileError(f"{path} cannot be used: {error}; restore it") from None
        except _WrongLength:
            raise KeyFileError(f"{path} is no key file: its keys do not have 32 bytes") from None
        except (
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
            ValueError,
        ):  # so are those of JSON, UTF-8 and base64
            raise KeyFileError(f"{path} is no key file: restore it, or remove it to make new keys") from None
        return cls(head_key, token_key, older, note)

    def save(self, path: Path, *, over: bool = False) -> None:
        """Write the file, durably, for its owner alone.

        Raises FileExistsError if there is one, unless it is to be replaced (`over`).
        """
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written beside it and put into place, so that no other process ever reads half a file.
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(self._content(), indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            if over:
                if os.name == "posix":
                    _keep_readers(path, beside)
                beside.replace(path)
            else:
                os.link(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        if os.name == "posix":
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _content(self) -> dict[str, Any]:
        content = {"format": _SINGLE, "head_key": _encoded(self.head_key), "token_key": _encoded(self.token_key)}
        if not self.key_list:
            return content
        older = [_encoded(key) for key in self.older_keys]
        return content | {"format": _LISTED, "older_keys": older, "key_list": self.key_list}

    @classmethod
    def load_or_create(cls, path: Path) -> Keyring:
        """The keys in the file, made if there is none. Raises KeyFileError or OSError."""
        if not path.exists():
            with suppress(FileExistsError):  # another process was faster: its keys are ours
                cls.generate().save(path)
        return cls.load(path)


class _WrongLength(Exception):
    """A key does not have 32 bytes."""


def _decoded(text: str) -> bytes:
    key = base64.b64decode(text, validate=True)
    if len(key) != 32:
        raise _WrongLength
    return key


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _keep_readers(path: Path, beside: Path) -> None:
    """Let the group that may read the old file read the new one as well: a server may run as another user."""
    old = path.stat()
    new = beside.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.chown(beside, old.st_uid, old.st_gid)
    beside.chmod(old.st_mode & 0o770)
