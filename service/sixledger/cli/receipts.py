"""Files of signed heads: what somebody kept of a match, given with `--receipt`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sixledger.cli.failures import Failure, one_line, unusable
from sixledger.ledger import file
from sixledger.ledger.heads import BadNote, SignedHead, split_notes

#: The largest file of heads that is read: far more than a match can have.
_MAX_BYTES = 32 << 20
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Receipts:
    """Signed heads by the match that they are of, not yet held against anything."""

    by_match: dict[bytes, list[SignedHead]] = field(default_factory=dict)

    def of(self, match_id: bytes) -> tuple[str, ...]:
        """The notes of one match, in the order in which they were given."""
        return tuple(signed.note for signed in self.by_match.get(match_id, ()))

    def notes(self) -> dict[str, tuple[str, ...]]:
        """All notes, by match in hexadecimal."""
        return {match_id.hex(): self.of(match_id) for match_id in self.by_match}

    def complaint(self, matches: Iterable[bytes]) -> str:
        """What to say if some heads are of none of `matches`; empty if all are of one."""
        strangers = sorted(self.by_match.keys() - set(matches))
        if not strangers:
            return ""
        names = ", ".join(each.hex() for each in strangers)
        return f"a receipt is of match {names}, and no ledger that was given is: it was held against nothing"


def read_receipts(paths: Sequence[str] | None) -> Receipts:
    """The heads in these files. Raises Failure if one of them holds anything else."""
    found = Receipts()
    for path in paths or ():
        for signed in read_heads(path):
            heads = found.by_match.setdefault(signed.head.match_id, [])
            if all(each.note != signed.note for each in heads):
                heads.append(signed)
    return found


def read_heads(path: str) -> list[SignedHead]:
    """The heads in one file, one or several. Raises Failure."""
    data = _read(path)
    if is_ledger(data):
        raise unusable(
            f"{path} is a ledger, not signed heads: hold two ledgers against each other with: sixledger compare"
        )
    return parse_heads(path, data)


def parse_heads(path: str, data: bytes) -> list[SignedHead]:
    """The heads in the bytes of a file. Raises Failure."""
    try:
        return [SignedHead.parse(note) for note in split_notes(data.decode("utf-8"))]
    except (BadNote, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, BadNote) else "not a text"
        raise unusable(f"{path} holds no signed heads: {one_line(reason)}") from None


def is_ledger(data: bytes) -> bool:
    """True if the bytes begin as a ledger does, plain or gzipped."""
    return data.startswith((file.MAGIC, _GZIP))


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise unusable(f"{path}: {error.strerror or error}") from None
    if len(data) > _MAX_BYTES and not is_ledger(data):
        raise Failure(f"{path} is too large for a file of signed heads", 2)
    return data
