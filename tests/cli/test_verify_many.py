"""`sixledger verify` with folders and many files."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path

import pytest
from rich.console import Console
from sixledger.cli import verify_many
from sixledger.cli.demo import change_one_bit
from sixledger.cli.failures import Failure
from sixledger.cli.render.many import Verifying
from sixledger.cli.verify_many import Checked, Terms, check, check_all, default_jobs, find
from sixledger.ledger.verify import verify
from support.command_line import CommandLine, environment
from support.ledgers import KEYS, Table

LEDGERS = 60
TRUSTING = Terms(tuple(KEYS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty ledgers in folders, one of them changed, one cut short, and a file that is no ledger beside them."""
    top = tmp_path_factory.mktemp("many")
    for number in range(LEDGERS):
        data = Table(name=f"many {number % 6}").play().file()
        if number == 17:
            data = change_one_bit(data)
        if number == 40:
            data = data[: data.index(b'{"head"')]
        place = top / f"day {number // 20}"
        place.mkdir(exist_ok=True)
        packed = number % 3 == 0
        name = f"{number:03}.ledger.jsonl{'.gz' if packed else ''}"
        (place / name).write_bytes(gzip.compress(data) if packed else data)
    (top / "readme.txt").write_text("no ledger")
    return top


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    """A named pipe into which nobody writes: whoever verifies it waits."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("the system has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    return str(tmp_path / "pipe")


def wait_for_reader(pipe: str) -> int:
    """Wait until the pipe is being read; gives its other end."""
    for _ in range(600):
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.05)
    raise TimeoutError("nobody reads the pipe")


def reader_of(pipe: str) -> int:
    """The process of ours that reads the pipe."""
    for _ in range(600):
        for process in active_children():
            with suppress(OSError):
                if any(each.readlink() == Path(pipe) for each in Path(f"/proc/{process.pid}/fd").iterdir()):
                    return process.pid or 0
        time.sleep(0.05)
    raise TimeoutError("nobody reads the pipe")


def ended(group: int) -> bool:
    """True if no process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_folder_stands_for_the_ledgers_below_it(quick: CommandLine, folder: Path) -> None:
    ran = quick("verify", folder, "--jobs", "1", "--key", str(KEYS[0]))
    assert (ran.status, ran.err) == (1, "")
    changed, cut, summary, speed = ran.out.splitlines()
    assert changed.startswith(f" TAMPERED  {folder}/day 0/017.ledger.jsonl  at record ")
    assert cut.startswith(f" TRUNCATED  {folder}/day 2/040.ledger.jsonl  at record ")
    assert summary == "60 ledgers: 1 TAMPERED, 1 TRUNCATED, 58 VALID"
    assert "records/s" in speed


def test_any_number_of_processes_says_the_same_in_the_same_order(sixledger: CommandLine, folder: Path) -> None:
    """One JSON line a file, and one for all."""
    one, two = (sixledger("verify", folder, "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.status, two.status, one.err, two.err) == (1, 1, "", "")
    *files, first = map(json.loads, one.out.splitlines())
    *same, second = map(json.loads, two.out.splitlines())
    assert files == same
    assert [each["file"] for each in files] == find([str(folder)])
    assert [each["verdict"] for each in files].count("VALID") == LEDGERS - 2
    for summary in (first, second):
        assert (summary["ledgers"], summary["of"], summary["exit_status"]) == (LEDGERS, LEDGERS, 1)
        assert summary["verdicts"] == {"TAMPERED": 1, "TRUNCATED": 1, "VALID": 58}
        assert summary["records"] == sum(each["record_count"] for each in files)
        assert summary["signer_unauthenticated"] == LEDGERS - 2
        assert summary["records_per_s"] > 0
    assert (first["jobs"], second["jobs"]) == (1, 2)


def test_a_folder_without_ledgers_is_named(quick: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "a folder without ledgers" in quick("verify", "empty").refused(2)


def test_only_plain_files_of_a_folder_are_taken_in_order(tmp_path: Path) -> None:
    """A pipe among them would make whoever verifies a folder wait for ever."""
    for name in ("b.ledger.jsonl", "a.ledger.jsonl.gz", "c.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "dir.ledger.jsonl").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.ledger.jsonl")
    assert find(["x", str(tmp_path)]) == [
        "x",
        *(f"{tmp_path}/{name}" for name in ("a.ledger.jsonl.gz", "b.ledger.jsonl")),
    ]


def test_few_ledgers_need_no_processes() -> None:
    assert default_jobs(1) == default_jobs(32) == 1
    assert default_jobs(10_000) == os.cpu_count()


def test_a_ledger_from_a_pipe_is_read_once(pipe: str, folder: Path) -> None:
    """Also where its origin must be known first, to look up the pinned key."""
    path = find([str(folder)])[0]
    with subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', path, pipe]):
        checked = check(pipe, Terms(pinned={KEYS[0].origin: KEYS[0]}))
    assert checked == Checked(pipe, 0, verify(path, trusted=KEYS))
    assert checked.report is not None
    assert checked.report.signer_authenticated


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs to see which process reads the pipe")
def test_a_process_that_dies_is_replaced_and_its_file_named(pipe: str, folder: Path) -> None:
    paths = find([str(folder)])
    paths.insert(1, pipe)
    results = check_all(paths, TRUSTING, 2)
    found = [next(results)]
    other_end = wait_for_reader(pipe)
    holder = reader_of(pipe)
    os.kill(holder, signal.SIGKILL)
    found += results
    os.close(other_end)
    assert [each.path for each in found] == paths
    assert found[1].unusable == "the process that verified it died (SIGKILL): perhaps there was too little memory"
    assert [each.path for each in found if each.report is None] == [pipe]
    assert not active_children()


def test_processes_that_cannot_start_are_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(verify_many, "_work", os._exit)  # called with what it cannot take: it ends at once
    with pytest.raises(Failure, match="ended at once"):
        list(check_all(find([str(folder)]), TRUSTING, 2))
    assert not active_children()


def test_a_defect_that_one_ledger_shows_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, quick: CommandLine, folder: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(verify_many, "verify_ledger", broken)
    ran = quick("verify", folder, "--jobs", "1")
    assert ran.status == 2
    assert ran.out.splitlines()[0] == "60 ledgers: 60 unusable"
    assert ran.err.count("a defect of sixledger (ZeroDivisionError)") == LEDGERS
    assert "secret" not in ran.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_all_processes_and_says_how_far_it_came(jobs: str, pipe: str, folder: Path, tmp_path: Path) -> None:
    paths = [find([str(folder)])[0], pipe, str(folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "verify", *paths, "--jobs", jobs],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        other_end = wait_for_reader(pipe)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everybody gets it
        out, err = process.communicate(timeout=30)
        os.close(other_end)
    assert (process.returncode, err) == (130, "")
    said = out.splitlines()[0]
    assert said in ("stopped after 1 of 62 ledgers: 1 VALID", "stopped after 0 of 62 ledgers")[: int(jobs)]
    for _ in range(100):  # the helper process of multiprocessing goes a little later
        if ended(process.pid):
            break
        time.sleep(0.05)
    assert ended(process.pid)


def test_a_bar_is_drawn_for_a_terminal_only_and_never_between_lines() -> None:
    def drawn(*, terminal: bool) -> str:
        text = io.StringIO()
        with Verifying(3, Console(file=text, force_terminal=terminal, width=100)) as bar:
            bar.advance()
            with bar.aside():
                text.write("BAD LINE\n")
            bar.advance()
        return text.getvalue()

    assert drawn(terminal=False) == "BAD LINE\n"
    shown = drawn(terminal=True)
    assert "verifying" in shown
    assert "2/3" in shown
    assert "\x1b[2KBAD LINE\n" in shown  # the bar is wiped before
