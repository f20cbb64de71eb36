"""The baseline: a service that answers at once, on the same server and through the same interceptors.

Only the server that `sixledger bench` starts for itself offers it. It takes and gives the messages of SubmitCommand; a
request says in `decision` how many bytes the reply is to have, so that messages of the same size go both ways. `Say`
sends what it was given to everybody who listens, on bare server streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import grpc
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2

SERVICE = "sixledger.bench.Echo"
#: An echo; the same on a stream, message by message; a bare server stream, and the call that feeds it.
ECHO, ECHOES, LISTEN, SAY = (f"/{SERVICE}/{name}" for name in ("Echo", "Echoes", "Listen", "Say"))


@cache
def _reply(size: int) -> pb.SubmitCommandResponse:
    """A reply of `size` bytes, or a few more."""
    head, hash_ = "h" * min(250, size // 3), bytes(32)
    body = bytes(max(size - len(head) - len(hash_) - 12, 0))
    return pb.SubmitCommandResponse(record=record_pb2.Record(body=body, hash=hash_), head=head)


def request(size: int, reply_size: int) -> bytes:
    """A request of `size` bytes, or a few more, for a reply of `reply_size`."""
    act = pb.Act(match_id=bytes(16), token="t" * 40, request_id=bytes(16))
    message = pb.SubmitCommandRequest(act=act, decision=reply_size)
    message.command = bytes(max(size - message.ByteSize() - 2, 0))
    return message.SerializeToString()


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


def methods() -> dict[str, Any]:
    """The methods by name. Messages are read and written in the handlers, as the product does."""
    channel = _Channel()
    return {
        "Echoes": grpc.stream_stream_rpc_method_handler(_echoes),
        "Listen": grpc.unary_stream_rpc_method_handler(channel.listen),
        "Say": grpc.unary_unary_rpc_method_handler(channel.say),
        "Echo": grpc.unary_unary_rpc_method_handler(_echo),
    }


def handler() -> Any:
    """The service, to be added to a server."""
    return grpc.method_handlers_generic_handler(SERVICE, methods())
