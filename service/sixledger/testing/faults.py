"""Faults by script: what a network does to calls, at the moment the test wants it."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import grpc
import grpc.aio
import sixledger.v1 as schema


def _methods() -> dict[str, Any]:
    """Every call of the schema, by its name."""
    names = [module.name for module in pkgutil.iter_modules(schema.__path__) if module.name.endswith("_service_pb2")]
    files = [importlib.import_module(f"{schema.__name__}.{name}").DESCRIPTOR for name in sorted(names)]
    services = [service for file in files for service in file.services_by_name.values()]
    return {method.name: method for service in services for method in service.methods}


METHODS = _methods()

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
        items = int(fault.amount) if fault is not None and fault.kind == "cut" else None
        code = fault.code if fault is not None else grpc.StatusCode.UNAVAILABLE

        async def write(request: Any, context: Any) -> None:
            await _before(context, fault)
            with self._cuttable() as cut:
                if await _done_or_cut(behaviour(request, _Cutting(context, cut, items)), cut):
                    return
            await context.abort(code, "the stream was cut")

        async def generate(request: Any, context: Any) -> AsyncIterator[Any]:
            await _before(context, fault)
            left = items
            replies = behaviour(request, context)
            with self._cuttable() as cut:
                try:
                    while left != 0:
                        found: list[Any] = []
                        if not await _done_or_cut(_take(replies, found), cut):
                            break
                        if not found:
                            return
                        yield found[0]
                        left = left - 1 if left is not None else None
                finally:
                    await replies.aclose()
            await context.abort(code, "the stream was cut")

        # As grpc tells them apart: what writes by itself, and what yields.
        return write if inspect.iscoroutinefunction(behaviour) else generate

    @contextmanager
    def _cuttable(self) -> Iterator[asyncio.Event]:
        """Set when the stream is to break."""
        cut = asyncio.Event()
        self._cuts.add(cut)
        try:
            yield cut
        finally:
            self._cuts.discard(cut)


class _Cutting:
    """The context of a stream that breaks after some written items."""

    def __init__(self, context: Any, cut: asyncio.Event, items: int | None) -> None:
        self._context = context
        self._cut = cut
        self._left = items
        if items == 0:
            cut.set()

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the context."""
        return getattr(self._context, name)

    async def write(self, reply: Any) -> None:
        """Send an item, if the stream is not to break before it."""
        if self._left == 0:
            await asyncio.Event().wait()  # until the stream is cut, which it will be at once
        await self._context.write(reply)
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._cut.set()


async def _take(replies: Any, found: list[Any]) -> None:
    with suppress(StopAsyncIteration):
        found.append(await anext(replies))


async def _done_or_cut(work: Coroutine[Any, Any, None], cut: asyncio.Event) -> bool:
    """Do the work; False if the cut came first. Raises what the work raises."""
    working, cutting = asyncio.ensure_future(work), asyncio.ensure_future(cut.wait())
    try:
        await asyncio.wait((working, cutting), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        working.result()
        return True
    finally:
        for task in (working, cutting):
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
