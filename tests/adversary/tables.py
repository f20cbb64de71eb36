"""Who sits where, told otherwise."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, Told, lie, signed, story
from adversary.scenes import Scene
from sixledger.ledger import keys
from sixledger.v1 import record_pb2
from support.forging import Liar, editing, signed_act
from support.ledgers import private_key, secret

GAMES = ("base", "nifty", "forces", "piece")


def _put(where: Scene, records: Records, seq: int, step: record_pb2.Lifecycle, seat: int, kind: int) -> int:
    """Put in a step of a seat (or of the table: kind 0), signed with a key of the server if it joins."""
    cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=secret(f"put in {seq}")[:16])
    if not kind:
        cause.kind = record_pb2.CAUSE_KIND_TABLE
    body = record_pb2.Body(format=1, match_id=where.body(0).match_id, seq=seq, time_us=where.body(seq - 1).time_us)
    body.lifecycle.append(step)
    if kind:
        key = private_key("liar")
        first = kind == keys.ActKind.JOIN
        cause.observed_head = where.table.records[0].hash if first else where.table.records[seq - 1].hash
        cause.key_id = keys.key_id(keys.public_bytes(key))
    body.cause.CopyFrom(cause)
    record = record_pb2.Record(body=body.SerializeToString(deterministic=True))
    if kind:
        payload = step.joined.public_key if step.HasField("joined") else b""
        signature = signed_act(record, private_key("liar"), keys.ActKind(kind), payload)
        with editing(record) as changed:
            changed.cause.signature = signature
    records.insert(seq, record)
    return seq


def _joining(seat: int) -> record_pb2.Lifecycle:
    public_key = keys.public_bytes(private_key("liar"))
    return record_pb2.Lifecycle(joined=record_pb2.SeatJoined(seat=seat, public_key=public_key))


@lie("join-twice", "ILLEGAL_COMMAND", "rules", *GAMES)
def over_whoever_sits_there(where: Scene, records: Records) -> int:
    """The seat of somebody who joined, with another key."""
    return _put(where, records, where.step("joined") + 1, _joining(0), 0, keys.ActKind.JOIN)


@lie("join-after-closing", "ILLEGAL_COMMAND", "rules", *GAMES)
def when_the_others_have_gathered(where: Scene, records: Records) -> int:
    return _put(where, records, where.step("closed") + 1, _joining(1), 1, keys.ActKind.JOIN)


@lie("close-twice", "ILLEGAL_COMMAND", "rules", *GAMES, "running")
def closed_again_with_others(where: Scene, records: Records) -> int:
    step = record_pb2.Lifecycle(closed=record_pb2.SeatsClosed(seats=[record_pb2.ClosedSeat()]))
    return _put(where, records, where.step("closed") + 1, step, 0, 0)


def _closed(body: record_pb2.Body) -> record_pb2.SeatsClosed:
    return next(step.closed for step in body.lifecycle if step.HasField("closed"))


@lie("closed-with-other-key", "RULES_DIVERGENCE", "rules", *GAMES)
def a_key_of_the_server(where: Scene, records: Records) -> int:
    seq = where.step("closed")
    with editing(records[seq]) as body:
        _closed(body).seats[0].public_key = keys.public_bytes(private_key("liar"))
    return seq


@lie("closed-with-other-key", "RULES_DIVERGENCE", "rules", *GAMES)
def no_key_any_more(where: Scene, records: Records) -> int:
    """As if the seat had never wanted to sign."""
    seq = where.step("closed")
    with editing(records[seq]) as body:
        _closed(body).seats[0].ClearField("public_key")
    return seq


@lie("close-without-a-seat", "RULES_DIVERGENCE", "rules", *GAMES)
def the_last_one_left_out(where: Scene, records: Records) -> int:
    seq = where.step("closed")
    with editing(records[seq]) as body:
        del _closed(body).seats[-1]
    return seq


@lie("close-without-a-seat", "RULES_DIVERGENCE", "rules", *GAMES)
def not_said_to_contribute(where: Scene, records: Records) -> int:
    """Then its contribution would not be waited for."""
    seq = where.step("closed")
    with editing(records[seq]) as body:
        _closed(body).seats[0].contributes = False
    return seq


@lie("leave-for-other-seat", "BAD_SIGNATURE", "rules", *GAMES)
def shown_the_door(where: Scene, records: Records) -> int:
    step = record_pb2.Lifecycle(left=record_pb2.SeatLeft(seat=0))
    return _put(where, records, where.step("joined") + 1, step, 0, keys.ActKind.LEAVE)


@lie("ready-for-other-seat", "BAD_SIGNATURE", "rules", "piece")
def ready_without_a_word(where: Scene, records: Records) -> int:
    seq = where.step("ready")
    with editing(records[seq]) as body:
        for name in ("signature", "key_id", "observed_head"):
            body.cause.ClearField(name)
    return seq


@lie("ready-for-other-seat", "BAD_SIGNATURE", "rules", "piece")
def ready_with_the_word_of_another(where: Scene, records: Records) -> int:
    seq = where.step("ready")
    with editing(records[seq]) as body:
        body.cause.seat = body.lifecycle[0].ready.seat = 1
    return seq


@lie("hide-hosting", "BAD_SIGNATURE", "rules", "forces")
def not_hosted_after_all(where: Scene, records: Records) -> Told:
    """Told so by record and closing: but the next who signed had seen that it was."""
    seq = where.step("joined", skip=2)
    with editing(records[seq]) as body:
        body.lifecycle[0].joined.ClearField("hosted")
        body.lifecycle[1].closed.seats[2].ClearField("hosted")
    return Told(seq, found=seq + 1)


@story("hide-hosting", Strength.SERVER, "forces", limit=Limit.OPERATOR_RUN_SEATS)
def never_said_to_be_hosted(where: Scene) -> Evidence:
    liar = Liar.after(where.table, where.step("joined", skip=2), held=frozenset({0, 1}))
    liar.join(2)
    liar.contribute()
    return signed(where, liar.play().records, "VALID")
