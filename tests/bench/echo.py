"""The baseline of the unary benchmark: a service that answers at once, on the same server.

It takes and gives the messages of SubmitCommand; a request says in `decision` how many bytes the reply is to
have, so that messages of the same size go both ways.
"""

from __future__ import annotations

import struct
import time
from functools import cache
from typing import Any

import grpc
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2

_SERVICE = "sixledger.bench.Echo"
#: The methods: an echo, and the CPU time of the server's process in seconds (a big-endian double).
ECHO, USAGE = f"/{_SERVICE}/Echo", f"/{_SERVICE}/Usage"


@cache
def _reply(size: int) -> pb.SubmitCommandResponse:
    """A reply of `size` bytes, or a few more."""
    head, hash_ = "h" * min(250, size // 3), bytes(32)
    body = bytes(max(size - len(head) - len(hash_) - 12, 0))
    return pb.SubmitCommandResponse(record=record_pb2.Record(body=body, hash=hash_), head=head)


async def _echo(request: bytes, context: Any) -> bytes:
    return _reply(pb.SubmitCommandRequest.FromString(request).decision).SerializeToString()


async def _usage(request: bytes, context: Any) -> bytes:
    return struct.pack("!d", time.process_time())


def handler() -> Any:
    """The service, to be added to a server. Messages are read and written in the handler, as the product does."""
    methods = {
        "Echo": grpc.unary_unary_rpc_method_handler(_echo),
        "Usage": grpc.unary_unary_rpc_method_handler(_usage),
    }
    return grpc.method_handlers_generic_handler(_SERVICE, methods)
