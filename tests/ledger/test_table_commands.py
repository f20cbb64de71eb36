"""Commands that the table gives, not a seat: `time_up` of 6piece, through the author, the fold and the verifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import GAME as NIMMT
from sixledger.engine.piece import GAME
from sixledger.engine.registry import installed
from sixledger.engine.visibility import PUBLIC, classes
from sixledger.games.piece.v1 import piece_pb2 as pb
from sixledger.ledger import hashing, records
from sixledger.ledger.faults import MalformedAct, WrongPhase
from sixledger.ledger.folding import fold
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support import ledgers
from support.ledgers import COMMIT_REVEAL, KEYS, Table, forge

BOTH = frozenset({0, 1})
CLOCK = pb.Options(time_mode=pb.TIME_MODE_CLOCK, first_player=pb.FIRST_PLAYER_SEAT_0)
SEAT, TIMER, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TIMER, record_pb2.CAUSE_KIND_TABLE


def started(options: pb.Options = CLOCK, commands: int = 3) -> Table:
    """A match in its second turn; both seats sign and contribute."""
    return Table(options=options, mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, game=GAME).play(commands)


@pytest.fixture
def table() -> Table:
    return started()


@pytest.fixture(scope="module")
def finished() -> tuple[Table, int]:
    """A finished match and the number of the record in which time was up."""
    match = started()
    match.act(match.table_command(pb.TimeUp()))
    return match.play(), 6 + 4


def verdict(report: VerifyReport) -> str:
    return Verdict.Name(report.verdict).removeprefix("VERDICT_")


def judge(records_: Any) -> VerifyReport:
    return verify_records(records_, ledgers.heads(records_), trusted=KEYS)


def body_of(record: record_pb2.Record) -> record_pb2.Body:
    return record_pb2.Body.FromString(record.body)


# -- deciding ------------------------------------------------------------------------------------


def test_the_table_gives_its_command_without_answering_or_opening_a_decision(table: Table) -> None:
    before = table.match
    record = table.act(table.table_command(pb.TimeUp()))
    body = body_of(record)
    assert (body.cause.kind, body.cause.seat, body.cause.decision) == (TABLE, 0, 0)
    assert [event.piece.WhichOneof("event") for event in body.events] == ["time_up"]
    assert not record.seals
    assert table.match.state.time_up
    assert (table.match.decision, table.match.to_act) == (before.decision, before.to_act)
    assert table.match.recent == [*before.recent, record.hash]
    table.play()
    assert GAME.outcome(table.match.state).reason in ("time", "empty_deck")  # type: ignore[union-attr]


def test_what_a_table_does_not_have_is_not_recorded(table: Table) -> None:
    action = table.table_command(pb.TimeUp())
    action.cause.seat = 1
    action.cause.decision = 77
    action.cause.observed_head = action.cause.signature = b"x" * 32
    cause = body_of(table.act(action)).cause
    assert cause == record_pb2.Cause(kind=TABLE, request_id=action.cause.request_id)


def test_an_act_of_a_seat_may_have_observed_the_head_before_the_tables_command(table: Table) -> None:
    (seat,) = table.match.to_act
    action = table.command(seat, GAME.legal(table.match.state, seat)[0])
    table.act(table.table_command(pb.TimeUp()))
    table.act(action)
    assert verdict(judge(table.records)) == "INCOMPLETE"


@pytest.mark.parametrize(
    ("options", "kind", "rule"),
    [
        (CLOCK, SEAT, "not_your_turn"),
        (pb.Options(), SEAT, "wrong_phase"),
        (pb.Options(), TABLE, "wrong_phase"),
    ],
)
def test_time_up_of_a_seat_or_without_a_clock_is_illegal(options: pb.Options, kind: int, rule: str) -> None:
    match = started(options)
    for seat in range(2):
        action = match.table_command(pb.TimeUp()) if kind == TABLE else match.command(seat, pb.TimeUp())
        with pytest.raises(IllegalCommand) as caught:
            match.author.act(match.match, action)
        assert caught.value.rule == rule


def test_time_up_is_said_once_and_not_after_the_end(table: Table) -> None:
    table.act(table.table_command(pb.TimeUp()))
    for rule in ("already_chosen", "finished"):
        with pytest.raises(IllegalCommand) as caught:
            table.author.act(table.match, table.table_command(pb.TimeUp()))
        assert caught.value.rule == rule
        table.play()


def test_time_up_before_the_start_is_too_early() -> None:
    match = Table(options=CLOCK, game=GAME)
    with pytest.raises(WrongPhase, match="not started"):
        match.author.act(match.match, match.table_command(pb.TimeUp()))


@pytest.mark.parametrize("game", [GAME, NIMMT])
def test_the_table_gives_no_command_of_a_seat(game: Any) -> None:
    options = CLOCK if game is GAME else ledgers.D4
    match = Table(options=options, game=game).play(1)
    command = game.legal(match.match.state, match.match.to_act[0])[0]
    with pytest.raises(MalformedAct, match="the table cannot give this command"):
        match.author.act(match.match, match.table_command(command))


@pytest.mark.parametrize("kind", [0, TIMER, 9])
def test_nobody_else_gives_a_command(table: Table, kind: Any) -> None:
    action = table.table_command(pb.TimeUp())
    action.cause.kind = kind
    with pytest.raises(MalformedAct, match="must be CAUSE_KIND_SEAT or CAUSE_KIND_TABLE for command"):
        table.author.act(table.match, action)


# -- folding and verifying -----------------------------------------------------------------------


def test_a_ledger_with_a_command_of_the_table_is_valid(finished: tuple[Table, int]) -> None:
    match, seq = finished
    assert body_of(match.records[seq]).cause.kind == TABLE
    report = verify(match.file(), trusted=KEYS)
    assert (verdict(report), list(report.unchecked)) == ("VALID", [])


@pytest.mark.parametrize("viewer", ["operator", "spectator", "seat:0", "seat:1"])
def test_a_running_ledger_is_incomplete_for_every_viewer(viewer: str) -> None:
    match = started()
    match.act(match.table_command(pb.TimeUp()))
    report = verify(match.file(viewer=viewer), trusted=KEYS)
    assert verdict(report) == "INCOMPLETE", report.summary


@pytest.mark.parametrize("viewer", [None, 0, 1])
def test_every_viewer_can_fold_it(viewer: int | None, finished: tuple[Table, int]) -> None:
    match, seq = finished
    seen = fold([records.redact(record, viewer, 0) for record in match.records[: seq + 1]])
    assert seen.state.time_up
    assert GAME.view(seen.state, viewer) == GAME.view(match.matches[seq].state, viewer)


def given_by(kind: record_pb2.CauseKind.ValueType, **fields: Any) -> Callable[[record_pb2.Body], None]:
    """A change of the cause of a record."""

    def change(body: record_pb2.Body) -> None:
        body.cause.CopyFrom(record_pb2.Cause(kind=kind, request_id=body.cause.request_id, **fields))

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (given_by(TIMER), "ILLEGAL_COMMAND"),
        (given_by(SEAT), "BAD_SIGNATURE"),
        (given_by(TABLE, decision=4), "RULES_DIVERGENCE"),
        (given_by(TABLE, seat=1), "RULES_DIVERGENCE"),
        (lambda body: setattr(body.events[0].piece.time_up, "turn", 9), "RULES_DIVERGENCE"),
        (lambda body: body.events.pop(), "RULES_DIVERGENCE"),
    ],
)
def test_a_forged_command_of_the_table_is_found(
    change: Callable[[record_pb2.Body], None], found: str, finished: tuple[Table, int]
) -> None:
    match, seq = finished
    report = judge(forge(match.records, seq, change))
    assert (verdict(report), report.finding.seq) == (found, seq)


def test_time_up_of_a_seat_that_does_not_sign_is_found() -> None:
    match = Table(options=CLOCK, game=GAME).play(3)
    match.act(match.table_command(pb.TimeUp()))
    seq = len(match.records) - 1
    forged = forge(match.play().records, seq, given_by(SEAT, decision=match.matches[seq].decision))
    report = judge(forged)
    assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", seq)
    assert "not_your_turn" in report.finding.message


def test_a_command_of_a_seat_that_the_table_gave_is_found() -> None:
    match = Table(options=CLOCK, game=GAME).play()
    seq = len(match.records) - 1
    report = judge(forge(match.records, seq, given_by(TABLE)))
    assert (verdict(report), report.finding.seq) == ("TAMPERED", seq)


@pytest.mark.parametrize("viewer", ["operator", "spectator"])
def test_time_up_said_twice_is_found_even_where_the_decks_are_sealed(viewer: str) -> None:
    match = Table(options=CLOCK, game=GAME).play(3)
    match.act(match.table_command(pb.TimeUp()))
    seq = len(match.records)
    again = record_pb2.Record.FromString(match.records[-1].SerializeToString())
    body = body_of(again)
    body.seq += 1
    body.cause.request_id = hashing.sha256(b"again")[:16]
    again.body = body.SerializeToString(deterministic=True)
    forged = ledgers.rechain([*match.records, again])
    if viewer == "spectator":
        forged = [records.redact(record, None, 0) for record in forged]
    report = judge(forged)
    assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", seq)


def test_a_seats_command_by_the_table_is_found_even_where_the_decks_are_sealed() -> None:
    match = Table(options=CLOCK, game=GAME).play(3)
    forged = [records.redact(record, None, 0) for record in forge(match.records, 4, given_by(TABLE))]
    report = judge(forged)
    assert (verdict(report), report.finding.seq) == ("ILLEGAL_COMMAND", 4)


# -- the contract --------------------------------------------------------------------------------


def test_commands_of_the_table_have_no_secrets() -> None:
    kinds: list[Any] = [kind for game in installed().all() for kind in game.table_commands]
    assert kinds
    assert all(classes(kind).kind == PUBLIC for kind in kinds)
