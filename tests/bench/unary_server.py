"""The server of the unary benchmark: the product as `sixledger serve` runs it, with the echo beside it.

    python -m bench.unary_server <folder for store and keys> [<port>]

The store is SQLite, or what the variable SIXLEDGER_BENCH_STORE names; the transport is that of SIXLEDGER_TRANSPORT.
Prints its address once it answers, and serves until SIGTERM.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.echo import handler
from sixledger.service.config import Settings
from sixledger.service.process import run
from sixledger.service.server import Server

#: Names another store.
STORE = "SIXLEDGER_BENCH_STORE"


def _started(server: Server) -> None:
    server._transport.add_generic_rpc_handlers((handler(),))
    sys.stdout.write(f"{server.address}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # Matches are opened between the windows: a line for each would only fill the terminal.
    settings = Settings(
        listen=f"127.0.0.1:{sys.argv[2] if len(sys.argv) > 2 else 0}",
        data_dir=Path(sys.argv[1]),
        log_level="warning",
        cached_matches=8192,
        store=os.environ.get(STORE, ""),
        transport=os.environ.get("SIXLEDGER_TRANSPORT", "grpcio"),
    )
    run(settings, started=_started)
