"""How many durable appends the SQLite store takes: group commit against a transaction for each append.

Both go through the same store in the same run; only the size of a batch differs. Run it as a script,
or call `run`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from sixledger.service.store import Appended, Entry, MatchRow, SqliteSettings, SqliteStore

APPENDERS = 64
RECORD_BYTES = 600


async def _appender(store: SqliteStore, match_id: bytes, deadline: float, waits: list[float]) -> None:
    body = os.urandom(RECORD_BYTES)
    seq = 0
    while (begun := time.perf_counter()) < deadline:
        seq += 1
        request_id = os.urandom(16)
        result = await store.append(Entry(match_id, seq, body, kind=1, seat=seq % 5, request_id=request_id))
        if not isinstance(result, Appended):
            raise RuntimeError(f"append {seq} was refused: {type(result).__name__}")
        waits.append(time.perf_counter() - begun)


async def _measure(folder: Path, settings: SqliteSettings, seconds: float) -> dict[str, float]:
    path = folder / f"batch-{settings.max_batch}.db"
    async with SqliteStore(path, settings) as store:
        ids = [os.urandom(16) for _ in range(APPENDERS)]
        for number, match_id in enumerate(ids):
            row = MatchRow(match_id, "nimmt", 5, number, os.urandom(32), status=1, joined=0)
            await store.create(row, Entry(match_id, 0, b"", kind=0, seat=0, request_id=os.urandom(16)))
        waits: list[float] = []
        cpu, begun = time.process_time(), time.perf_counter()
        await asyncio.gather(*(_appender(store, match_id, begun + seconds, waits) for match_id in ids))
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        wal = path.with_name(path.name + "-wal").stat().st_size
    waits.sort()
    return {
        "appends_per_s": round(len(waits) / wall, 1),
        "cpu_us_per_append": round(cpu / len(waits) * 1e6, 2),
        "p50_ms": round(waits[len(waits) // 2] * 1e3, 3),
        "p99_ms": round(waits[len(waits) * 99 // 100] * 1e3, 3),
        "wal_mib": round(wal / 2**20, 1),
    }


def run(seconds: float = 2.0, folder: Path | None = None) -> dict[str, object]:
    """Measure for `seconds` each, in files below `folder` (default: the system's folder for temporary files).

    The file system decides the result: name a folder on the disk that is meant, not one in memory.
    """
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        single = asyncio.run(_measure(Path(temporary), SqliteSettings(max_batch=1), seconds))
        group = asyncio.run(_measure(Path(temporary), SqliteSettings(), seconds))
    return {
        "appenders": APPENDERS,
        "record_bytes": RECORD_BYTES,
        "single": single,
        "group": group,
        "ratio": round(group["appends_per_s"] / single["appends_per_s"], 2),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(float(sys.argv[1]) if sys.argv[1:] else 2.0), indent=2) + "\n")
