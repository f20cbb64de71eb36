"""The PostgreSQL store: appends in groups beside an INSERT each, commands and play streams as in the other benchmarks.

The server is the one of the tests (`support.postgres`), or that of SIXLEDGER_TEST_DSN, on this machine or another.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
from bench import stream_bench, unary_bench
from bench.measure import Comparison, Figure, Report, Spread
from bench.unary_server import STORE
from sixledger.service.store import Appended, Entry, MatchRow
from sixledger.service.store.postgres import PostgresStore
from sixledger.service.store.postgres_sql import APPEND
from support.postgres import drop_database, new_database, start

APPENDERS = 64
RECORD_BYTES = 600

#: Appends an entry, or raises.
Append = Callable[[Entry], Awaitable[None]]


async def _appender(append: Append, match_id: bytes, first: int, deadline: float, waits: list[float]) -> None:
    body, seq = os.urandom(RECORD_BYTES), first
    while (begun := time.perf_counter()) < deadline:
        await append(Entry(match_id, seq, body, kind=1, seat=seq % 5, request_id=os.urandom(16)))
        waits.append(time.perf_counter() - begun)
        seq += 1


async def _window(append: Append, ids: list[bytes], first: int, seconds: float) -> dict[str, float]:
    waits: list[float] = []
    cpu, begun = time.process_time(), time.perf_counter()
    await asyncio.gather(*(_appender(append, match_id, first, begun + seconds, waits) for match_id in ids))
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    waits.sort()
    return {
        "per_s": len(waits) / wall,
        "cpu_us": cpu / len(waits) * 1e6,
        "p99_ms": waits[len(waits) * 99 // 100] * 1e3,
    }


async def _appends(url: str, rounds: int, seconds: float) -> list[dict[str, dict[str, float]]]:
    """For each round: the store, and an INSERT for each append on as many connections as there are appenders."""
    async with (
        PostgresStore(url) as store,
        asyncpg.create_pool(url, min_size=APPENDERS, max_size=APPENDERS) as pool,
    ):

        async def grouped(entry: Entry) -> None:
            if not isinstance(await store.append(entry), Appended):
                raise RuntimeError(f"append {entry.seq} was refused")

        async def single(entry: Entry) -> None:
            columns = ([entry.match_id], [entry.seq], [entry.kind], [entry.seat], [entry.request_id], [entry.record])
            async with pool.acquire() as connection:
                if len(await connection.fetch(APPEND, *columns)) != 1:
                    raise RuntimeError(f"append {entry.seq} was refused")

        found = []
        for _ in range(rounds):
            windows = {}
            for name, append in (("group", grouped), ("single", single)):
                ids = [os.urandom(16) for _ in range(APPENDERS)]
                for number, match_id in enumerate(ids):
                    row = MatchRow(match_id, "nimmt", 5, number, bytes(32), status=1, joined=0)
                    await store.create(row, Entry(match_id, 0, b"", kind=0, seat=0, request_id=bytes(16)))
                windows[name] = await _window(append, ids, 1, seconds)
            found.append(windows)
        return found


@contextlib.contextmanager
def _database(url: str | None, folder: Path) -> Iterator[str]:
    """A database with tables: the given one, or a new one of a server that ends with the block."""
    if url is not None:
        yield url
        return
    server = start(folder)
    try:
        made = new_database(server)
        yield made
        drop_database(server, made)
    finally:
        server.stop()


@contextlib.contextmanager
def _servers_use(url: str) -> Iterator[None]:
    """Let the servers of the benchmarks keep their matches there."""
    os.environ[STORE] = url
    try:
        yield
    finally:
        del os.environ[STORE]


def run(folder: Path, rounds: int = 5, seconds: float = 1.5, workers: int = 64, url: str | None = None) -> Report:
    """Measure with a database whose files lie in `folder`, or with that of `url`."""
    with _database(url, folder) as database:
        appends = asyncio.run(_appends(database, rounds, seconds))
        with _servers_use(database):
            unary = unary_bench.measure(folder, rounds, seconds, workers)["windows"]
            timeout_s = (rounds + 1) * (6 * seconds + 60)
            streams = stream_bench._measure(folder, "bench.stream_load", rounds, seconds, workers, timeout_s=timeout_s)[
                "windows"
            ]

    def pairs(windows: list[dict[str, dict[str, float]]], one: str, two: str, what: str) -> list[tuple[float, float]]:
        return [(each[one][what], each[two][what]) for each in windows]

    def rate(name: str, base: str, each: list[tuple[float, float]], reach: float | None, unit: str) -> Comparison:
        return Comparison.of(name, base, unit, each, reach=reach, low_is_good=False)

    group, single = "durable appends to PostgreSQL, group commit", f"an INSERT each, on {APPENDERS} connections"
    command, echo = "unary command, durable in PostgreSQL", "unary echo, same server and sizes"
    play, ten = "command on play streams, durable in PostgreSQL", "ten commands a message, durable in PostgreSQL"
    return Report(
        [
            rate(group, single, pairs(appends, "group", "single", "per_s"), None, "appends/s"),
            Comparison.of(f"{group}: CPU time", single, "µs", pairs(appends, "group", "single", "cpu_us")),
            rate(command, echo, pairs(unary, "command", "echo", "calls_per_s"), 0.45, "calls/s"),
            Comparison.of(f"{command}: CPU time", echo, "µs", pairs(unary, "command", "echo", "server_us")),
            rate(play, command, pairs(streams, "play", "unary", "calls_per_s"), 2.2, "calls/s"),
            rate(ten, command, pairs(streams, "ten", "unary", "calls_per_s"), None, "calls/s"),
        ],
        [
            _figure("wait for an append to PostgreSQL, 99 %", "ms", appends, "group", "p99_ms"),
            _figure("wait for a command in PostgreSQL, median", "ms", unary, "command", "p50_ms"),
            _figure("wait for a command in PostgreSQL, 99 %", "ms", unary, "command", "p99_ms"),
            _figure("wait for a command on a play stream in PostgreSQL, 99 %", "ms", streams, "play", "p99_ms"),
        ],
    )


def _figure(name: str, unit: str, windows: list[dict[str, dict[str, float]]], kind: str, what: str) -> Figure:
    return Figure(name, unit, Spread.of([each[kind][what] for each in windows]))
