"""Signatures taken from elsewhere, made up, or made worthless by the key."""

from __future__ import annotations

from typing import Any

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, ledger, lie, signed, story
from adversary.records import command_of, put_signature
from adversary.scenes import Scene
from sixledger.ledger import keys
from sixledger.v1 import record_pb2
from support.forging import Liar, chain, editing, editing_secret, sign_again, sign_heads, signed_act
from support.ledgers import head, private_key, secret

#: The order of the group of Ed25519, and the prime of its field.
ORDER, PRIME = 2**252 + 27742317777372353535851937790883648493, 2**255 - 19
GAMES = ("base", "nifty", "forces", "piece")


def _signature(where: Scene, seq: int) -> bytes:
    """The signature of the command in a record."""
    in_the_open = where.body(seq).cause.signature
    if in_the_open:
        return in_the_open
    return record_pb2.SealedCommand.FromString(where.table.records[seq].openings[0].value).signature


@lie("reuse-signature", "BAD_SIGNATURE", "rules", *GAMES)
def of_an_earlier_command(where: Scene, records: Records) -> int:
    earlier, seq = where.choice(seat=0), where.choice(seat=0, skip=1)
    put_signature(where, records, seq, _signature(where, earlier))
    return seq


@lie("reuse-signature", "BAD_SIGNATURE", "rules", *GAMES)
def of_the_other_seat(where: Scene, records: Records) -> int:
    seq, other = where.choice(seat=0), where.choice(seat=1)
    put_signature(where, records, seq, _signature(where, other))
    return seq


@lie("forge-signature", "BAD_SIGNATURE", "rules", *GAMES)
def random_bytes(where: Scene, records: Records) -> int:
    seq = where.choice()
    put_signature(where, records, seq, secret("one half") + secret("another half"))
    return seq


@lie("forge-signature", "BAD_SIGNATURE", "rules", *GAMES)
def by_another_key(where: Scene, records: Records) -> int:
    """It fits everything but the key that the seat joined with."""
    seq = where.choice()
    signature = signed_act(records[seq], private_key("liar"), keys.ActKind.COMMAND, command_of(where, seq))
    put_signature(where, records, seq, signature)
    return seq


@lie("forge-signature", "BAD_SIGNATURE", "rules", *GAMES)
def of_half_the_length(where: Scene, records: Records) -> int:
    seq = where.choice()
    put_signature(where, records, seq, _signature(where, seq)[:32])
    return seq


@lie("strip-signature", "BAD_SIGNATURE", "rules", *GAMES)
def without_any_trace(where: Scene, records: Records) -> int:
    seq = where.choice()
    put_signature(where, records, seq, b"")
    with editing(records[seq]) as body:
        body.cause.ClearField("key_id")
        body.cause.ClearField("observed_head")
    return seq


@lie("strip-signature", "BAD_SIGNATURE", "rules", *GAMES, "running")
def from_a_join(where: Scene, records: Records) -> int:
    """The key stays: else its seat would be one that does not sign."""
    seq = where.step("joined")
    with editing(records[seq]) as body:
        body.cause.ClearField("signature")
    return seq


@lie("signature-other-payload", "BAD_SIGNATURE", "rules", "forces", "piece")
def another_spelling_of_the_command(where: Scene, records: Records) -> int:
    """A protobuf message says the same when it is written twice; the signature is over the bytes."""
    seq = where.choice()
    with editing(records[seq]) as body:
        body.command += body.command
    return seq


@lie("signature-other-payload", "BAD_SIGNATURE", "rules", *GAMES)
def another_request_id(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        body.cause.request_id = secret("another request")[:16]
    return seq


@story("signature-other-kind", Strength.SERVER, *GAMES)
def leaving_for_resigning(where: Scene) -> Evidence:
    """The seat once signed that it leaves; the same bytes under `resigned`."""
    seq = where.command()
    liar = Liar.after(where.table, seq)
    record = liar.resign(0)
    signature = signed_act(record, where.table.key(0), keys.ActKind.LEAVE, b"")
    with editing(record) as body:
        body.cause.signature, body.cause.key_id = signature, keys.key_id(where.table.public_key(0))
    return signed(where, chain(liar.records), "BAD_SIGNATURE", "rules", seq)


@lie("malleable-signature", "BAD_SIGNATURE", "rules", *GAMES)
def the_order_added(where: Scene, records: Records) -> int:
    """S + L in place of S: lenient libraries take it."""
    seq = where.choice()
    signature = _signature(where, seq)
    number = int.from_bytes(signature[32:], "little") + ORDER
    put_signature(where, records, seq, signature[:32] + number.to_bytes(32, "little"))
    return seq


def _join_with(where: Scene, records: Records, public_key: bytes, signature: bytes) -> int:
    """Let seat 0 join with another key, and all that names it follow."""
    seq = where.step("joined")
    with editing(records[seq]) as body:
        body.lifecycle[0].joined.public_key = public_key
        body.cause.key_id, body.cause.signature = keys.key_id(public_key), signature
    with editing(records[where.step("closed")]) as body:
        closed = next(step for step in body.lifecycle if step.HasField("closed"))
        closed.closed.seats[0].public_key = public_key
    return seq


@lie("small-order-key", "ILLEGAL_COMMAND", "rules", *GAMES)
def the_neutral_point(where: Scene, records: Records) -> int:
    """With it R = A and S = 0 is a signature of every message, for a library that only does the sum."""
    point = (1).to_bytes(32, "little")
    return _join_with(where, records, point, point + bytes(32))


@lie("small-order-key", "ILLEGAL_COMMAND", "rules", *GAMES)
def the_point_of_order_two(where: Scene, records: Records) -> int:
    point = (PRIME - 1).to_bytes(32, "little")
    return _join_with(where, records, point, (1).to_bytes(32, "little") + bytes(32))


@lie("noncanonical-key", "ILLEGAL_COMMAND", "rules", *GAMES)
def the_prime_added(where: Scene, records: Records) -> int:
    """Y + p for a small y: a second spelling of one point."""
    point = (PRIME + 3).to_bytes(32, "little")
    return _join_with(where, records, point, bytes(64))


def _with_a_key_of_the_server(where: Scene, held: frozenset[int]) -> tuple[int, Liar]:
    seq = where.step("joined")
    liar = Liar.after(where.table, seq, held=held)
    liar.start() if where.name != "piece" else _start_when_ready(liar)
    liar.play()
    return seq, liar


def _start_when_ready(liar: Any) -> None:
    for seat in (0, 1):
        liar.join(seat)
    for seat in (0, 1):
        liar.ready(seat)
    liar.contribute()


@story("replace-seat-key", Strength.COLLUDING, *GAMES, limit=Limit.KEY_OWNERSHIP)
def a_person_who_never_got_in(where: Scene) -> Evidence:
    """The server plays seat 0 with a key of its own. Who was kept out knows, and the ledger does not."""
    _, liar = _with_a_key_of_the_server(where, frozenset({1}))
    return signed(where, liar.records, "VALID")


@story("replace-seat-key", Strength.RECEIPT, *GAMES)
def a_person_who_has_a_head(where: Scene) -> Evidence:
    seq, liar = _with_a_key_of_the_server(where, frozenset({1}))
    data = ledger(where, liar.records, sign_heads(liar.records, seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(where.table.records, seq + 1)])


@lie("replace-seat-key", "BAD_SIGNATURE", "rules", *GAMES)
def a_join_with_the_key_of_the_server(where: Scene, records: Records) -> int:
    """The key is the server's, and what the seat signed with its own is kept."""
    return _join_with(
        where, records, keys.public_bytes(private_key("liar")), where.body(where.step("joined")).cause.signature
    )


@lie("change-key-id", "BAD_SIGNATURE", "rules", *GAMES)
def the_id_of_another_key(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        body.cause.key_id = keys.key_id(keys.public_bytes(private_key("liar")))
    return seq


def _observing(where: Scene, records: Records, seq: int, observed: bytes) -> int:
    with editing(records[seq]) as body:
        body.cause.observed_head = observed
    seat = where.body(seq).cause.seat
    sign_again(records[seq], where.table.key(seat), command_of(where, seq))
    return seq


@lie("stale-observed-head", "BAD_SIGNATURE", "rules", *GAMES, strength=Strength.COLLUDING)
def older_than_the_decision(where: Scene, records: Records) -> int:
    """The seat cannot have seen what it decided about."""
    seq = where.choice(skip=2)
    opened = where.table.matches[seq - 1].decision_seq
    return _observing(where, records, seq, where.table.records[opened - 1].hash)


@lie("stale-observed-head", "BAD_SIGNATURE", "rules", *GAMES, strength=Strength.COLLUDING)
def the_first_head(where: Scene, records: Records) -> int:
    """H_0 is good for acts of other kinds, not for a command."""
    return _observing(where, records, where.choice(skip=2), where.table.records[0].hash)


@lie("foreign-observed-head", "BAD_SIGNATURE", "rules", *GAMES, strength=Strength.COLLUDING)
def of_a_history_that_is_not_this_one(where: Scene, records: Records) -> int:
    return _observing(where, records, where.choice(skip=2), secret("a head of another history"))


@lie("foreign-observed-head", "BAD_SIGNATURE", "rules", *GAMES, strength=Strength.COLLUDING)
def of_nothing(where: Scene, records: Records) -> int:
    return _observing(where, records, where.choice(skip=2), b"")


@lie("open-signature", "TAMPERED", "openings", "base", "nifty")
def beside_the_sealed_command(where: Scene, records: Records) -> int:
    """With it anybody could try which card it fits."""
    seq = where.choice()
    with editing_secret(records[seq], 0) as sealed:
        signature = sealed.signature
    with editing(records[seq]) as body:
        body.cause.signature = signature
    return seq
