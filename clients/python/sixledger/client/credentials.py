"""What a player must keep to go on with a seat after a restart."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.client.errors import BadCredentials
from sixledger.client.files import file_fault, folder_fault, make_private_folder, write_private
from sixledger.ledger import keys
from sixledger.ledger.hashing import sha256

_FORMAT = 1


@dataclass(slots=True)
class Credentials:
    """A seat of a match and the secrets that go with it. `repr` shows none of them.

    Made before joining, so that a join whose reply got lost can be repeated and gives the same seat.
    """

    match_id: bytes
    seat: int
    #: 32 bytes from which the request ids of joining, contributing and resigning follow.
    secret: bytes = field(repr=False)
    #: Seed of the seat's Ed25519 key, 32 bytes; empty if the seat does not sign.
    private_key: bytes = field(default=b"", repr=False)
    #: The contribution to the randomness, 32 bytes; empty if there is none.
    contribution: bytes = field(default=b"", repr=False)
    #: Lets its holder act for the seat; empty before joining.
    token: str = field(default="", repr=False)
    #: Name shown to people.
    display_name: str = ""
    #: Verifier key of the origin with which the match began; empty before joining.
    origin_key: str = ""
    #: What let its holder join a private table; empty at others. A secret like the token.
    invitation: str = field(default="", repr=False)
    #: Where `save` writes; None until the first `save` or `load` with a path.
    path: Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises BadCredentials for lengths that cannot be right."""
        if len(self.match_id) != 16 or len(self.secret) != 32:
            raise BadCredentials("a match id has 16 bytes and the secret of a seat 32")
        if len(self.private_key) not in (0, 32) or len(self.contribution) not in (0, 32):
            raise BadCredentials("a private key and a contribution have 32 bytes, or none")

    @classmethod
    def new(
        cls,
        match_id: bytes,
        seat: int,
        *,
        sign: bool = True,
        contribute: bool = True,
        display_name: str = "",
        invitation: str = "",
    ) -> Credentials:
        """Fresh secrets for a seat: a key unless `sign` is false, a contribution unless `contribute` is false."""
        return cls(
            match_id,
            seat,
            secrets.token_bytes(32),
            secrets.token_bytes(32) if sign else b"",
            secrets.token_bytes(32) if contribute else b"",
            display_name=display_name,
            invitation=invitation,
        )

    @property
    def public_key(self) -> bytes:
        """The seat's Ed25519 key, 32 bytes; empty if the seat does not sign."""
        return keys.public_bytes(self._key()) if self.private_key else b""

    @property
    def receipt_path(self) -> Path | None:
        """Where the client keeps the latest signed head of the match: beside the credentials; None without a file."""
        if self.path is None:
            return None
        return self.path.with_name(f"{self.path.stem}.{self.match_id.hex()[:12]}.head")

    @property
    def contributes(self) -> bool:
        """True if the seat contributes to the randomness."""
        return bool(self.contribution)

    def sign(self, kind: keys.ActKind, decision: int, observed_head: bytes, request_id: bytes, payload: bytes) -> bytes:
        """The signature of an act, 64 bytes; empty if the seat does not sign."""
        if not self.private_key:
            return b""
        message = keys.act_message(self.match_id, self.seat, kind, decision, observed_head, request_id, payload)
        return self._key().sign(message)

    def request_id(self, purpose: str) -> bytes:
        """The request id of an act that happens once, 16 bytes: join, leave, ready, commitment, contribution or resign.

        Derived, so that a restarted process repeats the act instead of trying it a second time.
        """
        return sha256(f"sixledger/{purpose}/1\n".encode(), self.match_id, self.secret)[:16]

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private_key)

    def save(self, path: str | Path | None = None) -> None:
        """Write everything, secrets included, to a file with mode 0600; without `path` where it was before.

        Folders that are missing are made, for their owner alone. Raises BadCredentials for a folder in which everybody
        can write.
        """
        self.path = Path(path) if path is not None else self.path
        if self.path is None:
            raise BadCredentials("the credentials have no file yet: give a path")
        make_private_folder(self.path.parent)
        if fault := folder_fault(self.path.parent):
            raise BadCredentials(fault)
        content = {
            "format": _FORMAT,
            "match": self.match_id.hex(),
            "seat": self.seat,
            "display_name": self.display_name,
            "origin_key": self.origin_key,
            "token": self.token,
            "invitation": self.invitation,
            "secret": _text(self.secret),
            "private_key": _text(self.private_key),
            "contribution": _text(self.contribution),
        }
        write_private(self.path, json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Credentials:
        """Read a file of `save`.

        Raises BadCredentials if it is none, if others may read or replace it, or if it belongs to another user.
        """
        path = Path(path)
        try:
            if fault := file_fault(path):
                raise BadCredentials(fault)
            content: Any = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError("unknown format")
            return cls(
                bytes.fromhex(content["match"]),
                int(content["seat"]),
                _bytes(content["secret"]),
                _bytes(content["private_key"]),
                _bytes(content["contribution"]),
                str(content["token"]),
                str(content["display_name"]),
                str(content["origin_key"]),
                str(content.get("invitation", "")),
                path,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            # Not chained: a JSON error quotes the document.
            raise BadCredentials(
                f"{path} holds no credentials that this build can read ({type(error).__name__})"
            ) from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
