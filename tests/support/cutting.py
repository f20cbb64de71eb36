"""A relay between client and server that breaks streams at a chosen message, and passes everything else on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import grpc
import grpc.aio

#: Calls that are broken.
BROKEN = frozenset({"/sixledger.v1.MatchService/Play", "/sixledger.v1.MatchService/WatchMatch"})


class Relay(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Counts the messages of streams, in both directions; message `cut_at` breaks its stream and is lost."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self.cut_at = -1
        self.messages = 0
        self.cuts = 0

    def service(self, handler_call_details: Any) -> Any:
        method = handler_call_details.method
        if method in BROKEN:
            return grpc.stream_stream_rpc_method_handler(partial(self._stream, method))
        return grpc.unary_unary_rpc_method_handler(partial(self._unary, method))

    async def _unary(self, method: str, request: bytes, context: Any) -> bytes:
        try:
            return bytes(await self._channel.unary_unary(method)(request))
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details(), error.trailing_metadata())
            raise

    def _passes(self) -> bool:
        number, self.messages = self.messages, self.messages + 1
        if number == self.cut_at:
            self.cuts += 1
            return False
        return True

    async def _stream(self, method: str, requests: Any, context: Any) -> AsyncIterator[bytes]:
        upstream = self._channel.stream_stream(method)()
        cut = asyncio.Event()

        async def up() -> None:
            async for request in requests:
                if not self._passes():
                    cut.set()
                    upstream.cancel()
                    return
                await upstream.write(request)
            await upstream.done_writing()

        writing = asyncio.create_task(up())
        try:
            while (response := await upstream.read()) is not grpc.aio.EOF:
                if not self._passes():
                    cut.set()
                    break
                yield response
        except (grpc.aio.AioRpcError, asyncio.CancelledError):
            if not cut.is_set():
                raise
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            upstream.cancel()
        if cut.is_set():
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was cut")
        if (code := await upstream.code()) is not grpc.StatusCode.OK:
            await context.abort(code, await upstream.details(), await upstream.trailing_metadata())


@asynccontextmanager
async def relaying(address: str) -> AsyncIterator[tuple[Relay, str]]:
    """A relay to the server at `address`, and its own address."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        relay = Relay(channel)
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((relay,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield relay, f"127.0.0.1:{port}"
        finally:
            await server.stop(None)
