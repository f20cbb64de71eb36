"""The baselines of the benchmarks over gRPC: a service that answers at once, on the same server.

It takes and gives the messages of SubmitCommand; a request says in `decision` how many bytes the reply is to
have, so that messages of the same size go both ways. `Tell` sends what `Say` was given to everybody who listens.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import grpc
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2

_SERVICE = "sixledger.bench.Echo"
#: The methods: an echo; the CPU time of the server's process in seconds and its memory in bytes (big-endian doubles).
ECHO, USAGE = f"/{_SERVICE}/Echo", f"/{_SERVICE}/Usage"
#: The same on a stream, message by message; and a bare server stream with the call that feeds it.
ECHOES, LISTEN, SAY = f"/{_SERVICE}/Echoes", f"/{_SERVICE}/Listen", f"/{_SERVICE}/Say"


@cache
def _reply(size: int) -> pb.SubmitCommandResponse:
    """A reply of `size` bytes, or a few more."""
    head, hash_ = "h" * min(250, size // 3), bytes(32)
    body = bytes(max(size - len(head) - len(hash_) - 12, 0))
    return pb.SubmitCommandResponse(record=record_pb2.Record(body=body, hash=hash_), head=head)


async def _echo(request: bytes, context: Any) -> bytes:
    return _reply(pb.SubmitCommandRequest.FromString(request).decision).SerializeToString()


async def _echoes(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
    async for request in requests:
        yield _reply(pb.SubmitCommandRequest.FromString(request).decision).SerializeToString()


class _Channel:
    """What is said to all listeners: the newest message, and its number."""

    def __init__(self) -> None:
        self.number = 0
        self.message = b""
        self.waiting: list[asyncio.Future[None]] = []

    async def say(self, request: bytes, context: Any) -> bytes:
        self.number += 1
        self.message = request
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            if not future.done():  # else its listener has left
                future.set_result(None)
        return b""

    async def listen(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        number = self.number
        yield b""
        while True:
            if number == self.number:
                future = asyncio.get_running_loop().create_future()
                self.waiting.append(future)
                await future
            number += 1
            yield self.message


async def _usage(request: bytes, context: Any) -> bytes:
    return struct.pack("!dd", time.process_time(), _resident())


def _resident() -> float:
    """Memory of this process in bytes; 0 where the system does not tell."""
    try:
        return float(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0.0


def handler() -> Any:
    """The service, to be added to a server. Messages are read and written in the handler, as the product does."""
    channel = _Channel()
    methods = {
        "Echoes": grpc.stream_stream_rpc_method_handler(_echoes),
        "Listen": grpc.unary_stream_rpc_method_handler(channel.listen),
        "Say": grpc.unary_unary_rpc_method_handler(channel.say),
        "Echo": grpc.unary_unary_rpc_method_handler(_echo),
        "Usage": grpc.unary_unary_rpc_method_handler(_usage),
    }
    return grpc.method_handlers_generic_handler(_SERVICE, methods)
