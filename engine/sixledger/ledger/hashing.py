r"""The formulas of the ledger, each in one function (DESIGN 5 and 6, docs/spec/ledger.md).

`match` is the match id, 16 bytes; hashes, salts and seeds are 32 bytes; numbers are big-endian.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sixledger.v1 import record_pb2

ZERO_HASH = bytes(32)
#: Stands for a seat where a timer has none.
NO_SEAT = 0xFFFF
_AUDIENCE_EPOCH = struct.Struct(">QI").pack
_RECORD = struct.Struct(">Q32s32sH").pack
_SEQ = struct.Struct(">Q").pack


#: Begins a SHA-256. A copy of one that is empty costs half of what making one costs.
begin = hashlib.sha256().copy


def digest(data: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    taken = begin()
    taken.update(data)
    return taken.digest()


def sha256(*parts: bytes) -> bytes:
    """SHA-256 of the concatenated parts, 32 bytes."""
    return digest(b"".join(parts))


def u16(value: int) -> bytes:
    """Two bytes, big-endian."""
    return value.to_bytes(2, "big")


def u32(value: int) -> bytes:
    """Four bytes, big-endian."""
    return value.to_bytes(4, "big")


def u64(value: int) -> bytes:
    """Eight bytes, big-endian."""
    return value.to_bytes(8, "big")


def chain_hash(match: bytes, seq: int, previous: bytes, body: bytes, seals: Sequence[tuple[int, int, bytes]]) -> bytes:
    """H_n, from the audience, epoch and commitment of each seal (`previous` is H_{n-1}, ZERO_HASH for record 0)."""
    parts = [in_chain(audience, epoch) + commitment for audience, epoch, commitment in seals]
    return linked(match, seq, previous, body, len(seals), b"".join(parts))


def in_chain(audience: int, epoch: int) -> bytes:
    """What stands before the commitment of a seal in H_n."""
    return _AUDIENCE_EPOCH(audience, epoch)


def linked(match: bytes, seq: int, previous: bytes, body: bytes, count: int, seals: bytes) -> bytes:
    """H_n, from its seals in bytes: `in_chain` and commitment of each of the `count`."""
    of_body, whole = begin(), begin()
    of_body.update(body)
    whole.update(b"sixledger/record/1\n%b%b%b" % (match, _RECORD(seq, previous, of_body.digest(), count), seals))
    return whole.digest()


def record_hash(match: bytes, seq: int, previous: bytes, body: bytes, seals: Iterable[record_pb2.Seal]) -> bytes:
    """H_n, from the messages of the seals."""
    taken = [(seal.audience, seal.epoch, seal.commitment) for seal in seals]
    return chain_hash(match, seq, previous, body, taken)


def commitment(match: bytes, seq: int, index: int, salt: bytes, value: bytes) -> bytes:
    """c_j: the commitment of seal `index` of record `seq`."""
    return committed(seal_start(match, seq), index, salt, value)


def committed(start: bytes, index: int, salt: bytes, value: bytes) -> bytes:
    """c_j, from what the commitments of its record begin with."""
    return digest(start + u16(index) + salt + value)


def seal_start(match: bytes, seq: int) -> bytes:
    """What the commitments of a record begin with: the index, the salt and the value follow."""
    return b"sixledger/seal/1\n" + match + _SEQ(seq)


def salt_key(root_secret: bytes, match: bytes) -> bytes:
    """The key from which all salts of a match are derived. As secret as the root secret."""
    return hmac.digest(root_secret, b"sixledger/salt-key/1\n" + match, "sha256")


@lru_cache(maxsize=4096)
def _keyed(key: bytes) -> tuple[Any, Any]:
    """The inner and the outer SHA-256 of HMAC with a key of 32 bytes, to be copied."""
    # hmac costs three times as much, and hmac.digest hands the interpreter to other threads for every few bytes.
    block = key.ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    return hashlib.sha256(inner), hashlib.sha256(outer)


def salt(key: bytes, previous: bytes, seq: int, index: bytes, value: bytes) -> bytes:
    """salt_j, where `index` is u16(j): depends on everything before, so that two forks never share one."""
    keyed_inner, keyed_outer = _keyed(key)
    inner, outer = keyed_inner.copy(), keyed_outer.copy()
    inner.update(previous + _SEQ(seq) + index + digest(value))
    outer.update(inner.digest())
    found: bytes = outer.digest()
    return found


def chain_root(root_secret: bytes, match: bytes, epochs: int) -> bytes:
    """ch[N]: the last element of the seed chain."""
    return hmac.digest(root_secret, b"sixledger/chain-root/1\n" + match + u32(epochs), "sha256")


def chain_step(match: bytes, epoch: int, element: bytes) -> bytes:
    """ch[k-1] from ch[k], where `epoch` is k."""
    return sha256(b"sixledger/chain/1\n", match, u32(epoch), element)


def entropy(match: bytes, seed_commitment: bytes, contributions: Iterable[bytes | None]) -> bytes:
    """X: covers the commitment C and the contribution of each seat in order (None: none)."""
    parts = [b"\x01" + given if given is not None else b"\x00" + ZERO_HASH for given in contributions]
    return sha256(b"sixledger/entropy/1\n", match, seed_commitment, u16(len(parts)), *parts)


def epoch_key(element: bytes, match: bytes, epoch: int, mixed: bytes) -> bytes:
    """E_r: the key of all draws of an epoch; `element` is ch[r], `mixed` is X."""
    return hmac.digest(element, b"sixledger/epoch/1\n" + match + u32(epoch) + mixed, "sha256")


def timer_request_id(match: bytes, armed_seq: int, kind: int, seat: int) -> bytes:
    """Request id of the record with which a timer fires, 16 bytes; `seat` is NO_SEAT if it has none."""
    return sha256(b"sixledger/timer/1\n", match, u64(armed_seq), bytes([kind]), u16(seat))[:16]


def contribution_commitment(match: bytes, seat: int, contribution: bytes) -> bytes:
    """K_s: what a seat logs before it reveals its contribution."""
    return sha256(b"sixledger/contribution/1\n", match, u16(seat), contribution)
