"""Seats that withhold what they owe to the randomness: named, and the match cancelled or, by option, gone on with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sixledger.client.core.timing import time_limits
from sixledger.ledger import clocks, hashing
from sixledger.ledger.fairness import Fairness, fairness, promised
from sixledger.ledger.faults import LedgerFault, MalformedAct, WrongPhase
from sixledger.ledger.folding import fold
from sixledger.ledger.keys import ActKind
from sixledger.ledger.verify import verify_records
from sixledger.v1 import match_service_pb2, record_pb2
from sixledger.v1 import replay_service_pb2 as pb
from support import ledgers
from support.ledgers import COMMIT_REVEAL, KEYS, SEATS, SERVER_ONLY, Table, forge

SECOND = 1_000_000
ALL = frozenset({0, 1, 2})
GO_ON = record_pb2.WITHHELD_POLICY_GO_ON


def table(
    mode: record_pb2.ContributionMode.ValueType = COMMIT_REVEAL,
    contributing: frozenset[int] = ALL,
    withheld: record_pb2.WithheldPolicy.ValueType | None = GO_ON,
    seats: int = 3,
) -> Table:
    """A table whose seats are taken: thirty seconds to commit, ten to reveal."""
    clock = record_pb2.Clock(contribute_us=30 * SECOND, reveal_us=10 * SECOND, withheld=withheld)
    made = Table(seats, mode=mode, contributing=contributing, clock=clock, name="withheld", at=0)
    for seat in range(seats):
        made.join(seat)
    return made


def revealed(*seats: int, **options: Any) -> Table:
    """All seats have committed, these revealed; then the time was over."""
    made = table(**options)
    for seat in sorted(made.contributing):
        made.commit(seat)
    for seat in seats:
        made.reveal(seat)
    made.fire()
    return made


def steps(record: record_pb2.Record) -> list[str]:
    body = record_pb2.Body.FromString(record.body)
    return [step.WhichOneof("step") or "" for step in body.lifecycle]


def judged(made: Table) -> pb.VerifyReport:
    return verify_records(made.records, made.heads(), trusted=KEYS)


def entropy(made: Table, *seats: int) -> bytes:
    """X by the formula of DESIGN 5, written here once more: these seats gave theirs."""
    parts = [b"sixledger/entropy/1\n", made.match.match_id, made.match.opened.commitment, made.seats.to_bytes(2, "big")]
    parts += [b"\x01" + made.contribution(n) if n in seats else b"\x00" + bytes(32) for n in range(made.seats)]
    return hashing.sha256(*parts)


# -- the option ------------------------------------------------------------------------------------


def test_by_default_the_match_is_cancelled_and_record_0_says_nothing_of_it() -> None:
    policies = (None, record_pb2.WITHHELD_POLICY_UNSPECIFIED, record_pb2.WITHHELD_POLICY_CANCEL)
    made = [revealed(0, 2, withheld=policy) for policy in policies]
    assert len({each.records[0].body for each in made}) == 1
    for each in made:
        assert not each.match.opened.clock.HasField("withheld")
        assert steps(each.records[-1]) == ["aborted"]
        assert (each.match.aborted, each.match.state) == (True, None)
        assert judged(each).verdict == pb.VERDICT_VALID


@pytest.mark.parametrize(
    ("clock", "field"),
    [
        (record_pb2.Clock(turn_us=5, withheld=GO_ON), "clock.withheld"),
        (record_pb2.Clock(reveal_us=5, withheld=7), "clock.withheld"),  # type: ignore[arg-type]  # of no release
    ],
)
def test_an_option_that_can_never_apply_is_refused(clock: record_pb2.Clock, field: str) -> None:
    with pytest.raises(MalformedAct) as caught:
        Table(2, clock=clock, name="option")
    assert caught.value.field == field


def test_record_0_that_states_the_default_is_not_believed() -> None:
    made = table()

    def state(body: record_pb2.Body) -> None:
        body.lifecycle[0].opened.clock.withheld = record_pb2.WITHHELD_POLICY_CANCEL

    with pytest.raises(LedgerFault, match="not stated in full"):
        fold(forge(made.records, 0, state))


def test_people_ask_for_it_with_their_time_limits() -> None:
    assert time_limits(reveal=10, go_on_if_withheld=True) == record_pb2.Clock(reveal_us=10 * SECOND, withheld=GO_ON)
    assert time_limits(reveal=10) == record_pb2.Clock(reveal_us=10 * SECOND)


# -- going on --------------------------------------------------------------------------------------


def test_who_does_not_reveal_is_named_and_has_zeros_in_the_entropy() -> None:
    made = revealed(0, 2)
    body = record_pb2.Body.FromString(made.records[-1].body)
    assert steps(made.records[-1]) == ["withheld", "sealed"]
    assert (body.lifecycle[0].withheld.timer, list(body.lifecycle[0].withheld.seats)) == (clocks.REVEAL, [1])
    assert body.lifecycle[1].sealed.entropy == entropy(made, 0, 2)
    assert [seat.withheld for seat in made.match.seats] == [False, True, False]
    assert made.match.state is not None
    made.play()
    assert judged(made).verdict == pb.VERDICT_VALID
    assert fold(made.records).entropy == made.match.entropy


def test_who_does_not_commit_is_left_out_and_the_others_reveal() -> None:
    made = table()
    made.at = SECOND
    made.commit(0)
    made.commit(2)
    made.fire()
    assert steps(made.records[-1]) == ["withheld"]
    assert made.match.status == match_service_pb2.MATCH_STATUS_CONTRIBUTING
    with pytest.raises(WrongPhase, match="without seat 1"):
        made.commit(1)
    (timer,) = made.match.timers()
    assert (timer.kind, timer.armed_seq) == (clocks.REVEAL, made.match.seq)
    made.at = 31 * SECOND
    made.reveal(2)
    made.reveal(0)
    assert made.match.entropy == entropy(made, 0, 2)
    assert judged(made.play()).verdict == pb.VERDICT_VALID


def test_a_seat_that_came_too_late_may_not_reveal_any_more() -> None:
    made = table(contributing=frozenset({0, 1}))
    made.at = SECOND
    made.commit(0)
    made.fire()
    with pytest.raises(WrongPhase, match="without seat 1"):
        made.reveal(1)
    made.at = 35 * SECOND
    made.reveal(0)
    assert made.match.state is not None


def test_a_contribution_that_was_on_its_way_is_late_and_not_badly_signed() -> None:
    """Its signer had not seen that the game began without it."""
    clock = record_pb2.Clock(contribute_us=30 * SECOND, reveal_us=10 * SECOND, withheld=GO_ON)
    both = frozenset({0, 1})
    made = Table(2, mode=COMMIT_REVEAL, signing=both, contributing=both, clock=clock, name="on its way", at=0)
    for seat in both:
        made.join(seat)
    for seat in both:
        made.commit(seat)
    made.reveal(0)
    value = made.contribution(1)
    late = made.action(1, ActKind.CONTRIBUTION, value, contribution=value)
    made.fire()
    late.time_us = made.match.time_us
    with pytest.raises(WrongPhase):
        made.act(late)


def test_without_any_contribution_there_is_no_match_to_go_on_with() -> None:
    """Else an operator that loses every contribution would choose the deal alone."""
    nobody = table()
    nobody.fire()
    assert steps(nobody.records[-1]) == ["aborted"]
    assert steps(revealed().records[-1]) == ["aborted"]
    late = table(contributing=frozenset({0, 1}))
    late.commit(0)
    late.fire()  # goes on with seat 0 …
    late.fire()  # … which then withholds too
    assert steps(late.records[-1]) == ["aborted"]
    body = record_pb2.Body.FromString(late.records[-1].body)
    assert list(body.lifecycle[0].aborted.missed.seats) == [0]
    assert judged(late).verdict == pb.VERDICT_VALID


def test_in_one_step_too() -> None:
    made = table(mode=SEATS)
    made.reveal(1)
    made.fire()
    assert steps(made.records[-1]) == ["withheld", "sealed"]
    assert made.match.entropy == entropy(made, 1)
    assert judged(made.play()).verdict == pb.VERDICT_VALID


# -- the label ---------------------------------------------------------------------------------------


def label(made: Table) -> str:
    return fairness(made.match).label


def test_each_withholder_is_one_bit_and_is_named() -> None:
    made = revealed(2)
    found = fairness(made.match)
    assert found.label == "biasable by one bit per withholder: seats 0, 1"
    assert (found.contributed, found.withheld) == ((2,), (0, 1))
    assert "seats 0, 1 committed and then withheld" in found.sentence
    assert judged(made.play()).fairness == str(found)


def test_who_never_committed_could_choose_nothing() -> None:
    made = table()
    made.commit(0)
    made.commit(2)
    made.fire()
    made.at = 31 * SECOND
    made.reveal(0)
    made.reveal(2)
    assert label(made) == "provably fair"
    assert fairness(made.match).sentence.endswith("seat 1 gave nothing in time")


@pytest.mark.parametrize(
    ("mode", "contributing", "before", "after"),
    [
        (COMMIT_REVEAL, ALL, "provably fair", "provably fair"),
        (COMMIT_REVEAL, frozenset({1}), "provably fair", "provably fair to seat 1"),
        (COMMIT_REVEAL, frozenset[int](), "provably fair", "no contribution"),
        (SEATS, ALL, "unfair if the operator also plays", "unfair if the operator also plays"),
        (SERVER_ONLY, frozenset[int](), "no contribution", "no contribution"),
    ],
)
def test_every_mode_has_its_label(
    mode: record_pb2.ContributionMode.ValueType, contributing: frozenset[int], before: str, after: str
) -> None:
    made = Table(3, mode=mode, contributing=contributing, name="label")
    assert label(made) == promised(made.match.opened).label == before
    made.start()
    assert label(made) == after
    assert judged(made.play()).fairness == str(fairness(made.match))


def test_the_option_shows_before_anybody_sits_down() -> None:
    assert promised(table().match.opened).label == "provably fair unless a seat withholds its contribution"


def test_of_a_match_that_ended_before_the_start_nothing_was_dealt() -> None:
    assert label(revealed(0, 2, withheld=None)) == "nothing was dealt"


def test_as_text_it_is_label_and_sentence() -> None:
    assert str(Fairness("a", "b")) == "a – b"


# -- lies --------------------------------------------------------------------------------------------


def _another_seat(body: record_pb2.Body) -> None:
    body.lifecycle[0].withheld.seats[:] = [0]


def _nobody(body: record_pb2.Body) -> None:
    body.lifecycle[0].withheld.ClearField("seats")


def _no_start(body: record_pb2.Body) -> None:
    del body.lifecycle[1:], body.events[:]


def _by_the_table(body: record_pb2.Body) -> None:
    request = body.cause.request_id
    body.cause.Clear()
    body.cause.kind, body.cause.request_id = record_pb2.CAUSE_KIND_TABLE, request


def _instead_abort(body: record_pb2.Body) -> None:
    missed = body.lifecycle[0].withheld
    body.lifecycle[0].aborted.missed.CopyFrom(missed)
    del body.lifecycle[1:], body.events[:]


def _other_entropy(body: record_pb2.Body) -> None:
    body.lifecycle[1].sealed.entropy = bytes(32)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (_another_seat, "RULES_DIVERGENCE"),
        (_nobody, "RULES_DIVERGENCE"),
        (_no_start, "RULES_DIVERGENCE"),
        (_by_the_table, "ILLEGAL_COMMAND"),  # later than the deadline, though its timer did not fire
        (_instead_abort, "RULES_DIVERGENCE"),
        (_other_entropy, "SEED_MISMATCH"),
    ],
)
def test_a_false_record_of_withholding_is_found(change: Callable[[record_pb2.Body], None], verdict: str) -> None:
    made = revealed(0, 2)
    seq = made.match.seq

    def without_seals(record: record_pb2.Record) -> None:
        if not record_pb2.Body.FromString(record.body).events:
            del record.seals[:], record.openings[:]

    bad = forge(made.records, seq, change, without_seals)
    report = verify_records(bad, ledgers.heads(bad), trusted=KEYS)
    assert report.finding.seq == seq
    assert pb.Verdict.Name(report.verdict) == f"VERDICT_{verdict}"
    with pytest.raises(LedgerFault):
        fold(bad)


def test_a_game_that_begins_without_what_a_seat_still_owes_is_refused_by_every_viewer() -> None:
    """Not by the seat alone that is left out."""
    made = revealed(0, 2)
    seq = made.match.seq - 1  # seat 2 reveals: begin with it, as if seat 1 did not contribute
    sealed = record_pb2.Body.FromString(made.records[-1].body)

    def begin(body: record_pb2.Body) -> None:
        body.lifecycle.append(sealed.lifecycle[1])

    bad = forge(made.records[: seq + 1], seq, begin)
    with pytest.raises(LedgerFault, match="without what seats owe to it: 1") as caught:
        fold(bad)
    assert caught.value.verdict == pb.VERDICT_SEED_MISMATCH


def test_a_game_that_does_not_begin_with_the_last_contribution_is_refused_by_every_viewer() -> None:
    made = table()
    made.contribute()

    def wait(body: record_pb2.Body) -> None:
        del body.lifecycle[1:], body.events[:]

    def bare(record: record_pb2.Record) -> None:
        del record.seals[:], record.openings[:]

    with pytest.raises(LedgerFault, match="does not begin"):
        fold(forge(made.records, made.match.seq, wait, bare))
