r"""Chance: labelled streams of uniform numbers (DESIGN 5).

Every draw names its epoch and its label and reads a stream of its own, so a new random operation
never shifts another one and no generator state lives anywhere.

    B_i = HMAC-SHA-256(E_r, "sixledger/rng/1\n" || label || "\n" || u64be(i)),  i = 0, 1, …
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TypeVar

from sixledger.engine.errors import EpochSealed

T = TypeVar("T")

_LABEL = re.compile(r"[a-z0-9._/-]{1,64}")
_PREFIX = b"sixledger/rng/1\n"


def _bytes(key: bytes, label: str) -> Iterator[int]:
    """The endless byte stream B_0 || B_1 || B_2, and so on."""
    prefix = _PREFIX + label.encode() + b"\n"
    for block in count():
        yield from hmac.digest(key, prefix + block.to_bytes(8, "big"), "sha256")


class Stream:
    """The numbers of one label in one epoch, read from the start."""

    __slots__ = ("_next",)

    def __init__(self, key: bytes, label: str) -> None:
        """`key` is E_r, 32 bytes; `label` matches [a-z0-9._/-]{1,64}."""
        if not _LABEL.fullmatch(label):
            raise ValueError(f"label {label!r} does not match {_LABEL.pattern}")
        self._next = _bytes(key, label).__next__

    def below(self, n: int) -> int:
        """A uniform integer from 0 to n − 1. For n = 1 nothing is read. Raises ValueError for n < 1."""
        if n <= 1:
            if n < 1:
                raise ValueError(f"below({n}): n must be at least 1")
            return 0
        take = self._next
        if n <= 256:  # the general case below, for one byte: shuffles spend their time here
            limit = 256 - 256 % n
            while (value := take()) >= limit:
                pass
            return value % n
        width = ((n - 1).bit_length() + 7) // 8
        limit = (1 << (8 * width)) // n * n
        while (value := int.from_bytes([take() for _ in range(width)], "big")) >= limit:
            pass
        return value % n

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """A shuffled copy of `items`; index 0 is the top of the pile."""
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.below(i + 1)
            result[i], result[j] = result[j], result[i]
        return result


class Chance:
    """Where a game draws from. Knows the key E_r of every epoch that is not sealed to it."""

    __slots__ = ("_key_of",)

    def __init__(self, key_of: Callable[[int], bytes]) -> None:
        """`key_of(epoch)` gives E_r (32 bytes) or raises EpochSealed."""
        self._key_of = key_of

    @classmethod
    def from_key(cls, key: bytes) -> Chance:
        """Chance for simulations and tests: E_r = HMAC-SHA-256(key, u32be(r)). Nothing is sealed."""
        return cls(lambda epoch: hmac.digest(key, epoch.to_bytes(4, "big"), "sha256"))

    @classmethod
    def sealed(cls) -> Chance:
        """Chance of someone who knows no seed: every draw raises EpochSealed."""

        def refuse(epoch: int) -> bytes:
            raise EpochSealed(epoch)

        return cls(refuse)

    def stream(self, epoch: int, label: str) -> Stream:
        """The stream of `label` in `epoch` (from 1), from its start. Raises EpochSealed."""
        return Stream(self._key_of(epoch), label)
