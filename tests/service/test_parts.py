"""The small parts: tokens, keys, settings, error contracts, statuses, verification."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import grpc
import pytest
import structlog
from google.rpc import error_details_pb2, status_pb2
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.keys import public_bytes
from sixledger.service.config import Settings
from sixledger.service.errors import ServiceError, contract
from sixledger.service.keyring import KeyFileError, Keyring
from sixledger.service.replay_servicer import ReplayServicer, unpack
from sixledger.service.server import Server
from sixledger.service.status import rich_status
from sixledger.service.tokens import TokenMint
from sixledger.v1 import catalog_service_pb2, error_pb2, game_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.certificates import self_signed
from support.servers import TWO_ROUNDS, Client, failing, memory_settings, serving, start

ORIGIN = VerifierKey("test.example", public_bytes(Keyring(bytes(range(32)), bytes(32)).signing_key))

ID = bytes(range(16))


# -- tokens --------------------------------------------------------------------------------------


def test_a_token_says_who_and_until_when() -> None:
    """It is valid to the last microsecond of its life, for its seat of its match."""
    mint = TokenMint(bytes(32), 10)
    token = mint.seat(ID, 3, 5_000_000)
    assert token == mint.seat(ID, 3, 5_999_999)
    assert mint.check_seat(token, ID, 15_000_000) == 3
    assert mint.check_viewer(token, ID, 0) == 3
    assert mint.check_viewer("", ID, 0) is None
    assert mint.check_viewer(mint.owner(ID, 0), ID, 0) is None
    with pytest.raises(ServiceError, match="expired"):
        mint.check_seat(token, ID, 15_000_001)


def test_no_changed_token_is_valid() -> None:
    """Every character counts."""
    mint = TokenMint(bytes(32), 10)
    token = mint.seat(ID, 0, 0)
    for place in range(len(token)):
        for other in "Aa_-":
            changed = token[:place] + other + token[place + 1 :]
            if changed != token:
                with pytest.raises(ServiceError) as caught:
                    mint.check_seat(changed, ID, 0)
                assert caught.value.reason == error_pb2.REASON_BAD_TOKEN
                assert changed not in str(caught.value)
    for other in ("ü" * len(token), token + "\n", " " + token):
        with pytest.raises(ServiceError):
            mint.check_seat(other, ID, 0)


# -- keys ----------------------------------------------------------------------------------------


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    """The file is made with its folder, is not readable by others, and gives the same keys again."""
    path = tmp_path / "data" / "keys.json"
    made = Keyring.load_or_create(path)
    assert Keyring.load_or_create(path) == made
    assert made.head_key != made.token_key
    assert [entry.name for entry in path.parent.iterdir()] == ["keys.json"]
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        with pytest.raises(KeyFileError, match="chmod 600"):
            Keyring.load(path)
    with pytest.raises(FileExistsError):
        Keyring.generate().save(path)


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"format":1,"head_key":"AA==","token_key":"AA=="}', "\0"])
def test_a_key_file_that_is_none_is_never_overwritten(tmp_path: Path, content: str) -> None:
    """New keys would be a new identity: the operator must decide."""
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError):
        Keyring.load_or_create(path)
    assert path.read_text() == content


def test_processes_that_start_together_agree_on_the_keys(tmp_path: Path) -> None:
    """Many make the file at the same time: one wins."""
    path = tmp_path / "keys.json"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Keyring.load_or_create(path), range(32)))
    assert len({keyring.head_key for keyring in made}) == 1


# -- settings ------------------------------------------------------------------------------------


def test_settings_come_from_the_environment_and_options_go_before() -> None:
    """Numbers and paths are read; what is given explicitly wins."""
    environment = {"SIXLEDGER_LISTEN": "h:1", "SIXLEDGER_GRACE_S": "2.5", "SIXLEDGER_DATA_DIR": "d", "OTHER": "x"}
    settings = Settings.from_environment(environment, listen="h:2", origin=None)
    assert (settings.listen, settings.grace_s, settings.data_dir) == ("h:2", 2.5, Path("d"))
    assert settings.store_url == f"sqlite:{Path('d') / 'matches.db'}"
    assert settings.key_path == Path("d") / "keys.json"
    assert Settings(store="memory:").key_path is None


def test_wrong_settings_name_themselves_and_not_their_value() -> None:
    """A password in a wrong place is not repeated."""
    with pytest.raises(ValueError, match="SIXLEDGER_MAX_STREAMS must be a number") as caught:
        Settings.from_environment({"SIXLEDGER_MAX_STREAMS": "hunter2"})
    assert "hunter2" not in str(caught.value)
    for address in ("127.0.0.1:65536", "[::1]:99999999999"):
        with pytest.raises(ValueError, match="port above 65535"):
            Settings(listen=address)
    with pytest.raises(ValueError, match="belong together"):
        Settings(tls_key=Path("key.pem"))
    with pytest.raises(ValueError, match="watch_tick_s"):
        Settings(watch_tick_s=0)
    with pytest.raises(TypeError, match="colour"):
        Settings.from_environment({}, colour="red")
    assert "password" not in repr(Settings(store="sqlite:password"))


# -- errors --------------------------------------------------------------------------------------


def test_every_reason_has_a_status_and_a_remedy() -> None:
    """The annotated enum is complete, and its statuses are gRPC's."""
    for value in error_pb2.Reason.DESCRIPTOR.values:
        if value.number:
            found = contract(error_pb2.Reason.ValueType(value.number))
            assert grpc.StatusCode[found.status] is not grpc.StatusCode.OK
            assert found.remedy.endswith(".")
            assert found.retryable == (found.status == "UNAVAILABLE" or found.name == "RATE_LIMITED")


def test_a_detail_that_does_not_fit_the_trailers_loses_its_view() -> None:
    """Clients take 8 KiB of trailers: the rule still arrives."""
    detail = error_pb2.IllegalCommandDetail(rule="not_in_hand")
    detail.command.CopyFrom(game_pb2.Command())
    detail.view.nimmt.seats.add().pile[:] = range(10_000)
    error = ServiceError(error_pb2.REASON_ILLEGAL_COMMAND, "x" * 5_000, metadata={"rule": "not_in_hand"}, detail=detail)
    packed = dict(rich_status(error).trailing_metadata)["grpc-status-details-bin"]
    assert len(packed) < 6_000
    status = status_pb2.Status.FromString(packed)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.metadata["rule"]) == ("ILLEGAL_COMMAND", "not_in_hand")


# -- catalog and verification --------------------------------------------------------------------


async def test_the_catalog_tells_games_and_identity() -> None:
    """Every installed game with its options; the key is the one that signs."""
    async with serving() as (server, client):
        games = (await client.catalog.ListGames(catalog_service_pb2.ListGamesRequest())).games
        assert "nimmt" in [game.ruleset.id for game in games]
        game = await client.catalog.GetGame(catalog_service_pb2.GetGameRequest(id="nimmt"))
        assert (game.game.min_seats, game.game.max_seats) == (2, 10)
        assert {"limit", "rounds"} < {option.name for option in game.game.options}
        assert game.rules_markdown.startswith("#")
        origin = await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest())
        assert VerifierKey.parse(origin.verifier_key) == server.host.signer.verifier_key
        refused = await failing(client.catalog.GetGame(catalog_service_pb2.GetGameRequest(id="chess")))
        assert refused.reason == "UNKNOWN_GAME"


async def test_an_exported_ledger_is_verified_by_the_service() -> None:
    """Exported, sent back in pieces, plain and gzipped: VALID; with one byte changed: a verdict, not an error."""
    async with serving() as (_, client):
        table = await start(client, options=TWO_ROUNDS)
        await table.play(Random(1))
        export = client.match.ExportLedger(pb.ExportLedgerRequest(match_id=table.match_id))
        data = b"".join([reply.chunk async for reply in export])
        changed = bytearray(data)
        changed[len(changed) // 2] ^= 1
        for content, is_valid in ((data, True), (gzip.compress(data), True), (bytes(changed), False)):
            pieces = [content[start : start + 5_000] for start in range(0, len(content), 5_000)]
            requests = [replay_service_pb2.VerifyLedgerRequest(chunk=piece) for piece in pieces]
            report = (await client.replay.VerifyLedger(iter(requests))).report
            assert (report.verdict == replay_service_pb2.VERDICT_VALID) == is_valid, report.summary
            assert report.summary
        other = VerifierKey("test.example", public_bytes(Keyring.generate().signing_key))
        request = replay_service_pb2.VerifyLedgerRequest(chunk=data, trusted_keys=[str(other)])
        report = (await client.replay.VerifyLedger(iter([request]))).report
        assert not report.signer_authenticated


async def test_what_cannot_be_a_ledger_is_refused_or_judged() -> None:
    """Nothing, too much, a bomb, a key that is none: typed errors. Random bytes: an answer, not a defect."""
    async with serving(memory_settings(max_ledger_bytes=100_000)) as (_, client):

        async def refused(*requests: replay_service_pb2.VerifyLedgerRequest) -> str:
            return (await failing(client.replay.VerifyLedger(iter(requests)))).reason

        message = replay_service_pb2.VerifyLedgerRequest
        assert await refused() == "MALFORMED"
        assert await refused(message(chunk=b"x", trusted_keys=["nonsense"])) == "MALFORMED"
        assert await refused(*[message(chunk=bytes(60_000))] * 2) == "TOO_LARGE"
        assert await refused(message(chunk=gzip.compress(bytes(10_000_000)))) == "TOO_LARGE"
        assert await refused(message(chunk=Random(1).randbytes(1000))) == "MALFORMED"
        assert await refused(message(chunk=b"x"), message()) == "MALFORMED"
        assert await refused(message(chunk=b"x", trusted_keys=[str(ORIGIN)] * 101)) == "MALFORMED"
        assert await refused(message(chunk=gzip.compress(b"") * 2000)) == "MALFORMED"


async def test_a_ledger_that_does_not_arrive_makes_room_for_others() -> None:
    async def slowly() -> AsyncIterator[replay_service_pb2.VerifyLedgerRequest]:
        yield replay_service_pb2.VerifyLedgerRequest(chunk=b"x")
        await asyncio.Event().wait()

    servicer = ReplayServicer(ORIGIN, max_waiting=1, receive_s=0.02)
    for _ in range(2):
        with pytest.raises(ServiceError, match="did not arrive within"):
            await servicer.VerifyLedger(slowly())


def test_unpacking_is_bounded_and_leaves_bad_gzip_to_the_verifier() -> None:
    """Several members are joined; a cut or a broken one stays as it is."""
    packed = gzip.compress(b"a" * 10) + gzip.compress(b"b" * 10)
    assert unpack(packed, 20) == b"a" * 10 + b"b" * 10
    with pytest.raises(ServiceError):
        unpack(packed, 19)
    for broken in (packed[:-3], packed[:-8] + b"crc?" + packed[-4:], packed + b"x", b"plain"):
        assert unpack(broken, 1000) == broken


def test_the_log_is_json_without_values_of_foreign_objects() -> None:
    """An object that slips in is logged as its type."""
    import io

    from sixledger.service import logs

    written = io.BytesIO()
    logs.configure("info", written)
    try:
        logs.Log("test").info("event", thing=Keyring.generate())
        logs.Log("test").debug("unseen")
    finally:
        structlog.reset_defaults()
    (line,) = written.getvalue().splitlines()
    assert json.loads(line)["thing"] == "Keyring"
    with pytest.raises(ValueError, match="log level"):
        logs.configure("loud")


# -- transport -----------------------------------------------------------------------------------


async def test_a_server_with_a_certificate_talks_tls_only(tmp_path: Path) -> None:
    """A client that trusts the certificate is answered; one without TLS is not."""
    certificate, key = self_signed(tmp_path)
    async with Server(memory_settings(tls_certificate=certificate, tls_key=key)) as server:
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        address = f"localhost:{server.port}"
        request = catalog_service_pb2.GetOriginRequest()
        async with grpc.aio.secure_channel(address, credentials) as channel:
            assert (await Client(channel).catalog.GetOrigin(request)).origin == "test.example"
        async with grpc.aio.insecure_channel(address) as channel:
            assert (await failing(Client(channel).catalog.GetOrigin(request, timeout=5))).reason == ""
