"""The page about clocks runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sixledger.testing import FakeServer
from support.command_line import environment

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "play-against-the-clock.md"
ADDRESS = "127.0.0.1:7655"


def run(code: str, folder: Path) -> str:
    """What a program says."""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment(folder), check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    first, second = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with FakeServer() as server:
        assert ADDRESS in first
        said = run(first.replace(ADDRESS, server.address), tmp_path)
    assert re.fullmatch(r"\['seat 0: (29|30) s', 'seat 1: (29|30) s'\]\n", said)
    assert "timer: TIMER_KIND_JOIN" in run(second, tmp_path)
