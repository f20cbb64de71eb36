"""No byte of a ledger file is free, and nothing that somebody can send makes the verifier fail."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.file import MAGIC
from sixledger.ledger.records import redact
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import VERDICT_UNSPECIFIED, VERDICT_VALID
from support.forging import forgery
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
        for flip in (1, 1 << rng.randrange(1, 8)) if position % 4 == 0 else (1,):
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
    lines = SHORT_FILE.decode().splitlines()
    index = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[index])
    name = data.draw(st.sampled_from(sorted(value)))
    value[name] = data.draw(MESSY)
    lines[index] = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    judge(("\n".join(lines) + "\n").encode(errors="replace"))


RUNNING = Table(options=rounds(2), name="fuzz", signing=frozenset({0})).play(24)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_signed_bytes_in_place_of_a_body_get_a_verdict(data: st.DataObject) -> None:
    records = copies(RUNNING.records)
    seq = data.draw(st.integers(0, len(records) - 1))
    body = bytearray(records[seq].body)
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    records[seq].body = bytes(body)
    try:
        records = rechain(records)
    except DecodeError:  # it is no message any more, so nothing that could be chained
        return
    assert verify_records(records).verdict != VERDICT_UNSPECIFIED


@pytest.mark.parametrize("viewer", ["operator", None, 0, 1])
def test_any_signed_forgery_gets_a_verdict(viewer: int | str | None) -> None:
    """Whoever looks: the author, a spectator or a seat."""
    rng = random.Random(f"forgery {viewer}")
    verdicts = set()
    for _ in range(250):
        forged = forgery(rng, RUNNING.records)
        if not isinstance(viewer, str):
            forged = [redact(record, viewer, RUNNING.match.revealed) for record in forged]
        report = verify_records(forged, [head(forged, len(forged))], trusted=KEYS)
        assert report.verdict not in (VERDICT_UNSPECIFIED, VERDICT_VALID)
        assert report.summary
        verdicts.add(report.verdict)
    assert len(verdicts) >= 6


@pytest.mark.parametrize("seed", range(3))
def test_a_forgery_of_a_finished_match_is_never_valid_unless_it_says_the_same(seed: int) -> None:
    """Only what the author is free to choose may differ: the time and the request ids."""
    rng = random.Random(seed)
    finished = Table(options=rounds(1), name=f"finished {seed}").play()
    for _ in range(250):
        forged = forgery(rng, finished.records)
        if verify_records(forged).verdict == VERDICT_VALID:
            assert _said(forged) == _said(finished.records)


def _said(records: Sequence[record_pb2.Record]) -> list[bytes]:
    """The bodies without times and request ids."""
    result = []
    for record in records:
        body = record_pb2.Body.FromString(record.body)
        body.ClearField("time_us")
        body.cause.ClearField("request_id")
        result.append(body.SerializeToString(deterministic=True))
    return result
