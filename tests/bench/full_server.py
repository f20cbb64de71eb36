"""The server of the benchmark of everything: the product with API keys, limits, logs and metrics, or bare.

    python -m bench.full_server <folder for store and keys> bare|full

Prints its address once it answers, and the API key that its callers show (bare: a dash). Serves until SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bench.echo import handler
from sixledger.service.api_keys import ApiKeys
from sixledger.service.config import Settings
from sixledger.service.matches import wall_clock
from sixledger.service.process import run
from sixledger.service.server import Server
from sixledger.v1 import access_service_pb2

_MANY = 1_000_000_000


def settings(folder: Path, *, full: bool) -> Settings:
    """What is on: everything, with limits that count but turn nobody away; or as little as possible."""
    if not full:
        return Settings(listen="127.0.0.1:0", data_dir=folder, log_level="warning", cached_matches=8192)
    return Settings(
        listen="127.0.0.1:0",
        data_dir=folder,
        log_level="info",
        cached_matches=8192,
        admin_listen="127.0.0.1:0",
        create_needs_key="yes",
        calls_per_second=_MANY,
        max_open_matches=_MANY,
        max_streams_per_caller=_MANY,
    )


async def _tell(server: Server, *, full: bool) -> None:
    key = "-"
    if full:
        keys = ApiKeys(server.host.store, wall_clock)
        key, _ = await keys.add("load", [access_service_pb2.API_SCOPE_CREATE])
    server._transport.add_generic_rpc_handlers((handler(),))
    sys.stdout.write(f"{server.address} {key}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    everything = sys.argv[2] == "full"
    with (Path(sys.argv[1]) / "log").open("wb") as log:  # where a service manager would put it
        os.dup2(log.fileno(), 2)
    telling: list[asyncio.Task[None]] = []
    run(
        settings(Path(sys.argv[1]), full=everything),
        started=lambda server: telling.append(asyncio.ensure_future(_tell(server, full=everything))),
    )
