"""Fields that several requests have, and what may stand in them. Everything here raises MALFORMED."""

from __future__ import annotations

from sixledger.service.errors import malformed


def check_match_id(match_id: bytes, field: str = "match_id") -> bytes:
    """The id of a match, 16 bytes."""
    if len(match_id) != 16:
        raise malformed(field, "must be 16 bytes")
    return match_id


def check_request_id(request_id: bytes, field: str) -> None:
    """A request id, 16 bytes."""
    if len(request_id) != 16:
        raise malformed(field, "must be 16 bytes")


#: Longest command, in bytes: no game has longer ones, and each is kept for ever.
MAX_COMMAND_BYTES = 16_384


def check_command(command: bytes, field: str = "command") -> None:
    """A serialised Command, by its size."""
    if len(command) > MAX_COMMAND_BYTES:
        raise malformed(field, f"has more than {MAX_COMMAND_BYTES} bytes")


def check_signing(observed_head: bytes, signature: bytes, prefix: str) -> None:
    """What a signed act has; `prefix` is the path of the fields, with a dot at its end."""
    if len(observed_head) not in {0, 32}:
        raise malformed(f"{prefix}observed_head", "must be 32 bytes, or absent")
    if len(signature) not in {0, 64}:
        raise malformed(f"{prefix}signature", "must be 64 bytes, or absent")


def check_name(name: str) -> str:
    """A name that is shown to people."""
    if len(name) > 64:
        raise malformed("display_name", "has more than 64 characters")
    if not name.isprintable():
        raise malformed("display_name", "has characters that cannot be shown")
    return name


def check_page_size(size: int, most: int) -> int:
    """The size of a page, 0 for the default."""
    if size > most:
        raise malformed("page_size", f"must be 1 to {most}, or 0 for the default")
    return size
