"""How the processes of a benchmark talk: a line of JSON each, on standard input and output."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any


def heard() -> Any:
    """The line that the process was started with."""
    return json.loads(sys.stdin.readline())


def say(**content: Any) -> None:
    """Tell the process that started this one."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def when_left(leave: Callable[[], None]) -> None:
    """Call `leave`, in a thread, once the process that started this one has gone or wants it to end."""

    def wait() -> None:
        # Not through sys.stdin: a thread that holds its lock while the interpreter ends is fatal.
        while os.read(sys.stdin.fileno(), 1):
            pass
        leave()

    threading.Thread(target=wait, daemon=True).start()
