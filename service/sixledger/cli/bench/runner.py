"""Runs scenarios: starts the server, where it is one of its own, and the load; each is a process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sixledger.cli.bench.meter import database_pid
from sixledger.cli.bench.plan import Plan
from sixledger.cli.failures import Failure
from sixledger.service.store.urls import POSTGRES_SCHEMES

_START_S, _END_S = 60.0, 20.0
#: The longest line that a process may say: a result with its histograms.
_LINE = 64 << 20

#: Is told what happens and how far it is, 0 to 1.
Tell = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class OwnServer:
    """The server that is started for a scenario."""

    #: URL of the store; `sqlite`: a file in a folder that is removed afterwards. May hold a password.
    store: str
    cached_matches: int
    #: What carries the calls.
    transport: str = "grpcio"

    def __repr__(self) -> str:
        return f"OwnServer(cached_matches={self.cached_matches})"


async def measure(plan: Plan, server: OwnServer | None, tell: Tell) -> dict[str, Any]:
    """What the scenario found, for a server of its own or, without one, for that at `plan.address`. Raises Failure."""
    if server is None:
        return await _load(plan, tell)
    tell("starting the server", 0.0)
    async with _serving(server) as (address, pid):
        database = await _database(server.store)
        return await _load(replace(plan, address=address, server_pid=pid, database_pid=database), tell)


async def _database(store: str) -> int | None:
    """The process of the database, if it is PostgreSQL on this machine."""
    if not store.startswith(POSTGRES_SCHEMES):
        return None
    import asyncpg

    try:
        return await database_pid(store)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return None  # the server has reached it: only its processor time stays unknown


@asynccontextmanager
async def _serving(server: OwnServer) -> AsyncIterator[tuple[str, int]]:
    """A server while the block runs: its address and process."""
    with tempfile.TemporaryDirectory(prefix="sixledger-bench-", ignore_cleanup_errors=True) as folder:
        store = f"sqlite:{Path(folder) / 'matches.db'}" if server.store == "sqlite" else server.store
        wanted = {
            "data_dir": folder,
            "store": store,
            "cached_matches": server.cached_matches,
            "transport": server.transport,
        }
        async with _process("sixledger.cli.bench.server", wanted) as process:
            try:
                said = await asyncio.wait_for(_line(process), _START_S)
            except TimeoutError:
                raise Failure(f"the server did not start within {_START_S:.0f} seconds") from None
            if said is None or "failed" in said:
                raise Failure(f"the server did not start: {said['failed'] if said else 'it ended at once'}")
            yield said["address"], said["pid"]


async def _load(plan: Plan, tell: Tell) -> dict[str, Any]:
    """Run the load and pass on how far it is."""
    async with _process("sixledger.cli.bench.load", asdict(plan)) as process:
        try:
            async with asyncio.timeout(plan.limit_s):
                while (said := await _line(process)) is not None:
                    if "failed" in said:
                        raise Failure(said["failed"])
                    if "found" in said:
                        found: dict[str, Any] = said["found"]
                        return found
                    tell(said["doing"], said["share"])
        except TimeoutError:
            raise Failure(f"{plan.scenario} was not done after {plan.limit_s:.0f} seconds and was ended") from None
    raise Failure("the load ended without a result; SIXLEDGER_DEBUG=1 may show why")


@asynccontextmanager
async def _process(module: str, wanted: dict[str, Any]) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that gets `wanted` and ends with the block."""
    errors = None if os.environ.get("SIXLEDGER_DEBUG") else asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors, limit=_LINE,
        # Ctrl-C goes to the terminal's group: the command ends its processes itself, in order.
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps(wanted).encode() + b"\n")
        yield process
    finally:
        await _end(process)


async def _line(process: asyncio.subprocess.Process) -> dict[str, Any] | None:
    """What the process says next; None when it has ended."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    said: dict[str, Any] | None = json.loads(line) if line else None
    return said


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let a process end, or end it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        process.kill()
        await process.wait()
