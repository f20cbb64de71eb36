"""A record put together as bytes, its secrets sealed and opened: what `Record` serialises to, without the message.

Author and verifier make records the same way. The author derives the salts; the verifier takes those of the record
that it holds its own against, byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from sixledger.ledger import hashing, wire

#: A value to be sealed: who may open it at once (bit set), in which epoch, and the value.
Secret: TypeAlias = tuple[int, int, bytes]


def seal(
    match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes, salt_key: bytes
) -> tuple[bytes, bytes]:
    """Record `seq` of a match with this body, chained to `previous`, with every secret sealed and opened; and its hash.

    The bytes are those of deterministic serialisation. `salt_key` is that of the match (`hashing.salt_key`).
    """
    return _assemble(match, seq, body, secrets, previous, salt_key, b"")


def is_record(record: bytes, match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes) -> bool:
    """True if `record` is what `seal` makes of this, whatever its salts are."""
    return _assemble(match, seq, body, secrets, previous, b"", record)[0] == record


class Place(NamedTuple):
    """The fixed bytes around one secret in a record."""

    #: The index of the seal, as its commitment covers it.
    number: bytes
    #: What stands before the commitment in the chain, and in the record.
    in_chain: bytes
    in_record: bytes
    #: What stands in the opening before the salt, and between salt and value.
    before: bytes
    between: bytes
    #: Where the salt begins, counted from the end of the body.
    salt: int


@lru_cache(maxsize=4096)
def _places(*shape: int) -> Sequence[Place]:
    """The places of secrets with this audience, epoch and length of the value, one after the other.

    Most records are alike in these.
    """
    secrets = list(zip(shape[::3], shape[1::3], shape[2::3], strict=True))
    seals = [_seal_start(audience, epoch) for audience, epoch, _ in secrets]
    at = sum([len(start) + 32 for start in seals])
    found: list[Place] = []
    for index, (audience, epoch, length) in enumerate(secrets):
        before = b"\x08" + wire.varint(index) if index else b""
        before += b"\x12\x20"
        between = b"\x1a" + wire.varint(length) if length else b""
        before = b"\x1a" + wire.varint(len(before) + 32 + len(between) + length) + before
        in_chain = hashing.in_chain(audience, epoch)
        found.append(Place(hashing.u16(index), in_chain, seals[index], before, between, at + len(before)))
        at += len(before) + 32 + len(between) + length
    return tuple(found)


def _seal_start(audience: int, epoch: int) -> bytes:
    """A seal in a record, up to its commitment."""
    content = b"\x09" + audience.to_bytes(8, "little") if audience else b""
    if epoch:
        content += b"\x10" + wire.varint(epoch)
    return b"\x12" + wire.varint(len(content) + 34) + content + b"\x1a\x20"


def _assemble(
    match: bytes, seq: int, body: bytes, secrets: Sequence[Secret], previous: bytes, salt_key: bytes, like: bytes
) -> tuple[bytes, bytes]:
    """The record and its hash, with the salts that `salt_key` gives, or if it is empty those where `like` has them."""
    shape: list[int] = []
    for audience, epoch, value in secrets:
        shape += (audience, epoch, len(value))
    size = wire.varint(len(body))
    end = 1 + len(size) + len(body)  # of the body in the record
    sealing, begin = hashing.seal_start(match, seq), hashing.begin
    chained = seals = openings = b""  # of these few, joining lists costs more
    places = zip(secrets, _places(*shape))  # noqa: B905 - as many by construction, and looking has its price
    for (_, _, value), (number, in_chain, in_record, before, between, at) in places:
        salt = hashing.salt(salt_key, previous, seq, number, value) if salt_key else like[end + at : end + at + 32]
        sha256 = begin()
        sha256.update(b"%b%b%b%b" % (sealing, number, salt, value))
        commitment = sha256.digest()
        chained += in_chain + commitment
        seals += in_record + commitment
        openings += b"%b%b%b%b" % (before, salt, between, value)
    record_hash = hashing.linked(match, seq, previous, body, len(secrets), chained)
    return b"\x0a%b%b%b%b\x22\x20%b" % (size, body, seals, openings, record_hash), record_hash
