"""What the nemesis breaks: replicas in processes of their own, the wires to them and to the database, and the disk."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.disk import Disk, small_disk
from chaos.servers import START_TIMEOUT_S, Replica
from chaos.wire import State, Wire, through, to_database
from sixledger.service.keyring import Keyring
from support import postgres

ORIGIN = "chaos.test"


@dataclass
class Cluster:
    """Replicas that share a store, all of them running."""

    store: str
    replicas: list[Replica]
    disk: Disk
    keyring: Keyring
    server: postgres.PostgresServer | None = None
    #: Faults of the database one at a time.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def target(self, order: Sequence[int]) -> str:
        """A gRPC target that tries the replicas in this order, through their wires."""
        return "ipv4:" + ",".join(f"127.0.0.1:{self.replicas[index].clients.port}" for index in order)

    async def restart_database(self) -> None:
        """End every session at once, as a crash does, and come back."""
        assert self.server is not None
        with contextlib.suppress(Exception):  # one that is down already cannot be stopped
            await asyncio.to_thread(self.server.restart)
        await self.revive_database()

    async def revive_database(self) -> None:
        """See that the database runs: one that has met a full disk does not come back by itself."""
        assert self.server is not None
        until = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                await asyncio.wait_for(postgres.ask(self.server.url, lambda each: each.fetchval("SELECT 1")), 5)
                return
            except Exception:
                if time.monotonic() > until:
                    raise
            with contextlib.suppress(Exception):
                await asyncio.to_thread(self.server.restart)
            await asyncio.sleep(0.5)

    async def heal(self) -> None:
        """End every fault; whoever was down runs again."""
        self.disk.free()
        if self.server is not None:
            await self.revive_database()
        for replica in self.replicas:
            for wire in (replica.clients, replica.database):
                if wire is not None:
                    wire.delay_s = 0.0
                    wire.set(State.OPEN)
            replica.signal(signal.SIGCONT)
            if not replica.running:
                replica.kill()
                await replica.start()
            for line in ("drop 0", "files -1"):
                replica.order(line)

    async def forget(self) -> None:
        """Kill every server and start it anew: what is known from then on is what is kept."""
        for replica in self.replicas:
            await asyncio.to_thread(replica.kill)
        await asyncio.gather(*(replica.start() for replica in self.replicas))


def _settings(folder: Path, keys: Path, store: str) -> dict[str, Any]:
    return {
        "data_dir": str(folder),
        "key_file": str(keys),
        "store": store,
        "origin": ORIGIN,
        "heartbeat_s": 3.0,
        "grace_s": 1.0,
        "slow_call_s": 1000.0,
        "postgres_statement_timeout_s": 4.0,
        "postgres_retry_s": 3.0,
    }


@asynccontextmanager
async def on_postgres(folder: Path, count: int) -> AsyncIterator[Cluster]:
    """So many replicas on a PostgreSQL of their own, whose files lie on a small disk if that is possible."""
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(folder / "disk", 400))
        if disk.mounted and not postgres.source().startswith("the wheel"):
            disk.mounted = False  # the files of that server lie elsewhere
        server = await asyncio.to_thread(postgres.start, disk.folder)
        stack.callback(server.stop)
        if disk.mounted:
            await postgres.ask(server.url, _keep_log_small)
        store = await asyncio.to_thread(postgres.new_database, server)
        keyring = _keys(folder)
        cluster = Cluster(store, [], disk, keyring, server)
        for index in range(count):
            wire = await stack.enter_async_context(Wire(to_database(store)))
            settings = _settings(folder, folder / "keys.json", through(store, wire))
            cluster.replicas.append(Replica(f"replica-{index}", folder, settings, wire))
        await _started(cluster, stack)
        yield cluster


async def _keep_log_small(connection: Any) -> None:
    """The write-ahead log may by default take more than the small disk has."""
    await connection.execute("ALTER SYSTEM SET max_wal_size = '96MB'")
    await connection.execute("SELECT pg_reload_conf()")


@asynccontextmanager
async def on_sqlite(folder: Path) -> AsyncIterator[Cluster]:
    """One server on SQLite, whose file lies on a small disk if that is possible."""
    async with AsyncExitStack() as stack:
        disk = stack.enter_context(small_disk(folder / "disk", 48))
        keyring = _keys(folder)
        store = f"sqlite:{disk.folder / 'matches.db'}"
        settings = _settings(folder, folder / "keys.json", store)
        cluster = Cluster(store, [Replica("server", folder, settings, None)], disk, keyring)
        await _started(cluster, stack)
        yield cluster


def _keys(folder: Path) -> Keyring:
    keyring = Keyring.generate()
    keyring.save(folder / "keys.json")
    return keyring


async def _started(cluster: Cluster, stack: AsyncExitStack) -> None:
    for replica in cluster.replicas:
        await stack.enter_async_context(replica.clients)
        stack.callback(replica.kill)
        await replica.start()


def remove(folder: Path) -> None:
    """Remove what a run has left."""
    shutil.rmtree(folder, ignore_errors=True)
