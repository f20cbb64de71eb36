"""What is opened late is believed if it fits, in whatever order it comes, and belongs to whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sixledger.client import errors
from sixledger.client.core.tracker import Tracker
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.v1 import match_service_pb2
from support.play import TWO_ROUNDS, HonestTable

Item = match_service_pb2.WatchRecord


@pytest.fixture(scope="module", params=[True, False], ids=["signed", "unsigned"])
def played(request: pytest.FixtureRequest) -> HonestTable:
    """A finished match of two rounds."""
    return HonestTable(options=TWO_ROUNDS, sign=request.param).start().play()


def told(table: HonestTable, viewer: int | None, change: Callable[[Item], object] = bool) -> Tracker:
    """A viewer who was shown the match, each record after a change."""
    tracker = table.tracker(viewer)
    for seq in range(len(table.records)):
        item = table.shown(seq, viewer)
        change(item)
        tracker.receive(item.record, item.late_openings, item.head)
    return tracker


def backwards(item: Item) -> None:
    """The late openings in descending order, by record and by seal."""
    turned = list(reversed(item.late_openings))
    for each in turned:
        openings = list(reversed(each.openings))
        del each.openings[:]
        each.openings.extend(openings)
    del item.late_openings[:]
    item.late_openings.extend(turned)


def apart(item: Item) -> None:
    """Each late opening in a message of its own."""
    split = [(each.seq, opening) for each in item.late_openings for opening in each.openings]
    del item.late_openings[:]
    for seq, opening in split:
        item.late_openings.add(seq=seq, openings=[opening])


@pytest.mark.parametrize("viewer", [0, None])
@pytest.mark.parametrize("change", [backwards, apart])
def test_however_they_are_arranged_late_openings_say_the_same(
    played: HonestTable, viewer: int | None, change: Callable[[Item], object]
) -> None:
    tracker = told(played, viewer, change)
    assert [recorded.record for recorded in tracker.received] == played.records
    assert tracker.replayed == len(played.records)
    assert [each.facts for each in tracker.received] == [each.facts for each in told(played, viewer).received]
    assert [each.opened for each in tracker.received if change is backwards] == [
        each.opened for each in told(played, viewer).received if change is backwards
    ]


def test_the_record_that_opens_others_shows_them_whole(played: HonestTable) -> None:
    tracker = told(played, None)
    for recorded in tracker.received:
        for seq, facts in recorded.opened:
            assert not facts.closed
            assert facts == tracker.received[seq].facts
    assert sum(len(recorded.opened) for recorded in tracker.received) > 2 * 10


def test_whoever_changes_what_a_record_says_changes_nothing_else(played: HonestTable) -> None:
    """The rules share their messages among all matches; what a client hands out is its user's own."""
    untouched = told(played, None)
    for recorded in told(played, None).received:
        for event in recorded.events:
            event.Clear()
        if recorded.facts.command is not None:
            recorded.facts.command.Clear()
    again = told(played, None)
    assert [each.facts for each in again.received] == [each.facts for each in untouched.received]
    assert again.view() == untouched.view()


def test_what_was_handed_out_before_stays_as_it_was(played: HonestTable) -> None:
    tracker = played.tracker(None)
    handed = []
    for seq in range(len(played.records)):
        item = played.shown(seq, None)
        handed.append(tracker.receive(item.record, item.late_openings))
    commands = [(each.seq, each.facts.command) for each in handed]
    sealed = [seq for seq, command in commands if isinstance(command, nimmt_pb2.SelectCard) and not command.card]
    assert len(sealed) > 2 * 10
    assert all(tracker.received[seq].facts.command.card for seq in sealed)


def test_a_record_can_be_compared_but_not_changed_and_its_text_shows_nothing(played: HonestTable) -> None:
    one, other = told(played, 0).received[-1], told(played, 0).received[-1]
    assert one == other
    assert one != told(played, 0).received[-2]
    assert repr(one) == f"Recorded(seq={len(played.records) - 1})"
    with pytest.raises(AttributeError):
        one.facts = other.facts  # type: ignore[misc]


def test_another_card_under_an_opened_seal_is_noticed(played: HonestTable) -> None:
    def swap(item: Item) -> None:
        for each in item.late_openings[3:4]:
            each.openings[0].value = each.openings[0].value[:-1] + bytes([each.openings[0].value[-1] ^ 1])

    with pytest.raises(errors.BadOpening):
        told(played, None, swap)
