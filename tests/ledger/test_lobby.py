"""Before the seats are closed: leaving, readiness, bots of the operator, and playing with fewer seats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sixledger.ledger import file, hashing
from sixledger.ledger.faults import LedgerFault, MalformedAct, Refused, SeatTaken, WrongPhase
from sixledger.ledger.folding import fold
from sixledger.ledger.verify import verify
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2
from support.ledgers import COMMIT_REVEAL, KEYS, SERVER_ONLY, SIGNER, Table, find, forge, heads

OPEN, RUNNING = match_service_pb2.MATCH_STATUS_OPEN, match_service_pb2.MATCH_STATUS_RUNNING
VALID = replay_service_pb2.VERDICT_VALID


def steps(record: record_pb2.Record) -> list[str | None]:
    return [step.WhichOneof("step") for step in record_pb2.Body.FromString(record.body).lifecycle]


def verdict(table: Table) -> replay_service_pb2.VerifyReport:
    return verify(table.file(), trusted=[SIGNER.verifier_key])


def test_a_seat_that_is_left_is_free_again_for_another_key() -> None:
    table = Table(2, signing=frozenset({0, 1}), name="left")
    table.join(1)
    first = table.match.seats[1]
    assert steps(table.leave(1)) == ["left"]
    assert not table.match.seats[1].joined
    table.signing = frozenset({0})
    table.join(1)
    assert (table.match.seats[1].public_key, table.match.seats[1].since) == (b"", 3)
    assert (first.public_key != b"", first.since) == (True, 1)
    assert steps(table.join(0)) == ["joined", "closed", "sealed"]
    table.play()
    assert verdict(table).verdict == VALID


def test_nobody_leaves_a_seat_that_is_free_or_closed() -> None:
    table = Table(2)
    with pytest.raises(WrongPhase, match="not taken"):
        table.leave(0)
    table.start()
    with pytest.raises(WrongPhase, match="closed"):
        table.leave(0)


def test_with_readiness_the_table_waits_until_every_taken_seat_is_ready() -> None:
    table = Table(3, ready_seats=3, name="ready")
    for seat in range(3):
        table.join(seat)
    assert table.match.status == OPEN
    assert [steps(table.ready(seat)) for seat in (2, 0)] == [["ready"], ["ready"]]
    with pytest.raises(WrongPhase, match="ready already"):
        table.ready(0)
    assert steps(table.ready(1)) == ["ready", "closed", "sealed"]
    assert verdict(table.play()).verdict == VALID


def test_with_readiness_fewer_may_begin_from_the_stated_number_on() -> None:
    table = Table(4, ready_seats=2, name="fewer ready")
    table.join(0)
    table.ready(0)
    table.join(1)
    assert steps(table.ready(1)) == ["ready", "closed", "sealed"]
    assert (len(table.match.seats), table.match.opened.seats, table.match.setup.seats) == (2, 4, 2)
    assert verdict(table.play()).verdict == VALID


def test_whoever_leaves_may_leave_a_complete_table_behind() -> None:
    table = Table(4, ready_seats=2, name="left complete")
    for seat in (0, 1, 2):
        table.join(seat)
    table.ready(0)
    table.ready(1)
    assert steps(table.leave(2)) == ["left", "closed", "sealed"]
    assert verdict(table.play()).verdict == VALID


def test_readiness_is_gone_with_the_player() -> None:
    table = Table(2, ready_seats=2)
    table.join(0)
    table.ready(0)
    table.leave(0)
    table.join(0)
    assert not table.match.seats[0].ready


def test_a_table_that_does_not_ask_takes_no_readiness() -> None:
    table = Table(2)
    table.join(0)
    with pytest.raises(WrongPhase, match="does not ask"):
        table.ready(0)


def test_the_owner_begins_with_fewer_seats_and_the_draws_are_over_those() -> None:
    table = Table(5, mode=COMMIT_REVEAL, contributing=frozenset({0, 2}), signing=frozenset({1}), name="fewer")
    for seat in range(3):
        table.join(seat)
    assert steps(table.close()) == ["closed"]
    with pytest.raises(WrongPhase, match="closed"):
        table.close()
    table.contribute()
    given = [table.contribution(0), None, table.contribution(2)]
    assert table.match.entropy == hashing.entropy(table.match.match_id, table.match.seeds.commitment, given)
    table.play()
    outcome = table.game.outcome(table.match.state)
    assert outcome is not None
    assert len(outcome.scores) == 3
    assert verdict(table).verdict == VALID
    assert len(fold(table.records).seats) == 3


@pytest.mark.parametrize(
    ("taken", "fault"),
    [((), "no seat is taken"), ((0,), "not for 1 seats"), ((0, 2), "seat 1 is free before a taken one")],
)
def test_the_seats_are_not_closed_when_those_that_are_taken_cannot_play(taken: tuple[int, ...], fault: str) -> None:
    table = Table(4)
    for seat in taken:
        table.join(seat)
    with pytest.raises(WrongPhase, match=fault):
        table.close()


def test_the_owner_does_not_begin_before_the_seats_are_ready() -> None:
    table = Table(4, ready_seats=4)
    table.join(0)
    table.join(1)
    table.ready(1)
    with pytest.raises(WrongPhase, match="not ready: 0"):
        table.close()
    table.ready(0)
    assert steps(table.close()) == ["closed", "sealed"]


def test_a_bot_of_the_operator_is_marked_and_neither_signs_nor_contributes() -> None:
    table = Table(2, mode=COMMIT_REVEAL, contributing=frozenset({0}), ready_seats=2, name="hosted")
    table.join(1, hosted=True)
    table.join(0)
    record = table.ready(0)
    closed = record_pb2.Body.FromString(record.body).lifecycle[1].closed
    assert [seat.hosted for seat in closed.seats] == [False, True]
    assert not closed.seats[0].HasField("hosted")
    table.contribute()
    assert verdict(table.play()).verdict == VALID
    wrongs: list[dict[str, Any]] = [{"signing": frozenset({0})}, {"contributing": frozenset({0})}]
    for wrong in wrongs:
        other = Table(2, mode=COMMIT_REVEAL, **wrong)
        with pytest.raises(MalformedAct, match="neither signs nor contributes"):
            other.join(0, hosted=True)


def test_a_taken_seat_is_not_taken_twice() -> None:
    table = Table(2)
    table.join(0)
    with pytest.raises(SeatTaken):
        table.join(0, hosted=True)


def test_more_seats_than_there_are_cannot_be_asked_to_be_ready() -> None:
    with pytest.raises(MalformedAct, match="2 seats"):
        Table(2, ready_seats=3)
    with pytest.raises(MalformedAct, match="immediate"):
        Table(2, ready_seats=2, immediate=True)


def lobby() -> Table:
    """Three of four seats play; one is hosted, one was left and taken again."""
    table = Table(4, signing=frozenset({0}), ready_seats=3, name="forged lobby")
    for seat in (0, 1, 2):
        table.join(seat)
    table.leave(2)
    table.join(2, hosted=True)
    table.ready(1)
    table.ready(0)
    return table.play()


def _fewer(body: record_pb2.Body) -> None:
    del body.lifecycle[1].closed.seats[2:]


def _unhosted(body: record_pb2.Body) -> None:
    body.lifecycle[0].joined.ClearField("hosted")


def _other_seat(body: record_pb2.Body) -> None:
    body.lifecycle[0].left.seat = 1


def _unsigned(body: record_pb2.Body) -> None:
    body.cause.ClearField("signature")


def _spelled(body: record_pb2.Body) -> None:
    body.lifecycle[0].joined.hosted = False


@pytest.mark.parametrize(
    ("seq", "change", "found"),
    [
        (7, _fewer, 7),
        (5, _unhosted, 7),  # what seat 0 saw when it was ready: its signature does not fit any more
        (4, _other_seat, 4),
        (7, _unsigned, 7),
        (2, _spelled, 2),
    ],
    ids=["fewer seats", "not hosted", "another seat left", "readiness unsigned", "false spelled out"],
)
def test_a_lying_author_is_found_out(seq: int, change: Callable[[record_pb2.Body], None], found: int) -> None:
    table = lobby()
    assert verdict(table).verdict == VALID
    forged = forge(table.records, seq, change)
    report = verify(file.dump(forged, heads(forged), KEYS), trusted=[SIGNER.verifier_key])
    assert report.verdict != VALID
    assert report.finding.seq == found


def test_every_part_of_the_fold_refuses_what_decide_would_not_make() -> None:
    """A client that folds without deciding again does not believe it either."""
    table = lobby()
    start = find(table.records, "match_started")
    for seq, change in ((4, _other_seat), (start, _fewer)):
        with pytest.raises(LedgerFault):
            fold(forge(table.records, seq, change))


def test_what_is_refused_changes_nothing() -> None:
    table = Table(2, mode=SERVER_ONLY, ready_seats=2)
    table.join(0)
    before = (table.match.hash, len(table.records))
    for act in (table.close, lambda: table.ready(1), lambda: table.leave(1)):
        with pytest.raises(Refused):
            act()
    assert (table.match.hash, len(table.records)) == before
