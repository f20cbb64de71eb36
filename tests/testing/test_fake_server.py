"""`FakeServer`: a real server under a test's control."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import grpc
import pytest
from sixledger.client import Client, Settings, TransportError, TrustStore, run_bot, run_bot_async
from sixledger.client.errors import OriginChanged, SeatTaken
from sixledger.engine.bots import bot
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.testing import FakeServer, ManualClock

ONE_ROUND = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A server for one test."""
    with FakeServer(seed=1) as running:
        yield running


@pytest.fixture
def client(server: FakeServer) -> Iterator[Client]:
    """A client of it."""
    with server.client() as connected:
        yield connected


def play(server: FakeServer, client: Client, match: bytes, seats: int = 2) -> None:
    """Play a match to its end, a thread for each seat."""
    failures: list[BaseException] = []

    def one(seat: int) -> None:
        try:
            own = server.credentials(match, seat)
            run_bot(client, match, seat, bot("nimmt", "random"), random=Random(seat), credentials=own)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(seat,)) for seat in range(seats)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def hands(seed: int) -> list[list[int]]:
    """What a server with this seed deals to both seats of its first match."""
    with FakeServer(seed=seed) as server, server.client() as client:
        match = server.open("nimmt", seats=2, options=ONE_ROUND)
        seats = [client.matches.resume(server.credentials(match, seat)) for seat in range(2)]
        for table in seats:  # both owe something to the randomness before the deal
            table.refresh()
        for table in seats:
            table.refresh()
            table.turn()
        dealt = [list(table.view().seats[table.seat].hand) for table in seats]
        for table in seats:
            table.close()
    return dealt


def test_the_same_seed_deals_the_same_cards() -> None:
    first = hands(7)
    assert all(first)
    assert hands(7) == first
    assert hands(8) != first


def test_key_and_ids_follow_from_the_seed_too() -> None:
    """So a pinned key or an id may be written into a test."""
    seen = []
    for seed in (1, 1, 2):
        with FakeServer(seed=seed) as server:
            seen.append((str(server.verifier_key), server.open("nimmt", seats=2), server.open("nimmt", seats=2)))
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]
    assert len({match for _, *matches in seen for match in matches}) == 4


def test_time_stands_still_until_the_test_moves_it(server: FakeServer, client: Client) -> None:
    match = server.open("nimmt", seats=2)
    table = client.matches.watch_match(match)
    first = client.matches.join(match, 0)
    server.clock.advance(90.5)
    second = client.matches.join(match, 1)
    table.refresh()
    times = [recorded.body.time_us for recorded in table.records]
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert times[0] == times[1] == noon.timestamp() * 1e6
    assert times[2] - times[1] == 90_500_000
    assert server.clock.now == noon + timedelta(seconds=90.5)
    for each in (table, first, second):
        each.close()


def test_a_clock_has_a_time_zone_and_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="time zone"):
        ManualClock(datetime(2026, 1, 1))  # that is what is refused
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)
    east = ManualClock(datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))))
    assert east() == ManualClock()()


def test_a_dropped_reply_is_asked_for_again_and_nothing_is_done_twice(server: FakeServer, client: Client) -> None:
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    for method in ("JoinMatch", "CommitContribution", "RevealContribution"):
        server.drop_next_reply(method)
    server.drop_next_reply("SubmitCommand", times=5)
    play(server, client, match)
    with client.matches.watch_match(match) as table:
        assert table.verify().winners
        commands = sum(bool(recorded.body.command) for recorded in table.records)
    assert server.calls["SubmitCommand"] >= commands + 5
    assert server.calls["JoinMatch"] == 3


def test_a_lost_request_never_arrived(server: FakeServer, client: Client) -> None:
    server.lose_next("CreateMatch", code=grpc.StatusCode.PERMISSION_DENIED)
    with pytest.raises(TransportError) as caught:
        client.matches.create("nimmt", seats=2)
    assert caught.value.code == "PERMISSION_DENIED"
    assert client.matches.list() == []


def test_streams_are_cut_after_some_items_and_all_at_once(server: FakeServer, client: Client) -> None:
    """The client resumes: every record once, none missing."""
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    for after in range(4):
        server.cut_next_stream(after=after)
    play(server, client, match)
    with client.matches.watch_match(match) as table:
        table.refresh()
        assert [recorded.seq for recorded in table.records] == list(range(len(table.records)))

    open_match = server.open("nimmt", seats=2)
    with client.matches.watch_match(open_match) as table:
        items = table.watch()
        assert next(items).seq == 0  # type: ignore[union-attr]  # record 0
        before = server.calls["WatchMatch"]
        server.cut_streams()
        seat = client.matches.join(open_match, 0)
        assert any(getattr(next(items), "seq", None) == 1 for _ in range(5))
        assert server.calls["WatchMatch"] > before
        seat.close()


def test_play_streams_are_cut_too(server: FakeServer, client: Client) -> None:
    """A whole match over one stream that breaks again and again: nothing is played twice, nothing is missing."""
    for after in (0, 1, 2, 5, 9):
        server.cut_next_stream("Play", after=after)
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    choose, random = bot("nimmt", "random"), Random(1)
    with client.matches.stream() as stream:
        tables = [stream.resume(server.credentials(match, seat)) for seat in range(2)]
        for table in (*tables, *tables):  # each seat commits to its part of the randomness, then reveals it
            table.refresh()
        while not all(table.over for table in tables):
            for table in tables:
                table.refresh()
                if table.may_act:
                    table.play(choose(table.view(), random))
        assert tables[0].outcome() == tables[1].outcome()
        assert tables[0].verify().winners
    assert server.calls["Play"] >= 6


def test_a_delay_lets_the_client_run_out_of_patience(server: FakeServer) -> None:
    server.delay_next("GetMatch", 2.0)
    match = server.open("nimmt", seats=2)
    with server.client(settings=Settings(timeout=0.1, patience=0)) as hasty:
        began = time.monotonic()
        with pytest.raises(TransportError) as caught:
            hasty.matches.get(match)
        assert caught.value.code == "DEADLINE_EXCEEDED"
        assert time.monotonic() - began < 1.5
    with server.client() as calm:
        assert calm.matches.get(match).match.match_id == match


def test_what_was_scripted_can_be_forgotten(server: FakeServer, client: Client) -> None:
    server.lose_next("ListMatches", times=1000)
    server.heal()
    assert client.matches.list() == []
    assert server.calls == {"ListMatches": 1}


def test_scripts_that_cannot_work_are_refused(server: FakeServer) -> None:
    with pytest.raises(ValueError, match=r"there is no call 'Submit'; there are .*SubmitCommand"):
        server.drop_next_reply("Submit")
    with pytest.raises(ValueError, match="WatchMatch streams"):
        server.drop_next_reply("WatchMatch")
    with pytest.raises(ValueError, match="GetMatch does not stream"):
        server.cut_next_stream("GetMatch")
    with pytest.raises(ValueError, match="at least once"):
        server.lose_next("GetMatch", times=0)


def test_errors_are_those_of_a_real_server(server: FakeServer, client: Client) -> None:
    match = server.open("nimmt", seats=2)
    client.matches.join(match, 0).close()
    with pytest.raises(SeatTaken):
        client.matches.join(match, 0)


def test_its_key_is_pinned_in_its_clients(server: FakeServer) -> None:
    """A client that trusted another server of the same name refuses it."""
    with FakeServer(seed=2) as other, other.client() as client:
        client.catalog.origin()
        trust = TrustStore(keys=[other.verifier_key])
        with server.client(trust=trust) as mistrusting, pytest.raises(OriginChanged):
            mistrusting.catalog.origin()


async def test_asyncio() -> None:
    """The same server with `async with`, whose clients play in the loop of the test."""
    async with FakeServer(seed=4) as server, server.async_client() as client:
        match = server.open("nimmt", seats=2, options=ONE_ROUND)
        server.cut_next_stream(after=3, times=2)
        server.drop_next_reply("SubmitCommand", times=2)
        outcomes = await asyncio.gather(
            *(
                run_bot_async(
                    client, match, seat, bot("nimmt", "random"), random=Random(seat),
                    credentials=server.credentials(match, seat),
                )
                for seat in range(2)
            )
        )  # fmt: skip
        assert outcomes[0] == outcomes[1]
        assert outcomes[0] is not None


def test_it_runs_inside_its_context_only() -> None:
    server = FakeServer()
    with pytest.raises(RuntimeError, match="with FakeServer"):
        _ = server.address
    with server:
        assert server.address.startswith("127.0.0.1:")
    with pytest.raises(RuntimeError, match="with FakeServer"):
        server.client()
    with pytest.raises(RuntimeError, match="make a new one"):
        server.start()
    server.stop()


def test_without_the_server_the_import_says_what_to_install() -> None:
    """And the clients alone do not import it."""
    code = """
import sys
sys.modules["structlog"] = None
try:
    import sixledger.testing
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == (
        "sixledger.testing runs a server, which needs the package structlog: pip install 'sixledger[service]'\n"
    )
    code = """
import sys, sixledger.client
print([name for name in sys.modules if name.startswith(("sixledger.service", "sixledger.testing"))])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
