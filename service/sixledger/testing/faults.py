"""Faults by script: what a network does to calls, at the moment the test wants it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import grpc
import grpc.aio
from sixledger.v1 import (
    catalog_service_pb2,
    engine_service_pb2,
    match_service_pb2,
    replay_service_pb2,
)

_FILES: tuple[Any, ...] = (catalog_service_pb2, engine_service_pb2, match_service_pb2, replay_service_pb2)
#: Every call by its name.
METHODS = {
    method.name: method
    for file in _FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}

Kind = Literal["lose", "drop", "delay", "cut"]


@dataclass(slots=True)
class _Fault:
    kind: Kind
    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    #: delay: seconds; cut: items that still get through.
    amount: float = 0


class Faults(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Stands before every call of a server and does to it what was scripted. Scripting is safe from any thread."""

    def __init__(self) -> None:
        """Nothing is scripted."""
        #: Calls that have arrived, by name.
        self.calls: Counter[str] = Counter()
        self._scripted: dict[str, deque[_Fault]] = {}
        self._lock = Lock()
        self._cuts: set[asyncio.Event] = set()

    def script(self, method: str, fault: _Fault, times: int) -> None:
        """Let `fault` happen to the next `times` calls of `method` that have none yet. Raises ValueError."""
        if method not in METHODS:
            raise ValueError(f"there is no call {method!r}; there are {', '.join(sorted(METHODS))}")
        streams = METHODS[method].server_streaming
        if streams != (fault.kind == "cut") and fault.kind not in ("lose", "delay"):
            raise ValueError(f"{method} {'streams' if streams else 'does not stream'} its replies")
        if times < 1:
            raise ValueError("a fault happens at least once")
        with self._lock:
            self._scripted.setdefault(method, deque()).extend([fault] * times)

    def clear(self) -> None:
        """Forget what is scripted."""
        with self._lock:
            self._scripted.clear()

    def cut_now(self) -> None:
        """End every stream that is open now. To be called in the loop of the server."""
        for event in tuple(self._cuts):
            event.set()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """The handler of a call, with the faults that are scripted for it."""
        handler = await continuation(handler_call_details)
        name = handler_call_details.method.rpartition("/")[2]
        if handler is None or name not in METHODS:
            return handler
        with self._lock:
            self.calls[name] += 1
            scripted = self._scripted.get(name)
            fault = scripted.popleft() if scripted else None
        coders = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(_reply(handler.unary_unary, fault), *coders)
        if handler.stream_unary is not None:
            return grpc.stream_unary_rpc_method_handler(_reply(handler.stream_unary, fault), *coders)
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(self._replies(handler.unary_stream, fault), *coders)
        return grpc.stream_stream_rpc_method_handler(self._replies(handler.stream_stream, fault), *coders)

    def _replies(self, behaviour: Any, fault: _Fault | None) -> Any:
        """A stream that can be cut: by its fault after some items, or with all others at once."""

        async def call(request: Any, context: Any) -> AsyncIterator[Any]:
            await _before(context, fault)
            left = int(fault.amount) if fault is not None and fault.kind == "cut" else None
            cut = asyncio.Event()
            self._cuts.add(cut)
            replies = behaviour(request, context)
            try:
                while left != 0:
                    reply = await _next_or_cut(replies, cut)
                    if reply is _END:
                        return
                    if reply is _CUT:
                        break
                    yield reply
                    left = left - 1 if left is not None else None
            finally:
                self._cuts.discard(cut)
                await replies.aclose()
            await context.abort(fault.code if fault is not None else grpc.StatusCode.UNAVAILABLE, "the stream was cut")

        return call


_END, _CUT = object(), object()


async def _next_or_cut(replies: Any, cut: asyncio.Event) -> Any:
    """The next reply of a stream; _END after the last, _CUT if it is cut first."""
    item, cutting = asyncio.ensure_future(anext(replies, _END)), asyncio.ensure_future(cut.wait())
    try:
        await asyncio.wait((item, cutting), return_when=asyncio.FIRST_COMPLETED)
        if not item.done():
            return _CUT
        return item.result()
    finally:
        for task in (item, cutting):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def _reply(behaviour: Any, fault: _Fault | None) -> Any:
    """A call with one reply, which may get lost after the call was carried out."""
    if fault is None:
        return behaviour

    async def call(request: Any, context: Any) -> Any:
        await _before(context, fault)
        reply = await behaviour(request, context)
        if fault.kind == "drop":
            await context.abort(fault.code, "the reply was dropped")
        return reply

    return call


async def _before(context: Any, fault: _Fault | None) -> None:
    if fault is not None and fault.kind == "lose":
        await context.abort(fault.code, "the request was lost")
    if fault is not None and fault.kind == "delay":
        await asyncio.sleep(fault.amount)
