r"""Keys of seats and the signatures of their acts (DESIGN 6). Ed25519, RFC 8032.

A signature of an act covers

    "sixledger/act/1\n" || match || u16be(seat) || u8(kind) || u64be(decision) || observed_head(32)
                        || request_id(16) || SHA-256(payload)
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
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
    """Signatures that are gathered, and then verified together: by all processors, in any order.

    While the C library verifies one, other threads run; between two of them a thread needs the interpreter. One that
    replays rarely gives it away, so that nothing else is done meanwhile: threads that only verify hardly ever meet.
    """

    def __init__(self) -> None:
        """Nothing is claimed yet."""
        self._waiting: deque[Claim] = deque()
        self._untrue = False

    def add(self, claim: Claim) -> None:
        """Have a claim verified, now or later. Raises Untrue if one is known to be false."""
        self._waiting.append(claim)
        if len(self._waiting) >= _TOGETHER:
            self.verify()

    def verify(self) -> None:
        """Verify every claim that was added. Raises Untrue unless all are true, those before included."""
        count = min(_processors(), _MOST_THREADS, len(self._waiting) // _WORTH_A_THREAD)
        threads: list[Thread] = []
        try:
            for _ in range(count - 1):
                thread = Thread(target=self._work, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            pass  # the system has no more threads: fewer do it, too
        try:
            self._work()
        finally:
            for thread in threads:
                thread.join()
        if self._untrue:
            self._waiting.clear()
            raise Untrue

    def _work(self) -> None:
        try:
            while not self._untrue:
                try:
                    claim = self._waiting.popleft()
                except IndexError:
                    return
                if not verify(*claim):
                    self._untrue = True
        except BaseException:
            self._untrue = True  # what was not verified is not true
            raise


#: Claims that are verified together: many enough to make a thread worth while, few enough not to fill the memory.
_TOGETHER = 512
#: To start a thread costs as much as verifying one or two.
_WORTH_A_THREAD = 8
#: More would wait for the interpreter.
_MOST_THREADS = 8


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@lru_cache(maxsize=1024)
def verify_kept(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """As `verify`, for what is looked at several times: signed heads. The last answers are kept."""
    return verify(public_key, signature, message)
