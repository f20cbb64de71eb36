"""`sixledger serve --workers N` as a process, with its workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

from sixledger.client import AsyncClient, Settings
from support.operators import Sample, page_at, samples
from support.processes import free_port

_PATIENCE_S = 20.0
_numbers = count(1)


class WorkersProcess:
    """Serves on a free port of this machine, with the operator port on another."""

    def __init__(self, folder: Path, store: str, *, workers: int = 2, **settings: str) -> None:
        """Keep keys and log in `folder`. `settings` are further ones, by name."""
        folder.mkdir(exist_ok=True)
        self.address, self.operator = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        values = {
            "listen": self.address,
            "admin_listen": self.operator,
            "data_dir": str(folder / "data"),
            "origin": "e2e.test",
            "store": store,
            "workers": str(workers),
            **settings,
        }
        self._environment = {**os.environ, **{f"SIXLEDGER_{name.upper()}": text for name, text in values.items()}}
        self._log = folder / "workers.log"
        self._out = folder / "workers.out"
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Start, without waiting."""
        command = [str(Path(sys.executable).with_name("sixledger")), "serve"]
        with self._log.open("wb") as log, self._out.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log, env=self._environment)

    async def ready(self, workers: int | None = None) -> None:
        """Wait until the operator port says that all workers are ready, and so many have become so."""
        async with asyncio.timeout(_PATIENCE_S):
            while self.process.poll() is None:
                try:
                    status, _ = await page_at(self.operator, "/readyz")
                except OSError:
                    status = 0
                if status == 200 and (workers is None or len(self.told("member_ready", "pid")) >= workers):
                    return
                await asyncio.sleep(0.05)
        raise AssertionError(f"it has ended:\n{self.log()}")

    def log(self) -> str:
        """What the processes have logged."""
        return self._log.read_text(encoding="utf-8")

    def out(self) -> str:
        """What the command has printed."""
        return self._out.read_text(encoding="utf-8")

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log that are whole."""
        found = [line for line in self.log().splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")]
        return [json.loads(line) for line in found]

    def told(self, event: str, field: str) -> list[Any]:
        """A field of every event of a kind."""
        return [line[field] for line in self.lines() if line["event"] == event and field in line]

    def pids(self) -> dict[str, int]:
        """The process ids of all members, by name, as they were last told."""
        return {line["member"]: line["pid"] for line in self.lines() if line["event"] == "member_ready"}

    def threads(self) -> int:
        """Threads of the process that was started; 0 where the system does not tell."""
        status = Path(f"/proc/{self.process.pid}/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
        return next((int(line.split()[1]) for line in lines if line.startswith("Threads:")), 0)

    async def metrics(self) -> Sample:
        """The metrics of all workers."""
        status, text = await page_at(self.operator, "/metrics")
        assert status == 200
        return samples(text)

    def client(self) -> AsyncClient:
        """A client with a connection of its own: gRPC shares one between channels with the same options."""
        return AsyncClient(self.address, settings=Settings(max_message=(16 << 20) + next(_numbers)))

    async def client_at(self, worker: str) -> AsyncClient:
        """A client whose connection ended up at a worker."""

        async def calls() -> float:
            return (await self.metrics()).of(
                "sixledger_calls_total", worker=worker, method="/sixledger.v1.CatalogService/GetOrigin", code="OK"
            )

        for _ in range(64):
            client, before = self.client(), await calls()
            await client.catalog.origin()
            if await calls() > before:
                return client
            await client.close()
        raise AssertionError(f"no connection reached worker {worker}")

    def signal(self, number: signal.Signals) -> None:
        """Signal the process that was started."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status of the process that was started."""
        return self.process.wait(_PATIENCE_S)

    def __enter__(self) -> WorkersProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
