"""The course of a match: any record can be reached in any order, and looks as it did then."""

from __future__ import annotations

import random

import pytest
from sixledger.cli.replay.course import ALL_HANDS, SPECTATOR, Course, Eyes
from sixledger.cli.replay.screens import destination
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import viewers
from sixledger.ledger.folding import fold
from sixledger.ledger.records import read_body
from sixledger.v1 import record_pb2
from support.ledgers import copies
from support.replays import running, whole


def as_seen(records: list[record_pb2.Record], viewer: str) -> list[record_pb2.Record]:
    """The records with the openings of a viewer."""
    revealed = viewers.revealed_epoch(read_body(record) for record in records)
    return viewers.redact_all(records, viewer, revealed)


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_going_anywhere_gives_what_a_fold_from_the_start_gives(every: int) -> None:
    records = whole().records
    course = Course(records, every=every)
    places = [random.Random(every).randrange(len(records)) for _ in range(60)]
    for seq in [*places, 0, len(records) - 1]:
        moment, expected = course.at(seq), fold(records[: seq + 1])
        assert moment.entry.seq == moment.match.seq == seq
        assert moment.match.hash == expected.hash == records[seq].hash
        assert (moment.match.state is None) == (expected.state is None)
        if expected.state is not None:
            assert GAME.position(moment.match.state) == GAME.position(expected.state)


def test_going_on_does_not_change_where_it_was() -> None:
    course = Course(whole().records)
    moment = course.at(40)
    before = GAME.position(moment.match.state)
    course.at(41), course.at(90), course.at(39)
    assert GAME.position(moment.match.state) == before


def test_turns_and_rounds_forward_and_back() -> None:
    """Forward to the next beginning, back to the own one first; at both ends it stays."""
    course = Course(whole().records)
    first, second = course.find(1), course.find(2)
    assert first is not None
    assert second is not None
    assert course.round(0, 1) == first
    assert course.round(first + 3, 1) == second
    assert course.round(second, 1) == course.turn(len(course) - 1, 1) == len(course) - 1
    assert course.round(second + 3, -1) == second
    assert course.round(second, -1) == first
    assert course.round(first, -1) == course.turn(0, -1) == 0
    third = course.find(1, 3)
    assert third is not None
    assert course.turn(third, -1) == course.find(1, 2)
    assert course.turn(third - 1, 1) == third
    assert course.begins(third)
    assert not course.begins(third - 1)
    assert not course.begins(0), "before the start there are no turns"
    assert course.find(3) is None
    assert course.find(1, 11) is None


def test_each_turn_of_each_round_begins_once() -> None:
    course = Course(whole().records)
    places = [(entry.round, entry.turn) for entry in course.turns()]
    assert places[:1] == [(0, 0)]
    assert places[1:] == [(round_, turn) for round_ in (1, 2) for turn in range(1, 11)]


def test_places_in_words() -> None:
    course = Course(whole().records)
    assert destination(course, 0, "27") == destination(course, 0, "#27") == 27
    assert destination(course, 0, "r2") == destination(course, 0, "Round 2") == course.find(2)
    assert destination(course, 0, "r2 t4") == destination(course, 99, "t4") == course.find(2, 4)
    for wrong in ("", "x", "r", "999", "r9", "r2t11", "1 2 3 x", "t4"):
        with pytest.raises(ValueError, match=r"no place|no record|does not reach"):
            destination(course, 0, wrong)


def test_with_every_opening_every_pair_of_eyes_sees_what_it_saw() -> None:
    """The view of a seat is that of the ledger with the openings that the seat had."""
    table = running()
    course, last = Course(table.records), len(table.records) - 1
    for eyes in (SPECTATOR, ALL_HANDS, Eyes(0), Eyes(1), Eyes(2)):
        assert course.sees(eyes, last)
    for seat in range(3):
        own = Course(as_seen(table.records, viewers.seat_name(seat)))
        assert course.view(course.at(last), Eyes(seat)) == own.view(own.at(last), Eyes(seat))
    hands = [list(view.seats[seat].hand) for seat, view in enumerate(course.hands(course.at(last)))]
    assert all(hands)
    assert not any(seat.hand for seat in course.view(course.at(last), ALL_HANDS).seats)


def test_what_is_sealed_is_known_record_by_record() -> None:
    """A seat's ledger of a running match: the ended round is open to all eyes, the running one to the own."""
    table = running()
    course = Course(as_seen(table.records, "seat:1"))
    second, last = course.find(2), len(course) - 1
    assert second is not None
    assert course.sees(ALL_HANDS, second - 1)
    assert not course.sees(ALL_HANDS, last)
    assert [course.sees(Eyes(seat), last) for seat in range(3)] == [False, True, False]
    assert course.sees(SPECTATOR, last)


def test_what_a_seat_chose_is_hidden_from_the_others_then() -> None:
    """The file may have everything open by now: eyes see what they saw when it happened."""
    course = Course(whole().records)
    start = course.find(1)
    assert start is not None
    moment = course.at(start + 1)
    seat = moment.entry.seat
    assert seat is not None
    (chosen,) = moment.events(Eyes(seat))
    assert isinstance(chosen, nimmt_pb2.Chosen)
    assert chosen.card > 0
    assert moment.events(ALL_HANDS) == [chosen]
    assert moment.events(Eyes((seat + 1) % 4)) == moment.events(SPECTATOR) == [nimmt_pb2.Chosen(seat=seat)]
    command = moment.command(Eyes(seat))
    assert command is not None
    assert command[1]
    assert moment.command(SPECTATOR) == (nimmt_pb2.SelectCard(), False)


def test_records_may_come_one_by_one_and_open_later() -> None:
    """A spectator's live match: when the round ends its seals open, and its records can be seen through all eyes."""
    table = whole()
    second = Course(table.records).find(2)
    assert second is not None
    sealed = [viewers.redact_all([record], "spectator", 0)[0] for record in table.records[:second]]
    course = Course(every=5)
    assert sum(course.extend([record]) for record in sealed) == second
    assert course.sees(SPECTATOR, second - 1)
    assert not course.sees(Eyes(0), second - 1)
    opened = [viewers.redact_all([record], "spectator", 1)[0] for record in table.records]
    course.extend(opened[second : second + 1])
    course.reopen((seq, opened[seq]) for seq in range(second))
    assert course.sees(ALL_HANDS, second - 1)
    middle = second // 2
    assert GAME.position(course.at(middle).match.state).seats == GAME.position(table.matches[middle].state).seats
    assert course.extend(opened[second + 1 :]) == len(table.records) - second - 1
    assert course.at(len(course) - 1).match.over


def test_reopening_takes_no_other_record() -> None:
    records = whole().records
    course = Course(records)
    with pytest.raises(ValueError, match="another record 3"):
        course.reopen([(3, records[4])])


def test_a_record_that_cannot_follow_ends_the_course() -> None:
    """The prefix stays, the fault names the record, and nothing is taken after it."""
    records = copies(whole().records)
    records[30].hash = bytes(32)
    course = Course(records)
    assert len(course) == 30
    assert course.fault is not None
    assert (course.fault.seq, course.fault.layer) == (30, "chain")
    assert course.at(29).match.seq == 29
    assert course.extend(whole().records[30:]) == 0


def test_nothing_and_nowhere() -> None:
    course = Course()
    assert len(course) == 0
    with pytest.raises(IndexError, match="not 0"):
        course.at(0)
    with pytest.raises(LookupError, match="no records"):
        _ = course.game
    with pytest.raises(IndexError):
        Course(whole().records).at(len(whole().records))
    with pytest.raises(ValueError, match="at least 1"):
        Course(every=0)
