"""Contributions that nobody gave, or gave otherwise."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, ledger, lie, signed, story
from adversary.scenes import BOTH, Scene
from sixledger.ledger import hashing, keys
from sixledger.v1 import record_pb2
from support.forging import Liar, body_of, chain, editing, sign_heads, signed_act
from support.ledgers import COMMIT_REVEAL, SEATS, Table, copies, head, rounds, secret

CONTRIBUTION, COMMITMENT = keys.ActKind.CONTRIBUTION, keys.ActKind.COMMITMENT


def _sign_contribution(where: Scene, record: record_pb2.Record, seat: int, value: bytes) -> None:
    """Let a seat contribute `value`, with its key."""
    with editing(record) as body:
        body.lifecycle[0].contributed.contribution = value
    signature = signed_act(record, where.table.key(seat), CONTRIBUTION, value)
    with editing(record) as body:
        body.cause.signature = signature


@lie("invent-contribution", "ILLEGAL_COMMAND", "rules", "forces")
def of_a_seat_that_gives_none(where: Scene, records: Records) -> int:
    seq = where.step("contributed")
    with editing(records[seq]) as body:
        cause = body.cause
        body.lifecycle[0].contributed.seat = cause.seat = 2
        cause.ClearField("signature")
        cause.ClearField("key_id")
        cause.ClearField("observed_head")
    return seq


@story("invent-contribution", Strength.SERVER, "base", "nifty", "forces")
def in_the_name_of_a_seat(where: Scene) -> Evidence:
    """Commitment and contribution fit each other, the deal fits both: but the seat has not signed them."""
    seq = where.step("committed", skip=1)
    liar = Liar.after(where.table, seq)
    seat = where.body(seq).cause.seat
    value = secret("what suits the server")
    committed = hashing.contribution_commitment(liar.match.match_id, seat, value)
    liar.act(liar.action(seat, COMMITMENT, committed, commitment=committed))
    for other in (0, 1):
        given = value if other == seat else liar.contribution(other)
        liar.act(liar.action(other, CONTRIBUTION, given, contribution=given))
    liar.abort()
    return signed(where, liar.records, "BAD_SIGNATURE", "rules", seq)


@lie("alter-contribution", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece", "running")
def another_value(where: Scene, records: Records) -> int:
    seq = where.step("contributed")
    with editing(records[seq]) as body:
        body.lifecycle[0].contributed.contribution = secret("another value")
    return seq


@lie("alter-contribution", "SEED_MISMATCH", "seeds", "base", "nifty", "forces", strength=Strength.COLLUDING)
def another_value_than_was_committed_to(where: Scene, records: Records) -> int:
    """The last seat signs another value, once it knows what the others gave."""
    seq = where.step("contributed", skip=1)
    _sign_contribution(where, records[seq], where.body(seq).cause.seat, secret("another value"))
    return seq


def _unsigned(value: bytes) -> tuple[Scene, int]:
    """A match whose seats contribute, and do not sign: seat 1 with this value."""
    table = Table(options=rounds(1), mode=COMMIT_REVEAL, contributing=BOTH, name="adversary unsigned contributors")
    for seat in (0, 1):
        table.join(seat)
    table.commit(0)
    committed = hashing.contribution_commitment(table.match.match_id, 1, value)
    table.act(table.action(1, COMMITMENT, committed, commitment=committed))
    table.reveal(0)
    table.act(table.action(1, CONTRIBUTION, value, contribution=value))
    return Scene("unsigned contributors", "", table.play()), 4


@story("alter-contribution", Strength.SERVER, "base", limit=Limit.UNSIGNED_SEATS)
def another_value_of_a_seat_without_key(_: Scene) -> Evidence:
    where, _seq = _unsigned(secret("what suits the server"))
    return signed(where, where.records(), "VALID")


@story("alter-contribution", Strength.RECEIPT, "base")
def another_value_of_a_seat_without_key_that_kept_a_head(_: Scene) -> Evidence:
    told, seq = _unsigned(secret("what suits the server"))
    true, _seq = _unsigned(secret("what the seat gave"))
    data = ledger(told, told.records(), sign_heads(told.records(), seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(true.table.records, seq + 1)])


@lie("drop-contribution", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def a_record_with_a_contribution_dropped(where: Scene, records: Records) -> int:
    seq = where.step("contributed")
    value = where.body(seq).lifecycle[0].contributed
    del records[seq]
    match = where.table.match
    given = [seat.contribution or None for seat in match.seats]
    given[value.seat] = None
    with editing(records[where.step("sealed") - 1]) as body:
        body.lifecycle[-1].sealed.entropy = hashing.entropy(match.match_id, match.seeds.commitment, given)
    return seq


@lie("drop-contribution", "RULES_DIVERGENCE", "rules", "base", "nifty", "forces", "piece")
def started_without_the_last_contribution(where: Scene, records: Records) -> int:
    """The seats are said to contribute, and the game starts before the last of them has."""
    seq = where.step("contributed")
    match = where.table.match
    value = where.body(seq).lifecycle[0].contributed
    given = [value.contribution if number == value.seat else None for number in range(len(match.seats))]
    with editing(records[seq]) as body:
        entropy = hashing.entropy(match.match_id, match.seeds.commitment, given)
        body.lifecycle.add(sealed=record_pb2.EntropySealed(entropy=entropy))
    return seq


@lie("hosted-contributes", "ILLEGAL_COMMAND", "rules", "forces")
def a_hosted_seat_that_contributes(where: Scene, records: Records) -> int:
    """Named as contributing when it joins and when the seats are closed."""
    seq = where.step("joined", skip=2)
    with editing(records[seq]) as body:
        body.lifecycle[0].joined.contributes = True
        body.lifecycle[1].closed.seats[2].contributes = True
    return seq


@lie("hosted-contributes", "ILLEGAL_COMMAND", "rules", "forces")
def a_contribution_of_a_hosted_seat(where: Scene, records: Records) -> int:
    """A commitment for it, before the others reveal theirs."""
    seq = where.step("contributed")
    record = record_pb2.Record()
    value = hashing.contribution_commitment(where.table.match.match_id, 2, bytes(32))
    body = record_pb2.Body(format=1, match_id=where.body(0).match_id, seq=seq, time_us=where.body(seq).time_us)
    body.cause.CopyFrom(record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=2, request_id=secret("hosted")[:16]))
    body.lifecycle.add(committed=record_pb2.ContributionCommitted(seat=2, commitment=value))
    record.body = body.SerializeToString(deterministic=True)
    records.insert(seq, record)
    return seq


@lie(
    "contribute-before-commitments",
    "ILLEGAL_COMMAND",
    "rules",
    "base",
    "nifty",
    "forces",
    strength=Strength.COLLUDING,
)
def a_contribution_before_the_last_commitment(where: Scene, records: Records) -> int:
    """The seat that commits last knows what another has contributed."""
    seq, given = where.step("committed", skip=1), where.step("contributed")
    record = records.pop(given)
    with editing(record) as body:
        body.cause.observed_head = where.table.records[seq - 1].hash
        body.time_us = where.body(seq - 1).time_us
    _sign_contribution(where, record, body_of(record).cause.seat, body_of(record).lifecycle[0].contributed.contribution)
    records.insert(seq, record)
    return seq


@lie("replace-commitment", "ILLEGAL_COMMAND", "rules", "base", "nifty", "forces", strength=Strength.COLLUDING)
def a_second_commitment(where: Scene, records: Records) -> int:
    """Seat 1 commits anew once it has seen the contribution of seat 0."""
    committed, seq = where.step("committed", skip=1), where.step("contributed") + 1
    record = record_pb2.Record.FromString(records[committed].SerializeToString())
    seat = where.body(committed).cause.seat
    value = hashing.contribution_commitment(where.table.match.match_id, seat, secret("what suits seat 1"))
    with editing(record) as body:
        body.cause.request_id = secret("a second commitment")[:16]
        body.cause.observed_head = where.table.records[seq - 1].hash
        body.time_us = where.body(seq - 1).time_us
        body.lifecycle[0].committed.commitment = value
    signature = signed_act(record, where.table.key(seat), COMMITMENT, value)
    with editing(record) as body:
        body.cause.signature = signature
    records.insert(seq, record)
    return seq


@lie("reuse-contributions", "BAD_SIGNATURE", "rules", "base", "nifty", "forces", "piece")
def the_contribution_of_the_match_before(where: Scene, records: Records) -> int:
    """The seat used one key and one value in both; its signature names the other match."""
    seq = where.step("contributed")
    seat = where.body(seq).cause.seat
    value = where.body(seq).lifecycle[0].contributed.contribution
    signature = signed_act(records[seq], where.table.key(seat), CONTRIBUTION, value, secret("the match before")[:16])
    with editing(records[seq]) as body:
        body.cause.signature = signature
    return seq


@story("mode-without-commitments", Strength.SERVER, "base", "nifty", "forces")
def commitments_left_out(where: Scene) -> Evidence:
    """Record 0 names the mode in one step; whoever joined signed over the other record 0."""
    records = [record for seq, record in enumerate(where.records()) if not _commits(where, seq)]
    with editing(records[0]) as body:
        body.lifecycle[0].opened.mode = SEATS
    return signed(where, chain(copies(records)), "BAD_SIGNATURE", "rules", 1)


@story("mode-without-commitments", Strength.SERVER, "base", "nifty", "forces")
def commitments_left_out_of_a_match_that_needs_them(where: Scene) -> Evidence:
    records = [record for seq, record in enumerate(where.records()) if not _commits(where, seq)]
    return signed(where, chain(records), "BAD_SIGNATURE", "rules", where.step("committed"))


def _commits(where: Scene, seq: int) -> bool:
    return any(step.HasField("committed") for step in where.body(seq).lifecycle)


@story("say-withheld", Strength.SERVER, "withheld", limit=Limit.CENSOR_DELAY)
def a_contribution_that_came_in_time(where: Scene) -> Evidence:
    """It was given, and the server says that it was not: as with every act that is not taken."""
    return signed(where, where.records(), "VALID")


@story("say-withheld", Strength.RECEIPT, "withheld")
def a_contribution_that_was_taken(where: Scene) -> Evidence:
    seq = where.step("withheld")
    true = Liar.after(where.table, seq, held=BOTH)
    true.reveal(1)
    data = ledger(where, where.records(), where.table.heads(seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(true.records, seq + 1)])


@lie("say-withheld", "ILLEGAL_COMMAND", "clocks", "withheld")
def before_the_time_was_over(where: Scene, records: Records) -> int:
    seq = where.step("withheld")
    with editing(records[seq]) as body:
        body.time_us = where.body(seq - 1).time_us
    return seq


@lie("say-withheld", "RULES_DIVERGENCE", "rules", "withheld")
def the_other_seat_is_named(where: Scene, records: Records) -> int:
    """Its contribution would not be mixed in, and it had given one."""
    seq = where.step("withheld")
    with editing(records[seq]) as body:
        body.lifecycle[0].withheld.seats[:] = [0]
    return seq


@lie("say-withheld", "SEED_MISMATCH", "seeds", "withheld")
def more_left_out_than_was_withheld(where: Scene, records: Records) -> int:
    seq = where.step("withheld")
    match = where.table.match
    with editing(records[seq]) as body:
        body.lifecycle[1].sealed.entropy = hashing.entropy(match.match_id, match.seeds.commitment, [None, None])
    return seq


@story("withhold-contribution", Strength.COLLUDING, "withheld", limit=Limit.WITHHELD_REVEAL)
def the_last_contribution_never_comes_and_the_match_goes_on(where: Scene) -> Evidence:
    """By option. The report names the seat, and that it had the choice of two deals."""
    return signed(where, where.records(), "VALID")
