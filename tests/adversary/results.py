"""How a match ends, told otherwise."""

from __future__ import annotations

from adversary.attempts import Evidence, Records, Strength, lie, signed, story
from adversary.records import command_of
from adversary.scenes import Scene
from sixledger.ledger.keys import ActKind
from sixledger.v1 import record_pb2
from support.forging import Liar, chain, editing, sign_again, signed_act
from support.ledgers import secret

GAMES = ("base", "nifty", "forces", "piece")


@lie("wrong-result", "RULES_DIVERGENCE", "rules", *GAMES)
def another_winner(where: Scene, records: Records) -> int:
    seq = len(records) - 1
    with editing(records[seq]) as body:
        ended = where.events(body)[-1].match_ended
        losers = [seat for seat in range(where.table.seats) if seat not in ended.winners]
        ended.winners[:] = losers or [0]
    return seq


@lie("wrong-result", "RULES_DIVERGENCE", "rules", *GAMES)
def another_ranking(where: Scene, records: Records) -> int:
    seq = len(records) - 1
    with editing(records[seq]) as body:
        ended = where.events(body)[-1].match_ended
        ended.ranking[:] = [place % where.table.seats + 1 for place in ended.ranking]
    return seq


@lie("wrong-result", "RULES_DIVERGENCE", "rules", *GAMES)
def another_reason(where: Scene, records: Records) -> int:
    seq = len(records) - 1
    with editing(records[seq]) as body:
        ended = where.events(body)[-1].match_ended
        ended.reason = ended.reason % 5 + 1
    return seq


@story("resign-other-seat", Strength.SERVER, *GAMES)
def without_its_key(where: Scene) -> Evidence:
    seq = where.choice()
    liar = Liar.after(where.table, seq)
    liar.resign(0)
    return signed(where, liar.records, "BAD_SIGNATURE", "rules", seq)


@story("resign-other-seat", Strength.COLLUDING, *GAMES)
def signed_by_the_other_seat(where: Scene) -> Evidence:
    """Seat 1 resigns, and the record says that seat 0 has."""
    seq = where.choice()
    liar = Liar.after(where.table, seq, held=frozenset({1}))
    record = liar.resign(1)
    with editing(record) as body:
        body.lifecycle[0].resigned.seat = 0
    return signed(where, chain(liar.records), "RULES_DIVERGENCE", "rules", seq)


@story("resign-other-seat", Strength.COLLUDING, *GAMES)
def with_the_signature_of_the_other_seat(where: Scene) -> Evidence:
    seq = where.choice()
    liar = Liar.after(where.table, seq)
    record = liar.resign(0)
    signature = signed_act(record, where.table.key(1), ActKind.RESIGN, b"")
    with editing(record) as body:
        body.cause.signature = signature
    return signed(where, liar.records[:-1] + chain(liar.records)[-1:], "BAD_SIGNATURE", "rules", seq)


@lie("play-on-after-end", "ILLEGAL_COMMAND", "rules", *GAMES, strength=Strength.COLLUDING)
def one_more_command(where: Scene, records: Records) -> int:
    """The seat of the last command gives it once more."""
    seq = where.choice(seat=0, skip=1)
    record = record_pb2.Record.FromString(records[seq].SerializeToString())
    with editing(record) as body:
        last = where.body(len(records) - 1)
        body.cause.request_id, body.time_us = secret("one more")[:16], last.time_us
        body.cause.decision, body.cause.observed_head = where.table.match.decision, records[-1].hash
    sign_again(record, where.table.key(0), command_of(where, seq))
    records.append(record)
    return len(records) - 1


@story("play-on-after-end", Strength.SERVER, *GAMES)
def an_abort_of_what_is_over(where: Scene) -> Evidence:
    """So that the result would not count."""
    records = where.records()
    body = record_pb2.Body(
        format=1, match_id=where.body(0).match_id, seq=len(records), time_us=where.body(len(records) - 1).time_us
    )
    cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=secret("too late")[:16])
    body.cause.CopyFrom(cause)
    body.lifecycle.add(aborted=record_pb2.Aborted())
    records.append(record_pb2.Record(body=body.SerializeToString(deterministic=True)))
    return signed(where, chain(records), "ILLEGAL_COMMAND", "rules", len(records) - 1)


@lie("end-too-early", "RULES_DIVERGENCE", "rules", *GAMES)
def ended_by_the_way(where: Scene, records: Records) -> int:
    """The last event of the match, with the seed that belongs to it, behind an ordinary command."""
    seq, last = where.command(), where.body(len(records) - 1)
    with editing(records[seq]) as body:
        body.events.add().CopyFrom(last.events[-1])
    del records[seq + 1 :]
    return seq
