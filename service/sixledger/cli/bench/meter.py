"""Whose processor time a window took: the server's, the load's own, the database's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psutil


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor seconds so far, and memory. None: not known, as for a server on another machine."""

    client_s: float
    server_s: float | None = None
    database_s: float | None = None
    server_bytes: int | None = None

    def since(self, earlier: Reading) -> Reading:
        """What was used since then; the memory is what it has grown by."""
        return Reading(
            self.client_s - earlier.client_s,
            _minus(self.server_s, earlier.server_s),
            _minus(self.database_s, earlier.database_s),
            int(self.server_bytes - earlier.server_bytes)
            if self.server_bytes is not None and earlier.server_bytes is not None
            else None,
        )


def _minus(now: float | None, then: float | None) -> float | None:
    return None if now is None or then is None else now - then


class Meter:
    """Reads the processor time of this process, of a server and of a database, each with its child processes."""

    def __init__(self, server_pid: int | None = None, database_pid: int | None = None) -> None:
        self._pids = (server_pid, database_pid)
        self._families: list[list[psutil.Process] | None] = [None, None]

    def look(self) -> None:
        """Find the child processes. It takes many milliseconds: not while anything is measured."""
        self._families = [_family(pid) for pid in self._pids]

    def read(self) -> Reading:
        """The time used so far by the processes that `look` found. One that has gone counts as unknown."""
        server, database = (_usage(family) for family in self._families)
        return Reading(
            time.process_time(),
            None if server is None else server[0],
            None if database is None else database[0],
            None if server is None else server[1],
        )


def _family(pid: int | None) -> list[psutil.Process] | None:
    """A process, first, and those that it started."""
    if pid is None:
        return None
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return None


def _usage(family: list[psutil.Process] | None) -> tuple[float, int] | None:
    """Processor seconds and memory in bytes of a process and those that it started."""
    if family is None:
        return None
    parent, *children = family
    try:
        times = parent.cpu_times()
        # Children that have ended are in their parent's account; those that live have their own.
        seconds = sum(getattr(times, name, 0.0) for name in ("user", "system", "children_user", "children_system"))
        memory = int(parent.memory_info().rss)
    except psutil.Error:
        return None
    for child in children:
        try:
            used = child.cpu_times()
            seconds += used.user + used.system
            memory += int(child.memory_info().rss)
        except psutil.Error:
            continue
    return float(seconds), memory


async def database_pid(dsn: str) -> int | None:
    """The process that leads a PostgreSQL, or None if it is elsewhere. Raises what asyncpg raises and OSError."""
    import asyncpg

    connection: Any = await asyncpg.connect(dsn, timeout=10)
    try:
        return _leader(int(await connection.fetchval("SELECT pg_backend_pid()")))
    finally:
        await connection.close(timeout=5)


def _leader(session: int) -> int | None:
    """The parent of a session's process, if it is of this machine: elsewhere the number means another process."""
    try:
        process = psutil.Process(session)
        leader = process.parent()
        if leader is None or not all("postgres" in each.name() for each in (process, leader)):
            return None
    except psutil.Error:
        return None
    return int(leader.pid)
