"""What the guides promise: their code runs, and they show the example game as it is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
EXAMPLE = ROOT / "tests" / "plugin" / "ranks"


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a guide in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (HOW_TO / page).read_text(encoding="utf-8"), re.DOTALL)


def run(folder: Path, code: str) -> str:
    """What a program prints that a reader has saved in a file."""
    path = folder / "program.py"
    path.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=folder, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_simulation_of_the_guide_runs_and_repeats(tmp_path: Path) -> None:
    code = blocks("simulate.md", "python")[0]
    first = run(tmp_path, code)
    assert re.fullmatch(r"\d+% of 40 matches, \d+\.\d points\n", first)
    assert run(tmp_path, code) == first


def test_the_policy_of_the_guide_plays(tmp_path: Path) -> None:
    simulation, policy = blocks("simulate.md", "python")[:2]
    code = policy + simulation.replace('[bot("nimmt", name) for name in names]', "[lowest] * 4")
    assert "of 40 matches" in run(tmp_path, code)


def test_the_search_bot_of_the_guide_beats_chance(tmp_path: Path) -> None:
    """On every core, and from a file as the reader has it."""
    (share,) = re.findall(r"search wins (\d+)%", run(tmp_path, blocks("simulate.md", "python")[2]))
    assert int(share) >= 65


@pytest.mark.parametrize("language", ["toml", "proto", "python"])
def test_the_guide_to_a_game_shows_the_example_as_it_is(language: str) -> None:
    """Every block is a passage of the example's files, but for its indentation."""
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in (".toml", ".proto", ".py")]
    texts = [_plain(path.read_text(encoding="utf-8")) for path in files if "_pb2" not in path.name]
    found = blocks("add-a-game.md", language)
    assert found
    for block in found:
        for passage in block.split("…\n"):
            assert any(_plain(passage) in text for text in texts), passage


def _plain(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
