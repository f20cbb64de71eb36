"""No byte of a ledger file is free, and nothing that somebody can send makes the verifier fail."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.file import MAGIC
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import VERDICT_UNSPECIFIED, VERDICT_VALID
from support.ledgers import COMMIT_REVEAL, KEYS, Table, copies, head, rechain, rounds

BOTH = frozenset({0, 1})


def _short() -> Table:
    """A match with every kind of record: signed joins, commitments, contributions, commands, a resignation."""
    table = Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="short").play(2)
    table.resign(1)
    return table


SHORT = _short()
SHORT_FILE = SHORT.file(4)


def passes(data: bytes) -> bool:
    """True if a verifier takes `data` for a valid ledger."""
    try:
        return verify(data).verdict == VERDICT_VALID
    except UnusableInput:
        return False


def test_the_untouched_file_is_valid() -> None:
    assert verify(SHORT_FILE, trusted=KEYS).verdict == VERDICT_VALID


@pytest.mark.timeout(240)
def test_every_changed_byte_is_noticed() -> None:
    rng = random.Random(6)
    for position in range(len(SHORT_FILE)):
        for flip in (1, 1 << rng.randrange(1, 8)):
            changed = bytearray(SHORT_FILE)
            changed[position] ^= flip
            assert not passes(bytes(changed)), f"byte {position} is free: {SHORT_FILE[position - 30 : position + 30]!r}"


def _edits(data: bytes) -> Iterator[bytes]:
    rng = random.Random(7)
    for _ in range(300):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.randrange(1, 40))
        yield data[:start] + data[end:]
        yield data[:start] + data[start:end] + data[start:]
        yield data[:start] + data[start:end][::-1] + data[end:] if end - start > 1 else data[:start]


def test_every_dropped_or_doubled_or_turned_stretch_is_noticed() -> None:
    for changed in _edits(SHORT_FILE):
        assert changed == SHORT_FILE or not passes(changed)


def test_every_dropped_doubled_or_swapped_line_is_noticed() -> None:
    lines = SHORT_FILE.splitlines(keepends=True)
    for index in range(len(lines)):
        # A head before the last one may be missing: the last one vouches for everything.
        assert passes(b"".join(lines[:index] + lines[index + 1 :])) == (index == len(lines) - 2)
        assert not passes(b"".join(lines[: index + 1] + lines[index:]))
        if index:
            lines[index - 1], lines[index] = lines[index], lines[index - 1]
            assert not passes(b"".join(lines))
            lines[index - 1], lines[index] = lines[index], lines[index - 1]
    assert not passes(SHORT_FILE + b"\n")
    assert not passes(SHORT_FILE.replace(b"\n", b"\r\n"))


# -- fuzzing -------------------------------------------------------------------------------------


def judge(data: bytes) -> None:
    """Whatever the bytes: a verdict or UnusableInput, nothing else."""
    try:
        report = verify(data)
    except UnusableInput:
        return
    assert report.verdict != VERDICT_UNSPECIFIED
    assert report.summary


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_get_a_verdict(data: bytes) -> None:
    judge(data)
    judge(MAGIC + data)
    judge(SHORT_FILE[:900] + data)
    judge(b"\x1f\x8b" + data)
    judge(gzip.compress(SHORT_FILE)[:-30] + data)


MESSY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_json_in_place_of_a_value_gets_a_verdict(data: st.DataObject) -> None:
    import json

    lines = SHORT_FILE.decode().splitlines()
    index = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[index])
    name = data.draw(st.sampled_from(sorted(value)))
    value[name] = data.draw(MESSY)
    lines[index] = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    judge(("\n".join(lines) + "\n").encode(errors="replace"))


RUNNING = Table(options=rounds(2), name="fuzz", signing=frozenset({0})).play(24)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_signed_forgery_of_a_body_gets_a_verdict(data: st.DataObject) -> None:
    """A lying author can sign whatever parses, and more."""
    records = copies(RUNNING.records)
    seq = data.draw(st.integers(0, len(records) - 1))
    body = bytearray(records[seq].body)
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    records[seq].body = bytes(body)
    try:
        records = rechain(records)
    except Exception:  # the forgery is no protobuf message any more
        return
    report = verify_records(records)
    assert report.verdict != VERDICT_UNSPECIFIED
    viewer = data.draw(st.sampled_from([0, 1, None]))
    if not any(opening.seal >= len(record.seals) for record in records for opening in record.openings):
        judged = [record_pb2.Record.FromString(record.SerializeToString()) for record in records]
        for record in judged:
            kept = [o for o in record.openings if viewer is not None and record.seals[o.seal].audience >> viewer & 1]
            del record.openings[:]
            record.openings.extend(kept)
        assert verify_records(judged, [head(judged, len(judged))], trusted=KEYS).verdict != VERDICT_VALID
