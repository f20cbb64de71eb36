"""Appends to a store as fast as it can and prints each confirmed record, until it is killed.

Usage: crash_writer.py DATABASE. A line of the output is `match id, seq, record`, in hexadecimal where bytes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count

from sixledger.service.store import Appended, Entry, MatchRow, SqliteSettings, SqliteStore


async def _append(store: SqliteStore) -> None:
    match_id = os.urandom(16)
    for seq in count():
        record = os.urandom(200)
        entry = Entry(match_id, seq, record, kind=1, seat=seq % 5, request_id=record[:16], status=seq, joined=seq)
        if seq:
            confirmed = await store.append(entry) == Appended()
        else:
            row = MatchRow(match_id, "nimmt", 5, 0, bytes(32), status=0, joined=0)
            confirmed = await store.create(row, entry)
        if not confirmed:
            raise RuntimeError("refused")
        os.write(1, f"{match_id.hex()} {seq} {record.hex()}\n".encode())


async def _main() -> None:
    # Checkpoints and new starts of the log all the time, so that a kill meets them too.
    settings = SqliteSettings(checkpoint_bytes=200_000, wal_restart_bytes=100_000)
    async with SqliteStore(sys.argv[1], settings) as store:
        await asyncio.gather(*(_append(store) for _ in range(16)))


if __name__ == "__main__":
    asyncio.run(_main())
