"""The supervisor of several processes: what it starts again, when it gives up, and how it ends them.

Each supervisor is a process of its own: one with threads, as that of the tests, must not fork.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sixledger.cli.workers import reserved
from sixledger.service.config import Settings
from sixledger.service.workers_port import joined

_HEAD = """
import asyncio, os, signal, sys, time
from sixledger.service import logs, supervisor
from sixledger.service.supervisor import GaveUp, MemberFailed, Supervisor
logs.configure()
supervisor._PAUSE_S = 0.01
supervisor._PATIENCE_S = 0.3

def serve(member, cut=None):
    async def wait():
        stopped = asyncio.Event()
        member.listen(stop=stopped.set, cut=cut or stopped.set)
        member.ready(str(os.getpid()))
        await stopped.wait()
    asyncio.run(wait())

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # whole, whoever else writes

def run(*workers, last=None, grace_s=5.0):
    try:
        sys.exit(Supervisor(workers, last=last, grace_s=grace_s).run(lambda said: say("ready", *sorted(said))))
    except (GaveUp, MemberFailed) as error:
        say(type(error).__name__, error)
        sys.exit(getattr(error, "status", 1))
"""


@contextmanager
def script(text: str) -> Iterator[subprocess.Popen[str]]:
    """A program with a supervisor."""
    command = [sys.executable, "-c", _HEAD + text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """The next line that a program says."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def test_all_are_ready_before_the_whole_is_and_a_signal_ends_all() -> None:
    """The one that goes last still lives while the others end."""
    text = """
def worker(member):
    serve(member)
    time.sleep(0.2)
    say("worker ends")
def last(member):
    serve(member)
    say("operator ends")
run(worker, worker, last=last)
"""
    with script(text) as process:
        assert line(process) == "ready 1 2 operator"
        process.terminate()
        said, _ = process.communicate(timeout=10)
        assert said.splitlines() == ["worker ends", "worker ends", "operator ends"]
        assert process.returncode == 0


def test_one_that_dies_is_started_again(tmp_path: Path) -> None:
    text = f"""
def mortal(member):
    say("begins")
    if not os.path.exists({str(tmp_path / "died")!r}):
        open({str(tmp_path / "died")!r}, "w").close()
        os.kill(os.getpid(), signal.SIGSEGV)
    serve(member)
run(mortal)
"""
    with script(text) as process:
        assert [line(process) for _ in range(3)] == ["begins", "begins", "ready 1"]
        process.terminate()
        _, log = process.communicate(timeout=10)
        assert process.returncode == 0
        assert '"how":"signal SIGSEGV"' in log


def test_those_that_always_die_at_once_are_given_up_with_a_plain_line() -> None:
    text = """
def dying(member):
    os._exit(3)
run(dying)
"""
    with script(text) as process:
        said, log = process.communicate(timeout=20)
        assert process.returncode == 1
        why = "gave up: worker 1 died 5 times right after its start, the last time by: exit status 3"
        assert said == f"GaveUp {why}\n"
        assert log.count("member_died") == 4


def test_one_that_always_dies_is_tried_again_as_long_as_another_works() -> None:
    """It may be the database that is away for a while; those who play at the other worker are not to notice."""
    text = """
def dying(member):
    member.ready()
    say("dies")
    os._exit(3)
run(serve, dying)
"""
    with script(text) as process:
        said = [line(process) for _ in range(9)]
        assert said.count("dies") >= 7
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=10)


def test_what_a_member_says_of_its_failure_ends_all_if_they_were_never_ready() -> None:
    text = """
def failing(member):
    raise MemberFailed("the store is locked", 2)
run(serve, failing)
"""
    with script(text) as process:
        said, _ = process.communicate(timeout=10)
        assert said.splitlines()[-1] == "MemberFailed the store is locked"
        assert process.returncode == 2


def test_one_that_does_not_end_in_time_is_killed_and_the_status_says_so() -> None:
    text = """
def stubborn(member):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    member.ready()
    time.sleep(60)
run(stubborn, serve, grace_s=0.1)
"""
    with script(text) as process:
        assert line(process) == "ready 1 2"
        process.terminate()
        _, log = process.communicate(timeout=10)
        assert process.returncode == 1
        assert log.count("member_killed") == 1


def test_a_second_signal_waits_for_nothing_more() -> None:
    text = """
def busy(member):
    done = []
    async def work():
        stopped = asyncio.Event()
        member.listen(stop=stopped.set, cut=lambda: done.append(1))
        member.ready()
        await stopped.wait()
        say("stopping")
        while not done:
            await asyncio.sleep(0.01)
        say("cut")
    asyncio.run(work())
run(busy, grace_s=30.0)
"""
    with script(text) as process:
        assert line(process) == "ready 1"
        process.send_signal(signal.SIGINT)
        assert line(process) == "stopping"
        process.send_signal(signal.SIGINT)
        assert line(process) == "cut"
        assert process.wait(10) == 0


def test_one_for_which_there_is_no_room_is_tried_again_and_the_others_go_on(tmp_path: Path) -> None:
    text = f"""
fork, forks = os.fork, []
def short_of_memory():
    forks.append(len(os.listdir("/dev/fd")))
    if len(forks) in (3, 4):
        raise OSError(12, "Cannot allocate memory")
    return fork()
os.fork = short_of_memory
supervisor._LONGEST_PAUSE_S = 0.05
def mortal(member):
    if not os.path.exists({str(tmp_path / "died")!r}):
        open({str(tmp_path / "died")!r}, "w").close()
        os._exit(3)
    serve(member)
try:
    run(mortal, serve)
finally:
    say("the fifth finds as many files open as the third:", forks[2] == forks[4], len(forks))
"""
    with script(text) as process:
        assert line(process) == "ready 1 2"
        process.terminate()
        said, log = process.communicate(timeout=10)
        assert said == "the fifth finds as many files open as the third: True 5\n"
        assert process.returncode == 0
        assert log.count('"event":"member_not_started"') == 2
        assert "Cannot allocate memory" in log


def test_members_end_when_their_supervisor_was_killed() -> None:
    text = """
def orphan(member):
    serve(member)
    say("ends")
run(orphan)
"""
    with script(text) as process:
        assert line(process) == "ready 1"
        process.kill()
        assert line(process) == "ends"


def test_an_unforeseen_error_is_logged_without_its_text() -> None:
    text = """
def broken(member):
    raise RuntimeError("hunter2")
run(broken)
"""
    with script(text) as process:
        said, log = process.communicate(timeout=20)
        assert '"type":"RuntimeError"' in log
        assert "hunter2" not in said + log


def test_a_process_with_threads_is_refused() -> None:
    text = """
import threading
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
run(serve)
"""
    with script(text) as process:
        _, log = process.communicate(timeout=10)
        assert "a process with several threads must not fork" in log


def test_what_was_ignored_before_stays_ignored() -> None:
    """As in the background of a shell script."""
    text = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
run(serve)
"""
    with script(text) as process:
        assert line(process) == "ready 1"
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.parametrize("before", ["SIG_DFL", "SIG_IGN"])
def test_hangup_stops_nothing_and_reaches_the_workers(before: str) -> None:
    """Under nohup too: it tells servers to look at their keys."""
    text = f"""
def hear(member):
    signal.signal(signal.SIGHUP, lambda *_: say("heard"))
    serve(member)
signal.signal(signal.SIGHUP, signal.{before})
run(hear)
"""
    with script(text) as process:
        assert line(process) == "ready 1"
        process.send_signal(signal.SIGHUP)
        assert line(process) == "heard"
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]"])
def test_a_reserved_port_is_refused_to_others_and_free_afterwards(host: str) -> None:
    if host == "[::1]" and not os.path.exists("/proc/net/if_inet6"):  # noqa: PTH110  # no file of ours
        pytest.skip("this system has no IPv6")
    with reserved(f"{host}:0") as port:
        assert port > 0
        with pytest.raises(OSError, match="is the address right, and free"), reserved(f"{host}:{port}"):
            pass
    with reserved(f"{host}:{port}") as again:
        assert again == port


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:x", "no-such-host.invalid:1", "198.51.100.1:0"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(OSError, match="cannot listen on"), reserved(address):
        pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workers": 0}, "workers must be between 1 and 1024"),
        ({"workers": 2}, "several workers need a store that they can share"),
        ({"workers": 2, "store": "memory:"}, "several workers need a store that they can share"),
        ({"workers": 2, "store": "postgresql://h/d", "listen": "unix:/run/s"}, "share a port, not a socket file"),
    ],
)
def test_several_workers_need_a_store_and_an_address_that_they_can_share(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Settings.from_environment({}, **change)
    assert Settings.from_environment({"SIXLEDGER_WORKERS": "3", "SIXLEDGER_STORE": "postgresql://h/d"}).workers == 3


def test_metrics_of_all_workers_are_one_text() -> None:
    """Each family once, each sample with its worker, and who did not answer."""
    text = '# HELP a_total Sum.\n# TYPE a_total counter\na_total{m="x"} %d\n# HELP g Now.\n# TYPE g gauge\ng 1.0\n'
    lines = joined({"1": text % 3, "3": text % 4}, ["1", "2", "3"]).decode().splitlines()
    up = [row for row in lines if row.startswith("sixledger_worker_up{")]
    assert up == [
        f'sixledger_worker_up{{worker="{name}"}} {value}' for name, value in (("1", 1.0), ("2", 0.0), ("3", 1.0))
    ]
    assert lines.count("# TYPE a_total counter") == 1
    assert [row for row in lines if row.startswith("a_total{")] == [
        'a_total{m="x",worker="1"} 3.0',
        'a_total{m="x",worker="3"} 4.0',
    ]
    assert [row for row in lines if row.startswith("g{")] == ['g{worker="1"} 1.0', 'g{worker="3"} 1.0']
