r"""Signed heads: short notes in which an origin vouches for a ledger up to a record.

The note follows C2SP signed-note: the text, an empty line, and a line per signature. The text is

    sixledger-head/1\n<origin>\n<match, hex>\n<count>\n<base64 H>\n<time of the last record>\n
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import ed25519, keys
from sixledger.ledger.hashing import sha256

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT = re.compile(
    r"sixledger-head/1\n(?P<origin>[^\n]+)\n(?P<match>[0-9a-f]{32})\n(?P<count>[1-9][0-9]{0,18})\n"
    r"(?P<hash>[A-Za-z0-9+/]{43}=)\n(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z)\n"
)
_ORIGIN = re.compile(r"[^\s+\x00-\x1f\x7f]{1,128}")
_ED25519 = b"\x01"
#: Largest time that fits the four-digit year of a head, in microseconds.
MAX_TIME_US = 253_402_300_799_999_999


class BadNote(ValueError):
    """The text is no signed head. Says what is wrong."""


def check_origin(name: str) -> str:
    """The name itself, if it can be the name of an origin. Raises ValueError."""
    if not _ORIGIN.fullmatch(name):
        raise ValueError(f"origin {name!r} must have 1 to 128 characters without spaces and '+'")
    return name


@lru_cache(maxsize=64)
def _format_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S").zfill(19)


def format_time(time_us: int) -> str:
    """RFC 3339 time in UTC with microseconds."""
    second, rest = divmod(time_us, 1_000_000)
    return f"{_format_second(second)}.{rest:06d}Z"


def parse_time(text: str) -> int:
    """Microseconds since 1970-01-01 of a time as `format_time` spells it. Raises ValueError."""
    stamp = datetime.fromisoformat(text).replace(tzinfo=UTC)  # other spellings are found out below
    time_us = (stamp - _EPOCH) // timedelta(microseconds=1)
    if format_time(time_us) != text:
        raise ValueError("the time is not written in its canonical form")
    return time_us


def b64(data: bytes) -> str:
    """Standard base64 with padding."""
    return binascii.b2a_base64(data, newline=False).decode()


def strict_base64(text: str) -> bytes:
    """Decode standard base64 with padding in its only canonical spelling. Raises ValueError."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("no valid base64") from error
    if b64(data) != text:
        raise ValueError("base64 is not canonical")
    return data


@dataclass(frozen=True, slots=True)
class Head:
    """What an origin vouches for: the first `count` records of a match end with the hash `hash`."""

    origin: str
    match_id: bytes
    count: int
    hash: bytes
    time_us: int

    def text(self) -> str:
        """The signed text."""
        return _text(self.origin, self.match_id, self.count, self.hash, self.time_us)


def _text(origin: str, match_id: bytes, count: int, record_hash: bytes, time_us: int) -> str:
    """The text of a head; a signer needs no object for it."""
    encoded, stamp = b64(record_hash), format_time(time_us)
    return f"sixledger-head/1\n{origin}\n{match_id.hex()}\n{count}\n{encoded}\n{stamp}\n"


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public key of an origin. As text: `<origin>+<key hash, hex>+<base64 of 0x01 and the key>`."""

    origin: str
    public_key: bytes

    @property
    def hash(self) -> bytes:
        """Short name of the key in signature lines, 4 bytes."""
        return sha256(self.origin.encode(), b"\n", _ED25519, self.public_key)[:4]

    def __str__(self) -> str:
        """The textual form."""
        return f"{self.origin}+{self.hash.hex()}+{b64(_ED25519 + self.public_key)}"

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Read the textual form. Raises ValueError."""
        parts = text.strip().split("+", 2)
        if len(parts) != 3:
            raise ValueError("a verifier key looks like <origin>+<hash>+<base64 key>")
        data = strict_base64(parts[2])
        if data[:1] != _ED25519:
            raise ValueError("the verifier key is not of type Ed25519")
        keys.load_public_key(data[1:])
        key = cls(check_origin(parts[0]), data[1:])
        if key.hash.hex() != parts[1]:
            raise ValueError("the hash in the verifier key does not fit the key")
        return key


class HeadSigner:
    """Signs heads for one origin. Deterministic, so replicas agree and nothing is stored."""

    def __init__(self, origin: str, private_key: Ed25519PrivateKey) -> None:
        """Raises ValueError if `origin` cannot be the name of an origin."""
        self.origin = check_origin(origin)
        self._sign = ed25519.signing(private_key)
        self._key = VerifierKey(origin, keys.public_bytes(private_key))
        self._key_hash = self._key.hash

    @property
    def verifier_key(self) -> VerifierKey:
        """The key with which others check what is signed now."""
        return self._key

    @property
    def verifier_keys(self) -> tuple[VerifierKey, ...]:
        """All keys that may have signed a head of the origin."""
        return (self.verifier_key,)

    def sign(self, match_id: bytes, count: int, record_hash: bytes, time_us: int) -> str:
        """The signed note for the first `count` records of a match."""
        text = _text(self.origin, match_id, count, record_hash, time_us)
        return f"{text}\n— {self.origin} {b64(self._key_hash + self._sign(text.encode()))}\n"


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with its signature, read but not verified."""

    head: Head
    note: str
    key_hash: bytes
    signature: bytes

    @classmethod
    def parse(cls, note: str) -> SignedHead:
        """Read a note with exactly one signature, by the origin itself. Raises BadNote."""
        text, separator, tail = note.partition("\n\n")
        match = _TEXT.fullmatch(text + "\n")
        if not separator or match is None:
            raise BadNote("the text is no head")
        origin = match["origin"]
        if not _ORIGIN.fullmatch(origin):
            raise BadNote("the origin of the head is not a possible name")
        prefix = f"— {origin} "
        if not tail.startswith(prefix) or not tail.endswith("\n") or tail.count("\n") != 1:
            raise BadNote("the head has no signature line of its origin")
        try:
            data = strict_base64(tail[len(prefix) : -1])
            time_us = parse_time(match["time"])
            record_hash = strict_base64(match["hash"])
        except ValueError as error:
            raise BadNote("the head cannot be read") from error
        if len(data) != 68:
            raise BadNote("the signature of the head is not 64 bytes")
        head = Head(origin, bytes.fromhex(match["match"]), int(match["count"]), record_hash, time_us)
        if head.text() != text + "\n":
            raise BadNote("the head is not written in its canonical form")
        return cls(head, note, data[:4], data[4:])

    def signed_by(self, key: VerifierKey) -> bool:
        """True if `key` is of this origin and its signature fits."""
        return (
            key.origin == self.head.origin
            and key.hash == self.key_hash
            and keys.verify_kept(key.public_key, self.signature, self.head.text().encode())
        )


def split_notes(text: str) -> list[str]:
    """The notes of a text in which they stand one after the other; blank lines between them do no harm.

    Line ends of Windows are taken for plain ones: people send such texts by mail. Raises BadNote if anything in
    the text is no head, or if there is none.
    """
    pieces = re.split(r"^(?=sixledger-head/)", text.removeprefix("\ufeff").replace("\r\n", "\n"), flags=re.MULTILINE)
    notes = [piece.strip("\n") + "\n" for piece in pieces[1:]]
    if pieces[0].strip() or not notes:
        raise BadNote("a head begins with the line sixledger-head/1")
    for number, note in enumerate(notes, 1):
        try:
            SignedHead.parse(note)
        except BadNote as error:
            raise BadNote(f"head {number} of {len(notes)}: {error}") from error
    return notes
