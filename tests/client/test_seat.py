"""A seat joins, contributes and plays; what gets lost is repeated, and a service that lies in a reply is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sixledger.client import Credentials, Settings, TrustStore, errors
from sixledger.client.core import acts
from sixledger.client.core.hosting import Hosting
from sixledger.client.core.session import Session
from sixledger.client.core.table import SeatTable
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.keys import ActKind
from sixledger.v1 import match_service_pb2, record_pb2
from support.play import IMPOSTOR, IMPOSTORS_KEY, MATCH_ID, FakeService, HonestTable, run

LOST = errors.TransportError("UNAVAILABLE", "the connection was reset")
DRAINING = errors.Unavailable("the server stops")
LATE = errors.TransportError("DEADLINE_EXCEEDED", "no answer in time")


def hosting(trust: TrustStore | None = None) -> Hosting:
    return Hosting(Session("play.test:1", Settings(), trust or TrustStore()), lambda: None)


def joined(service: FakeService, seat: int = 1, **choices: Any) -> SeatTable:
    """Join a seat of the service; the other one has joined."""
    service.joining = Credentials.new(MATCH_ID, seat, **choices)
    table = service.table
    if len(table.records) == 1:
        other = table.players[1 - seat]
        join = {"public_key": other.public_key, "contributes": other.contributes}
        table.act(1 - seat, ActKind.JOIN, other.public_key, other.request_id("join"), join=join)
    return run(hosting().resume(service.joining), service)


def contribute_other(table: HonestTable, kind: ActKind) -> None:
    """Let seat 0 commit or reveal."""
    player = table.players[0]
    if kind is ActKind.COMMITMENT:
        value = acts.contribution_commitment(player)
        table.act(0, kind, value, player.request_id("commitment"), commitment=value)
    else:
        table.act(0, kind, player.contribution, player.request_id("contribution"), contribution=player.contribution)


def started(service: FakeService, **choices: Any) -> SeatTable:
    """Seat 1 at its first turn."""
    seat = joined(service, **choices)
    contribute_other(service.table, ActKind.COMMITMENT)
    while service.table.match.state is None:
        run(seat.refresh(), service)
        run(seat._follow(), service)
        if acts.due(service.table.match, service.table.players[0]) is ActKind.CONTRIBUTION:
            contribute_other(service.table, ActKind.CONTRIBUTION)
    run(seat.refresh(), service)
    return seat


def test_a_contribution_is_kept_back_until_every_commitment_is_in() -> None:
    service = FakeService(HonestTable())
    seat = joined(service)
    for _ in range(4):
        run(seat._follow(), service)
    assert service.methods().count("CommitContribution") == 1
    assert "RevealContribution" not in service.methods()
    contribute_other(service.table, ActKind.COMMITMENT)
    for _ in range(4):
        run(seat._follow(), service)
    assert service.methods().count("CommitContribution") == 1
    assert service.methods().count("RevealContribution") == 1
    assert seat.tracker.match.seats[1].contribution == service.joining.contribution


def test_a_seat_comes_to_its_turn_and_plays() -> None:
    service = FakeService(HonestTable())
    seat = started(service)
    assert run(seat.turn(), service)
    command = seat.tracker.legal()[0]
    recorded = run(seat.play(command), service)
    assert recorded.facts.command == command
    assert recorded.facts.signature
    assert seat.tracker.receipts.note(recorded.seq + 1)
    assert not seat.tracker.may_act


@pytest.mark.parametrize("lost", [[LOST], [LATE, DRAINING, LOST]], ids=["once", "often"])
@pytest.mark.parametrize("method", ["JoinMatch", "CommitContribution", "RevealContribution", "SubmitCommand"])
def test_an_act_whose_reply_got_lost_is_repeated_as_it_was(method: str, lost: list[Exception]) -> None:
    service = FakeService(HonestTable())
    service.failures[method] = list(lost)
    seat = started(service)
    run(seat.play(seat.tracker.legal()[0]), service)
    requests = [request for name, request in service.calls if name == method]
    assert len(requests) == 1 + len(lost)
    assert all(request == requests[0] for request in requests)
    assert seat.tracker.count == len(service.table.records)


def test_what_cannot_succeed_is_not_repeated() -> None:
    service = FakeService(HonestTable())
    seat = started(service)
    service.failures["SubmitCommand"] = [errors.IllegalCommand("not in hand")]
    with pytest.raises(errors.IllegalCommand):
        run(seat.play(seat.tracker.legal()[0]), service)
    assert service.methods().count("SubmitCommand") == 1


def test_records_before_the_own_one_are_read_first() -> None:
    service = FakeService(HonestTable())
    seat = started(service)
    service.table.command(0, GAME.legal(service.table.match.state, 0)[0])
    recorded = run(seat.play(seat.tracker.legal()[0]), service)
    assert recorded.seq == seat.tracker.count - 1 == len(service.table.records) - 1
    assert seat.tracker.received[recorded.seq - 1].body.cause.seat == 0


def test_unsigned_seats_send_no_proof() -> None:
    service = FakeService(HonestTable())
    seat = started(service, sign=False)
    run(seat.play(seat.tracker.legal()[0]), service)
    for _, request in service.calls:
        if isinstance(request, match_service_pb2.SubmitCommandRequest):
            assert not request.act.observed_head
            assert not request.act.signature


# -- lies in replies ---------------------------------------------------------------------------------


def other_record(table: HonestTable) -> Callable[[Any], None]:
    return lambda reply: reply.record.CopyFrom(table.shown(1, 1).record)


@pytest.mark.parametrize("method", ["CommitContribution", "RevealContribution", "SubmitCommand", "ResignMatch"])
def test_the_reply_to_an_act_is_the_record_of_that_act_with_its_head(method: str) -> None:
    def act(service: FakeService) -> None:
        seat = started(service)
        run(seat.resign() if method == "ResignMatch" else seat.play(seat.tracker.legal()[0]), service)

    service = FakeService(HonestTable())
    service.lies[method] = other_record(service.table)
    with pytest.raises(errors.ForgedAct, match="another one"):
        act(service)
    service = FakeService(HonestTable())
    service.lies[method] = lambda reply: setattr(reply, "head", "")
    with pytest.raises(errors.BadHead):
        act(service)
    service = FakeService(HonestTable())
    service.lies[method] = lambda reply: setattr(reply, "head", service.table.head(2))
    with pytest.raises(errors.BadHead):
        act(service)


def test_a_service_that_shows_another_record_0_takes_no_seat() -> None:
    service = FakeService(HonestTable())
    service.lies["GetMatch"] = lambda reply: setattr(reply.match, "first_hash", b"\x01" * 32)
    with pytest.raises(errors.RewrittenHistory):
        joined(service)
    assert "JoinMatch" not in service.methods()
    service = FakeService(HonestTable())
    service.lies["GetMatch"] = lambda reply: setattr(reply.match.opened, "seats", 5)
    with pytest.raises(errors.Tampered, match="another way"):
        joined(service)
    assert "JoinMatch" not in service.methods()


def test_a_service_cannot_talk_a_seat_out_of_its_contribution() -> None:
    service = FakeService(HonestTable())
    mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
    service.lies["GetMatch"] = lambda reply: setattr(reply.match.opened, "mode", mode)
    with pytest.raises(errors.Tampered):
        run(hosting().join(MATCH_ID, 1, True, True, "", None), service)
    assert "JoinMatch" not in service.methods()


def test_a_key_that_is_not_the_pinned_one_ends_it_before_the_first_call() -> None:
    service = FakeService(HonestTable())
    with pytest.raises(errors.OriginChanged):
        run(hosting(TrustStore(keys=[IMPOSTOR.verifier_key])).watch_match(MATCH_ID), service)
    assert service.methods() == ["GetOrigin"]


@pytest.mark.parametrize("key", ["", "play.test+00000000+AAAA", str(HeadSigner("o", IMPOSTORS_KEY).verifier_key)])
def test_an_origin_must_show_a_key_of_its_own(key: str) -> None:
    service = FakeService(HonestTable())
    service.lies["GetOrigin"] = lambda reply: setattr(reply, "verifier_key", key)
    with pytest.raises(errors.BadHead):
        run(hosting().watch_match(MATCH_ID), service)


def test_a_match_shown_longer_than_it_is_does_not_pass() -> None:
    service = FakeService(HonestTable())
    seat = started(service)
    service.lies["GetMatch"] = lambda reply: setattr(reply.match, "record_count", reply.match.record_count + 1)
    with pytest.raises(errors.BadHead):
        run(seat.refresh(), service)


def test_record_0_may_not_change_between_looking_and_joining() -> None:
    service = FakeService(HonestTable())
    other = HonestTable(root_secret=b"\x08" * 32)
    info = match_service_pb2.MatchInfo(match_id=MATCH_ID, opened=other.match.opened, first_hash=other.match.first_hash)
    service.lies["GetMatch"] = lambda reply: reply.match.CopyFrom(info)
    service.lies["ListRecords"] = lambda reply: reply.records[0].CopyFrom(other.records[0])
    with pytest.raises(errors.ServerCheated):
        joined(service, sign=False)


def test_a_match_without_record_0_is_none() -> None:
    service = FakeService(HonestTable())
    service.lies["ListRecords"] = lambda reply: reply.ClearField("records")
    with pytest.raises(errors.Tampered, match="no record 0"):
        joined(service)


def test_a_head_is_part_of_what_is_shown() -> None:
    service = FakeService(HonestTable())
    seat = joined(service)
    service.lies["GetMatch"] = lambda reply: setattr(reply, "head", "")
    with pytest.raises(errors.BadHead):
        run(seat.refresh(), service)


# -- races -------------------------------------------------------------------------------------------


def test_a_contribution_refused_because_the_match_was_aborted_is_no_error() -> None:
    service = FakeService(HonestTable())
    seat = joined(service)
    service.table.abort()
    service.failures["CommitContribution"] = [errors.WrongPhase("the match is over")]
    service._CommitContribution = lambda request: None  # type: ignore[method-assign]
    assert not run(seat.turn(), service)
    assert seat.tracker.match.aborted


def test_playing_before_the_start_waits_for_it_and_contributes() -> None:
    service = FakeService(HonestTable())
    seat = joined(service)
    contribute_other(service.table, ActKind.COMMITMENT)
    contribute_other_when_due(service)
    with pytest.raises(errors.ServiceError):  # the command was made up before the hand was known
        run(seat.play(GAME.schema.commands.pack(nimmt_pb2.SelectCard(card=1))), service)
    assert seat.tracker.started


def contribute_other_when_due(service: FakeService) -> None:
    """Let seat 0 reveal as soon as the own commitment is in; refuse every command."""

    def commit(reply: Any) -> None:
        contribute_other(service.table, ActKind.CONTRIBUTION)

    def refuse(_: Any) -> None:
        raise errors.IllegalCommand("not in hand")

    service.lies["CommitContribution"] = commit
    service._SubmitCommand = refuse  # type: ignore[method-assign,assignment]


def test_a_match_that_is_aborted_before_its_start_cannot_be_played() -> None:
    service = FakeService(HonestTable())
    seat = joined(service)
    service.table.abort()
    with pytest.raises(errors.WrongPhase):
        run(seat.play(GAME.schema.commands.pack(nimmt_pb2.SelectCard(card=1))), service)
