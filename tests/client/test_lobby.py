"""Tables before and after the game, with both clients against a real server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from sixledger.client import AsyncClient, Client, Credentials, SeatedMatch, Settings, errors
from sixledger.client.core.flow import Backoff
from sixledger.client.core.tracker import Tracker
from sixledger.v1 import access_service_pb2, replay_service_pb2
from support.play import MATCH_ID, ONE_ROUND, SIGNER, HonestTable, RunningServer, credentials

ONCE = Settings(patience=0.0)
VALID = replay_service_pb2.VERDICT_VALID


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with Client(server.address, settings=ONCE) as client:
        yield client


def play(*tables: SeatedMatch) -> None:
    """Play to the end, each seat in a thread of its own."""

    def one(table: SeatedMatch) -> None:
        random = Random(table.seat)
        while table.turn():
            table.play(random.choice(table.legal()))

    threads = [Thread(target=one, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(table.over for table in tables)


def test_an_evening_at_a_private_table(client: Client, tmp_path: Path) -> None:
    """Invited, left, come back, ready, one bot, fewer seats than there are, and a rematch with rotated seats."""
    created = client.matches.create("nimmt", seats=4, options=ONE_ROUND, ready_seats=2, private=True, spectators=False)
    match_id, owner = created.match_id, created.owner_token
    assert match_id not in [each.match_id for each in client.lobby.tables()]
    with pytest.raises(errors.NotInvited):
        client.matches.join(match_id)
    invitation = client.lobby.invite(match_id, owner, valid=60).invitation
    ada = client.matches.join(match_id, display_name="Ada", invitation=invitation, save_to=tmp_path / "ada.json")
    leaver = client.matches.join(match_id, invitation=invitation)
    assert (ada.seat, leaver.seat) == (0, 1)
    left = leaver.leave()
    assert (left.hash != b"", leaver.turn()) == (True, False)
    with pytest.raises(errors.BadToken):
        client.matches.view(match_id, leaver.credentials.token)
    client.lobby.seat_bot(match_id, owner, 1, display_name="Robot")
    assert ada.ready().body.lifecycle[1].WhichOneof("step") == "closed"
    with pytest.raises(errors.NoSpectators):
        client.matches.watch_match(match_id).refresh()
    play(ada)
    assert ada.verify().verdict == VALID
    assert len(ada.match.seats) == 2

    again = client.lobby.join_rematch(ada, save_to=str(tmp_path / "again.json"))
    assert (again.seat, again.credentials.display_name) == (1, "Ada")
    assert client.lobby.rematch(match_id, owner).match_id == again.match_id
    again.ready()
    play(again)
    assert again.verify().verdict == VALID
    loaded = Credentials.load(tmp_path / "again.json")
    assert loaded.invitation == ada.credentials.token
    for table in (ada, leaver, again):
        table.close()


async def test_the_asyncio_client_does_the_same(server: RunningServer) -> None:
    async with AsyncClient(server.address, settings=ONCE) as client:
        created = await client.matches.create("nimmt", seats=3, options=ONE_ROUND, private=True)
        match_id, owner = created.match_id, created.owner_token
        invitation = (await client.lobby.invite(match_id, owner, seat=0)).invitation
        with pytest.raises(errors.NotInvited):
            await client.matches.join(match_id, 1, invitation=invitation)
        first = await client.matches.join(match_id, invitation=invitation)
        await client.lobby.revoke_invitations(match_id, owner)
        with pytest.raises(errors.BadToken):
            await client.matches.join(match_id, 1, invitation=invitation)
        await client.lobby.seat_bot(match_id, owner, 1, bot="random")
        closed = await client.lobby.close_seats(match_id, owner)
        assert closed.hash
        while await first.turn():
            await first.play(first.legal()[0])
        assert (await first.verify()).verdict == VALID
        again = await client.lobby.join_rematch(first)
        assert again.seat == 1
        owner_again = (await client.lobby.rematch(match_id, owner)).owner_token
        await client.matches.abort(again.match_id, owner_again)
        with pytest.raises(errors.WrongPhase):
            await client.lobby.close_seats(again.match_id, owner_again)
        leaver = await client.matches.create("nimmt", seats=2)
        seat = await client.matches.join(leaver.match_id)
        await seat.leave()
        assert not await seat.turn()


def test_the_first_free_seat_is_taken_whoever_comes_at_the_same_time(client: Client) -> None:
    match_id = client.matches.create("nimmt", seats=6, options=ONE_ROUND).match_id
    found: list[SeatedMatch] = []
    threads = [Thread(target=lambda: found.append(client.matches.join(match_id))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(table.seat for table in found) == list(range(6))
    with pytest.raises(errors.SeatTaken, match="no seat is free"):
        client.matches.join(match_id)


def test_a_seat_that_somebody_had_before_is_no_forgery(client: Client) -> None:
    match_id = client.matches.create("nimmt", seats=2, options=ONE_ROUND).match_id
    before = client.matches.join(match_id, 0)
    before.leave()
    tables = [client.matches.join(match_id, seat) for seat in (0, 1)]
    play(*tables)
    assert [table.verify().verdict for table in tables] == [VALID, VALID]


def test_a_seat_gets_fresh_tokens(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "seat.json"
    match_id = client.matches.create("nimmt", seats=2, options=ONE_ROUND).match_id
    tables = [client.matches.join(match_id, 0, save_to=path), client.matches.join(match_id, 1)]
    old = tables[0].credentials.token
    tables[0].refresh_token()
    assert client.matches.view(match_id, old).head
    tables[0].revoke_tokens()
    with pytest.raises(errors.BadToken):
        client.matches.view(match_id, old)
    assert Credentials.load(path).token == tables[0].credentials.token != old
    play(*tables)


def test_an_owner_refreshes_and_locks(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
    table = client.matches.join(created.match_id, 0)
    fresh = client.lobby.refresh_token(created.match_id, created.owner_token).token
    newest = client.lobby.revoke_own(created.match_id, fresh).token
    with pytest.raises(errors.BadToken):
        client.matches.abort(created.match_id, fresh)
    client.lobby.revoke_seat(created.match_id, newest, 0)
    with pytest.raises(errors.BadToken):
        table.leave()
    client.matches.abort(created.match_id, newest, request_id=secrets.token_bytes(16))


def test_lists_are_filtered(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
    assert created.match_id in [each.match_id for each in client.lobby.tables(game="nimmt")]
    for seat in range(2):
        client.matches.join(created.match_id, seat, contribute=False)
    assert created.match_id not in [each.match_id for each in client.matches.list(free_seats=True)]
    with pytest.raises(errors.BadApiKey):
        client.lobby.tables(mine=True)
    with pytest.raises(errors.BadApiKey):
        client.access.list_keys()
    with pytest.raises(errors.BadApiKey):
        client.access.create_key("club", [access_service_pb2.API_SCOPE_CREATE])
    with pytest.raises(errors.BadApiKey):
        client.access.revoke_key("0" * 16)


async def test_without_a_key_the_asyncio_client_is_refused_alike(server: RunningServer) -> None:
    async with AsyncClient(server.address, settings=ONCE, api_key="sixk_wrong") as client:
        for call in (
            client.access.list_keys(),
            client.access.create_key("club", [access_service_pb2.API_SCOPE_CREATE]),
            client.access.revoke_key("0" * 16),
            client.lobby.tables(mine=True),
            client.matches.create("nimmt", seats=2),
        ):
            with pytest.raises(errors.BadApiKey) as caught:
                await call
            assert "sixk_wrong" not in str(caught.value)


def test_seats_that_were_closed_without_the_own_one_are_a_forgery() -> None:
    """A server that gives the seat to another, and plays on without a word of the player's leaving, is found out."""
    table = HonestTable().start()
    own = credentials(0, sign=False)
    own.secret = bytes(32)  # somebody else's join stands where the own one should
    tracker = Tracker(MATCH_ID, SIGNER.verifier_key, own)
    closing = 2  # the record of the last join
    for seq in range(closing):
        tracker.receive(table.shown(seq, 0).record)
    with pytest.raises(errors.ForgedAct, match="without the own one"):
        tracker.receive(table.shown(closing, 0).record)


def test_the_pause_that_a_service_asks_for_is_kept() -> None:
    now = [0.0]
    backoff = Backoff(Settings(patience=10.0, first_pause=0.01), clock=lambda: now[0])
    assert backoff.after(errors.RateLimited("too fast", retry_after=3.0)).seconds == 3.0
    now[0] = 8.0
    with pytest.raises(errors.RateLimited):
        backoff.after(errors.RateLimited("too fast", retry_after=3.0))
    with pytest.raises(errors.QuotaExceeded):
        backoff.after(errors.QuotaExceeded("too many", retry_after=0.1))
