r"""The keys of an origin with their periods, as the origin publishes them: a signed note, for people and programs.

    sixledger-keys/1\n<origin>\n<number>\n<time of this list>\n
    <verifier key> from <time or -> until <time or ->[ revoked <time> <reason>]\n     a line per key, oldest first

Then an empty line and a signature line per key, as in a signed head. The number grows by every change. Keys stay in
the list for ever. A period holds the times of heads, that is of the last record they cover: from its begin until
just before its end; `-` is no bound. All keys whose private half the origin has sign the list, so that whoever knows
one of them can follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger import keys
from sixledger.ledger.heads import SignedHead, VerifierKey, b64, check_origin, format_time, parse_time, strict_base64

MAGIC = "sixledger-keys/1\n"
#: Limits of a list.
MAX_KEYS = 64
MAX_CHARACTERS = 1 << 16

_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z"
_HEADING = re.compile(rf"{MAGIC}(?P<origin>[^\n]+)\n(?P<number>[1-9][0-9]{{0,8}})\n(?P<time>{_TIME})\n")
_LINE = re.compile(
    rf"(?P<key>[^ \n]+) from (?P<start>-|{_TIME}) until (?P<end>-|{_TIME})"
    rf"( revoked (?P<since>{_TIME}) (?P<reason>[a-z]+))?"
)


class BadKeyList(ValueError):
    """The text is no key list that can be believed. Says what is wrong."""


class Reason(StrEnum):
    """Why a key was revoked."""

    #: Somebody else has it, or may have it: what it signed is in doubt.
    COMPROMISED = "compromised"
    #: Nobody has it any more.
    LOST = "lost"
    #: Another key took its place before its time.
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key and its life. Times in microseconds since 1970-01-01 UTC; None: no bound."""

    key: VerifierKey
    not_before_us: int | None = None
    not_after_us: int | None = None
    revoked_us: int | None = None
    reason: Reason | None = None

    @property
    def is_compromised(self) -> bool:
        """True if somebody else may sign with it."""
        return self.reason is Reason.COMPROMISED

    def covers(self, time_us: int) -> bool:
        """True if the time is in its period, whether it was revoked or not."""
        begun = self.not_before_us is None or self.not_before_us <= time_us
        return begun and (self.not_after_us is None or time_us < self.not_after_us)

    def signs(self, time_us: int) -> bool:
        """True if it may sign heads of this time."""
        revoked = self.is_compromised or (self.revoked_us is not None and self.revoked_us <= time_us)
        return self.covers(time_us) and not revoked

    def state(self, now_us: int) -> str:
        """In a word for people: waiting, active, retired or revoked."""
        if self.revoked_us is not None:
            return "revoked"
        if self.covers(now_us):
            return "active"
        return "waiting" if self.not_before_us is not None and now_us < self.not_before_us else "retired"

    def line(self) -> str:
        """Its line in the list."""
        text = f"{self.key} from {_time_text(self.not_before_us)} until {_time_text(self.not_after_us)}"
        if self.revoked_us is None:
            return text
        return f"{text} revoked {format_time(self.revoked_us)} {self.reason}"


@dataclass(frozen=True, slots=True)
class KeyList:
    """One version of an origin's list, without signatures."""

    origin: str
    number: int
    time_us: int
    keys: tuple[ListedKey, ...]

    def text(self) -> str:
        """The signed text."""
        lines = "".join(f"{each.line()}\n" for each in self.keys)
        return f"{MAGIC}{self.origin}\n{self.number}\n{format_time(self.time_us)}\n{lines}"

    def find(self, key: VerifierKey) -> ListedKey | None:
        """The entry of a key."""
        return next((each for each in self.keys if each.key == key), None)

    def signing(self, time_us: int) -> ListedKey | None:
        """The key that signs heads of this time: of several the newest. None: no key may."""
        return next((each for each in reversed(self.keys) if each.signs(time_us)), None)

    def check(self) -> None:
        """Raise BadKeyList if the list contradicts itself."""
        if not 1 <= len(self.keys) <= MAX_KEYS:
            raise BadKeyList(f"a key list has 1 to {MAX_KEYS} keys")
        if any(each.key.origin != self.origin for each in self.keys):
            raise BadKeyList("the key list names a key of another origin")
        if len({each.key.hash for each in self.keys}) != len(self.keys):
            raise BadKeyList("the key list names a key twice")
        for each in self.keys:
            start, end = each.not_before_us, each.not_after_us
            if start is not None and end is not None and not start < end:
                raise BadKeyList(f"the period of the key {short(each.key)} ends before it begins")


@dataclass(frozen=True, slots=True)
class SignedKeyList:
    """A list with its signatures, which were verified: each is of a key in the list."""

    content: KeyList
    note: str
    signers: frozenset[VerifierKey]

    @classmethod
    def parse(cls, note: str) -> SignedKeyList:
        """Read and verify a signed list. Raises BadKeyList.

        The key that signs heads at the time of the list must have signed it, and so must the newest key unless it
        was revoked. Whether those keys are the origin's is for whoever knows one of them to say.
        """
        if len(note) > MAX_CHARACTERS:
            raise BadKeyList(f"the key list is longer than {MAX_CHARACTERS} characters")
        try:
            note.encode()
        except UnicodeEncodeError as error:
            raise BadKeyList("the key list is no text in UTF-8") from error
        text, separator, tail = note.partition("\n\n")
        if not separator:
            raise BadKeyList("the key list is not signed")
        content = _content(text + "\n")
        signed = cls(content, note, _signers(content, text + "\n", tail))
        newest, lead = content.keys[-1], content.signing(content.time_us)
        needed = [each.key for each in (newest, lead) if each is not None and each.revoked_us is None]
        if not signed.signers or any(key not in signed.signers for key in needed):
            raise BadKeyList("the key list is not signed by the key in force and the newest key")
        return signed

    @classmethod
    def sign(cls, content: KeyList, private_keys: Iterable[Ed25519PrivateKey]) -> SignedKeyList:
        """The list signed by those of the keys that are in it. Deterministic. Raises BadKeyList."""
        content.check()
        halves = {keys.public_bytes(private): private for private in private_keys}
        text = content.text()
        lines = []
        for each in content.keys:
            if (private := halves.get(each.key.public_key)) is not None:
                data = each.key.hash + private.sign(text.encode())
                lines.append(f"— {content.origin} {b64(data)}\n")
        return cls.parse(f"{text}\n{''.join(lines)}")

    @property
    def verifier_keys(self) -> tuple[VerifierKey, ...]:
        """All keys, oldest first."""
        return tuple(each.key for each in self.content.keys)

    def entry(self, signed: SignedHead) -> ListedKey | None:
        """The entry of the key that a head names."""
        return next((each for each in self.content.keys if each.key.hash == signed.key_hash), None)

    def judge(self, signed: SignedHead) -> str:
        """What is wrong with the key of a head by this list, in words; empty: nothing. The signature is not checked.

        A head from before its key was compromised passes: see `in_doubt`.
        """
        entry = self.entry(signed)
        if entry is None:
            return f"its key {signed.key_hash.hex()} is not in the key list of {self.content.origin}"
        name, time_us = f"the key {entry.key.hash.hex()}", signed.head.time_us
        stamp = format_time(time_us)
        if entry.not_before_us is not None and time_us < entry.not_before_us:
            return f"{name} was not yet valid: it is from {format_time(entry.not_before_us)}, the head is of {stamp}"
        if entry.revoked_us is not None and time_us >= entry.revoked_us:
            since = format_time(entry.revoked_us)
            if entry.is_compromised:
                return f"{name} is compromised since {since}, the head is of {stamp}: it proves nothing"
            return f"{name} was revoked ({entry.reason}) at {since}, the head is of {stamp}"
        if entry.not_after_us is not None and time_us >= entry.not_after_us:
            return f"{name} had expired: it was valid until {format_time(entry.not_after_us)}, the head is of {stamp}"
        return ""

    def in_doubt(self, signed: SignedHead) -> str:
        """Why a head proves nothing to those who did not get it in time, in words; empty: it is not in doubt."""
        entry = self.entry(signed)
        if entry is None or not entry.is_compromised or entry.revoked_us is None:
            return ""
        return (
            f"the key {entry.key.hash.hex()} is compromised since {format_time(entry.revoked_us)}: whoever has it can "
            "sign heads with earlier times, so only a receipt that was kept from before proves anything"
        )


#: Whom a verifier trusts for an origin: one key, for all times, or the list of its keys.
Trust: TypeAlias = VerifierKey | SignedKeyList


def parse_trust(text: str) -> Trust:
    """A verifier key or a signed key list, whichever it is. Raises ValueError."""
    return SignedKeyList.parse(text) if text.startswith(MAGIC) else VerifierKey.parse(text)


def first_list(key: VerifierKey, private_key: Ed25519PrivateKey) -> SignedKeyList:
    """The list of an origin that never had another key: number 1, of no particular time, the same each time."""
    return SignedKeyList.sign(KeyList(key.origin, 1, 0, (ListedKey(key),)), [private_key])


def short(key: VerifierKey) -> str:
    """A key by its short name, for messages."""
    return f"{key.origin}+{key.hash.hex()}"


# -- reading -------------------------------------------------------------------------------------


def _time_text(time_us: int | None) -> str:
    return "-" if time_us is None else format_time(time_us)


def _content(text: str) -> KeyList:
    heading = _HEADING.match(text)
    if heading is None:
        raise BadKeyList("the text is no key list of a format that this build reads")
    lines: Sequence[str] = text[heading.end() :].splitlines()
    if len(lines) > MAX_KEYS:
        raise BadKeyList(f"a key list has 1 to {MAX_KEYS} keys")
    try:
        content = KeyList(
            check_origin(heading["origin"]),
            int(heading["number"]),
            parse_time(heading["time"]),
            tuple(_entry(line) for line in lines),
        )
    except BadKeyList:
        raise
    except ValueError as error:
        raise BadKeyList(f"the key list cannot be read: {error}") from error
    content.check()
    if content.text() != text:
        raise BadKeyList("the key list is not written in its canonical form")
    return content


def _entry(line: str) -> ListedKey:
    match = _LINE.fullmatch(line)
    if match is None:
        raise BadKeyList("a line of the key list is no key with its period")
    start, end, since = (
        None if match[name] in (None, "-") else parse_time(match[name]) for name in ("start", "end", "since")
    )
    reason = Reason(match["reason"]) if match["reason"] else None
    return ListedKey(VerifierKey.parse(match["key"]), start, end, since, reason)


def _signers(content: KeyList, text: str, tail: str) -> frozenset[VerifierKey]:
    """The keys that signed. Every signature line must be right."""
    if not tail.endswith("\n"):
        raise BadKeyList("the signatures of the key list are cut off")
    by_hash = {each.key.hash: each.key for each in content.keys}
    prefix, found = f"— {content.origin} ", set[VerifierKey]()
    for line in tail[:-1].split("\n"):
        try:
            data = strict_base64(line.removeprefix(prefix)) if line.startswith(prefix) else b""
        except ValueError:
            data = b""
        key = by_hash.pop(data[:4], None)  # each once
        if len(data) != 68 or key is None or not keys.verify(key.public_key, data[4:], text.encode()):
            raise BadKeyList("a signature of the key list is not one of a key in it")
        found.add(key)
    return frozenset(found)
