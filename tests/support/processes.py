"""Processes for the end-to-end tests: a server that can be killed, and a proxy that can lose replies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

#: Kept short: a killed server has to come back many times.
_START_TIMEOUT_S = 20.0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """`sixledger serve` on SQLite, or on the `store` of a URL, always on the same port and the same files."""

    def __init__(self, folder: Path, store: str = "", *, keys: Path | None = None) -> None:
        """Keep everything in `folder`, but for the store and the keys if they are named; nothing is started yet."""
        self._folder = folder
        self._environment = {**os.environ, "SIXLEDGER_STORE": store, "SIXLEDGER_KEY_FILE": str(keys or "")}
        self.port = free_port()
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and return when it listens."""
        self.starts += 1
        command = Path(sys.executable).with_name("sixledger")
        arguments = ["serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", str(self._folder / "data")]
        arguments += ["--origin", "e2e.test", "--log-level", "warning"]
        self._folder.mkdir(exist_ok=True)
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([command, *arguments], stdout=log, stderr=log, env=self._environment)
        until = time.monotonic() + _START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=0.2):
                return
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the server did not start:\n{(self._folder / 'server.log').read_text()}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it in order. It must leave with status 0."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            status = self._process.wait(timeout=_START_TIMEOUT_S)
            self._process = None
            assert status == 0, f"status {status}"

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()


class LossyProxy:
    """Passes bytes to a server and back. Once `lose` is set, requests still pass and replies do not."""

    def __init__(self, port: int, *, delay_s: float = 0.0) -> None:
        """Stand before the server on `port` of this machine; a new connection is passed on after `delay_s`."""
        #: The port that is passed on to; new connections go there.
        self.target = port
        self._delay_s = delay_s
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.lose = False
        #: Bytes of replies that were lost.
        self.lost = 0

    async def cut(self) -> None:
        """Reset every connection."""
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._delay_s)
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, up_writer}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pass(reader, up_writer, replies=False))
                tasks.create_task(self._pass(up_reader, writer, replies=True))
        finally:
            for each in (writer, up_writer):
                self._writers.discard(each)
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if replies and self.lose:
                    self.lost += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def __aenter__(self) -> LossyProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            await self.cut()
            await asyncio.sleep(0.05)


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that this test started, at once."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
