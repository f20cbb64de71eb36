"""A feed resumes without gap or repeat, and notices a stream that lies."""

from __future__ import annotations

from typing import Any

import pytest
from sixledger.client import Settings, TrustStore, errors
from sixledger.client.core.feed import _AHEAD, Feed
from sixledger.client.core.flow import Backoff, Read
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.session import Session
from sixledger.v1 import match_service_pb2 as pb
from support.play import HonestTable, ScriptedStreams, run

BROKEN = errors.TransportError("UNAVAILABLE", "the connection was reset")
SETTINGS = Settings(patience=1000.0, first_pause=0.5, longest_pause=4.0)


@pytest.fixture(scope="module")
def played() -> HonestTable:
    """A finished match of one round."""
    return HonestTable().start().play()


def feed_of(table: HonestTable, viewer: int | None = None, settings: Settings = SETTINGS) -> Feed:
    """A feed that has received nothing."""
    return Feed(Session("play.test:1", settings, TrustStore()), table.tracker(viewer))


def received(feed: Feed, streams: ScriptedStreams) -> list[Any]:
    """Everything the feed yields until the match ends."""
    items: list[Any] = []
    while not items or not isinstance(items[-1], pb.WatchEnded):
        items.append(run(feed.pull(), streams))
    return items


def test_a_whole_stream_is_received_to_its_end(played: HonestTable) -> None:
    feed, streams = feed_of(played), ScriptedStreams(played.stream(None))
    items = received(feed, streams)
    assert [item.seq for item in items[:-2]] == list(range(len(played.records)))
    assert isinstance(items[-2], pb.CaughtUp)
    assert streams.opened == [0]


@pytest.mark.parametrize("cut", [0, 1, 9, 25])
def test_a_broken_stream_resumes_at_the_next_record(played: HonestTable, cut: int) -> None:
    first = [*played.stream(None)[:cut], BROKEN]
    streams = ScriptedStreams(first, [BROKEN], played.stream(None, cut))
    items = received(feed_of(played), streams)
    assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(len(played.records)))
    assert streams.opened == [0, cut, cut]
    assert len(streams.slept) == 2


def test_a_stream_that_ends_before_the_match_is_resumed(played: HonestTable) -> None:
    streams = ScriptedStreams(played.stream(None)[:5], played.stream(None, 5))
    assert len(received(feed_of(played), streams)) == len(played.records) + 2


def test_patience_ends(played: HonestTable) -> None:
    streams = ScriptedStreams([BROKEN])
    with pytest.raises(errors.TransportError) as caught:
        run(feed_of(played, settings=Settings(patience=0.0)).pull(), streams)
    assert caught.value.code == "UNAVAILABLE"
    assert streams.slept == []


def test_pauses_grow_and_are_bounded() -> None:
    now = 0.0
    backoff = Backoff(SETTINGS, clock=lambda: now)
    pauses = [backoff.after(BROKEN).seconds for _ in range(8)]
    for pause, most in zip(pauses, [0.5, 1, 2, 4, 4, 4, 4, 4], strict=True):
        assert most / 2 <= pause <= most
    now = 1000.0
    with pytest.raises(errors.TransportError):
        backoff.after(BROKEN)


def test_what_cannot_help_is_not_repeated(played: HonestTable) -> None:
    with pytest.raises(errors.UnknownMatch):
        run(feed_of(played).pull(), ScriptedStreams([errors.UnknownMatch("no such match")]))


def lied_to(table: HonestTable, *scripts: list[Any], viewer: int | None = None) -> None:
    """Let a feed meet a lie; after it the stream is given up and the tracker takes nothing more."""
    feed, streams = feed_of(table, viewer), ScriptedStreams(*scripts)
    try:
        received(feed, streams)
    finally:
        assert streams.cancelled >= 1
        assert feed._tracker.fault is not None


@pytest.mark.parametrize("seqs", [[0, 1, 1], [0, 2], [1], [0, 1, 2, 0]], ids=["repeat", "skip", "late", "restart"])
def test_a_stream_must_not_repeat_or_skip(played: HonestTable, seqs: list[int]) -> None:
    script = [pb.WatchMatchResponse(record=played.shown(seq, None)) for seq in seqs]
    with pytest.raises(errors.BrokenStream):
        lied_to(played, script)


def test_history_rewritten_after_a_break_is_noticed(played: HonestTable) -> None:
    other = HonestTable(root_secret=b"\x08" * 32).start().play()
    with pytest.raises(errors.RewrittenHistory):
        lied_to(played, [*played.stream(None)[:12], BROKEN], other.stream(None, 12))


def test_another_record_than_the_reply_s_is_noticed(played: HonestTable) -> None:
    other = HonestTable(sign=False).join()  # begins with the same record 0
    assert other.records[0] == played.records[0]
    assert other.records[1] != played.records[1]
    feed, streams = feed_of(played), ScriptedStreams(other.stream(None))
    run(feed.pull(), streams)
    feed._tracker.receive(played.shown(1, None).record)
    with pytest.raises(errors.RewrittenHistory, match="another one than the one received"):
        run(feed.pull(), streams)


def test_records_that_came_with_replies_are_not_taken_twice(played: HonestTable) -> None:
    feed, streams = feed_of(played, 0), ScriptedStreams(played.stream(0))
    run(feed.pull(), streams)
    for seq in range(1, 10):
        item = played.shown(seq, 0)
        feed._tracker.receive(item.record, item.late_openings)
    items = received(feed, streams)
    assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(1, len(played.records)))
    assert feed._tracker.count == len(played.records)


def test_caught_up_vouches_for_exactly_what_was_sent(played: HonestTable) -> None:
    for note in (played.head(4), played.head(6), ""):
        script = [*played.stream(None)[:5], pb.WatchMatchResponse(caught_up=pb.CaughtUp(head=note))]
        with pytest.raises(errors.BadHead):
            lied_to(played, script)


def test_a_match_does_not_end_before_its_last_record(played: HonestTable) -> None:
    ended = pb.WatchMatchResponse(ended=pb.WatchEnded(head=played.head(5)))
    with pytest.raises(errors.BrokenStream, match="over"):
        lied_to(played, [*played.stream(None)[:5], ended])


def test_the_end_comes_with_its_head(played: HonestTable) -> None:
    with pytest.raises(errors.BadHead):
        lied_to(played, [*played.stream(None)[:-1], pb.WatchMatchResponse(ended=pb.WatchEnded())])


def test_items_that_nobody_asked_for_are_refused(played: HonestTable) -> None:
    with pytest.raises(errors.BrokenStream, match="not asked for"):
        lied_to(played, [pb.WatchMatchResponse(snapshot=pb.WatchSnapshot())])


def test_a_closed_feed_says_so(played: HonestTable) -> None:
    feed, streams = feed_of(played), ScriptedStreams(played.stream(None))
    run(feed.pull(), streams)
    feed.close()
    assert streams.cancelled == 1
    with pytest.raises(errors.Closed):
        run(feed.pull(), streams)


def reads(flow: Any, script: list[Any]) -> tuple[Any, int]:
    """What a flow comes to when its stream yields `script`, and how often it read."""
    count, items, answer = 0, iter(script), None
    while True:
        try:
            effect = flow.send(answer)
        except StopIteration as stop:
            return stop.value, count
        if isinstance(effect, Read):
            count += 1
            answer = next(items)
        else:
            answer = Cut()


class Cut:
    """The handle of a stream that can be given up."""

    def cancel(self) -> bool:
        return True


def test_the_past_is_read_ahead_and_the_present_is_not(played: HonestTable) -> None:
    feed, script = feed_of(played), played.stream(None)
    past = script[:5]
    item, count = reads(feed.pull(), [*past, pb.WatchMatchResponse(caught_up=pb.CaughtUp(head=played.head(5)))])
    assert (item.seq, count) == (0, 6), "all of the past is here, and that it is all of it"
    for seq in range(1, 5):
        item, count = reads(feed.pull(), [])
        assert (item.seq, count) == (seq, 0)
    assert reads(feed.pull(), [])[1] == 0
    assert feed.caught_up
    for seq in range(5, 9):
        item, count = reads(feed.pull(), script[seq:])
        assert (item.seq, count) == (seq, 1), "what happens now is not waited with"


def test_what_is_read_ahead_does_not_show_when_it_is_printed(played: HonestTable) -> None:
    feed, script = feed_of(played, 0), played.stream(0)
    reads(feed.pull(), script)
    assert feed._opened is not None
    assert any(message.record.record.openings for message in feed._opened.ahead if message is not None)
    assert "openings" not in repr(feed._opened)


def test_what_is_read_ahead_is_bounded(played: HonestTable) -> None:
    _, count = reads(feed_of(played).pull(), played.stream(None))
    assert count == _AHEAD < len(played.records)


def test_a_stream_given_up_while_it_is_read_takes_with_it_what_it_had(played: HonestTable) -> None:
    """Else a message of the old stream would seem to skip records of the new one."""
    feed, script = feed_of(played), played.stream(None)
    flow = feed.pull()
    next(flow)  # opens
    flow.send(Cut())  # reads
    flow.send(script[0])
    flow.send(script[1])
    feed.drop()
    with pytest.raises(StopIteration) as done:
        flow.throw(BROKEN)  # as a driver tells whoever reads from what was given up
    assert done.value.value.seq == 0
    streams = ScriptedStreams(script[1:])
    items = received(feed, streams)
    assert streams.opened == [1]
    assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(1, len(played.records)))
