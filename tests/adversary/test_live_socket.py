"""A lying server on a real socket, with the real key, against both clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from adversary.live import BENT, Bent
from sixledger.client import Client, Credentials, SeatedMatch, TrustStore, WatchedMatch, errors, run_bot, run_bot_async
from sixledger.engine.bots import random_policy
from sixledger.ledger import hashing, verify
from sixledger.ledger.heads import HeadSigner
from sixledger.v1 import catalog_service_pb2, match_service_pb2, record_pb2, replay_service_pb2
from support.ledgers import OTHER_SIGNER, private_key, rounds
from support.lying import Crooked, LyingServer

INCOMPLETE, VALID = replay_service_pb2.VERDICT_INCOMPLETE, replay_service_pb2.VERDICT_VALID


@pytest.fixture(scope="module")
def lying() -> Iterator[LyingServer]:
    """A server that is honest until a test tells it to lie."""
    with LyingServer(seed=5) as server:
        yield server


@pytest.fixture
def server(lying: LyingServer) -> Iterator[LyingServer]:
    """The same, honest again after each test."""
    yield lying
    lying.lies.repent()


@pytest.fixture
def client(server: LyingServer) -> Iterator[Client]:
    """An honest client."""
    with server.client() as client:
        yield client


def seated(client: Client, match_id: bytes = b"") -> list[SeatedMatch]:
    """Two seats of a match at their first turn."""
    match_id = match_id or client.matches.create("nimmt", seats=2, options=rounds(2)).match_id
    players = [client.matches.join(match_id, seat) for seat in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda player: player.turn(), players))
    return players


def refuses(table: WatchedMatch, lie: errors.ServerCheated, folder: Path) -> None:
    """The table goes no further, keeps what it believed, and has files to hand over."""
    assert table.evidence is lie.evidence
    assert lie.evidence is not None
    with pytest.raises(type(lie)):
        table.view()
    with pytest.raises(type(lie)):
        next(iter(table.watch(len(table.records))))
    if isinstance(table, SeatedMatch):
        with pytest.raises(errors.ServerCheated):
            table.turn()
        for held in (table.credentials.private_key, table.credentials.secret, table.credentials.contribution):
            assert not held or held.hex() not in f"{lie} {lie!r} {lie.evidence!r}"
    lie.evidence.save(folder)
    assert (folder / "evidence.json").exists()
    if lie.evidence.last_head and not isinstance(lie, errors.RulesBroken | errors.SeedMismatch):
        report = verify.verify(folder / "believed.ledger.jsonl", trusted=[lie.evidence.key])
        assert report.verdict in (INCOMPLETE, VALID)


# -- everything consistent, and against the rules ------------------------------------------------


@pytest.mark.parametrize("bent", [bent for bent in BENT if bent.slug in ("change-score", "deal-other-seed")])
def test_bots_at_a_crooked_table_stop_when_the_round_is_revealed(bent: Bent, tmp_path: Path) -> None:
    """Nobody plays a second round with such a server, and whoever looks on notices as well."""
    game: Crooked = bent.make(lambda: 0)
    with LyingServer(game) as server, server.client() as client, ThreadPoolExecutor(2) as pool:
        match_id = client.matches.create("nimmt", seats=2, options=rounds(2)).match_id
        playing = [pool.submit(run_bot, client, match_id, seat, random_policy, random=Random(seat)) for seat in (0, 1)]
        with client.matches.watch_match(match_id) as spectator:
            with pytest.raises(bent.wrong) as caught:
                list(spectator.watch())
            refuses(spectator, caught.value, tmp_path)
            revealing = spectator.records[-1]
            assert [reveal.epoch for reveal in revealing.body.reveals] == [1]
        for game_ in playing:
            with pytest.raises(bent.wrong):
                game_.result()
        found = verify.verify(client.matches.export(match_id, tmp_path / "whole.ledger.jsonl"))
        assert found.verdict in (replay_service_pb2.VERDICT_RULES_DIVERGENCE, replay_service_pb2.VERDICT_SEED_MISMATCH)
        assert found.finding.seq == caught.value.seq


async def test_the_asyncio_client_stops_as_well(tmp_path: Path) -> None:
    with LyingServer(next(bent for bent in BENT if bent.slug == "deal-other-seed").make(lambda: 0)) as server:
        async with server.async_client() as client:
            match_id = (await client.matches.create("nimmt", seats=2, options=rounds(1))).match_id
            playing = [run_bot_async(client, match_id, seat, random_policy, random=Random(seat)) for seat in (0, 1)]
            found = await asyncio.gather(*playing, return_exceptions=True)
        for lie in found:
            assert type(lie) is errors.SeedMismatch
            assert lie.evidence is not None
        assert isinstance(found[0], errors.ServerCheated)
        assert found[0].evidence is not None
        found[0].evidence.save(tmp_path / "proof")
        assert (tmp_path / "proof" / "believed.ledger.jsonl").exists()


# -- replies -------------------------------------------------------------------------------------


def signed(server: LyingServer, record: record_pb2.Record) -> str:
    """A head of a record that the server made up."""
    body = record_pb2.Body.FromString(record.body)
    return server.signer.sign(body.match_id, body.seq + 1, record.hash, body.time_us)


def chained(record: record_pb2.Record, before: bytes, change: Callable[[record_pb2.Body], object]) -> None:
    """Change the body of a record, and give it the hash that fits."""
    body = record_pb2.Body.FromString(record.body)
    change(body)
    record.body = body.SerializeToString(deterministic=True)
    record.hash = hashing.record_hash(body.match_id, body.seq, before, record.body, record.seals)


def replies(change: Callable[[Any], object]) -> Callable[[Any, Any], list[Any]]:
    """A lie that changes each reply."""

    def lie(_: Any, reply: Any) -> list[Any]:
        change(reply)
        return [reply]

    return lie


def another_record(reply: Any) -> None:
    chained(reply.record, bytes(32), lambda body: setattr(body.cause, "request_id", b"somebody's other"))


def no_head(reply: Any) -> None:
    reply.head = ""


def another_key(reply: Any) -> None:
    body = record_pb2.Body.FromString(reply.record.body)
    reply.head = OTHER_SIGNER.sign(body.match_id, body.seq + 1, reply.record.hash, body.time_us)


def nothing_in_it(reply: Any) -> None:
    reply.record.body = b"\xff\xff"


def own_choice_withheld(reply: Any) -> None:
    del reply.record.openings[:]


@pytest.mark.parametrize(
    ("lie", "wrong"),
    [
        (another_record, errors.ForgedAct),
        (no_head, errors.BadHead),
        (another_key, errors.BadHead),
        (nothing_in_it, errors.Tampered),
        (own_choice_withheld, errors.BadOpening),
    ],
)
def test_a_reply_to_an_own_command_is_checked(
    server: LyingServer,
    client: Client,
    tmp_path: Path,
    lie: Callable[[Any], object],
    wrong: type[errors.ServerCheated],
) -> None:
    table, _ = seated(client)
    server.lies.tell("SubmitCommand", replies(lie))
    with pytest.raises(wrong) as caught:
        table.play(table.legal()[0])
    assert type(caught.value) is wrong
    assert caught.value.evidence is not None
    assert caught.value.evidence.told.record is not None
    refuses(table, caught.value, tmp_path)


def test_an_own_command_must_be_recorded_as_it_was_sent(server: LyingServer, client: Client, tmp_path: Path) -> None:
    """Even where the seat does not sign: the client knows what it sent."""
    match_id = client.matches.create("nimmt", seats=2, options=rounds(1)).match_id
    players = [client.matches.join(match_id, seat, sign=False, contribute=False) for seat in (0, 1)]
    assert players[0].turn()

    def other_card(request: Any, reply: Any) -> list[Any]:
        sealed = record_pb2.SealedCommand.FromString(reply.record.openings[0].value)
        own = players[0].legal()
        packed = [
            players[0].match.game.schema.commands.pack(each).SerializeToString(deterministic=True) for each in own
        ]
        sealed.command = next(each for each in packed if each != sealed.command)
        opening = reply.record.openings[0]
        opening.value = sealed.SerializeToString(deterministic=True)
        body = record_pb2.Body.FromString(reply.record.body)
        reply.record.seals[0].commitment = hashing.commitment(match_id, body.seq, 0, opening.salt, opening.value)
        for index, event in enumerate(reply.record.openings[1:], 1):
            del event
            del reply.record.openings[index:]
        chained(reply.record, players[0].match.hash, lambda _: None)
        reply.head = signed(server, reply.record)
        return [reply]

    server.lies.tell("SubmitCommand", other_card)
    with pytest.raises(errors.ServerCheated) as caught:
        players[0].play(players[0].legal()[0])
    assert isinstance(caught.value, errors.ForgedAct | errors.BadOpening)
    refuses(players[0], caught.value, tmp_path)


@pytest.mark.parametrize("call", ["abort", "pause"])
@pytest.mark.parametrize(("lie", "wrong"), [(another_record, errors.ForgedAct), (nothing_in_it, errors.Tampered)])
def test_a_reply_to_an_act_of_the_owner_is_checked(
    server: LyingServer, client: Client, call: str, lie: Callable[[Any], object], wrong: type[errors.ServerCheated]
) -> None:
    created = client.matches.create("nimmt", seats=2, options=rounds(1))
    seated(client, created.match_id)
    server.lies.tell("AbortMatch" if call == "abort" else "PauseMatch", replies(lie))
    with pytest.raises(wrong) as caught:
        getattr(client.matches, call)(created.match_id, created.owner_token)
    assert caught.value.evidence is not None
    assert caught.value.evidence.told.record is not None


def test_a_pause_is_not_answered_with_an_abort(server: LyingServer, client: Client) -> None:
    """The request id is right, and it is another act."""
    created = client.matches.create("nimmt", seats=2, options=rounds(1))
    seated(client, created.match_id)

    def abort(reply: Any) -> None:
        chained(reply.record, bytes(32), lambda body: body.lifecycle[0].aborted.SetInParent())
        reply.head = signed(server, reply.record)

    server.lies.tell("PauseMatch", replies(abort))
    with pytest.raises(errors.ForgedAct, match="another one"):
        client.matches.pause(created.match_id, created.owner_token)


def test_another_seat_than_the_one_asked_for_is_refused(server: LyingServer, client: Client) -> None:
    match_id = client.matches.create("nimmt", seats=2, options=rounds(1)).match_id

    def other_seat(reply: Any) -> None:
        def change(body: record_pb2.Body) -> None:
            body.cause.seat = body.lifecycle[0].joined.seat = 1

        chained(reply.record, bytes(32), change)
        reply.head = signed(server, reply.record)

    server.lies.tell("JoinMatch", replies(other_seat))
    with pytest.raises(errors.ForgedAct, match="another one"):
        client.matches.join(match_id, 0)


def other_rounds(reply: Any) -> None:
    chained(reply.record, bytes(32), lambda body: setattr(body.lifecycle[0].opened.options.nimmt, "rounds", 7))


def other_digest(reply: Any) -> None:
    chained(reply.record, bytes(32), lambda body: setattr(body.lifecycle[0].opened.ruleset, "digest", bytes(32)))


@pytest.mark.parametrize(("lie", "wrong"), [(other_rounds, errors.Tampered), (other_digest, errors.UnknownRuleset)])
def test_the_opened_match_is_the_one_asked_for(
    server: LyingServer, client: Client, lie: Callable[[Any], object], wrong: type[errors.ClientError]
) -> None:
    def resign(reply: Any) -> None:
        lie(reply)
        reply.head = signed(server, reply.record)

    server.lies.tell("CreateMatch", replies(resign))
    with pytest.raises(wrong):
        client.matches.create("nimmt", seats=2, options=rounds(1))


def test_nobody_joins_under_other_rules_than_the_match_is_shown_with(server: LyingServer, client: Client) -> None:
    match_id = client.matches.create("nimmt", seats=2, options=rounds(1)).match_id
    server.lies.tell("GetMatch", replies(lambda reply: setattr(reply.match.opened.options.nimmt, "rounds", 7)))
    with pytest.raises(errors.Tampered, match="another way"):
        client.matches.join(match_id, 0)


def test_a_server_that_comes_back_with_less_is_found_out(server: LyingServer, client: Client, tmp_path: Path) -> None:
    """The heads of the records that are gone were signed, and are kept."""
    table, _ = seated(client)
    table.play(table.legal()[0])
    count = len(table.records)

    def shorter(reply: Any) -> None:
        reply.match.record_count = count - 1
        reply.head = signed(server, table.records[count - 2].record)

    table.refresh()
    seen = max(table.receipts)
    server.lies.tell("GetMatch", replies(shorter))
    with pytest.raises(errors.TruncatedHistory) as caught:
        table.refresh()
    assert seen >= count
    refuses(table, caught.value, tmp_path)


def test_another_key_than_the_pinned_one_ends_it_at_once(server: LyingServer) -> None:
    key = str(HeadSigner("fake.sixledger", private_key("another")).verifier_key)

    def other(reply: Any) -> None:
        assert isinstance(reply, catalog_service_pb2.GetOriginResponse)
        reply.verifier_key = key

    trust = TrustStore(keys=[server.verifier_key])
    server.lies.tell("GetOrigin", replies(other))
    with server.client(trust=trust) as client, pytest.raises(errors.ServerCheated):
        client.matches.create("nimmt", seats=2, options=rounds(1))


# -- streams -------------------------------------------------------------------------------------


def test_two_histories_for_two_seats_are_found_out_by_comparing_heads(
    server: LyingServer, client: Client, tmp_path: Path
) -> None:
    """The last record of one of them is another one, chained and signed: each story is good for itself."""
    players = seated(client)
    first = players[0].play(players[0].legal()[0])
    liar = players[1].credentials.token

    def other_time(request: Any, item: Any) -> list[Any]:
        if request.token == liar and item.HasField("record"):
            body = record_pb2.Body.FromString(item.record.record.body)
            if body.seq == first.seq:
                before = players[0].records[body.seq - 1].record.hash
                chained(item.record.record, before, lambda body: setattr(body, "time_us", body.time_us + 1))
                item.record.head = signed(server, item.record.record)
        return [item]

    server.lies.tell("WatchMatch", other_time)
    with server.client() as other, other.matches.resume(players[1].credentials) as seat:
        stream = iter(seat.watch())
        while len(seat.records) <= first.seq:
            next(stream)
        told = seat.receipts[first.seq + 1]
        assert told != players[0].receipts[first.seq + 1]
        # The stream itself goes on to say that all records are here, with the head of the true ones.
        with pytest.raises(errors.Equivocation) as caught:
            next(stream)
        assert set(caught.value.notes) == {told, players[0].receipts[first.seq + 1]}
        refuses(seat, caught.value, tmp_path)
        assert (tmp_path / f"head-{first.seq + 1}-2.txt").exists()


@pytest.mark.parametrize("what", ["own opening", "record", "head"])
def test_what_a_stream_must_hold_is_missed(server: LyingServer, client: Client, tmp_path: Path, what: str) -> None:
    players = seated(client)
    players[0].play(players[0].legal()[0])

    def less(request: Any, item: Any) -> list[Any]:
        if what == "record" and item.HasField("record"):
            body = record_pb2.Body.FromString(item.record.record.body)
            return [] if body.seq == 3 else [item]
        if what == "own opening" and item.HasField("record"):
            del item.record.record.openings[:]
        if what == "head" and item.HasField("caught_up"):
            item.caught_up.head = ""
        return [item]

    server.lies.tell("WatchMatch", less)
    wrong = {"record": errors.BrokenStream, "own opening": errors.BadOpening, "head": errors.BadHead}[what]
    with server.client() as other, other.matches.resume(players[0].credentials) as seat:
        with pytest.raises(wrong) as caught:
            list(seat.watch())
        refuses(seat, caught.value, tmp_path)


def test_a_table_computes_its_view_and_its_commands_itself(server: LyingServer, client: Client) -> None:
    """What the service says about them is asked for separately, and believed by no table."""
    table, _ = seated(client)
    honest = [table.view(), table.legal()]
    server.lies.tell("GetView", replies(lambda reply: reply.view.nimmt.ClearField("seats")))
    server.lies.tell("ListLegalCommands", replies(lambda reply: reply.ClearField("commands")))
    assert not client.matches.legal(table.match_id, table.credentials.token).commands
    assert [table.view(), table.legal()] == honest
    assert table.play(table.legal()[0]).facts.command in honest[1]


def test_credentials_of_another_origin_are_not_used(server: LyingServer, client: Client) -> None:
    table, _ = seated(client)
    made = Credentials(table.match_id, 0, bytes(32), origin_key=str(OTHER_SIGNER.verifier_key))
    with pytest.raises(errors.OriginChanged):
        client.matches.resume(made)
    assert table.match.status == match_service_pb2.MATCH_STATUS_RUNNING
