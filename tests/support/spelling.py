"""How a secret could appear in a text."""

from __future__ import annotations

import base64


def spellings(secret: bytes) -> list[str]:
    """How bytes may appear in a text."""
    return [secret.hex(), base64.b64encode(secret).decode().rstrip("="), repr(secret)[2:-1], str(list(secret))]
