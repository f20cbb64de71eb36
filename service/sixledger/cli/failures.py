"""What the command line says when something cannot be done: one plain line and an exit status."""

from __future__ import annotations

#: Exit statuses. INVALID is also the verifier's "not valid"; QUIT is what shells give for Ctrl-C.
OK, INVALID, UNUSABLE, QUIT = 0, 1, 2, 130


class Failure(Exception):
    """A command cannot go on. The text is for people and says what to do; it holds no secret."""

    def __init__(self, message: str, status: int = INVALID) -> None:
        """`status` is the exit status: INVALID for what did not work, UNUSABLE for input that cannot be used."""
        super().__init__(message)
        self.message = message
        self.status = status


def unusable(message: str) -> Failure:
    """The failure of an input that cannot be used: a usage error."""
    return Failure(message, UNUSABLE)


def printable(text: str) -> str:
    """`text` with a question mark for each character that a terminal would obey, not show: names of files hold any."""
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(text: str) -> str:
    """`text` without line breaks and control characters, at most 500 characters."""
    flat = " ".join("".join(c if c.isprintable() or c.isspace() else "?" for c in text).split())
    return flat if len(flat) <= 500 else flat[:499] + "…"
