"""`serve`, `demo`, and what plays, watches and exports on a server: all over real sockets."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

import pytest
from sixledger.client import Client, TrustStore
from sixledger.engine.nimmt import GAME
from sixledger.ledger.heads import VerifierKey
from support.command_line import CommandLine, environment

ANYTHING = "\n".join(str(number) for _ in range(12) for number in range(1, 105))


@dataclass
class Serving:
    """A running `sixledger serve` and what it said."""

    process: subprocess.Popen[str]
    address: str
    said: str

    def stop(self, number: int) -> tuple[int, str]:
        """Exit status and standard error after a signal."""
        self.process.send_signal(number)
        _, complaints = self.process.communicate(timeout=30)
        return self.process.returncode, complaints


def _read(stream: IO[str], lines: Queue[str]) -> None:
    for line in stream:
        lines.put(line)


def serve(folder: Path, *arguments: str) -> Serving:
    """Start a server on a free port and read what it says until it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "serve", "--listen", "127.0.0.1:0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder),
    )
    lines: Queue[str] = Queue()
    assert process.stdout is not None
    Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    said = ""
    while "Ctrl-C" not in said:
        said += lines.get(timeout=60)
    found = re.search(r"listening on +(\S+)", said)
    assert found is not None, said
    return Serving(process, found[1], said)


#: How every view of a match of three says it.
FAIR = (
    "Deal: provably fair – seats 0, 1, 2 of 3 committed before any contribution was known; "
    "only the operator and all of them could choose the deal."
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server for the tests of this file."""
    running = serve(tmp_path_factory.mktemp("server"), "--store", "memory:", "--log-level", "error")
    yield running
    status, complaints = running.stop(signal.SIGTERM)
    assert (status, complaints) == (0, "")


@pytest.fixture
def open_match(server: Serving) -> str:
    """A match that waits for its players."""
    with Client(server.address, trust=TrustStore()) as client:
        return client.matches.create("nimmt", seats=2, options=GAME.presets["d4"].options).match_id.hex()


def test_the_server_tells_where_it_is_and_stops_at_a_signal(tmp_path: Path) -> None:
    """Ctrl-C ends it quietly with status 0; store and key lie in the data folder, readable by the owner alone."""
    running = serve(tmp_path, "--log-level", "warning", "--origin", "cards.example.org")
    words = "".join(running.said.split())
    found = re.search(r"verifierkey(cards\.example\.org\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44})", words)
    assert found is not None
    assert VerifierKey.parse(found[1]).origin == "cards.example.org"
    assert "store         sqlite:sixledger-data/matches.db" in running.said
    assert running.stop(signal.SIGINT) == (0, "")
    folder = tmp_path / "sixledger-data"
    assert {path.name for path in folder.iterdir()} >= {"matches.db", "keys.json"}
    assert (folder / "keys.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--store", "mysql:secret"], 2, "sqlite:PATH"),
        (["--store", "sqlite:"], 2, "path"),
        (["--origin", "two words"], 2, "without spaces"),
        (["--listen", "256.0.0.1:1"], 1, "256.0.0.1:1"),
        (["--log-level", "loud"], 2, "loud"),
        (["--grace", "-1"], 2, "grace"),
        (["--tls-key", "x.pem"], 2, "belong together"),
        (["--key", "."], 1, "Is a directory"),
    ],
)
def test_settings_that_cannot_work(sixledger: CommandLine, arguments: list[str], status: int, said: str) -> None:
    safe = {"--listen": "127.0.0.1:0", "--store": "memory:"}
    others = [word for name, value in safe.items() if name not in arguments for word in (name, value)]
    complaint = sixledger("serve", *others, *arguments).refused(status)
    assert said in complaint
    assert "secret" not in complaint


def test_a_taken_port_is_said(sixledger: CommandLine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert address in sixledger("serve", "--store", "memory:", "--listen", address).refused(1)


def test_play_watch_and_export_on_a_server(sixledger: CommandLine, server: Serving, tmp_path: Path) -> None:
    """A person's match on a server: played, proven, watched afterwards, exported for a seat and for everybody."""
    at = ("--server", server.address)
    played = sixledger("play", "nimmt", "--preset", "d4", "--bots", "2", "--name", "Anna", *at, typed=ANYTHING)
    assert (played.status, played.err) == (0, "")
    assert " VALID " in played.out
    assert played.out.count(FAIR) == 2, "when the cards are dealt, and with the verdict"
    found = re.search(r"^match ([0-9a-f]{32}) ", played.out)
    assert found is not None
    match = found[1]

    watched = sixledger("watch", match[:8], *at)
    assert (watched.status, watched.err) == (0, "")
    assert "Anna takes seat 0." in watched.out
    assert "reveals the contribution" in watched.out
    assert "Deal: provably fair – seats commit to contributions, then reveal them" in watched.out
    assert FAIR in watched.out
    assert "Final ranking" in watched.out

    records = [json.loads(line) for line in sixledger("watch", match, "--json", *at).out.splitlines()]
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert any("MatchEnded" in event for event in records[-1]["events"])
    dealt = next(e["HandDealt"] for record in records for e in record["events"] if "HandDealt" in e)
    assert "cards" not in dealt, "a spectator's stream holds no hands"

    own = next((tmp_path / "out").glob("*.credentials.json"))
    assert own.stat().st_mode & 0o077 == 0
    seen = sixledger("watch", match, "--json", "--credentials", own, *at).out
    events = [event for line in seen.splitlines() for event in json.loads(line)["events"]]
    hands = [event["HandDealt"] for event in events if "HandDealt" in event]
    assert [hand["seat"] for hand in hands if len(hand.get("cards", ())) == 10] == [0]

    for arguments in (("-o", "everybody.jsonl"), ("-o", "seat.jsonl.gz", "--credentials", own)):
        saved = sixledger("export", match, *arguments, *at)
        assert (saved.status, saved.err) == (0, "")
        assert " VALID " in saved.out
        assert FAIR in saved.out
    assert (tmp_path / "seat.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert sixledger("verify", "everybody.jsonl", "seat.jsonl.gz").status == 0
    replayed = sixledger("replay", "everybody.jsonl").out
    assert FAIR.removesuffix(".") in " ".join(replayed.split())


def test_leaving_a_match_on_a_server_resigns(sixledger: CommandLine, server: Serving) -> None:
    ran = sixledger("play", "nimmt", "--bots", "1", "--server", server.address, typed="q\ny\n")
    assert (ran.status, ran.err) == (0, "")
    assert "a player has resigned" in ran.out
    assert " VALID " in ran.out


def test_a_match_that_runs_is_saved_as_incomplete(sixledger: CommandLine, server: Serving, open_match: str) -> None:
    ran = sixledger("export", open_match, "--server", server.address)
    assert ran.status == 0
    assert " INCOMPLETE " in ran.out


def test_ctrl_c_while_watching_is_quiet(server: Serving, open_match: str, tmp_path: Path) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "watch", open_match, "--server", server.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path) | {"PYTHONUNBUFFERED": "1"},
    )
    assert watching.stdout is not None
    assert "The match is open" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, complaints = watching.communicate(timeout=30)
    assert (watching.returncode, complaints) == (130, "")


def test_a_server_with_another_key_is_not_believed(sixledger: CommandLine, server: Serving, open_match: str) -> None:
    """The key of an origin is pinned; whoever shows another one at the same place is refused."""
    assert sixledger("export", open_match, "--server", server.address).status == 0
    (pinned,) = json.loads(sixledger("keys", "--json").out)
    assert sixledger("keys", "forget", pinned["origin"]).status == 0
    stranger = sixledger("keys", "generate", "other.key", "--origin", pinned["origin"]).out.strip()
    assert sixledger("keys", "trust", stranger).status == 0
    complaint = sixledger("export", open_match, "--server", server.address).refused(1)
    assert "shows the key" in complaint
    assert "sixledger keys forget NAME" in complaint


def test_unreachable_servers_and_unknown_matches(sixledger: CommandLine, server: Serving, tmp_path: Path) -> None:
    """A port on which nobody listens, a match that is not there, an id that is none, a folder that is missing."""
    nobody = ("--server", "127.0.0.1:1")
    assert "no answer from 127.0.0.1:1" in sixledger("play", "nimmt", *nobody).refused(1)
    at = ("--server", server.address)
    assert "there is no match" in sixledger("watch", "0" * 32, *at).refused(1)
    assert "no match begins with abcd" in sixledger("export", "abcd", *at).refused(1)
    assert "no match id" in sixledger("watch", "mine", *at).refused(2)
    assert "no folder" in sixledger("export", "0" * 32, "-o", "missing/x.jsonl", *at).refused(2)
    assert "missing.json" in sixledger("watch", "0" * 32, "--credentials", "missing.json", *at).refused(2)
    assert "missing.pem" in sixledger("watch", "0" * 32, "--tls", "missing.pem", *at).refused(2)


def test_the_demonstration_from_start_to_proof(sixledger: CommandLine, tmp_path: Path) -> None:
    """A server, four signed bots, a ledger that is valid under the server's key, and a changed copy that is not."""
    ran = sixledger("demo", "--fast", "--seed", "4", "--preset", "d4")
    assert (ran.status, ran.err) == (0, "")
    assert len([line for line in ran.out.splitlines() if " → row " in line or "takes row" in line]) >= 10
    assert "provably fair – seats 0, 1, 2, 3 of 4 committed" in ran.out
    assert "signed by a trusted key" in ran.out
    commands = re.findall(r"^  sixledger (verify .*)$", ran.out, re.MULTILINE)
    assert [sixledger(*command.split()).status for command in commands] == [0, 1]

    repeated = sixledger("demo", "--fast", "--seed", "4", "--preset", "d4")
    turns = [line for line in ran.out.splitlines() if "→" in line]
    assert turns == [line for line in repeated.out.splitlines() if "→" in line], "the same seed deals the same cards"


@pytest.mark.parametrize(
    ("game", "options", "bots"),
    [("forces", ("--option", "deals=1"), 4), ("piece", ("--option", "max_turns=12"), 2)],
)
def test_every_game_can_be_demonstrated(
    sixledger: CommandLine, tmp_path: Path, game: str, options: tuple[str, ...], bots: int
) -> None:
    """Played, verified, and tampered with, by as many bots as the game allows; the report names the changed record."""
    ran = sixledger("demo", "--game", game, "--fast", "--seed", "4", *options)
    assert (ran.status, ran.err) == (0, "")
    assert f"rules         {game}@1" in ran.out
    assert len(re.findall(r"seat \d +key [0-9a-f]{16} +\d+ signed", ran.out)) == bots
    commands = re.findall(r"^  sixledger (.*)$", ran.out, re.MULTILINE)
    assert commands.pop() == f"play {game}"
    assert [(line.split()[0], sixledger(*line.split()).status) for line in commands] == [
        ("verify", 0),
        ("verify", 1),
        ("dispute", 1),
    ]


def test_the_demonstration_on_a_terminal_draws_the_table(tmp_path: Path) -> None:
    """On a terminal the picture is drawn again and again in place."""
    primary, secondary = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "demo", "--fast", "--preset", "d4", "--seats", "2"],
        stdin=secondary,
        stdout=secondary,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path) | {"COLUMNS": "80", "LINES": "40"},
    )
    os.close(secondary)
    shown = b""
    try:
        while piece := os.read(primary, 65536):
            shown += piece
    except OSError:  # how a terminal says that nobody is left
        pass
    os.close(primary)
    _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, b"")
    text = shown.decode()
    assert text.count("6 nimmt!") > 5
    assert "\x1b[" in text
    assert "╭─────╮" in text
    assert "Final ranking" in text
