"""The server of a benchmark, a process of its own: the product as `sixledger serve` runs it, with the echo beside it.

Reads its settings as a line of JSON, so that no password stands in the list of processes; says its address, or why it
cannot serve; ends with the process that started it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from sixledger.cli.bench import pipes
from sixledger.cli.bench.echo import handler
from sixledger.service.config import Settings
from sixledger.service.process import run
from sixledger.service.server import Server
from sixledger.service.store import StoreError


def _started(server: Server) -> None:
    # No setting offers the echo: only this process does.
    server._transport.add_generic_rpc_handlers((handler(),))
    pipes.say(address=server.address, pid=os.getpid())


def main() -> int:
    """Serve until told to end."""
    wanted = pipes.heard()
    pipes.when_left(lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        settings = Settings(
            listen="127.0.0.1:0",
            data_dir=Path(wanted["data_dir"]),
            store=wanted["store"],
            cached_matches=wanted["cached_matches"],
            transport=wanted.get("transport", "grpcio"),
            postgres_migrate="yes",
            # Matches are opened by the thousand: a line for each would be measured too.
            log_level="warning",
            grace_s=1.0,
        )
        run(settings, started=_started)
    except (StoreError, ValueError, OSError) as error:
        pipes.say(failed=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
