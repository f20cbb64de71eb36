"""How a secret could appear in a text, and a look for whatever of it does."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from google.protobuf.text_encoding import CEscape


def spellings(secret: bytes | str) -> list[str]:
    """How it may appear in a text: plain, as programs print bytes, and either of it inside a line of JSON."""
    if isinstance(secret, str):
        plain = [secret]
    else:
        plain = [
            secret.hex(),
            secret.hex().upper(),
            base64.b64encode(secret).decode().rstrip("="),
            base64.urlsafe_b64encode(secret).decode().rstrip("="),
            repr(secret)[2:-1],
            CEscape(secret, as_utf8=False),  # the repr of a message of protobuf
            str(list(secret)),
            str(int.from_bytes(secret, "big")),
        ]
    return list(dict.fromkeys([*plain, *(json.dumps(each)[1:-1] for each in plain)]))


def leaks(text: str, secrets: Mapping[str, bytes | str]) -> list[str]:
    """The names of the secrets that stand in a text, however they are spelled."""
    return [name for name, secret in secrets.items() if any(spelling in text for spelling in spellings(secret))]
