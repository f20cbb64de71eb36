"""Timers that were not due, acts that were too late, and acts of the table that nobody gave."""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Records, Strength, Told, ledger, lie, signed, story
from adversary.records import next_of_seat
from adversary.scenes import SECOND, Scene
from sixledger.ledger.keys import ActKind
from sixledger.v1 import record_pb2
from support.forging import Liar, body_of, chain, editing, sign_again, sign_heads, signed_act
from support.ledgers import Table, head, secret

TIMER, TABLE = record_pb2.CAUSE_KIND_TIMER, record_pb2.CAUSE_KIND_TABLE
GAMES = ("base", "nifty", "forces", "piece")


def fired(where: Scene) -> int:
    """The record of the timer."""
    return next(seq for seq in range(len(where.table.records)) if where.body(seq).cause.kind == TIMER)


@lie("forge-timer", "ILLEGAL_COMMAND", "clocks", *GAMES)
def a_move_under_the_name_of_a_timer(where: Scene, records: Records) -> int:
    """No signature is needed then: but no time had run out, or there is no clock at all."""
    seq = where.command()
    with editing(records[seq]) as body:
        seat = body.cause.seat
        timers = where.table.matches[seq - 1].timers()
        mine = next((timer for timer in timers if timer.seat == seat), None)
        request_id = mine.request_id if mine else secret("a timer")[:16]
        cause = record_pb2.Cause(kind=TIMER, seat=seat, request_id=request_id, decision=body.cause.decision)
        cause.timer, cause.armed_seq = record_pb2.TIMER_KIND_TURN, mine.armed_seq if mine else seq
        body.cause.CopyFrom(cause)
    return seq


@story("forge-timer", Strength.SERVER, "piece", limit=Limit.CENSOR_DELAY)
def a_seat_that_was_not_heard(where: Scene) -> Evidence:
    """The server did not take the command of a seat in time, and let its timer fire."""
    liar = Liar.after(where.table, where.command(where=lambda seq: where.body(seq).cause.seat in (0, 1)))
    liar.fire()
    liar.at = liar.match.time_us - where.body(0).time_us
    liar.abort()
    return signed(where, liar.records, "VALID")


@story("forge-timer", Strength.RECEIPT, "piece")
def a_seat_that_was_heard(where: Scene) -> Evidence:
    """It was taken, and the seat has the head of it."""
    seq = where.command()
    liar = Liar.after(where.table, seq)
    liar.fire()
    data = ledger(where, liar.records, sign_heads(liar.records, seq))
    return Evidence(data, "EQUIVOCATION", "heads", seq, receipts=[head(where.table.records, seq + 1)])


@lie("timer-early", "ILLEGAL_COMMAND", "clocks", "piece")
def a_second_before_the_deadline(where: Scene, records: Records) -> int:
    seq = fired(where)
    with editing(records[seq]) as body:
        body.time_us -= SECOND
    return seq


@lie("timer-other-seat", "ILLEGAL_COMMAND", "clocks", "piece")
def of_the_seat_that_is_not_to_act(where: Scene, records: Records) -> int:
    seq = fired(where)
    with editing(records[seq]) as body:
        body.cause.seat = 1 - body.cause.seat
    return seq


@lie("timer-other-seat", "ILLEGAL_COMMAND", "clocks", "piece")
def armed_by_another_record(where: Scene, records: Records) -> int:
    seq = fired(where)
    with editing(records[seq]) as body:
        body.cause.armed_seq -= 1
    return seq


@lie("timer-other-seat", "ILLEGAL_COMMAND", "clocks", "piece")
def under_another_request_id(where: Scene, records: Records) -> int:
    """A second replica would fire it again."""
    seq = fired(where)
    with editing(records[seq]) as body:
        body.cause.request_id = secret("another timer")[:16]
    return seq


@lie("timer-other-command", "RULES_DIVERGENCE", "rules", "piece")
def what_suits_better(where: Scene, records: Records) -> int:
    seq = fired(where)
    with editing(records[seq]) as body:
        body.command = where.other_command(seq)
    return seq


@lie("timer-other-command", "RULES_DIVERGENCE", "clocks", "piece")
def a_forfeit_where_the_first_legal_move_was_agreed(where: Scene, records: Records) -> Told:
    seq = fired(where)
    with editing(records[seq]) as body:
        body.ClearField("command")
        body.lifecycle.add(forfeited=record_pb2.Forfeited(seat=body.cause.seat))
    return Told(seq, "RULES_DIVERGENCE", "rules")


def _under_the_id_of_its_timer(where: Scene) -> Liar:
    """A seat plays under the request id that its next timer will have, and then runs out of time."""
    seq = where.choice(seat=0)
    liar = Liar.after(where.table, seq, held=frozenset({0, 1}))
    action = liar.command(0, where.legal(seq)[0])
    timer = liar.match.timers()[0]
    action.cause.request_id = timer.request_id
    message = signed_act(
        record_pb2.Record(body=record_pb2.Body(match_id=liar.match.match_id, cause=action.cause).SerializeToString()),
        liar.key(0),
        ActKind.COMMAND,
        action.command,
    )
    action.cause.signature = message
    liar.act(action)
    return liar


@story("command-under-timer-id", Strength.COLLUDING, "piece")
def the_timer_fires_all_the_same(where: Scene) -> Evidence:
    """Ids count per kind of cause and seat: nothing is blocked, and a second command under the id is refused."""
    liar = _under_the_id_of_its_timer(where)
    used = body_of(liar.records[-1]).cause.request_id
    liar.fire()
    assert body_of(liar.records[-1]).cause.kind == TIMER
    liar.at = liar.match.time_us - where.body(0).time_us
    while 0 not in liar.match.to_act:
        liar.play_one()
    seq = len(liar.records)
    liar.play_one()
    record = liar.records[seq]
    with editing(record) as body:
        body.cause.request_id = used
    sign_again(record, liar.key(0), body_of(record).command)
    return signed(where, chain(liar.records), "ILLEGAL_COMMAND", "rules", seq)


@lie("command-under-timer-id", "ILLEGAL_COMMAND", "clocks", "piece", strength=Strength.COLLUDING)
def the_timer_named_in_a_command(where: Scene, records: Records) -> Told:
    """The cause says both: a seat's act and a timer's."""
    seq = where.choice(seat=0)
    timer = where.table.matches[seq - 1].timers()[0]
    with editing(records[seq]) as body:
        body.cause.timer, body.cause.armed_seq = timer.kind, timer.armed_seq
        body.cause.request_id = timer.request_id
    sign_again(records[seq], where.table.key(0), where.body(seq).command)
    return Told(seq, "RULES_DIVERGENCE", "rules")


@lie("late-command", "ILLEGAL_COMMAND", "clocks", "piece")
def a_microsecond_after_the_deadline(where: Scene, records: Records) -> int:
    seq = where.command()
    deadline = where.table.matches[seq - 1].first_deadline_us
    late = deadline + 1 - where.body(seq).time_us
    for record in records[seq:]:
        with editing(record) as body:
            body.time_us += late
    return seq


def _of_table(where: Scene, records: Records, seq: int, step: record_pb2.Lifecycle) -> int:
    """Insert an act of the table."""
    body = record_pb2.Body(format=1, match_id=where.body(0).match_id, seq=seq, time_us=where.body(seq - 1).time_us)
    body.cause.CopyFrom(record_pb2.Cause(kind=TABLE, request_id=secret(f"table {seq}")[:16]))
    body.lifecycle.append(step)
    records.insert(seq, record_pb2.Record(body=body.SerializeToString(deterministic=True)))
    return seq


@lie("forge-pause", "BAD_SIGNATURE", "rules", *GAMES)
def a_pause_put_in_afterwards(where: Scene, records: Records) -> Told:
    """The table may pause at any time: but whoever signed next had not seen that it did."""
    seq = where.choice()
    _of_table(where, records, seq, record_pb2.Lifecycle(resumed=record_pb2.Resumed()))
    _of_table(where, records, seq, record_pb2.Lifecycle(paused=record_pb2.Paused()))
    records[seq + 1].body = _again(records[seq + 1])
    return Told(seq, found=next_of_seat(where, seq) + 2)


def _again(record: record_pb2.Record) -> bytes:
    body = body_of(record)
    body.cause.request_id = secret("resumed")[:16]
    return body.SerializeToString(deterministic=True)


@story("forge-pause", Strength.SERVER, "piece", limit=Limit.CENSOR_DELAY)
def a_pause_that_suits_somebody(where: Scene) -> Evidence:
    liar = Liar.after(where.table, where.command())
    liar.act(liar.table_action(pause={}))
    liar.act(liar.table_action(abort={}))
    return signed(where, liar.records, "VALID")


@lie("forge-pause", "ILLEGAL_COMMAND", "rules", *GAMES)
def resumed_without_a_pause(where: Scene, records: Records) -> int:
    return _of_table(where, records, where.choice(), record_pb2.Lifecycle(resumed=record_pb2.Resumed()))


@lie("forge-abort", "RULES_DIVERGENCE", "rules", *GAMES)
def a_seat_blamed_for_an_abort(where: Scene, records: Records) -> int:
    """The table aborts, and names a seat that is said to have missed a deadline."""
    missed = record_pb2.MissedDeadline(timer=record_pb2.TIMER_KIND_CONTRIBUTE, seats=[1])
    step = record_pb2.Lifecycle(aborted=record_pb2.Aborted(missed=missed))
    seq = _of_table(where, records, where.step("closed") + 1, step)
    del records[seq + 1 :]
    return seq


@story("forge-abort", Strength.SERVER, *GAMES)
def aborted_and_gone_on(where: Scene) -> Evidence:
    seq = where.choice()
    liar = Liar.after(where.table, seq)
    liar.act(liar.table_action(abort={}))
    records = chain([*liar.records, where.table.records[seq]])
    return signed(where, records, "ILLEGAL_COMMAND", "rules", seq + 1)


@lie("forge-forfeit", "ILLEGAL_COMMAND", "clocks", *GAMES)
def a_seat_that_had_time_left(where: Scene, records: Records) -> int:
    seq = where.choice()
    with editing(records[seq]) as body:
        seat, timer = body.cause.seat, record_pb2.TIMER_KIND_TURN
        cause = record_pb2.Cause(
            kind=TIMER, seat=seat, request_id=secret("forfeit")[:16], timer=timer, armed_seq=seq - 1
        )
        cause.armed_seq = seq - 1
        body.cause.CopyFrom(cause)
        body.ClearField("command")
        body.ClearField("events")
        body.lifecycle.add(forfeited=record_pb2.Forfeited(seat=seat))
    del records[seq].seals[:]
    del records[seq].openings[:]
    del records[seq + 1 :]
    return seq


@lie("time-backwards", "TAMPERED", "clocks", *GAMES, early=True)
def a_record_before_the_one_before(where: Scene, records: Records) -> int:
    seq = where.command()
    with editing(records[seq]) as body:
        body.time_us = where.body(seq - 1).time_us - 1
    return seq


@lie("predate-start", "TAMPERED", "clocks", *GAMES, early=True)
def joined_before_it_was_opened(where: Scene, records: Records) -> int:
    seq = where.step("joined")
    with editing(records[seq]) as body:
        body.time_us = where.body(0).time_us - SECOND
    return seq


@story("predate-start", Strength.SERVER, "unsigned", limit=Limit.FALSE_CLOCKS)
def the_whole_match_an_hour_earlier(where: Scene) -> Evidence:
    records = where.records()
    for record in records:
        with editing(record) as body:
            body.time_us -= 3600 * SECOND
    return signed(where, chain(records), "VALID")


# -- what no proof reaches -------------------------------------------------------------------------


@story("false-clock", Strength.SERVER, "piece", limit=Limit.FALSE_CLOCKS)
def a_clock_that_goes_slow_for_a_friend(where: Scene) -> Evidence:
    """The seat took two minutes; the record says one second. Its deadline was after one minute."""
    liar = Liar.after(where.table, where.choice(), held=frozenset({0, 1}))
    liar.at = liar.match.time_us - where.body(0).time_us + SECOND
    liar.play_one()
    liar.abort()
    return signed(where, liar.records, "VALID")


@story("delay-command", Strength.SERVER, "piece", limit=Limit.CENSOR_DELAY)
def taken_a_second_before_the_deadline(where: Scene) -> Evidence:
    """The seat had sent it at once."""
    liar = Liar.after(where.table, where.choice(), held=frozenset({0, 1}))
    liar.at = liar.match.first_deadline_us - where.body(0).time_us - SECOND
    liar.play_one()
    liar.abort()
    return signed(where, liar.records, "VALID")


@story("censor-command", Strength.SERVER, *GAMES, limit=Limit.CENSOR_DELAY)
def a_command_that_is_not_there(where: Scene) -> Evidence:
    """The seat gave it, and the server says that it never came."""
    liar = Liar.after(where.table, where.choice())
    liar.abort()
    return signed(where, liar.records, "VALID")


@story("operator-seat-as-person", Strength.SERVER, "forces", limit=Limit.OPERATOR_RUN_SEATS)
def a_seat_of_the_server_with_a_key(where: Scene) -> Evidence:
    """A program signs as well as a person does."""
    table = Table(
        3,
        options=where.table.options,
        mode=where.table.mode,
        signing=frozenset({0, 1, 2}),
        contributing=frozenset({0, 1}),
        name="adversary program",
        game=where.table.game,
    )
    return signed(where, table.play().records, "VALID")
