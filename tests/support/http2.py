"""A client of HTTP/2 that does as it is told, also what no client of gRPC would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from types import MappingProxyType
from typing import Any

import grpc
import ngh2
from sixledger.service.config import Settings
from sixledger.service.http2.framing import framed
from sixledger.service.http2.server import Http2Server

#: Headers of a call.
HEADERS = {
    b":method": b"POST",
    b":scheme": b"http",
    b":authority": b"test.example",
    b":path": b"/",  # those with a colon come first
    b"te": b"trailers",
    b"content-type": b"application/grpc",
}


class RawClient:
    """One connection. `engine` is at the disposal of the test; `flush` sends what it made."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: Mapping[ngh2.Setting, int]
    ) -> None:
        self.engine = ngh2.Connection(
            ngh2.Role.CLIENT, ngh2.Configuration(auto_window_update=False, max_send_header_block_length=1 << 20)
        )
        self.engine.initiate_connection(settings)
        self.events: list[Any] = []
        self.reader = reader
        self.writer = writer

    async def flush(self) -> None:
        """Send what the engine has to say."""
        self.writer.write(self.engine.data_to_send())
        await self.writer.drain()

    async def call(self, path: bytes, *messages: bytes, end: bool = True, **changes: bytes | None) -> int:
        """Begin a call; its stream. `changes` replace headers, None leaves one out."""
        changed = {name.replace("_", "-").encode(): value for name, value in changes.items()}
        headers = {**HEADERS, b":path": path, **changed}
        stream = self.engine.send_request([(name, value) for name, value in headers.items() if value is not None])
        for message in messages:
            self.engine.send_data(stream, framed(message))
        if end:
            self.engine.end_stream(stream)
        await self.flush()
        return stream

    async def nothing(self, seconds: float, *kinds: type) -> None:
        """Take what comes for that time: no event of these kinds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                event = await self.until(lambda event: isinstance(event, kinds))
                raise AssertionError(f"there is a {type(event).__name__}")

    async def until(self, found: Callable[[Any], bool]) -> Any:
        """The next event that is looked for."""
        async with asyncio.timeout(10):
            while True:
                for event in self.events:
                    if found(event):
                        self.events.remove(event)
                        return event
                data = await self.reader.read(65536)
                if not data:
                    raise EOFError("the server has closed the connection")
                try:
                    self.engine.receive_data(data)
                except ngh2.ConnectionStateError:
                    raise EOFError("the server has ended the connection") from None
                self.events += self.engine.events()
                await self.flush()

    async def status(self, stream: int) -> tuple[str, str]:
        """The `grpc-status` and the message of a call."""

        def ends(event: Any) -> bool:
            return (
                isinstance(event, ngh2.TrailersReceived | ngh2.ResponseReceived)
                and event.stream_id == stream
                and b"grpc-status" in dict(event.headers)
            )

        trailers = dict((await self.until(ends)).headers)
        return trailers[b"grpc-status"].decode(), trailers.get(b"grpc-message", b"").decode()


@asynccontextmanager
async def raw_client(
    port: int, settings: Mapping[ngh2.Setting, int] = MappingProxyType({})
) -> AsyncIterator[RawClient]:
    """A connection to a port of this machine, with these settings of HTTP/2."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = RawClient(reader, writer, settings)
    try:
        await client.flush()
        yield client
    finally:
        writer.close()


@asynccontextmanager
async def handling(settings: Settings, **handlers: Any) -> AsyncIterator[tuple[Http2Server, int]]:
    """A server of nothing but these handlers, as `/test.Test/NAME`, and its port."""
    server = Http2Server(settings)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Test", handlers),))
    port = await server.listen()
    await server.start()
    try:
        yield server, port
    finally:
        await server.stop(0)


@contextmanager
def no_complaints() -> Iterator[None]:
    """No exception may reach the event loop, which would end a connection for all its calls, or leave it half dead."""
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        yield
    finally:
        loop.set_exception_handler(None)
    assert not complaints


#: What `HANDLERS` has.
ECHO, READ, HOLD = b"/test.Test/Echo", b"/test.Test/Read", b"/test.Test/Hold"


async def echo(request: bytes, context: Any) -> bytes:
    """The request."""
    return request


async def read(requests: Any, context: Any) -> bytes:
    """The number of bytes of all requests."""
    return b"%d" % sum([len(request) async for request in requests])


async def hold(requests: Any, context: Any) -> None:
    """A reply, and nothing more: it reads nothing and does not end."""
    await context.write(b"")
    await asyncio.Event().wait()


HANDLERS = {
    "Echo": grpc.unary_unary_rpc_method_handler(echo),
    "Read": grpc.stream_unary_rpc_method_handler(read),
    "Hold": grpc.stream_stream_rpc_method_handler(hold),
}
