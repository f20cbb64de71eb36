"""The terminal: one theme, colour only where it is wanted, and lines that a pipe can read.

rich looks at NO_COLOR, FORCE_COLOR and TERM itself and leaves colour out where the output is no terminal.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.theme import Theme

#: Width of everything that is drawn where no terminal says otherwise, in columns.
WIDTH = 80

THEME = Theme(
    {
        "card.1": "white",
        "card.2": "bright_cyan",
        "card.3": "bright_yellow",
        "card.5": "bright_red",
        "card.7": "bold bright_magenta",
        "faint": "bright_black",
        "heading": "bold",
        "you": "bold bright_green",
        "good": "bold green",
        "bad": "bold red",
        "unsure": "bold yellow",
        "number": "cyan",
        "command": "bright_green",
        "repr.number": "none",
    }
)


def out(*, width: int | None = None) -> Console:
    """The console of the standard output. Without a terminal it is 80 columns wide and uncoloured."""
    return _console(sys.stdout, width)


def err() -> Console:
    """The console of the standard error: progress and complaints."""
    return _console(sys.stderr, None)


def _console(stream: Any, width: int | None) -> Console:
    terminal = stream.isatty()
    return Console(
        file=stream,
        theme=THEME,
        highlight=False,
        emoji=False,
        width=width or (None if terminal else WIDTH),
        soft_wrap=False,
    )


def complain(message: str) -> None:
    """One plain line on the standard error."""
    sys.stderr.write(f"sixledger: {message}\n")


def write_json(value: Any) -> None:
    """`value` as one JSON document on the standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
