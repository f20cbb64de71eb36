"""The real entry point, as a person or a script calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from sixledger.cli.main import run
from support.command_line import CommandLine, Ran, environment


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Run `sixledger …` in this process, in an empty folder: for what needs neither signals nor a clean process."""
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - set(environment(tmp_path)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("SIXLEDGER_CONFIG", str(tmp_path / "config"))

    def call(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return Ran(status, *capsys.readouterr())

    return call


@pytest.fixture
def sixledger(tmp_path: Path) -> CommandLine:
    """Run `sixledger …` as a process of its own, in an empty folder."""

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
