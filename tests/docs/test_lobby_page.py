"""The page about lobbies: its programs run, from their text, against a server of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.service.config import Settings
from support.command_line import environment
from support.pages import DOCS, write
from support.play import RunningServer

PAGE = "how-to/run-a-lobby.md"


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # At most what an administrator did.
    assert all('"event":"audit"' in line for line in done.stderr.splitlines()), done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = write(PAGE, tmp_path)
    assert names == ["evening.py", "evening_async.py", "keys.py", "keys_async.py"]
    return tmp_path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server, and the key of its manager, made as the page says."""
    data = tmp_path / "data"
    said = run(
        tmp_path,
        "-m",
        "sixledger.cli.main",
        "admin",
        "keys",
        "add",
        "root",
        "--scope",
        "admin",
        "--data-dir",
        str(data),
    )
    with RunningServer(data) as running:
        yield running.address, said.split()[0]


def test_the_evening_goes_as_the_page_says(folder: Path, server: tuple[str, str]) -> None:
    said = run(folder, "evening.py", server[0])
    assert said == ("refused: NOT_INVITED\nseats that played: 2\nseat in the rematch: 1\nopen tables: [True]\n")
    assert run(folder, "evening_async.py", server[0]) == "open tables: 1\n"


def test_keys_are_managed_as_the_page_says(folder: Path, server: tuple[str, str]) -> None:
    assert run(folder, "keys.py", *server) == "['root', 'club', 'club']\nmine: [True]\n"
    assert run(folder, "keys_async.py", *server) == "4\n"


def test_every_limit_of_the_page_is_a_setting() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^|]+)` \|", text, re.MULTILINE)
    names = [name.lower() for row in rows for name in re.findall(r"[A-Z_]+", row)]
    assert len(names) >= 8
    assert set(names) <= set(Settings.__dataclass_fields__)
