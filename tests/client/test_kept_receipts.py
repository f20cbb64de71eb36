"""The latest signed head of a match is kept beside the credentials, and held against the service after a restart."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import stat
from pathlib import Path
from threading import Thread

import pytest
from sixledger.client import AsyncClient, Client, Credentials, errors
from sixledger.client.core.receipts import Receipts
from sixledger.ledger.heads import HeadSigner, SignedHead
from support.play import IMPOSTOR, MATCH_ID, ONE_ROUND, SIGNER, RunningServer, credentials


def note(count: int, signer: HeadSigner = SIGNER) -> str:
    return signer.sign(MATCH_ID, count, bytes([count]) * 32, 1_000_000 * count)


def kept(path: Path) -> SignedHead:
    """The one head in a file."""
    return SignedHead.parse(path.read_text(encoding="utf-8"))


@pytest.fixture
def saved(tmp_path: Path) -> Credentials:
    """Credentials with a file."""
    made = credentials(0)
    made.save(tmp_path / "seat-0.json")
    return made


def test_the_head_of_most_records_is_kept(saved: Credentials) -> None:
    path = saved.receipt_path
    assert path is not None
    assert path.name == f"seat-0.{MATCH_ID.hex()[:12]}.head"
    receipts = Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    for count, most in ((3, 3), (7, 7), (5, 7)):
        receipts.take(note(count))
        assert kept(path).head.count == most
    assert receipts.latest == path.read_text() == note(7)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_forged_head_is_not_kept(saved: Credentials) -> None:
    receipts = Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    receipts.take(note(3))
    with pytest.raises(errors.BadHead):
        receipts.take(note(9, IMPOSTOR))
    assert saved.receipt_path is not None
    assert kept(saved.receipt_path).head.count == 3


def test_credentials_without_a_file_keep_nothing(tmp_path: Path) -> None:
    receipts = Receipts(MATCH_ID, SIGNER.verifier_key, credentials(0))
    receipts.take(note(3))
    assert credentials(0).receipt_path is None
    assert list(tmp_path.iterdir()) == []


def test_after_a_restart_another_head_of_that_count_is_equivocation(saved: Credentials) -> None:
    Receipts(MATCH_ID, SIGNER.verifier_key, saved).take(note(7))
    again = Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    assert again.kept == 7
    other = SIGNER.sign(MATCH_ID, 7, b"x" * 32, 7_000_000)
    with pytest.raises(errors.Equivocation) as caught:
        again.take(other)
    assert caught.value.notes == (note(7), other)


def test_heads_of_another_key_stay_in_the_file(saved: Credentials) -> None:
    """They are evidence, though this client cannot judge them."""
    path = saved.receipt_path
    assert path is not None
    path.write_text(note(9, IMPOSTOR))
    receipts = Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    assert receipts.kept == 0
    receipts.take(note(3))
    assert path.read_text() == f"{note(9, IMPOSTOR)}\n{note(3)}"


def test_a_file_that_holds_no_heads_is_not_overwritten(saved: Credentials) -> None:
    path = saved.receipt_path
    assert path is not None
    path.write_text("notes of mine\n")
    with pytest.raises(errors.BadCredentials, match="move it away"):
        Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    assert path.read_text() == "notes of mine\n"


def test_a_full_disk_does_not_end_the_match(saved: Credentials, caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, and the heads are in memory all the same."""
    assert saved.path is not None
    receipts = Receipts(MATCH_ID, SIGNER.verifier_key, saved)
    shutil.rmtree(saved.path.parent)
    with caplog.at_level(logging.WARNING):
        receipts.take(note(3))
        receipts.take(note(4))
    assert receipts.latest == note(4)
    assert len(caplog.records) == 1
    assert "not kept" in caplog.text


def test_a_service_that_has_lost_records_is_found_out_after_a_restart(tmp_path: Path) -> None:
    """Both clients, with a real server whose data are set back to an earlier day."""
    data, backup, path = tmp_path / "data", tmp_path / "backup", tmp_path / "seat-0.json"
    data.mkdir()
    server = RunningServer(data)
    with server, Client(server.address) as client:
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
        players = [client.matches.join(created.match_id, 0, save_to=path), client.matches.join(created.match_id, 1)]
        threads = [Thread(target=player.turn) for player in players]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    shutil.copytree(data, backup)
    with server, Client(server.address) as client:
        with client.matches.resume(Credentials.load(path)) as player:
            assert player.turn()
            played = player.play(player.legal()[0])
            receipt = player.receipt_path
            assert receipt is not None
            assert receipt.read_text() == player.latest_receipt
            assert kept(receipt).head.count == played.seq + 1
        with client.matches.resume(Credentials.load(path)) as player:
            player.refresh()  # nothing is lost: nothing to complain about
    shutil.rmtree(data)
    shutil.copytree(backup, data)
    with server:
        with (
            Client(server.address) as client,
            client.matches.resume(Credentials.load(path)) as player,
            pytest.raises(errors.TruncatedHistory, match=f"signed a head of {played.seq + 1}"),
        ):
            player.refresh()
        with (
            Client(server.address) as client,
            client.matches.resume(Credentials.load(path)) as player,
            pytest.raises(errors.TruncatedHistory),
        ):
            player.turn()
        _refuses_async(server.address, path)
    assert kept(receipt).head.count == played.seq + 1


def _refuses_async(address: str, path: Path) -> None:
    async def resume() -> None:
        async with AsyncClient(address) as client:
            player = await client.matches.resume(Credentials.load(path))
            with pytest.raises(errors.TruncatedHistory):
                await player.refresh()
            assert player.receipt_path == Credentials.load(path).receipt_path
            await player.close()

    asyncio.run(resume())
