"""A stream on which requests and replies take turns, or follow each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from sixledger.cli.bench.matches import END, MATCH_SERVICE, Caller
from sixledger.cli.bench.window import Refused

PLAY = f"{MATCH_SERVICE}/Play"


class Stream:
    """A stream of calls and replies, opened anew after it broke."""

    def __init__(self, caller: Caller, number: int, method: str) -> None:
        self._open: Callable[[], Any] = lambda: caller.channel(number).stream_stream(method)(metadata=caller.metadata)
        self._call: Any = None

    async def ask(self, request: bytes) -> bytes:
        """Write a message and read the next. Raises AioRpcError if the stream ends."""
        await self.write(request)
        return await self.read()

    async def write(self, request: bytes) -> None:
        """Write a message. Raises Refused if the stream ends."""
        if self._call is None:
            self._call = self._open()
        call = self._call
        try:
            await call.write(request)
        except (grpc.aio.AioRpcError, grpc.aio.UsageError):
            raise await self._ended(call) from None

    async def read(self) -> bytes:
        """The next message. Raises Refused if there is none."""
        call = self._call
        try:
            message = await call.read()
        except (grpc.aio.AioRpcError, grpc.aio.UsageError):
            raise await self._ended(call) from None
        if message is END:
            raise await self._ended(call)
        return bytes(message)

    async def _ended(self, call: Any) -> Refused:
        if self._call is call:
            self._call = None
        code = await call.code()
        return Refused(code.name if code != grpc.StatusCode.OK else "STREAM_ENDED")

    async def close(self) -> None:
        """End it."""
        if self._call is not None:
            self._call.cancel()
