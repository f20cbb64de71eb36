"""The transport seam: plain servicers on one side, grpc.aio on the other.

A servicer has a coroutine method for each call, named like it: it takes a message (or iterates messages)
and returns one (or yields some), and raises ServiceError. Messages are read and written here, not by the
transport, so that bytes that are no message get a reason like every other error. A servicer that has its
replies as bytes gives or yields them from a method named `<call>Encoded` beside the other one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from sixledger.service.errors import malformed

M = TypeVar("M", bound=Message)


def handler_of(service: ServiceDescriptor, servicer: object) -> Any:
    """The grpc handler of a service whose calls `servicer` answers. Raises TypeError if one is missing."""
    handlers = {}
    for method in service.methods:
        behaviour = getattr(servicer, method.name, None)
        if behaviour is None:
            raise TypeError(f"{type(servicer).__name__} does not have {method.full_name}")
        handlers[method.name] = _handler(method, getattr(servicer, f"{method.name}Encoded", behaviour))
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _handler(method: MethodDescriptor, behaviour: Callable[[Any], Any]) -> Any:
    read = _reader(message_factory.GetMessageClass(method.input_type))
    if method.client_streaming and method.server_streaming:

        async def stream_stream(requests: Any, context: Any) -> None:
            async with aclosing(behaviour(_Requests(context.read, read))) as replies:
                await _write(replies, context.write)

        return grpc.stream_stream_rpc_method_handler(stream_stream)

    if method.client_streaming:

        async def stream_unary(requests: AsyncIterator[bytes], context: Any) -> bytes:
            reply: Message = await behaviour(read(data) async for data in requests)
            return reply.SerializeToString()

        return grpc.stream_unary_rpc_method_handler(stream_unary)
    if method.server_streaming:

        async def unary_stream(data: bytes, context: Any) -> None:
            async with aclosing(behaviour(read(data))) as replies:
                await _write(replies, context.write)

        return grpc.unary_stream_rpc_method_handler(unary_stream)

    async def unary_unary(data: bytes, context: Any) -> bytes:
        reply: Message | bytes = await behaviour(read(data))
        return reply if isinstance(reply, bytes) else reply.SerializeToString()

    return grpc.unary_unary_rpc_method_handler(unary_unary)


async def _write(replies: AsyncIterator[Message | bytes], write: Callable[[bytes], Awaitable[None]]) -> None:
    """Send replies as they come. The next one is asked for when the transport has taken the one before."""
    async for reply in replies:
        await write(reply if type(reply) is bytes else reply.SerializeToString())  # type: ignore[union-attr]


class _Requests:
    """The requests of a stream that goes both ways."""

    __slots__ = ("_parse", "_read")

    def __init__(self, read: Callable[[], Awaitable[Any]], parse: Callable[[bytes], Message]) -> None:
        """`read` waits for the bytes of the next one."""
        self._read = read
        self._parse = parse

    def __aiter__(self) -> _Requests:
        return self

    async def __anext__(self) -> Any:
        data = await self._read()
        if type(data) is not bytes:  # the mark of grpc.aio that the client has half-closed
            raise StopAsyncIteration
        return self._parse(data)


def _reader(kind: type[M]) -> Callable[[bytes], M]:
    parse = kind.FromString

    def read(data: bytes) -> M:
        try:
            return parse(data)
        except DecodeError:
            raise malformed("", f"the request cannot be read as {kind.DESCRIPTOR.full_name}") from None

    return read
