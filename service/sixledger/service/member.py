"""What a process that a supervisor has started says to it and hears from it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress


class Member:
    """A process among several. It ends in order at SIGTERM, or when its supervisor is gone."""

    def __init__(self, name: str, reports: int, control: int) -> None:
        """Made by the supervisor: file descriptors to write to it and to read from it."""
        #: "1", "2", … or "operator".
        self.name = name
        self._reports = reports
        self._control = control

    def ready(self, text: str = "") -> None:
        """Say that it does its work now. `text` is for whoever runs the supervisor."""
        self._say("ready", text, 0)

    def failed(self, text: str, status: int) -> None:
        """Say why it cannot do its work, before it ends."""
        self._say("failed", text, status)

    def _say(self, kind: str, text: str, status: int) -> None:
        with suppress(BrokenPipeError):  # the supervisor is gone; `listen` hears that, too
            os.write(self._reports, json.dumps([kind, text, status]).encode() + b"\n")

    def listen(self, stop: Callable[[], None], cut: Callable[[], None]) -> None:
        """From now on call `stop` to end in order, once or more often, and `cut` to wait for nothing any more.

        In the running event loop.
        """
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop)

        def hear() -> None:
            if os.read(self._control, 64):
                cut()
            else:  # nobody would start it again or stop it
                loop.remove_reader(self._control)
            stop()

        loop.add_reader(self._control, hear)
