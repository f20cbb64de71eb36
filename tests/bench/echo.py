"""The baselines of the benchmarks over gRPC: the echo of `sixledger bench`, and what the server's process used."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

import grpc
from sixledger.cli.bench.echo import ECHO, ECHOES, LISTEN, SAY, SERVICE, methods

__all__ = ["ECHO", "ECHOES", "LISTEN", "SAY", "USAGE", "handler"]

#: The CPU time of the server's process in seconds and its memory in bytes (big-endian doubles).
USAGE = f"/{SERVICE}/Usage"


async def _usage(request: bytes, context: Any) -> bytes:
    return struct.pack("!dd", time.process_time(), _resident())


def _resident() -> float:
    """Memory of this process in bytes; 0 where the system does not tell."""
    try:
        return float(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0.0


def handler() -> Any:
    """The service, to be added to a server."""
    usage = grpc.unary_unary_rpc_method_handler(_usage)
    return grpc.method_handlers_generic_handler(SERVICE, {**methods(), "Usage": usage})
