"""The real entry point, as a person or a script calls it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """How one command line ended."""

    status: int
    out: str
    err: str

    def refused(self, status: int) -> str:
        """The complaint, after checking that it is one plain line and nothing else was printed."""
        assert self.status == status, self
        assert self.out == "", self
        assert self.err.count("\n") == 1, self
        assert self.err.startswith("sixledger: "), self
        assert "Traceback" not in self.err
        assert "\x1b" not in self.err
        return self.err.removeprefix("sixledger: ").rstrip("\n")


CommandLine = Callable[..., Ran]


def environment(folder: Path) -> dict[str, str]:
    """The environment of a person who has used nothing before and asked for nothing special."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONWARNINGS", "SIXLEDGER_DEBUG")
    clean = {name: value for name, value in os.environ.items() if name not in unwanted}
    return clean | {"SIXLEDGER_CONFIG": str(folder / "config"), "PYTHONWARNINGS": "error", "TERM": "xterm-256color"}
