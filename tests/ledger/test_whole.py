"""What is cut out of a record's bytes is what its message would be without it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from sixledger.ledger import assembly, wire
from sixledger.ledger.records import redact
from sixledger.ledger.whole import WholeRecord
from sixledger.v1 import record_pb2
from support.openings import late_openings

SECRETS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 1 << 9, (1 << 64) - 1]), st.integers(0, 4), st.binary(max_size=300)),
    max_size=8,
)
VIEWERS = st.one_of(st.none(), st.integers(0, 70))
#: For seat 63, and for everybody once epoch 1 is revealed.
LAST_SEAT = [(1 << 63, 0, b"value"), (0, 1, b"")]


def sealed(seq: int, secrets: list[tuple[int, int, bytes]], body: bytes) -> WholeRecord:
    return assembly.seal(b"m" * 16, seq, body, secrets, b"p" * 32, b"k" * 32)


@given(st.integers(0, 300), SECRETS, st.binary(min_size=1, max_size=300), VIEWERS, st.integers(0, 5))
@example(0, LAST_SEAT, b"%b", 63, 0)
@example(0, LAST_SEAT, b"%b", 127, 1)
def test_everybody_is_shown_what_he_may_open(
    seq: int, secrets: list[tuple[int, int, bytes]], body: bytes, viewer: int | None, revealed: int
) -> None:
    made = sealed(seq, secrets, body)
    expected = redact(made.message, viewer, revealed).SerializeToString(deterministic=True)
    assert made.shown(viewer, revealed) == expected
    assert WholeRecord.of(made.message).shown(viewer, revealed) == expected


@given(st.integers(0, 300), SECRETS, VIEWERS, st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted))
@example(0, LAST_SEAT, 63, [0, 1])
@example(7, LAST_SEAT, 127, [0, 1])
def test_a_reveal_frees_what_nobody_could_open_before(
    seq: int, secrets: list[tuple[int, int, bytes]], viewer: int | None, revealed: list[int]
) -> None:
    made, (before, after) = sealed(seq, secrets, b"body"), revealed
    openings = late_openings(made.message, viewer, before, after)
    expected = record_pb2.LateOpenings(seq=seq, openings=openings).SerializeToString(deterministic=True)
    for whole in (made, WholeRecord.of(made.message)):
        assert whole.freed(seq, viewer, before, after) == (expected if openings else b"")


def test_a_record_from_elsewhere_may_lack_anything() -> None:
    seals = [record_pb2.Seal(audience=1, commitment=b"c"), record_pb2.Seal(epoch=2)]
    openings = [record_pb2.Opening(seal=1, value=b"v"), record_pb2.Opening(salt=b"salt")]
    for fields in ({}, {"hash": b"short"}, {"body": b"body"}, {"seals": seals, "openings": openings}):
        record = record_pb2.Record(**fields)
        whole = WholeRecord.of(record)
        assert whole.message == record
        for viewer, revealed in ((None, 0), (None, 2), (0, 0), (1, 0)):
            assert whole.shown(viewer, revealed) == redact(record, viewer, revealed).SerializeToString()


def test_what_this_build_does_not_know_is_shown_to_nobody() -> None:
    """No hash covers it, and nobody can tell whether it is secret."""
    made = sealed(3, [(1, 1, b"a card")], b"body")
    strange = WholeRecord.of(record_pb2.Record.FromString(made.data + wire.field(99, b"a card")))
    assert strange.data == made.data
    for viewer in (None, 0, 1):
        assert strange.shown(viewer, 0) == made.shown(viewer, 0)


def test_a_record_does_not_show_its_secrets() -> None:
    made = sealed(3, [(1, 1, b"a card")], b"body")
    assert repr(made) == f"WholeRecord({len(made.data)} bytes)"
