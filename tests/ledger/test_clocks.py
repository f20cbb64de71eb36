"""Clocks and timers: when they run, what they do, and what a verifier says of forged ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sixledger.engine.errors import IllegalCommand, IllegalOptions
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import clocks, hashing, keys
from sixledger.ledger.faults import LedgerFault, MalformedAct, Paused, TimerDue, WrongPhase
from sixledger.ledger.folding import begin, fold
from sixledger.ledger.match import Match
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1 import engine_service_pb2, record_pb2
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support import ledgers
from support.ledgers import COMMIT_REVEAL, KEYS, SEATS, SERVER_ONLY, START_US, Table, forge

SECOND = 1_000_000
NONE, FIRST_LEGAL, FORFEIT = clocks.NONE, clocks.FIRST_LEGAL, clocks.FORFEIT
BOTH = frozenset({0, 1})
EVERYBODY = frozenset({0, 1, 2})


def started(seats: int = 2, policy: Any = FIRST_LEGAL, **limits: Any) -> Table:
    """A table whose game begins at second 0."""
    table = Table(seats, clock=record_pb2.Clock(**limits), policy=policy, name="timed", at=0)
    table.start()
    return table


def contributing(**limits: Any) -> Table:
    """A table of three contributing seats, all taken at second 0."""
    table = Table(3, mode=COMMIT_REVEAL, contributing=EVERYBODY, clock=record_pb2.Clock(**limits), name="slow", at=0)
    for seat in range(3):
        table.join(seat)
    return table


def play(table: Table, seat: int, at: int, choice: int = 0) -> record_pb2.Record:
    """A seat plays a legal command at a time."""
    table.at = at
    return table.act(table.command(seat, GAME.legal(table.match.state, seat)[choice]))


def deadlines(match: Match) -> dict[int, int]:
    """Deadlines of the seats, in microseconds after the start."""
    return {timer.seat: timer.deadline_us - START_US for timer in match.timers()}


def steps(record: record_pb2.Record) -> list[record_pb2.Lifecycle]:
    return list(record_pb2.Body.FromString(record.body).lifecycle)


def judge(records: list[record_pb2.Record]) -> VerifyReport:
    return verify_records(records, ledgers.heads(records), trusted=KEYS)


def verdict(report: VerifyReport) -> tuple[str, str, int]:
    """Verdict, layer and number of the bad record."""
    return Verdict.Name(report.verdict).removeprefix("VERDICT_"), report.finding.layer, report.finding.seq


# -- what a match may have -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "policy", "field"),
    [
        ({"turn_us": clocks.MAX_LIMIT_US + 1}, NONE, "clock.turn_us"),
        ({"pause_us": 1 << 60}, clocks.NO_POLICY, "clock.pause_us"),
        ({"increment_us": 5, "turn_us": 5}, NONE, "clock.increment_us"),
        ({}, FIRST_LEGAL, "timeout_policy"),
        ({"join_us": 5}, FORFEIT, "timeout_policy"),
        ({"turn_us": 5}, 9, "timeout_policy"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any], policy: Any, field: str) -> None:
    with pytest.raises(MalformedAct) as caught:
        started(policy=policy, **limits)
    assert caught.value.field == field


def test_record_0_states_the_limits_in_full() -> None:
    plain = Table(clock=record_pb2.Clock()).match.opened
    assert not plain.HasField("clock")
    assert not plain.HasField("timeout_policy")
    assert Table(clock=record_pb2.Clock(turn_us=5)).match.opened.timeout_policy == NONE
    only_joining = Table(clock=record_pb2.Clock(join_us=5), policy=NONE).match.opened
    assert only_joining.clock.join_us == 5
    assert not only_joining.HasField("timeout_policy")


@pytest.mark.parametrize(
    "change",
    [
        lambda opened: opened.clock.Clear(),
        lambda opened: opened.ClearField("timeout_policy"),
        lambda opened: setattr(opened.clock, "turn_us", 1 << 50),
        lambda opened: setattr(opened, "timeout_policy", 77),
    ],
)
def test_other_limits_in_record_0_are_not_believed(change: Callable[[record_pb2.MatchOpened], None]) -> None:
    records = forge(started(turn_us=SECOND).records, 0, lambda body: change(body.lifecycle[0].opened))
    with pytest.raises(LedgerFault, match="time limits of record 0"):
        begin(records[0])


# -- how clocks run --------------------------------------------------------------------------------


def test_a_match_without_limits_has_no_timers() -> None:
    table = Table(at=0)
    table.start()
    assert table.match.clocks is None
    assert table.match.timers() == []
    assert clocks.reading(table.match, START_US) is None


def test_each_seat_has_its_own_clock_until_its_own_command() -> None:
    table = started(3, turn_us=10 * SECOND)
    first = table.match.seq
    assert deadlines(table.match) == {0: 10 * SECOND, 1: 10 * SECOND, 2: 10 * SECOND}
    play(table, 1, 3 * SECOND)
    assert deadlines(table.match) == {0: 10 * SECOND, 2: 10 * SECOND}
    assert {timer.armed_seq for timer in table.match.timers()} == {first}


def test_the_next_turn_has_a_deadline_of_its_own() -> None:
    table = started(turn_us=10 * SECOND)
    play(table, 1, 3 * SECOND, -1)
    play(table, 0, 4 * SECOND, -1)
    due = deadlines(table.match)
    assert due
    assert set(due.values()) == {14 * SECOND}
    assert {timer.armed_seq for timer in table.match.timers()} == {table.match.seq}


def test_a_bank_is_used_up_while_the_seat_must_act_and_grows_by_the_increment() -> None:
    table = started(bank_us=20 * SECOND, increment_us=2 * SECOND)
    play(table, 0, 5 * SECOND, -1)
    assert clocks.reading(table.match, START_US + 8 * SECOND).seats[0].bank_us == 17 * SECOND  # type: ignore[union-attr]
    play(table, 1, 9 * SECOND, -1)
    state = clocks.reading(table.match, START_US + 9 * SECOND)
    assert state is not None
    assert [seat.bank_us for seat in state.seats] == [17 * SECOND, 13 * SECOND]
    for seat, due in deadlines(table.match).items():
        assert due == 9 * SECOND + (17, 13)[seat] * SECOND


def test_of_a_turn_limit_and_a_bank_the_earlier_counts() -> None:
    table = started(turn_us=6 * SECOND, bank_us=10 * SECOND)
    assert deadlines(table.match) == {0: 6 * SECOND, 1: 6 * SECOND}
    play(table, 0, 1 * SECOND, -1)
    play(table, 1, 5 * SECOND, -1)
    due = deadlines(table.match)
    assert due.get(0, 11 * SECOND) == 11 * SECOND  # 6 of a bank of 9
    assert due.get(1, 10 * SECOND) == 10 * SECOND  # the 5 that are left


def test_without_a_policy_clocks_run_and_nothing_fires() -> None:
    table = started(policy=NONE, turn_us=2 * SECOND, bank_us=9 * SECOND)
    assert table.match.timers() == []
    play(table, 0, 60 * SECOND, -1)
    state = clocks.reading(table.match, START_US + 61 * SECOND)
    assert state is not None
    assert [(seat.remaining_us, seat.bank_us) for seat in state.seats] == [(0, 0), (0, 0)]
    assert not state.HasField("deadline_us")


def test_a_timer_that_fires_late_costs_the_seat_nothing_more() -> None:
    table = started(turn_us=2 * SECOND, bank_us=9 * SECOND)
    table.fire(3600 * SECOND)
    state = clocks.reading(table.match, 0)
    assert state is not None
    assert state.seats[0].bank_us == 7 * SECOND


def test_the_fold_of_any_prefix_has_the_timers_that_its_author_had() -> None:
    table = started(3, turn_us=4 * SECOND, bank_us=30 * SECOND, increment_us=SECOND, pause_us=50 * SECOND)
    for at in range(1, 12):
        play(table, table.match.to_act[-1], at * SECOND)
    table.pause()
    table.at = 20 * SECOND
    table.resume()
    table.fire()
    for count in range(1, len(table.records) + 1):
        mine, folded = table.matches[count - 1], fold(table.records[:count])
        assert folded.timers() == mine.timers()
        assert folded.clocks == mine.clocks


# -- the edge --------------------------------------------------------------------------------------


def test_a_command_at_its_deadline_is_in_time_and_a_microsecond_later_it_is_not() -> None:
    table = started(turn_us=10 * SECOND)
    card = GAME.legal(table.match.state, 0)[0]
    table.at = 10 * SECOND + 1
    with pytest.raises(IllegalCommand) as caught:
        table.author.act(table.match, table.command(0, card))
    assert caught.value.rule == "too_late"
    table.at = 10 * SECOND
    table.act(table.command(0, card))
    assert verdict(judge(table.records))[0] == "INCOMPLETE"


def test_a_timer_fires_at_its_deadline_and_not_a_microsecond_earlier() -> None:
    table = started(turn_us=10 * SECOND)
    timer = table.match.timers()[0]
    with pytest.raises(MalformedAct, match="before the deadline"):
        table.act(clocks.fire(timer, timer.deadline_us - 1))
    table.act(clocks.fire(timer, timer.deadline_us))


def test_nothing_else_happens_later_than_a_deadline() -> None:
    table = started(3, turn_us=10 * SECOND, policy=FORFEIT)
    play(table, 0, 9 * SECOND)
    table.at = 10 * SECOND + 1
    resign = table.action(0, keys.ActKind.RESIGN, resign=engine_service_pb2.ResignAction())
    for action in (resign, table.table_action(abort=engine_service_pb2.AbortAction())):
        with pytest.raises(TimerDue, match="TURN is due since"):
            table.author.act(table.match, action)


def test_the_first_armed_timer_fires_first() -> None:
    table = started(3, turn_us=10 * SECOND, policy=FORFEIT)
    second = table.match.timers()[1]
    assert second.seat == 1
    with pytest.raises(MalformedAct, match="another timer than the first"):
        table.act(clocks.fire(second, second.deadline_us + 1))


def test_a_request_id_is_that_of_the_formula() -> None:
    table = started(turn_us=10 * SECOND)
    timer, match_id = table.match.timers()[1], table.match.match_id
    text = b"sixledger/timer/1\n" + match_id + timer.armed_seq.to_bytes(8, "big") + b"\x04" + b"\x00\x01"
    assert timer.request_id == hashing.sha256(text)[:16]
    waiting = Table(clock=record_pb2.Clock(join_us=5)).match
    text = b"sixledger/timer/1\n" + waiting.match_id + bytes(8) + b"\x01" + b"\xff\xff"
    assert waiting.timers()[0].request_id == hashing.sha256(text)[:16]
    wrong = clocks.fire(timer, timer.deadline_us)
    wrong.cause.request_id = bytes(16)
    with pytest.raises(MalformedAct):
        table.act(wrong)


# -- what timers do --------------------------------------------------------------------------------


@pytest.mark.parametrize("signing", [frozenset(), BOTH])
def test_first_legal_plays_the_first_legal_command_sealed_like_the_seats_own(signing: frozenset[int]) -> None:
    table = Table(
        clock=record_pb2.Clock(turn_us=SECOND), policy=FIRST_LEGAL, signing=signing, mode=SERVER_ONLY, name="legal"
    )
    table.start()
    lowest = GAME.legal(table.match.state, 0)[0]
    record = table.fire()
    body = record_pb2.Body.FromString(record.body)
    assert not GAME.schema.read_command(body.command).HasField("card")
    assert [seal.audience for seal in record.seals] == [1, 1]
    sealed = record_pb2.SealedCommand.FromString(record.openings[0].value)
    assert GAME.schema.read_command(sealed.command) == lowest
    assert not sealed.signature
    assert body.cause.decision == table.matches[-2].decision


def test_an_abandoned_table_ends_by_first_legal_commands_alone() -> None:
    table = started(4, bank_us=SECOND)
    while not table.match.over:
        table.fire()
    assert GAME.outcome(table.match.state) is not None
    assert verdict(judge(table.records))[0] == "VALID"


def test_a_forfeit_ends_the_match_and_ranks_the_seat_last() -> None:
    table = started(3, turn_us=10 * SECOND, policy=FORFEIT)
    play(table, 0, SECOND)
    record = table.fire()
    assert [step.forfeited.seat for step in steps(record)] == [1]
    outcome = GAME.outcome(table.match.state)
    assert outcome is not None
    assert outcome.ranking[1] == 3
    assert outcome.reason == nimmt_pb2.EndReason.Name(nimmt_pb2.END_REASON_FORFEIT).removeprefix("END_REASON_").lower()
    assert table.match.timers() == []
    assert verdict(judge(table.records))[0] == "VALID"


def test_a_table_that_nobody_joins_is_aborted() -> None:
    table = Table(clock=record_pb2.Clock(join_us=60 * SECOND), at=0)
    table.join(1)
    assert deadlines(table.match) == {0: 60 * SECOND}
    missed = steps(table.fire())[0].aborted.missed
    assert (missed.timer, list(missed.seats)) == (clocks.JOIN, [])
    assert table.match.aborted
    assert verdict(judge(table.records))[0] == "VALID"


def test_a_seat_that_does_not_commit_in_time_is_named() -> None:
    table = contributing(join_us=60 * SECOND, contribute_us=30 * SECOND)
    table.commit(1)
    missed = steps(table.fire())[0].aborted.missed
    assert (missed.timer, list(missed.seats)) == (clocks.CONTRIBUTE, [0, 2])


def test_a_seat_that_does_not_reveal_in_time_is_named() -> None:
    table = contributing(contribute_us=30 * SECOND, reveal_us=5 * SECOND)
    for seat in range(3):
        table.at = seat * SECOND
        table.commit(seat)
    assert deadlines(table.match) == {0: 7 * SECOND}
    table.reveal(0)
    table.reveal(2)
    missed = steps(table.fire())[0].aborted.missed
    assert (missed.timer, list(missed.seats)) == (clocks.REVEAL, [1])
    assert verdict(judge(table.records))[0] == "VALID"


def test_in_one_step_the_limit_for_contributing_counts() -> None:
    table = Table(2, mode=SEATS, contributing=BOTH, clock=record_pb2.Clock(contribute_us=SECOND), name="one", at=0)
    for seat in range(2):
        table.join(seat)
    table.reveal(1)
    assert list(steps(table.fire())[0].aborted.missed.seats) == [0]


def test_a_start_in_time_disarms_the_limits_before_it() -> None:
    table = contributing(join_us=SECOND, contribute_us=SECOND, reveal_us=SECOND)
    table.contribute()
    assert table.match.state is not None
    assert table.match.timers() == []


# -- pauses ----------------------------------------------------------------------------------------


def test_no_time_runs_while_a_match_is_paused() -> None:
    table = started(turn_us=10 * SECOND)
    table.at = 4 * SECOND
    table.pause()
    assert table.match.timers() == []
    table.at = 3600 * SECOND
    state = clocks.reading(table.match, START_US + table.at)
    assert state is not None
    assert state.paused
    assert [seat.remaining_us for seat in state.seats] == [6 * SECOND] * 2
    with pytest.raises(Paused):
        play(table, 0, table.at)
    armed = table.matches[-2].timers()[0]
    table.resume()
    timer = table.match.timers()[0]
    assert timer.deadline_us == START_US + 3606 * SECOND
    assert timer.request_id == armed.request_id
    play(table, 0, 3606 * SECOND)


def test_a_match_is_paused_once_and_only_while_it_runs() -> None:
    table = Table(at=0)
    with pytest.raises(WrongPhase, match="not started"):
        table.pause()
    table.start()
    with pytest.raises(WrongPhase, match="not paused"):
        table.resume()
    table.pause()
    with pytest.raises(Paused, match="already"):
        table.pause()
    table.resign(0)
    with pytest.raises(WrongPhase, match="over"):
        table.resume()


def test_a_paused_match_can_be_aborted() -> None:
    table = started(turn_us=SECOND)
    table.pause()
    table.abort()
    assert table.match.timers() == []
    assert verdict(judge(table.records))[0] == "VALID"


def test_a_pause_that_lasts_too_long_ends_by_itself() -> None:
    table = started(turn_us=10 * SECOND, pause_us=60 * SECOND)
    table.at = SECOND
    table.pause()
    record = table.fire()
    assert [step.WhichOneof("step") for step in steps(record)] == ["resumed"]
    assert set(deadlines(table.match).values()) == {70 * SECOND + 1}


# -- what the verifier finds -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def timed() -> Table:
    """A finished match in which timers played: of both seats, signed."""
    table = Table(clock=record_pb2.Clock(turn_us=SECOND), policy=FIRST_LEGAL, signing=BOTH, name="timed out", at=0)
    table.start()
    while not table.match.over:
        at = table.match.time_us + 1000
        if table.match.seq % 3 and at <= table.match.first_deadline_us:
            table.at = at - START_US
            table.play_one()
        else:
            table.fire(500)
    return table


def timer_records(table: Table) -> list[int]:
    bodies = [record_pb2.Body.FromString(record.body) for record in table.records]
    return [body.seq for body in bodies if body.cause.kind == record_pb2.CAUSE_KIND_TIMER]


def test_a_match_with_timers_is_valid_for_everybody(timed: Table) -> None:
    assert len(timer_records(timed)) > 3
    for viewer in ("spectator", "seat:0", "seat:1", "operator"):
        assert verdict(verify(timed.file(viewer=viewer), trusted=KEYS))[0] == "VALID"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda body: setattr(body, "time_us", body.time_us - 501), ("ILLEGAL_COMMAND", "clocks")),
        (lambda body: setattr(body.cause, "request_id", bytes(16)), ("ILLEGAL_COMMAND", "clocks")),
        (lambda body: setattr(body.cause, "armed_seq", body.cause.armed_seq + 1), ("ILLEGAL_COMMAND", "clocks")),
        (lambda body: setattr(body.cause, "timer", clocks.PAUSE), ("ILLEGAL_COMMAND", "clocks")),
        (lambda body: setattr(body.cause, "kind", record_pb2.CAUSE_KIND_SEAT), ("ILLEGAL_COMMAND", "clocks")),
        (lambda body: setattr(body.cause, "key_id", bytes(8)), ("RULES_DIVERGENCE", "rules")),
        (lambda body: setattr(body.cause, "decision", 0), ("RULES_DIVERGENCE", "rules")),
    ],
)
def test_a_forged_timer_is_found(
    timed: Table, change: Callable[[record_pb2.Body], None], expected: tuple[str, str]
) -> None:
    seq = timer_records(timed)[1]
    records = forge(timed.records[: seq + 1], seq, change)
    # Cut off after it, sealed parts hide the rules; whole, the times after it must fit as well.
    whole = forge(timed.records, seq, change)
    assert verdict(judge(whole)) == (*expected, seq)
    with pytest.raises(LedgerFault):
        fold(records)


def test_a_timer_that_plays_another_command_is_found(timed: Table) -> None:
    seq = timer_records(timed)[1]
    before = timed.matches[seq - 1]
    other = GAME.legal(before.state, before.timers()[0].seat)[1]

    def change(record: record_pb2.Record) -> None:
        sealed = record_pb2.SealedCommand(command=GAME.schema.commands.pack(other).SerializeToString())
        record.openings[0].value = sealed.SerializeToString()

    records = forge(timed.records, seq, change_record=change)
    report = judge(records)
    assert verdict(report) == ("RULES_DIVERGENCE", "rules", seq)
    assert [difference.path for difference in report.finding.differences] == ["command.SelectCard.card"]
    with pytest.raises(LedgerFault, match="first legal"):
        fold(records[: seq + 1])


def test_a_command_later_than_its_deadline_is_found() -> None:
    table = started(turn_us=SECOND)
    for number in range(20):
        play(table, table.match.to_act[0], (number + 1) * SECOND // 2)
    seq = table.match.seq

    def later(body: record_pb2.Body) -> None:
        body.time_us += 2 * SECOND

    records = forge(table.records, seq, later)
    report = judge(records)
    assert verdict(report) == ("ILLEGAL_COMMAND", "clocks", seq)
    assert [difference.path for difference in report.finding.differences] == ["time_us"]
    with pytest.raises(LedgerFault, match="later than the deadline"):
        fold(records)


def test_a_late_command_is_found_on_the_quick_way_too() -> None:
    """All seeds are revealed and all seals open: ordinary commands are not decided again."""
    table = Table(clock=record_pb2.Clock(turn_us=SECOND), policy=FORFEIT, name="quick", at=0)
    table.start()
    while not table.match.over:
        assert table.at is not None
        table.at += 100
        table.play_one()
    assert verdict(judge(table.records))[0] == "VALID"
    middle = len(table.records) // 2
    late = table.records
    for seq in range(middle, len(table.records)):  # those after it are as much later

        def later(body: record_pb2.Body) -> None:
            body.time_us += 2 * SECOND

        late = forge(late, seq, later)
    assert verdict(judge(late)) == ("ILLEGAL_COMMAND", "clocks", middle)


def test_an_abort_that_names_other_seats_is_found() -> None:
    table = contributing(contribute_us=30 * SECOND)
    table.commit(1)
    table.fire()
    seq = table.match.seq

    def slander(body: record_pb2.Body) -> None:
        body.lifecycle[0].aborted.missed.seats[:] = [1]

    records = forge(table.records, seq, slander)
    assert verdict(judge(records)) == ("RULES_DIVERGENCE", "rules", seq)
    with pytest.raises(LedgerFault, match="another consequence"):
        fold(records)


def test_a_timer_of_a_match_without_limits_is_found() -> None:
    table = Table(at=0)
    table.start()
    table.abort()
    seq = table.match.seq

    def pretend(body: record_pb2.Body) -> None:
        body.cause.kind = record_pb2.CAUSE_KIND_TIMER
        body.cause.timer, body.cause.armed_seq = clocks.JOIN, 0

    records = forge(table.records, seq, pretend)
    assert verdict(judge(records)) == ("ILLEGAL_COMMAND", "clocks", seq)


def test_a_command_while_the_match_is_paused_is_found() -> None:
    table = started(turn_us=10 * SECOND)
    play(table, 0, SECOND)
    play(table, 1, SECOND)
    table.pause()
    table.resume()
    play(table, table.match.to_act[0], SECOND)
    removed = [*table.records[:-2], table.records[-1]]
    report = judge(ledgers.rechain(removed))
    assert verdict(report)[2] == len(removed) - 1
    assert "paused" in report.finding.message


def test_a_setting_that_is_not_for_the_game_is_still_named_first() -> None:
    with pytest.raises(IllegalOptions):
        Table(2, ledgers.rounds(0), clock=record_pb2.Clock(turn_us=5))
