"""The guide to disputes: its commands do what it says, on the files that it speaks of."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sixledger.testing import FakeServer
from support.command_line import environment
from support.disputes import lied, prepare
from support.ledgers import head
from support.pages import DOCS

PAGE = (DOCS / "how-to" / "settle-a-dispute.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ sixledger (.*)$", PAGE, re.MULTILINE)
ADDRESS = "127.0.0.1:7655"


def sixledger(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `sixledger …` as the reader does."""
    return subprocess.run(
        [sys.executable, "-m", "sixledger.cli.main", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment(folder),
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the reader has collected."""
    folder: Path = tmp_path_factory.mktemp("dispute")
    table = prepare(folder)
    (folder / "seat-3.head").write_text(head(lied(table), 60))
    return folder


@pytest.mark.parametrize(
    ("command", "status", "first"),
    [
        ("verify", 0, " VALID  mine.ledger.jsonl"),
        ("compare mine", 1, " FRAUD PROVEN  mine.ledger.jsonl  yours.ledger.jsonl"),
        ("compare seat-0", 1, " FRAUD PROVEN  seat-0.head  seat-3.head"),
        ("dispute", 1, " EQUIVOCATION  yours.ledger.jsonl"),
    ],
)
def test_the_commands_of_the_guide(folder: Path, command: str, status: int, first: str) -> None:
    (line,) = [each for each in COMMANDS if each.startswith(command)]
    ran = sixledger(folder, shlex.split(line))
    assert (ran.returncode, ran.stderr) == (status, "")
    assert ran.stdout.splitlines()[0].startswith(first)
    if command == "dispute":
        assert "told two different stories" in (folder / "report.html").read_text(encoding="utf-8")


def test_every_command_of_the_guide_is_tried() -> None:
    assert len(COMMANDS) == 4


def test_the_answers_of_compare_are_those_of_the_guide() -> None:
    from sixledger.cli import compare

    source = Path(compare.__file__).read_text(encoding="utf-8")
    answers = re.findall(r'"([A-Z, ]{8,})"', source)
    assert set(re.findall(r"^\| `([A-Z, ]+)` \|", PAGE, re.MULTILINE)) - {"VALID"} >= set(answers)


def test_the_client_of_the_guide_keeps_a_receipt(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with FakeServer() as server:
        ran = subprocess.run(
            [sys.executable, "-c", code.replace(ADDRESS, server.address)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path),
            timeout=60,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    name, _, note = ran.stdout.partition("\n")
    assert (tmp_path / name).read_text() == note[:-1]
