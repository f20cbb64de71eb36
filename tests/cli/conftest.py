"""The real entry point, as a person or a script calls it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.command_line import CommandLine, Ran, environment


@pytest.fixture
def sixledger(tmp_path: Path) -> CommandLine:
    """Run `sixledger …` in an empty folder of its own."""

    def call(*arguments: str | Path, typed: str = "", env: Mapping[str, str] | None = None, timeout: float = 60) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "sixledger.cli.main", *map(str, arguments)],
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=environment(tmp_path) | dict(env or {}),
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call
