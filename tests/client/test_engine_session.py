"""Engine sessions of both clients: the records of single calls, typed errors, and a stream that may end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sixledger.client import AsyncClient, Client, EngineSession, errors
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2
from support.play import RunningServer
from support.servers import ONE_ROUND

SECRET, MATCH = b"s" * 32, b"m" * 16


@pytest.fixture
def session(server: RunningServer) -> Iterator[EngineSession]:
    """A session with a match of two seats that has started."""
    with Client(server.address) as client, client.engine.session() as session:
        session.start(
            "nimmt",
            2,
            ONE_ROUND,
            root_secret=SECRET,
            match_id=MATCH,
            request_id=b"o" * 16,
            time_us=1,
            immediate=True,
        )
        yield session


def action(seat: int, command: game_pb2.Command, decision: int, number: int) -> engine_service_pb2.Action:
    cause = record_pb2.Cause(
        kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=number.to_bytes(16, "big"), decision=decision
    )
    return engine_service_pb2.Action(cause=cause, time_us=number, command=command.SerializeToString())


def test_a_match_is_played_and_goes_on_in_another_session(server: RunningServer, session: EngineSession) -> None:
    legal = session.legal(0)
    first = session.play(0, legal.commands[0], decision=legal.decision, request_id=b"1" * 16, time_us=2)
    kept = session.checkpoint()
    assert kept.hash == first.hash
    assert len(session.view(1).view.nimmt.seats[1].hand) == 10
    assert not session.view().view.nimmt.seats[1].hand
    second = session.apply(action(1, session.legal(1).commands[0], legal.decision, 3))
    with Client(server.address) as client, client.engine.session() as other:
        assert other.load(kept, root_secret=SECRET) == 1
        assert other.apply(action(1, other.legal(1).commands[0], legal.decision, 3)) == second


def test_several_actions_go_together_and_the_first_that_fails_ends_them(session: EngineSession) -> None:
    decision = session.legal(0).decision
    first, second = session.legal(0).commands[0], session.legal(1).commands[0]
    actions = [action(0, first, decision, 1), action(0, first, decision, 2), action(1, second, decision, 3)]
    made = session.apply_all(actions)
    assert isinstance(made[0], record_pb2.Record)
    assert isinstance(made[1], errors.IllegalCommand)
    assert len(made) == 2
    (made_later,) = session.apply_all(actions[2:])
    assert isinstance(made_later, record_pb2.Record)
    assert session.apply_all([]) == []


def test_errors_come_by_reason(server: RunningServer, session: EngineSession) -> None:
    command = session.legal(0).commands[0]
    with pytest.raises(errors.StaleDecision):
        session.play(0, command, decision=99, request_id=b"1" * 16, time_us=2)
    with pytest.raises(errors.Malformed) as caught:
        session.legal(7)
    assert [violation.field for violation in caught.value.violations] == ["seat"]
    with Client(server.address) as client, client.engine.session() as empty:
        with pytest.raises(errors.WrongPhase):
            empty.checkpoint()
        with pytest.raises(errors.Malformed):
            empty.load([], root_secret=SECRET)
    with pytest.raises(errors.Closed):
        empty.view()


def test_a_session_of_a_stopped_server_is_loaded_again(server: RunningServer, session: EngineSession) -> None:
    """The end is an error that may be retried; the session then holds no match, until it is loaded again."""
    kept = session.checkpoint()
    server.stop()
    with pytest.raises((errors.Unavailable, errors.TransportError)) as caught:
        session.view()
    assert isinstance(caught.value, (errors.Unavailable, errors.TransportError))
    assert caught.value.retryable
    server.start()
    for _ in range(3):  # the old stream may have one more thing to say
        try:
            session.load(kept, root_secret=SECRET)
        except (errors.Unavailable, errors.TransportError):
            continue
        break
    assert session.checkpoint() == kept


async def test_the_asyncio_client_has_the_same(server: RunningServer) -> None:
    async with AsyncClient(server.address) as client, client.engine.session() as session:
        record = await session.start(
            "nimmt",
            2,
            ONE_ROUND,
            root_secret=SECRET,
            match_id=MATCH,
            request_id=b"o" * 16,
            time_us=1,
            immediate=True,
        )
        legal = await session.legal(0)
        made = await session.apply_all([action(0, legal.commands[0], legal.decision, 1)])
        assert isinstance(made[0], record_pb2.Record)
        assert made[0].hash == (await session.checkpoint()).hash != record.hash
        with pytest.raises(errors.IllegalCommand):
            await session.play(0, legal.commands[0], decision=legal.decision, request_id=b"2" * 16, time_us=2)
    with pytest.raises(errors.Closed):
        await session.view()
