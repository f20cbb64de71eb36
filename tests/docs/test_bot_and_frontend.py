"""The pages for authors of bots and frontends: their code runs, from their text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sixledger.cli.replay.screens import KEYS
from sixledger.testing import FakeServer
from support.command_line import environment
from support.pages import DOCS, write

#: pytest as in a fresh project, but that it says nothing of plugins that such a project may not have.
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error", "--rootdir", ".")


def run(folder: Path, *command: str, status: int = 0) -> str:
    """The output of a Python command in a folder, with its errors."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment(folder) | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_tests_of_the_frontend_page_pass(tmp_path: Path) -> None:
    names = write("how-to/test-your-frontend.md", tmp_path)
    assert names == ["conftest.py", "test_hands.py", "test_time.py", "test_faults.py"]
    said = run(tmp_path, *PYTEST)
    assert "4 passed" in said


@pytest.fixture
def tutorial(tmp_path: Path) -> Path:
    """A folder with the files of the tutorial for authors of bots."""
    names = write("tutorial/write-a-bot.md", tmp_path)
    assert names == ["my_bot.py", "careful.py", "compare.py", "counting.py", "own_loop.py", "test_bot.py"]
    return tmp_path


def test_the_careful_bot_of_the_tutorial_is_better(tutorial: Path) -> None:
    said = run(tutorial, "compare.py")
    rates = dict(re.findall(r"^(\w+) +([\d.]+)%$", said, re.MULTILINE))
    assert float(rates["careful"]) > float(rates["my_bot"]) + 10
    page = (DOCS / "tutorial/write-a-bot.md").read_text(encoding="utf-8")
    assert said in page, "the page shows what it prints"


@pytest.mark.parametrize("policy", ["my_bot:choose", "careful:choose", "counting:Counting"])
def test_the_bots_of_the_tutorial_play(tutorial: Path, policy: str) -> None:
    arguments = ["--game", "nimmt", "--policy", policy, "--jobs", "2", "--seats", "2"]
    with FakeServer() as server:
        said = run(tutorial, "-m", "sixledger.cli.main", "bot", *arguments, "--server", server.address)
    assert re.search(r"^games +2\s*$", said, re.MULTILINE)
    assert policy in said


def test_the_test_of_the_tutorial_passes(tutorial: Path) -> None:
    """And with it the loop that it tests."""
    said = run(tutorial, *PYTEST, "test_bot.py")
    assert "1 passed" in said


def test_the_page_of_the_replay_names_every_key() -> None:
    page = (DOCS / "how-to/replay.md").read_text(encoding="utf-8")
    keys = {key for group, _ in KEYS for key in group.split() if key != "…"}
    missing = {
        key for key in keys if f"`{key}`" not in page.replace("−", "-") and f"`{key.replace('−', '-')}`" not in page
    }
    assert not missing
