r"""Keys of seats and the signatures of their acts (DESIGN 6). Ed25519, RFC 8032.

A signature of an act covers

    "sixledger/act/1\n" || match || u16be(seat) || u8(kind) || u64be(decision) || observed_head(32)
                        || request_id(16) || SHA-256(payload)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sixledger.ledger import ed25519
from sixledger.ledger.hashing import digest, sha256

_SEAT_KIND_DECISION = struct.Struct(">HBQ").pack
_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
#: y coordinates of the points of small order: 0 (order 4), 1 (1), p−1 (2), and the two of order 8.
_Y8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _Y8, _P - _Y8})


class ActKind(IntEnum):
    """What a signature is for, so that none can be used for something else."""

    COMMAND = 1
    JOIN = 2
    COMMITMENT = 3
    CONTRIBUTION = 4
    LEAVE = 5
    RESIGN = 6
    READY = 7


class BadKey(ValueError):
    """A public key that must not be used. The text says why."""


@lru_cache(maxsize=4096)
def load_public_key(data: bytes) -> Ed25519PublicKey:
    """The key in 32 bytes. Raises BadKey unless it is canonical, a point of the curve and not of small order.

    A key of small order would let one signature fit every message.
    """
    if len(data) != 32:
        raise BadKey("a public key has 32 bytes")
    number = int.from_bytes(data, "little")
    y = number & (2**255 - 1)
    if y >= _P:
        raise BadKey("the public key is not canonical")
    if y in _SMALL_ORDER_Y:
        raise BadKey("the public key is of small order")
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if pow(x_squared, (_P - 1) // 2, _P) != 1:
        raise BadKey("the public key is no point of the curve")
    return Ed25519PublicKey.from_public_bytes(data)


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """The public key of a private key, 32 bytes."""
    return key.public_key().public_bytes_raw()


@lru_cache(maxsize=4096)
def key_id(public_key: bytes) -> bytes:
    """Short name of a key in a record: 8 bytes."""
    return sha256(b"sixledger/key/1\n", public_key)[:8]


def act_message(
    match_id: bytes, seat: int, kind: ActKind, decision: int, observed_head: bytes, request_id: bytes, payload: bytes
) -> bytes:
    """The bytes that a seat signs for an act."""
    what = match_id + _SEAT_KIND_DECISION(seat, kind, decision) + observed_head + request_id
    return b"sixledger/act/1\n" + what + digest(payload)


def verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """True if `signature` (64 bytes) by `public_key` fits `message`: cofactorless, with S < L."""
    try:
        return ed25519.fits(load_public_key(public_key), public_key, signature, message)
    except BadKey:
        return False


#: Public key, signature and message: does it fit?
Verify: TypeAlias = Callable[[bytes, bytes, bytes], bool]


class Claim(NamedTuple):
    """A signature that is to be verified."""

    public_key: bytes
    signature: bytes
    message: bytes

    def __repr__(self) -> str:
        """Without the message: of a hidden command it tells enough to try all that there are."""
        return f"Claim(public_key={self.public_key.hex()})"


class Untrue(Exception):
    """A signature does not fit what it is said to fit."""


class Claims:
    """Signatures that are verified while their owner goes on to the next: by all processors, in any order.

    While the C library verifies one, other threads run; between two of them a thread needs the interpreter, which the
    owner rarely gives away. So there is a thread for each processor, and an owner who runs ahead of them verifies one
    himself: meanwhile all of them get on. To be closed, whatever happens.
    """

    def __init__(self) -> None:
        """Nothing is claimed yet."""
        self._waiting: SimpleQueue[Claim | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._untrue = False

    def add(self, claim: Claim) -> None:
        """Have a claim verified. Raises Untrue if one that was made before is known to be false."""
        self._waiting.put(claim)
        if self._waiting.qsize() <= _AHEAD:
            return
        if not self._threads:
            count = min(_processors(), 8)
            self._threads = [Thread(target=self._work, daemon=True) for _ in range(count if count > 1 else 0)]
            for thread in self._threads:
                thread.start()
        self._verify_next()
        if self._untrue:
            raise Untrue

    def finish(self) -> None:
        """Wait until every claim is verified. Raises Untrue unless all are true."""
        while not self._waiting.empty() and not self._untrue:
            self._verify_next()
        self.close()
        if self._untrue:
            raise Untrue

    def close(self) -> None:
        """End the threads, also those with work left."""
        self._untrue = self._untrue or not self._waiting.empty()
        threads, self._threads = self._threads, []
        for _ in threads:
            self._waiting.put(None)
        for thread in threads:
            thread.join()

    def _verify_next(self) -> None:
        with suppress(Empty):
            claim = self._waiting.get_nowait()
            if claim is not None and not verify(*claim):
                self._untrue = True

    def _work(self) -> None:
        try:
            while not self._untrue and (claim := self._waiting.get()) is not None:
                if not verify(*claim):
                    self._untrue = True
        except BaseException:
            self._untrue = True  # what was not verified is not true
            raise


#: Claims that may wait: so many are not worth a thread, and keep all of them at work.
_AHEAD = 16


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@lru_cache(maxsize=1024)
def verify_kept(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """As `verify`, for what is looked at several times: signed heads. The last answers are kept."""
    return verify(public_key, signature, message)
