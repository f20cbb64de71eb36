"""`sixledger bot`: own policies and built-in ones at the tables of a server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from sixledger.client import Credentials, run_bot
from sixledger.engine.bots import bot
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.testing import FakeServer
from sixledger.v1 import match_service_pb2
from support.command_line import CommandLine, Ran, environment

ONE_ROUND = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
SHORT = ("--option", "end_mode=rounds", "--seats", "2", "--jobs", "2")

POLICIES = '''
import asyncio, math

def lowest(view, random):
    return view.legal[0]

def third_crashes(view, random):
    if view.turn == 3:
        raise KeyError("no plan")
    return random.choice(view.legal)

def number(view, random):
    return 7

def foreign(view, random):
    return view

def illegal(view, random):
    command = type(view.legal[0])()
    command.select_card.card = 999
    return command

class Counting:
    """Remembers: every seat gets its own."""
    def __init__(self):
        self.seen = 0
    def __call__(self, view, random):
        self.seen += 1
        assert self.seen <= 20, "this one is shared"
        return view.legal[-1]

class Needy:
    def __init__(self, what):
        pass
    def __call__(self, view, random):
        ...

async def later(view, random):
    return view.legal[0]

def alone(view):
    return view.legal[0]

NOTHING = 3
'''


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A server for one test."""
    with FakeServer(seed=9) as running:
        yield running


@pytest.fixture
def play(
    quick: CommandLine, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CommandLine]:
    """Run `sixledger bot` at the server, with the policies in `minds.py` of the current folder."""
    (tmp_path / "minds.py").write_text(POLICIES)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def call(*arguments: str | Path) -> Ran:
        return quick("bot", "--server", server.address, *arguments)

    yield call
    sys.modules.pop("minds", None)


def statuses(server: FakeServer) -> list[int]:
    """The statuses of all matches, newest first."""
    with server.client() as client:
        return [each.status for each in client.matches.list()]


def left(folder: Path) -> list[str]:
    """The credentials that were left behind."""
    return sorted(path.name for path in (folder / "out").glob("*.credentials.json"))


@pytest.mark.parametrize("policy", ["heuristic", "random", "minds:lowest", "minds:Counting"])
def test_two_jobs_open_a_table_and_play_it(play: CommandLine, server: FakeServer, tmp_path: Path, policy: str) -> None:
    """The second finds the table that the first has opened; the statistics count both games."""
    ran = play("--policy", policy, *SHORT, "--seed", "1")
    assert (ran.status, ran.err) == (0, "")
    assert statuses(server) == [match_service_pb2.MATCH_STATUS_ENDED]
    lines = [line for line in ran.out.splitlines() if " seat " in line]
    assert len(lines) == 2
    assert {line.split()[2] for line in lines} == {"0", "1"}
    assert policy in ran.out
    assert "won" in ran.out
    assert "ms each" in ran.out
    assert left(tmp_path) == []


def test_many_games_as_json(play: CommandLine, server: FakeServer) -> None:
    ran = play("--policy", "random", *SHORT, "--matches", "6", "--json")
    document = json.loads(ran.out)
    assert (ran.status, document["games"], document["ended"], document["crashed"]) == (0, 6, 6, 0)
    assert len({each["match"] for each in document["matches"]}) == 3
    assert document["decisions"] >= 60
    assert 3 <= document["won"] <= 6
    assert 1 <= document["mean_rank"] <= 2
    assert len(statuses(server)) == 3


def test_it_sits_down_at_an_open_table(play: CommandLine, server: FakeServer) -> None:
    """An open table of the right size is taken before one is opened; one of another size is not."""
    other, match = server.open("nimmt", seats=3), server.open("nimmt", seats=2, options=ONE_ROUND)
    with server.client() as client:
        own = server.credentials(match, 0, "Anna")
        arguments = {"random": Random(1), "credentials": own}
        person = threading.Thread(target=run_bot, args=(client, match, 0, bot("nimmt", "random")), kwargs=arguments)
        person.start()
        time.sleep(0.2)
        ran = play("--seats", "2", "--no-create", "--name", "Robot")
        person.join()
        names = [seat.display_name for seat in client.matches.get(match).match.seats]
        untouched = client.matches.get(other).match
    assert (ran.status, ran.err) == (0, "")
    assert names == ["Anna", "Robot"]
    assert not any(seat.joined for seat in untouched.seats)


def test_one_table_by_its_id(play: CommandLine, server: FakeServer) -> None:
    """With as many jobs as seats it is filled; afterwards it has no free seat."""
    match = server.open("nimmt", seats=3, options=ONE_ROUND).hex()
    ran = play("--match", match[:10], "--jobs", "3")
    assert (ran.status, ran.err) == (0, "")
    assert len([line for line in ran.out.splitlines() if line.startswith(match[:12])]) == 3
    assert "no free seat" in play("--match", match).refused(1)
    assert "no free seat 1" in play("--match", match, "--seat", "1").refused(1)


def test_a_private_table_that_asks_for_readiness(play: CommandLine, server: FakeServer) -> None:
    """An invitation opens it, no list shows it, and the bot is ready at once."""
    with server.client() as client:
        created = client.matches.create("nimmt", seats=3, options=ONE_ROUND, ready_seats=2, private=True)
        match = created.match_id.hex()
        invitation = client.lobby.invite(created.match_id, created.owner_token).invitation
    assert "refused" in play("--match", match).refused(1)
    assert "no match begins" in play("--match", match[:10]).refused(1)
    ran = play("--match", match, "--jobs", "2", "--invitation", invitation)
    assert (ran.status, ran.err) == (0, "")
    assert "rank 1 of 2" in ran.out


# -- policies that cannot be used ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "status", "said"),
    [
        ("clever", 2, "there is no policy 'clever' for nimmt; allowed: random, heuristic, or module:function"),
        ("minds:lowst", 2, "did you mean 'lowest'?"),
        ("minds:NOTHING", 2, "is a int, not a function"),
        ("minds:alone", 2, "cannot be called with (view, random)"),
        ("minds:later", 2, "coroutine"),
        ("minds:Needy", 2, "cannot be made without arguments: TypeError"),
        ("minds.py:lowest", 2, "write my_bot:choose, not my_bot.py"),
        ("no-module:x", 2, "no name of a module"),
        ("nowhere:x", 2, "there is no module nowhere"),
        ("broken:x", 1, "broken cannot be imported: SyntaxError"),
        ("raising:x", 1, "raising cannot be imported: ZeroDivisionError: division by zero at raising.py:2"),
        ("needing:x", 1, "needing needs the package no_such_package, which is not installed"),
    ],
)
def test_policies_that_cannot_be_used(play: CommandLine, tmp_path: Path, policy: str, status: int, said: str) -> None:
    (tmp_path / "broken.py").write_text("def x(:\n")
    (tmp_path / "raising.py").write_text("\n1 / 0\n")
    (tmp_path / "needing.py").write_text("import no_such_package\n")
    assert said in play("--policy", policy).refused(status)


def test_arguments_that_do_not_fit(play: CommandLine) -> None:
    assert "not played by 40" in play("--seats", "40").refused(2)
    assert "--seat needs --match" in play("--seat", "1").refused(2)
    assert "--invitation needs --match" in play("--invitation", "abc").refused(2)
    assert "chess" in play("--game", "chess").refused(2)
    assert "jobs" in play("--jobs", "0").refused(2)


# -- policies that crash -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("minds:third_crashes", "KeyError: 'no plan' at minds.py:9"),
        ("minds:number", "it returned a int where a command of the game must be"),
        ("minds:foreign", "View is no command of this game"),
        ("minds:illegal", "its command was refused"),
    ],
)
def test_a_crash_is_reported_and_the_seat_resigns(
    play: CommandLine, server: FakeServer, tmp_path: Path, policy: str, said: str
) -> None:
    """The other seat is not left waiting: the match ends."""
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    with server.client() as client:
        own = server.credentials(match, 0)
        arguments = {"random": Random(1), "credentials": own}
        person = threading.Thread(target=run_bot, args=(client, match, 0, bot("nimmt", "random")), kwargs=arguments)
        person.start()
        ran = play("--match", match.hex(), "--seat", "1", "--policy", policy)
        person.join(timeout=20)
        assert not person.is_alive()
        with client.matches.watch_match(match) as table:
            table.refresh()
            assert table.over
            assert any(step.HasField("resigned") for step in table.records[-1].body.lifecycle)
    assert ran.status == 1
    assert said in ran.err
    assert "the seat has resigned" in ran.err
    assert "crashed" in ran.out
    assert left(tmp_path) == []


def test_a_crashed_seat_may_be_left_and_gone_on_with(play: CommandLine, server: FakeServer, tmp_path: Path) -> None:
    ran = play("--policy", "minds:third_crashes", *SHORT, "--on-crash", "leave", "--traceback")
    assert ran.status == 1
    assert "Traceback" in ran.err
    assert "go on with --credentials out/" in ran.err
    assert statuses(server) == [match_service_pb2.MATCH_STATUS_RUNNING]
    files = left(tmp_path)
    assert len(files) == 2
    assert Credentials.load(tmp_path / "out" / files[0]).token
    results: list[Ran] = []

    def go_on(name: str) -> None:
        arguments = ["--server", server.address, "--credentials", f"out/{name}"]
        done = subprocess.run(
            [sys.executable, "-m", "sixledger.cli.main", "bot", *arguments],
            capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), check=False, timeout=60,
        )  # fmt: skip
        results.append(Ran(done.returncode, done.stdout, done.stderr))

    threads = [threading.Thread(target=go_on, args=(name,)) for name in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(result.status, result.err) for result in results] == [(0, ""), (0, "")]
    assert statuses(server) == [match_service_pb2.MATCH_STATUS_ENDED]


# -- stopping ------------------------------------------------------------------------------------


def started(server: FakeServer, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A bot as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "bot", "--server", server.address, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder) | {"PYTHONUNBUFFERED": "1"},
    )


def eventually(reached: object) -> None:
    """Wait until something is so."""
    assert callable(reached)
    for _ in range(600):
        if reached():
            return
        time.sleep(0.05)
    raise AssertionError("it never came so far")


def test_ctrl_c_aborts_the_table_that_waits(server: FakeServer, tmp_path: Path) -> None:
    process = started(server, tmp_path, "--seats", "2")
    with server.client() as client:
        eventually(lambda: [each.joined for each in client.matches.list()] == [1])
    process.send_signal(signal.SIGINT)
    out, complaints = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in complaints
    assert "interrupted" in out
    assert statuses(server) == [match_service_pb2.MATCH_STATUS_ABORTED]


def test_ctrl_c_frees_the_seat_at_a_table_of_others(server: FakeServer, tmp_path: Path) -> None:
    match = server.open("nimmt", seats=2)
    process = started(server, tmp_path, "--match", match.hex())
    with server.client() as client:
        eventually(lambda: client.matches.get(match).match.seats[0].joined)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
        assert not client.matches.get(match).match.seats[0].joined
    assert process.returncode == 0
    assert "the seat is free again" in complaints


def test_ctrl_c_resigns_the_seats_in_play(server: FakeServer, tmp_path: Path) -> None:
    """Games on and on until then; whoever sits at the same table is not left waiting."""
    match = server.open("nimmt", seats=2)
    process = started(server, tmp_path, "--match", match.hex(), "--matches", "0")
    with server.client() as client, client.matches.resume(server.credentials(match, 0)) as person:
        assert person.turn()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
        person.refresh()
        assert person.over
    assert process.returncode == 0
    assert "the seat has resigned" in complaints
    assert left(tmp_path) == []
