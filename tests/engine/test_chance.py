"""The labelled streams against the formulas of DESIGN 5, computed here with hashlib and hmac alone."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter

import pytest
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.errors import EpochSealed

KEY = bytes(range(32))


def block(label: str, number: int, key: bytes = KEY) -> bytes:
    """B_i."""
    return hmac.new(key, b"sixledger/rng/1\n" + label.encode() + b"\n" + number.to_bytes(8, "big"), "sha256").digest()


def stream_bytes(label: str, length: int) -> bytes:
    """The first bytes of B_0 || B_1 || B_2, and so on."""
    return b"".join(block(label, number) for number in range(length // 32 + 1))[:length]


class Reference:
    """below and shuffle word by word from DESIGN 5."""

    def __init__(self, label: str) -> None:
        self.data, self.at = stream_bytes(label, 10_000), 0

    def below(self, n: int) -> int:
        if n == 1:
            return 0
        width = 1
        while 256**width < n:
            width += 1
        limit = 256**width - 256**width % n
        while True:
            value = int.from_bytes(self.data[self.at : self.at + width], "big")
            self.at += width
            if value < limit:
                return value % n

    def shuffle(self, items: list[int]) -> list[int]:
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def test_below_256_reads_the_stream_byte_by_byte_across_blocks() -> None:
    stream = Stream(KEY, "pack")
    assert bytes(stream.below(256) for _ in range(100)) == stream_bytes("pack", 100)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 100, 104, 129, 200, 255, 256, 257, 300, 65535, 65536, 65537, 10**9])
def test_below_follows_the_formula(n: int) -> None:
    stream, reference = Stream(KEY, "below"), Reference("below")
    assert [stream.below(n) for _ in range(300)] == [reference.below(n) for _ in range(300)]


def test_a_value_at_or_above_the_limit_is_drawn_again() -> None:
    data = stream_bytes("reject", 200)
    accepted = [value % 129 for value in data if value < 129]
    assert len(accepted) < 150  # nearly half of the bytes are rejected for 129
    stream = Stream(KEY, "reject")
    assert [stream.below(129) for _ in accepted] == accepted


def test_257_reads_two_bytes_at_a_time() -> None:
    data = stream_bytes("two", 4)
    assert Stream(KEY, "two").below(257) == int.from_bytes(data[:2], "big") % 257


def test_one_choice_reads_nothing() -> None:
    stream = Stream(KEY, "one")
    assert [stream.below(1) for _ in range(50)] == [0] * 50
    assert stream.below(256) == stream_bytes("one", 1)[0]


@pytest.mark.parametrize("n", [0, -1])
def test_no_choice_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Stream(KEY, "none").below(n)


@pytest.mark.parametrize("length", [0, 1, 2, 34, 104, 208, 300])
def test_a_shuffle_follows_the_formula(length: int) -> None:
    items = list(range(length))
    assert Stream(KEY, "pack").shuffle(items) == Reference("pack").shuffle(list(items))
    assert items == list(range(length)), "the argument is left alone"


def test_a_shuffle_of_less_than_two_items_reads_nothing() -> None:
    stream = Stream(KEY, "short")
    assert stream.shuffle([]) == []
    assert stream.shuffle([7]) == [7]
    assert stream.below(256) == stream_bytes("short", 1)[0]


def test_every_order_of_three_is_about_as_frequent() -> None:
    orders = Counter(tuple(Stream(KEY, f"order/{number}").shuffle("abc")) for number in range(1200))
    assert len(orders) == 6
    assert all(150 < count < 250 for count in orders.values())


@pytest.mark.parametrize("label", ["", "Pack", "pack 1", "ü", "pack\n", "a" * 65])
def test_a_label_outside_the_alphabet_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="label"):
        Stream(KEY, label)


def test_labels_have_streams_of_their_own() -> None:
    assert Stream(KEY, "deck/0").shuffle(range(50)) != Stream(KEY, "deck/1").shuffle(range(50))
    assert Stream(KEY, "a" * 64).below(256) == block("a" * 64, 0)[0]


def test_chance_for_simulations_derives_a_key_for_each_epoch() -> None:
    chance = Chance.from_key(KEY)
    for epoch in (1, 2, 1000):
        key = hmac.new(KEY, epoch.to_bytes(4, "big"), hashlib.sha256).digest()
        assert chance.stream(epoch, "pack").below(256) == block("pack", 0, key)[0]


def test_sealed_chance_names_the_epoch_that_is_missing() -> None:
    with pytest.raises(EpochSealed, match="epoch 3") as caught:
        Chance.sealed().stream(3, "pack")
    assert caught.value.epoch == 3
