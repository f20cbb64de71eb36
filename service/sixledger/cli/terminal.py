"""The terminal: one theme, colour only where it is wanted, and lines that a pipe can read.

rich looks at NO_COLOR, FORCE_COLOR and TERM itself and leaves colour out where the output is no terminal.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.theme import Theme

#: Width of everything that is drawn where no terminal says otherwise, in columns.
WIDTH = 80

#: Colour of a card by its bullheads.
_CARDS = {1: "white", 2: "bright_cyan", 3: "bright_yellow", 5: "bright_red", 7: "bright_magenta"}

# A style that is made of a name and something else is none for rich: each combination has a name of its own.
THEME = Theme(
    {f"card.{heads}": colour for heads, colour in _CARDS.items()}
    | {f"card.{heads}.number": f"bold {colour}" for heads, colour in _CARDS.items()}
    | {f"card.{heads}.fresh": f"bold reverse {colour}" for heads, colour in _CARDS.items()}
    | {
        "title": "bold reverse",
        "verdict.good": "bold reverse green",
        "verdict.unsure": "bold reverse yellow",
        "verdict.bad": "bold reverse red",
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


#: Colours for programs that draw their own, readable on a dark ground.
PALETTE = TerminalTheme(
    (24, 26, 32),
    (214, 218, 226),
    [(24, 26, 32), (240, 98, 98), (120, 200, 120), (232, 190, 90), (110, 160, 240), (200, 130, 230), (90, 200, 210),
     (200, 204, 212)],
    [(120, 126, 140), (255, 110, 110), (140, 220, 130), (250, 208, 100), (130, 180, 255), (226, 140, 255),
     (110, 220, 232), (255, 255, 255)],
)  # fmt: skip


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


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """`value` as one JSON document on the standard output; without `indent` in one line."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    # A file may have a name that is no text: what of it cannot be written is escaped, and JSON escapes it just so.
    sys.stdout.write(text.encode(errors="backslashreplace").decode() + "\n")
