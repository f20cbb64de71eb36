"""What the pages promise: their code runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pytest
from sixledger.client import Client, TransportError, run_bot
from sixledger.engine.bots import bot
from support.play import RunningServer

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")])
README = (ROOT / "README.md").read_text()
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks(language: str) -> list[str]:
    """The code blocks of the README in one language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_client_of_the_readme_plays_exports_and_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = next(block for block in blocks("python") if "sixledger.client" in block)
    with RunningServer(tmp_path) as server:
        code = code.replace("127.0.0.1:7655", server.address)
        opponent = threading.Thread(target=_opponent, args=(server.address,))
        opponent.start()
        exec(compile(code, "README.md", "exec"), {})  # the code under test
        opponent.join()
    assert "Outcome(" in capsys.readouterr().out
    assert (tmp_path / "match.ledger.jsonl").stat().st_size > 10_000


def _opponent(address: str) -> None:
    """Take seat 1 of the first match that appears."""
    with Client(address) as client:
        for _ in range(600):
            try:
                found = client.matches.list()
            except TransportError:
                continue
            if found:
                run_bot(client, found[0].match_id, 1, bot("nimmt", "random"), random=Random(1))
                return
            threading.Event().wait(0.05)
        raise AssertionError("no match appeared")


def test_the_engine_of_the_readme_plays_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block for block in blocks("python") if "sixledger.client" not in block)
    exec(compile(code, "README.md", "exec"), {})  # the code under test
    assert "Outcome(" in capsys.readouterr().out


def test_every_command_of_the_readme_exists() -> None:
    lines = [line for block in blocks("console") for line in block.splitlines() if line.startswith("$ sixledger")]
    assert len(lines) >= 5
    for name in sorted({line.split()[2] for line in lines}):
        shown = subprocess.run(
            [sys.executable, "-m", "sixledger.cli.main", name, "--help"], capture_output=True, text=True, check=False
        )
        assert shown.returncode == 0, shown.stderr


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\$ make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
