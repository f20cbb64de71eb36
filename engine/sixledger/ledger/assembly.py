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


class Place(NamedTuple):
    """The fixed bytes around one secret in a record."""

    #: The index of the seal, as its commitment covers it.
    index: bytes
    #: What stands before the commitment in the chain, and in the record.
    in_chain: bytes
    in_record: bytes
    #: What stands in the opening before the salt, and between salt and value.
    before: bytes
    between: bytes
    #: Where the salt begins, counted from the end of the body.
    salt: int


def places(secrets: Sequence[Secret]) -> Sequence[Place]:
    """How the secrets of a record lie in it."""
    return _places(tuple([(audience, epoch, len(value)) for audience, epoch, value in secrets]))


@lru_cache(maxsize=4096)
def _places(secrets: tuple[tuple[int, int, int], ...]) -> Sequence[Place]:
    """The places of secrets with audience, epoch and length of the value: most records are alike in these."""
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


def salts_in(record: bytes, body: bytes, placed: Sequence[Place]) -> list[bytes]:
    """The salts in a serialised record, if it has this body and is one that `assemble` makes; else anything."""
    start = 1 + len(wire.varint(len(body))) + len(body)
    return [record[start + at : start + at + 32] for _, _, _, _, _, at in placed]


def assemble(
    match: bytes,
    seq: int,
    body: bytes,
    secrets: Sequence[Secret],
    placed: Sequence[Place],
    salts: Sequence[bytes],
    previous: bytes,
) -> tuple[bytes, bytes]:
    """Record `seq` of a match with this body, chained to `previous`, with every secret sealed and opened; and its hash.

    The bytes are those of deterministic serialisation. `placed` are the places of the secrets; each salt has 32 bytes.
    """
    sealing, begin = hashing.seal_start(match, seq), hashing.begin
    chained = seals = openings = b""  # of these few, joining lists costs more
    for (_, _, value), (index, in_chain, in_record, before, between, _), salt in zip(
        secrets, placed, salts, strict=True
    ):
        sha256 = begin()
        sha256.update(sealing + index + salt + value)
        commitment = sha256.digest()
        chained += in_chain + commitment
        seals += in_record + commitment
        openings += before + salt + between + value
    record_hash = hashing.linked(match, seq, previous, body, len(secrets), chained)
    size = wire.varint(len(body))
    return b"".join((b"\x0a", size, body, seals, openings, b"\x22\x20", record_hash)), record_hash
