"""`tables`, `play --table` and `admin keys`, over real sockets and on a store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from sixledger.client import Client, TrustStore, run_bot
from sixledger.engine.bots import random_policy
from sixledger.games.nimmt.v1 import nimmt_pb2
from support.command_line import CommandLine, Ran
from support.play import ONE_ROUND, RunningServer

TYPED = "\n".join(str(number) for _ in range(12) for number in range(1, 105))


def complaint(ran: Ran, status: int) -> str:
    """The one line with which a command fails; the server in this process may log beside it."""
    assert (ran.status, ran.err.count("\n")) == (status, 1), ran
    return ran.err


def secret_in(ran: Ran) -> str:
    """The key that was made; the server in this process may log before it."""
    found = re.search(r"sixk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", ran.out)
    assert found is not None, ran
    return found[0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with Client(server.address, trust=TrustStore()) as client:
        yield client


def test_open_tables_are_listed_with_the_command_that_joins(
    quick: CommandLine, server: RunningServer, client: Client
) -> None:
    nothing = quick("tables", "--server", server.address, "--game", "chess")
    assert "No open table" in nothing.out
    match_id = client.matches.create("nimmt", seats=3, options=ONE_ROUND, spectators=False).match_id.hex()
    ran = quick("tables", "--server", server.address, "--game", "nimmt")
    assert (ran.status, ran.err) == (0, "")
    assert match_id[:12] in ran.out
    assert "0 of 3" in ran.out
    assert "no spectators" in ran.out
    assert "provably fair" in ran.out
    assert f"sixledger play nimmt --server {server.address} --table {match_id[:12]}" in ran.out
    found = json.loads(quick("tables", "--server", server.address, "--json").out)
    assert found[0] | {"created_us": 0} == {
        "match": match_id,
        "game": "nimmt",
        "seats": 3,
        "joined": 0,
        "created_us": 0,
        "private": False,
        "spectators": False,
        "deal": "provably fair",
    }
    assert "API key" in complaint(quick("tables", "--server", server.address, "--mine"), 1)


@pytest.mark.parametrize("private", [False, True])
def test_a_person_joins_the_table_of_others(
    sixledger: CommandLine, server: RunningServer, client: Client, private: bool, tmp_path: Path
) -> None:
    options = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
    created = client.matches.create("nimmt", seats=3, options=options, ready_seats=2, private=private)
    invitation = client.lobby.invite(created.match_id, created.owner_token).invitation
    client.lobby.seat_bot(created.match_id, created.owner_token, 0, display_name="Robot")
    where = ["--table", created.match_id.hex(), "--invitation", invitation] if private else ["--join"]
    ran = sixledger("play", "nimmt", "--server", server.address, *where, "--name", "Ada", typed=TYPED)
    assert ran.status == 0, ran
    assert "seat 1: waiting for the others" in ran.out
    assert "Robot" in ran.out
    assert "VALID" in ran.out
    assert len(list((tmp_path / "out").glob("*.ledger.jsonl"))) == 1


def test_what_cannot_be_joined_is_said_in_one_line(quick: CommandLine, server: RunningServer, client: Client) -> None:
    assert "--server" in complaint(quick("play", "nimmt", "--join"), 2)
    private = client.matches.create("nimmt", seats=2, private=True)
    refused = complaint(quick("play", "nimmt", "--server", server.address, "--table", private.match_id.hex()), 1)
    assert "private" in refused
    full = client.matches.create("nimmt", seats=2, options=ONE_ROUND).match_id
    games = [Thread(target=run_bot, args=(client, full, seat, random_policy)) for seat in range(2)]
    for game in games:
        game.start()
    for game in games:
        game.join(30)
    assert "free" in complaint(quick("play", "nimmt", "--server", server.address, "--table", full.hex()), 1)


def test_keys_are_made_listed_and_ended_on_a_store(quick: CommandLine, tmp_path: Path) -> None:
    assert "no key yet" in quick("admin", "keys", "list").out
    made = quick("admin", "keys", "add", "club", "--scope", "create", "--scope", "list", "--matches", "7")
    key = made.out.split()[0]
    assert (made.status, key.startswith("sixk_")) == (0, True)
    rotated = json.loads(quick("admin", "keys", "add", "--replaces", key[5:21], "--overlap", "60", "--json").out)
    assert (rotated["name"], rotated["scopes"], rotated["open_matches"]) == ("club", ["create", "list"], 7)
    listed = json.loads(quick("admin", "keys", "list", "--json").out)
    assert [bool(each["expires_us"]) for each in listed] == [True, False]
    assert key not in quick("admin", "keys", "list").out
    assert quick("admin", "keys", "revoke", rotated["id"]).status == 0
    assert all(each["expires_us"] for each in json.loads(quick("admin", "keys", "list", "--json").out))
    assert key.encode() not in (tmp_path / "sixledger-data" / "matches.db").read_bytes()
    assert "id of a key" in complaint(quick("admin", "keys", "revoke", "0" * 16), 2)
    assert "1 to 64" in complaint(quick("admin", "keys", "add"), 2)
    assert "memory" in complaint(quick("admin", "keys", "list", "--store", "memory:"), 2)


def test_keys_of_a_running_server_are_managed_with_one(
    quick: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    root = quick("admin", "keys", "add", "root", "--scope", "admin", "--data-dir", folder).out.split()[0]
    with RunningServer(folder, create_needs_key="yes") as running:
        at = ("--server", running.address)
        assert "with --server" in complaint(quick("admin", "keys", "list", "--data-dir", folder), 1)
        assert "SIXLEDGER_API_KEY" in complaint(quick("admin", "keys", "list", *at), 1)
        monkeypatch.setenv("SIXLEDGER_API_KEY", root)
        club = secret_in(quick("admin", "keys", "add", "club", *at))
        assert [each["name"] for each in json.loads(quick("admin", "keys", "list", *at, "--json").out)] == [
            "root",
            "club",
        ]
        assert "have the scope create" in complaint(quick("play", "nimmt", *at), 1)
        with Client(running.address, trust=TrustStore(), api_key=club) as client:
            assert client.matches.create("nimmt", seats=2).match_id
            assert "ends" in quick("admin", "keys", "revoke", club[5:21], *at).out
