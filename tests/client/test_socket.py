"""The synchronous client against a real server, over a socket."""

from __future__ import annotations

import gzip
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Thread, Timer

import grpc
import pytest
from sixledger.client import Client, Credentials, SeatedMatch, Settings, TrustStore, errors, run_bot
from sixledger.client.core.recorded import Recorded
from sixledger.engine.bots import bot, random_policy
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.verify import verify
from sixledger.v1 import engine_service_pb2, game_pb2, match_service_pb2, record_pb2, replay_service_pb2
from support.certificates import self_signed
from support.play import IMPOSTOR, IMPOSTORS_KEY, ONE_ROUND, TWO_ROUNDS, RunningServer

VALID, INCOMPLETE = replay_service_pb2.VERDICT_VALID, replay_service_pb2.VERDICT_INCOMPLETE


@pytest.fixture
def client(server: RunningServer) -> object:
    with Client(server.address) as client:
        yield client


def table(client: Client, seats: int = 2, options: nimmt_pb2.Options = ONE_ROUND) -> list[SeatedMatch]:
    """A match that waits for its first turn: every seat has joined and contributed."""
    created = client.matches.create("nimmt", seats=seats, options=options)
    players = [client.matches.join(created.match_id, seat) for seat in range(seats)]
    threads = [Thread(target=player.turn) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return players


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_bots_play_a_match_to_its_end(client: Client, seats: int) -> None:
    created = client.matches.create("nimmt", seats=seats, options=TWO_ROUNDS)
    policies = [random_policy, bot("nimmt", "heuristic")]
    with client.matches.watch_match(created.match_id) as spectator, ThreadPoolExecutor(seats) as pool:
        games = [
            pool.submit(run_bot, client, created.match_id, seat, policies[seat % 2], random=Random(seat))
            for seat in range(seats)
        ]
        items = list(spectator.watch())
        results = [game.result() for game in games]
        assert results == [spectator.outcome()] * seats
        assert [item.seq for item in items if isinstance(item, Recorded)] == list(range(len(spectator.records)))
        assert isinstance(items[-1], match_service_pb2.WatchEnded)
        report = spectator.verify()
        assert report.verdict == VALID
        assert report.signer_authenticated


def test_a_bot_that_breaks_the_rules_is_stopped(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
    with client.matches.join(created.match_id, 1), pytest.raises(errors.IllegalCommand):
        run_bot(
            client,
            created.match_id,
            0,
            lambda view, _: nimmt_pb2.SelectCard(card=next(c for c in range(1, 105) if c not in view.seats[0].hand)),
        )


def test_a_bot_leaves_a_match_that_never_starts(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2)
    with client.matches.join(created.match_id, 0) as player:
        credentials = player.credentials
    client.matches.abort(created.match_id, created.owner_token)
    assert run_bot(client, created.match_id, 0, random_policy, credentials=credentials) is None


def test_view_and_legal_commands_are_those_of_the_service(client: Client) -> None:
    players = table(client, 3)
    random = Random(1)
    while not players[0].over:
        for player in players:
            player.refresh()
            token = player.credentials.token
            shown = client.matches.view(player.match_id, token)
            assert GAME.schema.view.unpack(shown.view) == player.view()
            legal = client.matches.legal(player.match_id, token)
            assert [GAME.schema.commands.unpack(command) for command in legal.commands] == player.legal()
            if player.may_act:
                player.play(random.choice(player.legal()))
    for player in players:
        player.close()


def test_looking_is_enough_to_contribute(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
    players = [client.matches.join(created.match_id, seat) for seat in range(2)]
    for _ in range(2):
        for player in players:
            player.refresh()
    assert client.matches.get(created.match_id).match.status == match_service_pb2.MATCH_STATUS_RUNNING
    for player in players:
        player.close()


def test_a_command_may_be_concrete_the_game_s_or_an_envelope(client: Client) -> None:
    first, second = table(client)
    card = first.legal()[0]
    assert first.play(card).facts.command == card
    command = second.view().legal[0]
    assert second.play(game_pb2.Command(nimmt=command)).facts.command == command.select_card
    first.refresh()
    second.refresh()
    player = first if first.may_act else second
    player.play(player.view().legal[0])  # as a view lists it: the game's Command
    with pytest.raises(ValueError, match="no command of this game"):
        first.play(nimmt_pb2.Options())
    first.close()
    second.close()


def test_resigning_ends_the_match_for_all(client: Client) -> None:
    first, second = table(client)
    resigned = first.resign()
    assert resigned.body.lifecycle[0].WhichOneof("step") == "resigned"
    assert first.resign().seq == resigned.seq  # repeating it is harmless
    second.refresh()
    assert not second.turn()
    outcome = second.outcome()
    assert outcome is not None
    assert (outcome.winners, outcome.reason) == ((1,), "resigned")
    assert second.verify().verdict == VALID


def test_the_owner_aborts_before_and_after_the_start(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2)
    with client.matches.join(created.match_id, 0) as player:
        record = client.matches.abort(created.match_id, created.owner_token, request_id=b"r" * 16)
        assert client.matches.abort(created.match_id, created.owner_token, request_id=b"r" * 16) == record
        assert not player.turn()
        assert player.outcome() is None
        assert player.match.aborted
    with pytest.raises(errors.WrongPhase):
        client.matches.abort(created.match_id, created.owner_token)
    running = client.matches.create("nimmt", seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
    with client.matches.join(running.match_id, 0) as first, client.matches.join(running.match_id, 1):
        assert not first.credentials.contributes
        assert first.turn()
        client.matches.abort(running.match_id, running.owner_token)
        assert list(first.watch())[-2].body.lifecycle[0].WhichOneof("step") == "aborted"  # type: ignore[union-attr]
        outcome = first.outcome()
        assert outcome is not None
        assert outcome.reason == "aborted"


def test_creating_with_one_secret_gives_one_match(client: Client) -> None:
    first = client.matches.create("nimmt", seats=2, secret=b"s" * 32)
    again = client.matches.create("nimmt", seats=2, secret=b"s" * 32)
    assert again.match_id == first.match_id
    with pytest.raises(errors.RequestIdReused):
        client.matches.create("nimmt", seats=3, secret=b"s" * 32)


# -- errors by reason --------------------------------------------------------------------------------


def test_errors_come_by_reason(client: Client) -> None:
    first, second = table(client)
    with pytest.raises(errors.UnknownMatch):
        client.matches.get(b"n" * 16)
    with pytest.raises(errors.UnknownMatch):
        next(client.matches.watch_match(b"n" * 16).watch())
    with pytest.raises(errors.Malformed) as malformed:
        client.matches.get(b"short")
    assert [violation.field for violation in malformed.value.violations] == ["match_id"]
    with pytest.raises(errors.UnknownGame):
        client.matches.create("chess", seats=2)
    with pytest.raises(errors.IllegalOptions):
        client.matches.create("nimmt", seats=99)
    with pytest.raises(errors.SeatTaken):
        client.matches.join(first.match_id, 0)
    with pytest.raises(errors.BadToken):
        client.matches.view(first.match_id, "forged")
    with pytest.raises(errors.ForeignSeat):
        client.matches.abort(first.match_id, first.credentials.token)
    foreign = next(card for card in second.legal() if card not in first.legal())
    with pytest.raises(errors.IllegalCommand) as illegal:
        first.play(foreign)
    assert illegal.value.rule == "not_in_hand"
    assert illegal.value.view is not None
    assert GAME.schema.view.unpack(illegal.value.view) == first.view()
    with pytest.raises(errors.StaleDecision):
        first.play(first.legal()[0], decision=first.match.decision + 1)
    first.close()
    second.close()


def test_a_signed_answer_to_an_earlier_decision_is_stale(client: Client) -> None:
    first, second = table(client)
    stale = first.match.decision
    with client.matches.resume(first.credentials) as elsewhere:
        elsewhere.turn()
        elsewhere.play(elsewhere.legal()[0])
        second.play(second.legal()[0])
        with pytest.raises(errors.StaleDecision):
            first.play(first.legal()[1], decision=stale)
    first.close()
    second.close()


def test_nothing_is_believed_of_a_service_with_another_key(server: RunningServer) -> None:
    impostor = HeadSigner("socket.test", IMPOSTORS_KEY)
    with Client(server.address, trust=TrustStore(keys=[impostor.verifier_key])) as client:
        with pytest.raises(errors.OriginChanged):
            client.matches.create("nimmt", seats=2)
        with pytest.raises(errors.OriginChanged):
            client.catalog.origin()


def test_a_service_that_is_not_there_is_a_transport_error() -> None:
    with Client("127.0.0.1:1", settings=Settings(patience=0.2)) as client:
        with pytest.raises(errors.TransportError) as caught:
            client.catalog.games()
        assert caught.value.code == "UNAVAILABLE"
    with pytest.raises(errors.Closed):
        client.catalog.games()


# -- breaks and restarts -----------------------------------------------------------------------------


def test_a_seat_goes_on_from_its_file_in_a_new_process(server: RunningServer, client: Client, tmp_path: Path) -> None:
    created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
    path = tmp_path / "seat.json"
    with client.matches.join(created.match_id, 0, save_to=path) as first:
        assert Credentials.load(path) == first.credentials
    other = client.matches.join(created.match_id, 1)
    thread = Thread(target=other.turn)
    thread.start()
    with Client(server.address) as later:
        resumed = later.matches.resume(Credentials.load(path))
        assert resumed.turn()  # contributes with what was drawn before
        resumed.play(resumed.legal()[0])
    thread.join()
    with Client(server.address) as later, later.matches.resume(Credentials.load(path)) as resumed:
        resumed.refresh()
        assert not resumed.may_act
        assert resumed.records[-1].body.cause.seat == 0
        other.play(other.legal()[0])
        resumed.refresh()
        assert resumed.match.decision > 1
    other.close()


def test_a_join_whose_reply_got_lost_gives_the_same_seat(client: Client, tmp_path: Path) -> None:
    created = client.matches.create("nimmt", seats=2)
    with client.matches.join(created.match_id, 0, save_to=tmp_path / "seat.json") as first:
        credentials = Credentials.load(tmp_path / "seat.json")
        credentials.token = ""
        with client.matches.resume(credentials) as again:
            assert again.records[-1].record == first.records[-1].record
            assert Credentials.load(tmp_path / "seat.json").token


def test_credentials_stay_with_their_origin(client: Client) -> None:
    created = client.matches.create("nimmt", seats=2)
    with client.matches.join(created.match_id, 0) as player:
        credentials = player.credentials
    credentials.origin_key = str(IMPOSTOR.verifier_key)
    with pytest.raises(errors.OriginChanged):
        client.matches.resume(credentials)


def test_clients_ride_out_a_restart_of_the_server(server: RunningServer, client: Client) -> None:
    created = client.matches.create("nimmt", seats=2, options=TWO_ROUNDS)
    with client.matches.watch_match(created.match_id) as spectator, ThreadPoolExecutor(2) as pool:
        games = [pool.submit(run_bot, client, created.match_id, seat, random_policy) for seat in range(2)]
        seqs = []
        for item in spectator.watch():
            if isinstance(item, Recorded):
                seqs.append(item.seq)
                if item.seq in (9, 25):
                    server.stop(0.0)
                    server.start()
        assert seqs == list(range(len(spectator.records)))
        assert [game.result() for game in games] == [spectator.outcome()] * 2
        assert spectator.verify().verdict == VALID


def test_a_stream_that_is_cut_by_its_own_deadline_goes_on_unnoticed(server: RunningServer) -> None:
    with Client(server.address, settings=Settings(watch_timeout=0.2)) as client:
        first, second = table(client)
        late = Timer(0.7, lambda: second.play(second.legal()[0]))
        first.play(first.legal()[0])
        late.start()
        seqs = []
        for item in first.watch():
            if isinstance(item, Recorded):
                seqs.append(item.seq)
            if first.match.decision > 1:
                break
        late.join()
        assert seqs == list(range(len(first.records)))[: len(seqs)]
        assert len(seqs) >= len(first.records) - 1


def test_nothing_happens_but_heartbeats_while_the_others_think(client: Client) -> None:
    first, second = table(client)
    first.play(first.legal()[0])
    items = first.watch(len(first.records))
    assert isinstance(next(items), match_service_pb2.Heartbeat)
    first.close()
    second.close()


def test_no_thread_outlives_its_client(server: RunningServer) -> None:
    before = set(threading.enumerate())
    with Client(server.address) as client:
        created = client.matches.create("nimmt", seats=2)
        items = client.matches.watch_match(created.match_id).watch()
        assert next(items)
        client.matches.join(created.match_id, 0).refresh()
        assert set(threading.enumerate()) == before, "who watches reads by its own thread"
        over_stream = client.matches.stream().watch_match(created.match_id).watch()
        assert next(over_stream)
        assert set(threading.enumerate()) > before
    until = time.monotonic() + 5
    while set(threading.enumerate()) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before
    with pytest.raises(errors.Closed):
        list(items)


def test_a_secure_channel(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    files = {"tls_certificate": certificate, "tls_key": key}
    patience = Settings(patience=0.2)
    with RunningServer(tmp_path, **files) as secure:
        tls = grpc.ssl_channel_credentials(root_certificates=certificate.read_bytes())
        address = secure.address.replace("127.0.0.1", "localhost")
        with Client(address, tls=tls) as client:
            assert client.catalog.games()
        with Client(address, settings=patience) as client, pytest.raises(errors.TransportError):
            client.catalog.games()


# -- evidence ----------------------------------------------------------------------------------------


def test_exports_verify_here_and_there(client: Client, tmp_path: Path) -> None:
    players = table(client)
    players[0].play(players[0].legal()[0])
    early = players[0].export(tmp_path / "early.ledger.jsonl")
    assert verify(early).verdict == INCOMPLETE
    assert players[0].verify().verdict == INCOMPLETE
    players[1].resign()
    players[0].refresh()
    assert players[0].over
    for path in (tmp_path / "own.ledger.jsonl", tmp_path / "own.ledger.jsonl.gz"):
        assert players[0].export(path) == path
        report = verify(path, trusted=[client.catalog.origin()], receipts=players[0].receipts.values())
        assert report.verdict == VALID, report.summary
        assert report.signer_authenticated
    served = client.matches.export(players[0].match_id, tmp_path / "served.ledger.jsonl")
    packed = client.matches.export(players[0].match_id, tmp_path / "served.ledger.jsonl.gz")
    assert gzip.decompress(packed.read_bytes()) == served.read_bytes()
    assert verify(served).verdict == VALID
    assert client.replay.verify(tmp_path / "own.ledger.jsonl").verdict == VALID
    damaged = tmp_path / "damaged.ledger.jsonl"
    damaged.write_text((tmp_path / "own.ledger.jsonl").read_text().replace('"body":"C', '"body":"D', 1))
    assert client.replay.verify(damaged).verdict != VALID
    with pytest.raises(FileNotFoundError):
        client.replay.verify(tmp_path / "missing")
    for player in players:
        player.close()


def test_the_catalogue_and_the_lists(client: Client) -> None:
    assert "nimmt" in [game.ruleset.id for game in client.catalog.games()]
    assert client.catalog.game("nimmt").rules_markdown
    assert client.catalog.server().origin == client.catalog.origin().origin == "socket.test"
    created = {client.matches.create("nimmt", seats=2).match_id for _ in range(3)}
    newest = client.matches.list(limit=3, game="nimmt", status=match_service_pb2.MATCH_STATUS_OPEN)
    assert {match.match_id for match in newest} == created
    assert len(client.matches.list(limit=2)) == 2


# -- the engine --------------------------------------------------------------------------------------


def test_the_stateless_engine_plays_the_same_bytes_twice(client: Client) -> None:
    def play() -> list[record_pb2.Record]:
        random, secret = Random(5), b"\x05" * 32
        reply = client.engine.start(
            "nimmt",
            2,
            GAME.schema.options.pack(ONE_ROUND),
            root_secret=secret,
            match_id=b"e" * 16,
            request_id=b"0" * 16,
            time_us=1,
            immediate=True,
        )
        records, checkpoint = [reply.record], reply.checkpoint
        while not checkpoint.ended:
            view = client.engine.view(checkpoint).view.nimmt
            seat = view.to_act[0]
            legal = client.engine.legal(records, seat)
            assert legal == client.engine.legal(checkpoint, seat)
            step = client.engine.play(
                checkpoint,
                seat,
                random.choice(legal.commands),
                decision=legal.decision,
                root_secret=secret,
                request_id=len(records).to_bytes(16, "big"),
                time_us=len(records) + 1,
            )
            records.append(step.record)
            checkpoint = step.checkpoint
        return records

    first = play()
    assert first == play()
    with pytest.raises(errors.ServiceError):
        client.engine.apply(first, engine_service_pb2.Action(), root_secret=b"\x05" * 32)
