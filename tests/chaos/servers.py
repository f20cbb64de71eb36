"""A replica as the harness holds it: its process, its wires, and the orders that it gets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos.wire import Wire, to_port
from support.processes import free_port

#: Seconds for starting a server, or a database.
START_TIMEOUT_S = 60.0


class Replica:
    """One server, always on the same port, its wire to clients, and its wire to the database if there is one."""

    def __init__(self, name: str, folder: Path, settings: dict[str, Any], database: Wire | None) -> None:
        """Nothing is started yet."""
        self.name = name
        self.folder = folder
        self._port = free_port()
        self._settings = {**settings, "listen": f"127.0.0.1:{self._port}"}
        self.database = database
        self.clients = Wire(to_port(self._port))
        #: Of the next process; `order` changes the running one.
        self.skew_s = 0.0
        self.starts = 0
        #: Exit statuses of processes that ended on their own, once they had listened.
        self.crashes: list[int] = []
        #: One fault at a time.
        self.lock = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start, as often as it needs: a server whose database is away ends at once. Returns when it listens."""
        until = time.monotonic() + START_TIMEOUT_S
        while True:
            process = self._spawn()
            while process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=0.2):
                    self.starts += 1
                    return
                await asyncio.sleep(0.05)
                if time.monotonic() > until:
                    raise AssertionError(f"{self.name} does not start:\n{self.log()[-2000:]}")
            await asyncio.sleep(0.2)

    def _spawn(self) -> subprocess.Popen[bytes]:
        script = str(Path(__file__).with_name("replica.py"))
        command = [sys.executable, script, json.dumps({**self._settings, "skew_s": self.skew_s})]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        self._close_orders()
        self._process = process
        return process

    def _close_orders(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def order(self, line: str) -> None:
        """Tell the running process; see `replica`. One that has gone does not hear it."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

    @property
    def running(self) -> bool:
        """True if its process is there, stopped or not."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            if self._process.poll() is not None:
                self.crashes.append(self._process.returncode)
            self._process.kill()
            self._process.wait()
            self._close_orders()
            self._process = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal: SIGSTOP or SIGCONT."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)

    def log(self) -> str:
        """Everything that its processes have written."""
        return (self.folder / f"{self.name}.log").read_text(encoding="utf-8", errors="replace")

    def defects(self) -> Iterator[str]:
        """The lines of the log that only a defect writes."""
        for line in self.log().splitlines():
            if '"INTERNAL"' in line or '"DATA_LOSS"' in line or '"news_not_read"' in line:
                yield f"{self.name}: {line[:1000]}"
