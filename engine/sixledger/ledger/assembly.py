"""A record put together as bytes, its secrets sealed and opened: what `Record` serialises to, without the message.

Author and verifier make records the same way. The author derives the salts; the verifier takes those of the record
that it holds its own against, byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from sixledger.ledger import hashing, wire
from sixledger.ledger.whole import Made, Place, WholeRecord

#: A value to be sealed: who may open it at once (bit set), in which epoch, and the value.
Secret: TypeAlias = tuple[int, int, bytes]


def seal(
    match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes, salt_key: bytes
) -> WholeRecord:
    """Record `seq` of a match with this body, chained to `previous`, with every secret sealed and opened.

    The bytes are those of deterministic serialisation. `salt_key` is that of the match (`hashing.salt_key`).
    """
    return WholeRecord(*_assemble(match, seq, body, secrets, previous, salt_key, b""))


def is_record(record: bytes, match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes) -> bool:
    """True if `record` is what `seal` makes of this, whatever its salts are."""
    return _assemble(match, seq, body, secrets, previous, b"", record)[0] == record


class Form(NamedTuple):
    """What records have in common whose secrets are alike in audience, epoch and length of the value."""

    #: Each seal in the chain, with a gap (`%b`) for its commitment.
    chained: bytes
    #: The record, with gaps for length and content of its body, all commitments, salt and value of each opening, hash.
    record: bytes
    #: For each secret its number, as its commitment covers it, and where its salt begins, counted from the end of
    #: the body.
    secrets: Sequence[tuple[bytes, int]]
    #: The openings, counted from the end of the body.
    openings: Sequence[Place]


@lru_cache(maxsize=4096)
def _form(*shape: int) -> Form:
    """The form of records with secrets of this audience, epoch and length of the value, one after the other.

    Most records are alike in these.
    """
    secrets = list(zip(shape[::3], shape[1::3], shape[2::3], strict=True))
    starts = [_seal_start(audience, epoch) for audience, epoch, _ in secrets]
    at = sum([len(start) + 32 for start in starts])
    openings: list[bytes] = []
    numbered: list[tuple[bytes, int]] = []
    places: list[Place] = []
    for index, (audience, epoch, length) in enumerate(secrets):
        before = b"\x08" + wire.varint(index) if index else b""
        before += b"\x12\x20"
        between = b"\x1a" + wire.varint(length) if length else b""
        before = b"\x1a" + wire.varint(len(before) + 32 + len(between) + length) + before
        openings += (before, between)
        numbered.append((hashing.u16(index), at + len(before)))
        end = at + len(before) + 32 + len(between) + length
        places.append((audience, epoch, at, end))
        at = end
    chained = [hashing.in_chain(audience, epoch) for audience, epoch, _ in secrets]
    record = b"\x0a%b%b" + _gapped(starts) + _gapped(openings) + b"\x22\x20%b"
    return Form(_gapped(chained), record, tuple(numbered), tuple(places))


def _gapped(parts: list[bytes]) -> bytes:
    """A gap after each part."""
    return b"".join([part.replace(b"%", b"%%") + b"%b" for part in parts])


def _seal_start(audience: int, epoch: int) -> bytes:
    """A seal in a record, up to its commitment."""
    content = b"\x09" + audience.to_bytes(8, "little") if audience else b""
    if epoch:
        content += b"\x10" + wire.varint(epoch)
    return b"\x12" + wire.varint(len(content) + 34) + content + b"\x1a\x20"


def _assemble(
    match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes, salt_key: bytes, like: bytes
) -> Made:
    """The record, its hash, its openings, and where the body ends, from which they are counted.

    With the salts that `salt_key` gives, or if it is empty those where `like` has them.
    """
    shape: list[int] = []
    for audience, epoch, value in secrets:
        shape += (audience, epoch, len(value))
    form = _form(*shape)
    size = wire.varint(len(body))
    end = 1 + len(size) + len(body)  # of the body in the record
    start, begin = hashing.seal_start(match, seq), hashing.begin
    commitments: list[bytes] = []
    opened: list[bytes] = []
    for (number, at), (_, _, value) in zip(form.secrets, secrets):  # noqa: B905 - as many by construction
        salt = hashing.salt(salt_key, previous, seq, number, value) if salt_key else like[end + at : end + at + 32]
        sha256 = begin()
        sha256.update(start + number + salt + value)
        commitments.append(sha256.digest())
        opened += (salt, value)
    chained = form.chained % tuple(commitments)
    record_hash = hashing.linked(match, seq, previous, body, len(secrets), chained)
    record = form.record % (size, body, *commitments, *opened, record_hash)
    return record, record_hash, form.openings, end
