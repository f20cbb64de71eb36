"""Clocks as the users of both clients meet them."""

from __future__ import annotations

import pytest
from sixledger.client import SeatedMatch, errors, time_limits
from sixledger.client.core.timing import ServiceTime
from sixledger.ledger import clocks
from sixledger.testing import FakeServer
from sixledger.v1 import record_pb2, replay_service_pb2
from support.play import ONE_ROUND

SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
VALID = replay_service_pb2.VERDICT_VALID


def remaining(table: SeatedMatch) -> list[float]:
    """Seconds that the seats have left."""
    state = table.clock()
    assert state is not None
    return [round(seat.remaining_us / 1_000_000) for seat in state.seats]


def test_limits_are_given_in_seconds() -> None:
    assert time_limits(turn=1.5, pause=60) == record_pb2.Clock(turn_us=1_500_000, pause_us=60_000_000)
    with pytest.raises(ValueError, match="bank must be between"):
        time_limits(bank=-1)


def test_the_time_of_the_service_is_never_ahead_of_what_was_heard() -> None:
    local = 5_000
    time = ServiceTime(lambda: local * 1000)
    assert time.now() == 0
    time.learn(1_000_000)
    local += 300
    assert time.now() == 1_000_300
    time.learn(1_000_100)  # was long on its way
    assert time.now() == 1_000_300
    time.learn(1_000_900)
    assert time.now() == 1_000_900


def test_an_evening_against_the_clock() -> None:
    """A command in time, one that a timer plays, a pause, and an abandoned table that ends by itself."""
    with FakeServer() as server, server.client() as client:
        created = client.matches.create(
            "nimmt",
            seats=2,
            options=ONE_ROUND,
            mode=SERVER_ONLY,
            clock=time_limits(turn=30, bank=120, increment=5, join=600),
            on_timeout=clocks.FIRST_LEGAL,
        )
        match_id, owner = created.match_id, created.owner_token
        ada, bob = client.matches.join(match_id), client.matches.join(match_id)
        watcher = client.matches.watch_match(match_id)
        with ada, bob, watcher:
            assert ada.turn()
            assert remaining(ada) == [30, 30]
            server.clock.advance(10)
            ada.play(ada.legal()[0])
            assert remaining(ada) == [30, 20]
            assert bob.turn()
            lowest = bob.legal()[0]
            server.advance(21)
            bob.refresh()
            played = next(each for each in bob.records if each.body.cause.kind == record_pb2.CAUSE_KIND_TIMER)
            assert (played.body.cause.seat, played.facts.command) == (1, lowest)
            client.matches.pause(match_id, owner)
            with pytest.raises(errors.MatchPaused):
                client.matches.pause(match_id, owner)
            server.advance(1800)
            ada.refresh()
            assert (ada.may_act, ada.match.paused) == (False, True)
            if 0 in ada.match.to_act:
                with pytest.raises(errors.MatchPaused):
                    ada.play(ada.match.game.legal(ada.match.state, 0)[0])
            client.matches.unpause(match_id, owner)
            with pytest.raises(errors.WrongPhase):
                client.matches.unpause(match_id, owner)
            for _ in range(100):
                server.advance(31)
                ada.refresh()
                if ada.over:
                    break
            for table in (ada, bob, watcher):
                table.refresh()
                assert table.over
                assert table.verify().verdict == VALID


def test_a_late_command_is_told_so_and_a_forfeit_ends_the_match() -> None:
    with FakeServer() as server, server.client() as client:
        match_id = server.open(
            "nimmt", seats=2, options=ONE_ROUND, mode=SERVER_ONLY, clock=time_limits(turn=5), on_timeout=clocks.FORFEIT
        )
        with client.matches.join(match_id) as ada, client.matches.join(match_id) as bob:
            assert bob.turn()
            bob.play(bob.legal()[0])
            assert ada.turn()
            server.clock.advance(6)
            with pytest.raises(errors.IllegalCommand) as caught:
                ada.play(ada.legal()[0])
            assert caught.value.rule in ("too_late", "finished")  # the server may have been faster
            assert not bob.turn()
            outcome = bob.outcome()
            assert outcome is not None
            assert (outcome.winners, outcome.reason) == ((1,), "forfeit")
            with client.lobby.join_rematch(ada) as again:
                again.refresh()
                assert again.match.opened.clock == time_limits(turn=5)
                assert again.match.opened.timeout_policy == clocks.FORFEIT


async def test_the_asyncio_client_has_the_same() -> None:
    async with FakeServer() as server, server.async_client() as client:
        created = await client.matches.create(
            "nimmt", seats=2, options=ONE_ROUND, clock=time_limits(join=60, contribute=5), mode=SERVER_ONLY
        )
        match_id, owner = created.match_id, created.owner_token
        ada, bob = await client.matches.join(match_id), await client.matches.join(match_id)
        async with ada, bob:
            assert await ada.turn()
            state = ada.clock()
            assert state is not None
            assert not state.HasField("deadline_us")
            await client.matches.pause(match_id, owner)
            await ada.refresh()
            state = ada.clock()
            assert state is not None
            assert state.paused
            await client.matches.unpause(match_id, owner)
            with pytest.raises(errors.Malformed):
                await client.matches.create("nimmt", seats=2, clock=time_limits(increment=1))


def test_a_table_that_waits_for_a_contribution_in_vain_is_aborted() -> None:
    """The seat that withholds is named in the record; the one that did its part hears of it."""
    with FakeServer() as server, server.client() as client:
        match_id = server.open("nimmt", seats=2, options=ONE_ROUND, clock=time_limits(contribute=30))
        with client.matches.join(match_id) as ada, client.matches.join(match_id) as bob:
            ada.refresh()
            server.advance(31)
            assert not ada.turn()
            missed = ada.records[-1].body.lifecycle[0].aborted.missed
            assert (missed.timer, list(missed.seats)) == (clocks.CONTRIBUTE, [bob.seat])
