"""The web backend of the tutorial, run as the page says, from its text."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.command_line import environment
from support.pages import write

PAGE = "tutorial/web-backend.md"


@contextmanager
def web_backend(folder: Path, server: str) -> Iterator[str]:
    """The address of the backend, which plays on the game server at `server`."""
    assert write(PAGE, folder) == ["app.py", "page.html"]
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "app:app", "--port", "0"],
        cwd=folder,
        env=environment(folder) | {"SIXLEDGER": server},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    said: list[str] = []
    try:
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                yield found[1]
                break
        else:
            raise AssertionError(f"the backend did not start:\n{''.join(said)}")
    finally:
        process.terminate()
        rest = process.communicate(timeout=20)[1]
    assert "Traceback" not in "".join(said) + rest, rest
