"""`health`, and what an operator does at the store: `admin restored · abort · erase-names`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sixledger.client import Client, TrustStore
from sixledger.client.errors import MatchRestored
from sixledger.service.keyring import Keyring
from sixledger.v1 import match_service_pb2
from support.command_line import CommandLine, Ran
from support.play import ONE_ROUND, RunningServer
from support.processes import free_port


def said(ran: Ran) -> dict[str, object]:
    """The one line of the audit log of a command that succeeded."""
    assert ran.status == 0, ran
    (line,) = ran.err.splitlines()
    audit = dict(json.loads(line))
    assert audit.pop("event") == "audit"
    assert audit.pop("timestamp")
    assert str(audit.pop("by")).startswith("user:")
    del audit["level"]
    return audit


def client_of(server: RunningServer, folder: Path) -> Client:
    return Client(server.address, trust=TrustStore(folder / "trust.json"))


def test_a_server_is_live_and_ready_and_an_absent_one_is_neither(quick: CommandLine, tmp_path: Path) -> None:
    admin = f"127.0.0.1:{free_port()}"
    with RunningServer(tmp_path / "data", admin_listen=admin) as server:
        for address in (server.address, admin):
            assert (quick("health", address).status, quick("health", "--ready", address).status) == (0, 0)
    nobody = quick("health", "--timeout", "1", server.address).refused(1)
    assert nobody.startswith(f"no answer from {server.address} (")


def test_open_matches_of_a_restored_store_are_read_only_until_the_operator_aborts_them(
    quick: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    here = ("--data-dir", folder)
    with RunningServer(folder) as server, client_of(server, tmp_path) as client:
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
        other = client.matches.create("nimmt", seats=2, options=ONE_ROUND, private=True)
        gone = client.matches.create("nimmt", seats=2, options=ONE_ROUND)
        client.matches.abort(gone.match_id, gone.owner_token)
        assert "stop that one first" in quick("admin", "restored", *here).refused(1)
    both = sorted(each.match_id.hex() for each in (created, other))
    assert said(quick("admin", "restored", *here)) == {"act": "matches_marked_restored", "matches": both}
    assert json.loads(quick("admin", "restored", *here, "--json").out) == {"matches": []}
    with RunningServer(folder) as server, client_of(server, tmp_path) as client:
        assert client.matches.get(created.match_id).match.restored
        with pytest.raises(MatchRestored) as caught:
            client.matches.join(created.match_id, 0)
        assert (caught.value.retryable, "aborts this one" in caught.value.remedy) == (False, True)
    ran = quick("admin", "abort", both[0], *here, "--json")
    assert json.loads(ran.out) == {"matches": both[:1]}
    assert said(ran) == {"act": "matches_aborted", "matches": both[:1]}
    assert said(quick("admin", "abort", "--restored", *here)) == {"act": "matches_aborted", "matches": both[1:]}
    with RunningServer(folder) as server, client_of(server, tmp_path) as client:
        for each in (created, other):
            assert client.matches.get(each.match_id).match.status == match_service_pb2.MATCH_STATUS_ABORTED


@pytest.mark.parametrize("act", ["restored", "abort --restored", "erase-names --name Ada"])
def test_a_mistyped_path_is_no_empty_store(quick: CommandLine, tmp_path: Path, act: str) -> None:
    """Else somebody would believe that restored matches had been marked."""
    assert "there is no store" in quick("admin", *act.split(), "--data-dir", tmp_path / "typo").refused(2)
    assert not (tmp_path / "typo").exists()


def test_what_cannot_be_aborted_is_said_in_one_line(quick: CommandLine) -> None:
    assert "--restored" in quick("admin", "abort").refused(2)
    assert "32 hexadecimal digits" in quick("admin", "abort", "3f0c").refused(2)
    assert quick("admin", "keys", "list").status == 0  # makes a store
    assert "there is no match" in quick("admin", "abort", "0" * 32).refused(2)
    assert "memory" in quick("admin", "restored", "--store", "memory:").refused(2)


def test_display_names_are_erased_and_nobody_reads_them_again(quick: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    here = ("--data-dir", folder)
    with RunningServer(folder) as server, client_of(server, tmp_path) as client:
        matches = [client.matches.create("nimmt", seats=3, options=ONE_ROUND).match_id for _ in range(2)]
        for match_id in matches:
            for name in ("Ada Example", "Bob Example"):
                client.matches.join(match_id, display_name=name).close()
    first = matches[0].hex()
    gone = said(quick("admin", "erase-names", "--name", "Ada Example", *here))
    assert gone == {"act": "names_erased", "erased": 2, "by_name": 1}
    gone = said(quick("admin", "erase-names", first, "--seat", "1", *here))
    assert gone == {"act": "names_erased", "erased": 1, "by_name": 0, "match": first, "seat": 1}
    assert "erased 0 display names" in quick("admin", "erase-names", first, *here).out
    with RunningServer(folder) as server, client_of(server, tmp_path) as client:
        left = [[seat.display_name for seat in client.matches.get(each).match.seats] for each in matches]
    assert left == [["", "", ""], ["", "Bob Example", ""]]
    assert b"Ada Example" not in (folder / "matches.db").read_bytes()
    assert "name a match" in quick("admin", "erase-names").refused(2)


def test_a_key_file_is_made_once_and_never_overwritten(quick: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert said(quick("admin", "new-keys", path)) == {"act": "keys_created", "file": str(path)}
    made = Keyring.load(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert "never overwritten" in quick("admin", "new-keys", path).refused(2)
    kept = quick("admin", "new-keys", "--keep", path)
    assert (kept.status, kept.err) == (0, "")
    assert Keyring.load(path) == made
