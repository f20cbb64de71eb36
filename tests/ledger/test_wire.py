"""Bodies that are put together from bytes are those that protobuf writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.nimmt import GAME
from sixledger.engine.schema import Malformed, parse_strict
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.ledger import assembly, hashing, wire
from sixledger.ledger.spelling import Spelling, spelling_of
from sixledger.v1 import game_pb2, record_pb2

NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))
SEATS = st.integers(0, 63)
HASHES = st.one_of(st.just(b""), st.binary(min_size=32, max_size=32))
LONG = st.binary(max_size=300)


@given(NUMBERS)
def test_a_number_is_written_as_protobuf_does(number: int) -> None:
    written = record_pb2.Body(time_us=number).SerializeToString()
    assert written == (b"\x20" + wire.varint(number) if number else b"")
    assert wire.time_varint(number) == wire.varint(number)


@given(SEATS, st.binary(max_size=16), NUMBERS, HASHES, st.binary(max_size=8), LONG)
def test_a_cause_is_written_as_protobuf_does(
    seat: int, request_id: bytes, decision: int, observed: bytes, key_id: bytes, signature: bytes
) -> None:
    cause = record_pb2.Cause(
        kind=record_pb2.CAUSE_KIND_SEAT,
        seat=seat,
        request_id=request_id,
        decision=decision,
        observed_head=observed,
        key_id=key_id,
        signature=signature,
    )
    written = wire.command_cause(seat, request_id, decision, observed, key_id, signature)
    assert record_pb2.Cause.FromString(written) == cause
    if request_id:  # every record has one
        assert written == cause.SerializeToString(deterministic=True)


@given(NUMBERS, NUMBERS, LONG, st.lists(st.integers(1, 104), max_size=4), st.lists(st.integers(1, 300), max_size=2))
def test_a_body_is_written_as_protobuf_does(
    seq: int, time_us: int, command: bytes, cards: list[int], epochs: list[int]
) -> None:
    spelling = spelling_of(GAME.schema)
    events = [pb.CardPlaced(seats=(1,), card=card, row=2, length=3) for card in cards]
    body = record_pb2.Body(
        format=1,
        match_id=b"m" * 16,
        seq=seq,
        time_us=time_us,
        cause=record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, request_id=b"r" * 16),
        command=command,
        lifecycle=[record_pb2.Lifecycle(resigned=record_pb2.Resigned(seat=card)) for card in cards],
        events=[game_pb2.Event(nimmt=pb.Event(card_placed=event)) for event in events],
        reveals=[record_pb2.Reveal(epoch=epoch, chain=bytes(32)) for epoch in epochs],
    )
    written = wire.body(
        body.match_id,
        seq,
        time_us,
        body.cause.SerializeToString(deterministic=True),
        command,
        [spelling.event(event).field for event in events],
        list(body.lifecycle),
        list(body.reveals),
    )
    assert written == body.SerializeToString(deterministic=True)


SECRETS = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 1000), LONG), max_size=20)


@given(NUMBERS, LONG, SECRETS)
def test_a_record_is_written_as_protobuf_does(seq: int, body: bytes, secrets: list[tuple[int, int, bytes]]) -> None:
    match, previous, salt_key = b"m" * 16, b"p" * 32, b"k" * 32
    body = body or b"body"
    record = record_pb2.Record(body=body)
    for index, (audience, epoch, value) in enumerate(secrets):
        salt = hashing.salt(salt_key, previous, seq, hashing.u16(index), value)
        commitment = hashing.commitment(match, seq, index, salt, value)
        record.seals.add(audience=audience, epoch=epoch, commitment=commitment)
        record.openings.add(seal=index, salt=salt, value=value)
    record.hash = hashing.record_hash(match, seq, previous, body, record.seals)
    written = record.SerializeToString(deterministic=True)
    made = assembly.seal(match, seq, body, secrets, previous, salt_key)
    assert (made.data, made.hash) == (written, record.hash)
    assert assembly.is_record(written, match, seq, body, secrets, previous)


@given(SECRETS.filter(bool), st.data())
def test_no_byte_of_a_record_is_free(secrets: list[tuple[int, int, bytes]], data: st.DataObject) -> None:
    match, previous = b"m" * 16, b"p" * 32
    written = assembly.seal(match, 5, b"body", secrets, previous, b"k" * 32).data
    at = data.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + bytes([written[at] ^ data.draw(st.integers(1, 255))]) + written[at + 1 :]
    shorter = written[:at] + written[at + 1 :]
    for other in (changed, shorter, written + b"\0"):
        assert not assembly.is_record(other, match, 5, b"body", secrets, previous)


@given(LONG, HASHES)
def test_a_sealed_command_is_written_as_protobuf_does(command: bytes, signature: bytes) -> None:
    for signed in (signature, signature * 2):
        sealed = record_pb2.SealedCommand(command=command, signature=signed)
        assert wire.sealed_command(command, signed) == sealed.SerializeToString(deterministic=True)


@given(st.binary(max_size=70), st.binary(min_size=60, max_size=68), st.binary(max_size=3))
def test_a_sealed_command_is_read_as_protobuf_does(command: bytes, signature: bytes, rest: bytes) -> None:
    """Whichever way it is spelled."""
    spelling = spelling_of(GAME.schema)
    whole = game_pb2.Command(nimmt=pb.Command(select_card=pb.SelectCard(card=7))).SerializeToString()
    ahead, behind = wire.field(1, whole), wire.field(2, signature)
    for value in (ahead + behind, behind + ahead, ahead + wire.field(1, command) + behind, ahead + behind + rest):
        try:
            held = parse_strict(record_pb2.SealedCommand, value)
            expected = (spelling.command(held.command), held.command, held.signature)
        except (Malformed, MalformedCommand) as error:
            with pytest.raises(type(error)):
                spelling.unseal(value)
        else:
            assert tuple(spelling.unseal(value)) == expected


def test_what_is_kept_shows_no_secret() -> None:
    spelling = Spelling(GAME.schema)
    data = game_pb2.Command(nimmt=pb.Command(select_card=pb.SelectCard(card=77))).SerializeToString()
    sealed = record_pb2.SealedCommand(command=data).SerializeToString()
    shown = f"{spelling.command(data)!r} {spelling.unseal(sealed)!r} {spelling.event(pb.Chosen(seat=1, card=77))!r}"
    assert "77" not in shown
