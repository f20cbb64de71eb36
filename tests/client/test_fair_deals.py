"""Fair deals as the users of both clients meet them: who contributes, who withholds, and what the deal is called."""

from __future__ import annotations

from typing import Any

import pytest
from sixledger.client import SeatedMatch, WatchedMatch, time_limits
from sixledger.client.errors import ContributionIgnored
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import clocks
from sixledger.ledger.verify import exit_status
from sixledger.testing import FakeServer
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2
from support.play import ONE_ROUND

SEATS = record_pb2.CONTRIBUTION_MODE_SEATS
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
LIMITS = {"contribute": 30, "reveal": 10}


def seated(client: Any, *, go_on: bool, seats: int = 3) -> list[SeatedMatch]:
    """Everybody has joined a table with limits for contributing; nobody has contributed."""
    clock = time_limits(**LIMITS, go_on_if_withheld=go_on)
    match_id = client.matches.create("nimmt", seats=seats, options=ONE_ROUND, clock=clock).match_id
    return [client.matches.join(match_id) for _ in range(seats)]


def withhold(ada: SeatedMatch, bob: SeatedMatch, eve: SeatedMatch) -> None:
    """All commit, Eve first; the others reveal. Eve could tell by now what her contribution would change."""
    for table in (eve, ada, bob, ada):
        table.refresh()


def last_step(table: SeatedMatch) -> record_pb2.Lifecycle:
    return table.records[-1].body.lifecycle[0]


def test_a_match_in_which_somebody_withholds_is_cancelled_and_names_the_seat() -> None:
    with FakeServer() as server, server.client() as client:
        ada, bob, eve = tables = seated(client, go_on=False)
        withhold(ada, bob, eve)
        server.advance(11)
        assert not ada.turn()
        assert last_step(ada).aborted.missed == record_pb2.MissedDeadline(timer=clocks.REVEAL, seats=[eve.seat])
        assert ada.match.status == match_service_pb2.MATCH_STATUS_ABORTED
        assert ada.fairness.label == "nothing was dealt"
        assert exit_status(ada.verify()) == 0
        for table in tables:
            table.close()


def test_by_option_it_goes_on_and_every_viewer_says_that_it_is_biasable() -> None:
    with FakeServer() as server, server.client() as client:
        ada, bob, eve = tables = seated(client, go_on=True)
        withhold(ada, bob, eve)
        server.advance(11)
        ada.refresh()
        assert last_step(ada).withheld.seats == [eve.seat]
        watcher = client.matches.watch_match(ada.match_id)
        watcher.refresh()
        info = client.matches.get(ada.match_id).match
        label = f"biasable by one bit per withholder: seat {eve.seat}"
        assert [ada.fairness.label, watcher.fairness.label] == [label] * 2
        assert info.fairness == str(ada.fairness)
        assert ada.verify().fairness == str(ada.fairness)
        with pytest.raises(ContributionIgnored, match="was late"):
            eve.refresh()
        watcher.close()
        for table in tables:
            table.close()


def test_a_seat_whose_contribution_is_missing_refuses_to_play() -> None:
    """It was late, or the server says so: it cannot know that the others are not in it."""
    with FakeServer() as server, server.client() as client:
        ada, bob, eve = tables = seated(client, go_on=True)
        ada.refresh()
        bob.refresh()
        server.advance(31)  # without Eve's commitment
        for _ in range(2):
            ada.refresh()
            bob.refresh()
        assert ada.fairness.label == "provably fair"
        assert ada.fairness.sentence.endswith(f"seat {eve.seat} gave nothing in time")
        for _ in range(2):
            with pytest.raises(ContributionIgnored):
                eve.turn()
        with pytest.raises(ContributionIgnored):
            eve.play(ada.match.game.legal(ada.match.state, ada.seat)[0])
        for table in tables:
            table.close()


@pytest.mark.parametrize(
    ("mode", "contribute", "before", "after"),
    [
        (record_pb2.CONTRIBUTION_MODE_UNSPECIFIED, True, "provably fair", "provably fair"),
        (record_pb2.CONTRIBUTION_MODE_UNSPECIFIED, False, "provably fair", "no contribution"),
        (SEATS, True, "unfair if the operator also plays", "unfair if the operator also plays"),
        (SERVER_ONLY, True, "no contribution", "no contribution"),
    ],
)
def test_the_label_is_in_lists_in_the_match_and_at_the_table(
    mode: record_pb2.ContributionMode.ValueType, contribute: bool, before: str, after: str
) -> None:
    with FakeServer() as server, server.client() as client:
        match_id = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode).match_id
        (summary,) = client.lobby.tables()
        assert summary.fairness == before
        assert summary.mode == (mode or record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL)
        tables = [client.matches.join(match_id, contribute=contribute) for _ in range(2)]
        assert tables[0].fairness.label == before
        for _ in range(2):
            for table in tables:
                table.refresh()
        info = client.matches.get(match_id).match
        assert [table.fairness.label for table in tables] == [after] * 2
        assert info.fairness == str(tables[0].fairness)
        for table in tables:
            table.close()


async def test_the_asyncio_client_says_the_same() -> None:
    with FakeServer() as server:
        async with server.async_client() as client:
            clock = time_limits(**LIMITS, go_on_if_withheld=True)
            match_id = (await client.matches.create("nimmt", seats=2, options=ONE_ROUND, clock=clock)).match_id
            ada, bob = [await client.matches.join(match_id) for _ in range(2)]
            assert ada.fairness.label == "provably fair unless a seat withholds its contribution"
            for table in (bob, ada):
                await table.refresh()
            server.advance(11)
            await ada.refresh()
            assert ada.fairness.label == "biasable by one bit per withholder: seat 1"
            with pytest.raises(ContributionIgnored):
                await bob.refresh()
            await ada.close()
            await bob.close()


def test_a_round_is_proven_the_moment_it_ends() -> None:
    """Its seed is revealed with its last record: the deal of that round is then checked whole, by every viewer."""
    two = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=2)
    with FakeServer() as server, server.client() as client:
        match_id = client.matches.create("nimmt", seats=2, options=two).match_id
        tables = [client.matches.join(match_id) for _ in range(2)]
        watcher = client.matches.watch_match(match_id)
        for _ in range(2):
            for table in tables:
                table.refresh()
        while tables[0].match.revealed == 0:
            for table in tables:
                table.refresh()
                if table.may_act and table.match.revealed == 0:
                    table.play(table.legal()[0])
        assert not tables[0].over
        viewers: list[WatchedMatch] = [watcher, *tables]
        for viewer in viewers:
            viewer.refresh()
            report = viewer.verify()
            assert report.verdict == replay_service_pb2.VERDICT_INCOMPLETE
            assert report.fairness.startswith("provably fair – seats 0, 1 of 2")
            first, _ = report.unchecked
            ended = next(each.seq for each in viewer.records if each.body.reveals)
            last = viewer.match.seq
            named = f"record {last}" if last == ended else f"records {ended}–{last}"
            assert first == f"{named} could not be replayed in full: sealed parts or an epoch that is not revealed"
            viewer.close()
