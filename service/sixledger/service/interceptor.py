"""The one interceptor: maps errors to statuses, logs what failed or was slow, and turns calls away at the end.

An ordinary success costs a counter and two looks at the clock; nothing is logged for it.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from sixledger.service.admission import Admission
from sixledger.service.errors import ServiceError, unavailable
from sixledger.service.failures import CallLog, report
from sixledger.service.status import rich_status
from sixledger.v1 import error_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import CallMeter, Metrics
    from sixledger.service.tracing import Tracing

#: Calls of these services stay possible to the end.
_ALWAYS = ("/grpc.health.", "/grpc.reflection.", "/grpc.channelz.")


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Stands before every call of a server."""

    #: Lets calls in, or not; set before the first one comes.
    admission: Admission | None = None

    def __init__(self, *, slow_s: float = 1.0, metrics: Metrics | None = None, tracing: Tracing | None = None) -> None:
        """Unary calls that take longer than `slow_s` seconds are logged. `metrics` count, `tracing` traces calls."""
        self._slow_s = slow_s
        self._metrics = metrics
        self._tracing = tracing
        self._handlers: dict[str, Any] = {}
        self._draining = False
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._log = CallLog("calls", metrics)

    @property
    def running(self) -> int:
        """Number of calls that run, streams included."""
        return self._running

    @property
    def draining(self) -> bool:
        """True once new calls are turned away."""
        return self._draining

    def drain(self) -> None:
        """Turn new calls away from now on."""
        self._draining = True

    def give_up(self) -> None:
        """Do not wait for running calls any longer."""
        self._idle.set()

    async def idle(self, timeout_s: float) -> bool:
        """Wait until no call runs; False if that takes too long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return self._running == 0

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """The handler of a call, wrapped once per method."""
        method: str = handler_call_details.method
        handler = self._handlers.get(method)
        if handler is None:
            found = await continuation(handler_call_details)
            if found is None:
                return grpc.unary_unary_rpc_method_handler(self._unknown)
            # Only methods that exist are remembered, so callers cannot fill the memory with names.
            handler = self._handlers[method] = found if method.startswith(_ALWAYS) else self._wrapped(method, found)
        return handler

    # -- wrapping --------------------------------------------------------------------------------

    def _wrapped(self, method: str, handler: Any) -> Any:
        if handler.unary_unary is not None:
            return grpc.unary_unary_rpc_method_handler(
                self._unary(method, handler.unary_unary), handler.request_deserializer, handler.response_serializer
            )
        if handler.stream_unary is not None:
            return grpc.stream_unary_rpc_method_handler(
                self._unary(method, handler.stream_unary), handler.request_deserializer, handler.response_serializer
            )
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(
                self._stream(method, handler.unary_stream), handler.request_deserializer, handler.response_serializer
            )
        return grpc.stream_stream_rpc_method_handler(
            self._stream(method, handler.stream_stream), handler.request_deserializer, handler.response_serializer
        )

    def _unary(self, method: str, behaviour: Callable[[Any, Any], Awaitable[Any]]) -> Any:
        clock, slow_s = time.perf_counter, self._slow_s
        meter = None if self._metrics is None else self._metrics.call(method)
        if self._tracing is not None:
            behaviour = self._tracing.traced(method, behaviour)

        async def call(request: Any, context: Any) -> Any:
            started = clock()
            self._enter()
            try:
                if self._draining:
                    raise unavailable("the server stops")
                if self.admission is not None:
                    self.admission.call(context)
                reply = await behaviour(request, context)
            except Exception as error:
                if meter is not None:
                    meter.observe(clock() - started)
                await self._fail(method, context, error, started, meter)
                raise  # never reached: failing ends the call
            except asyncio.CancelledError:
                if meter is not None:
                    meter.ended("CANCELLED")
                raise
            finally:
                self._leave()
            took = clock() - started
            if meter is not None:
                meter.ended()
                meter.observe(took)
            if took > slow_s:
                self._log.warning("slow_call", method=method, ms=round(took * 1000))
            return reply

        return call

    def _stream(self, method: str, behaviour: Callable[[Any, Any], Any]) -> Any:
        meter = None if self._metrics is None else self._metrics.call(method)

        async def write(request: Any, context: Any) -> None:
            started = time.perf_counter()
            self._enter()
            try:
                with self._opened(context, meter):
                    await behaviour(request, context)
            except Exception as error:
                await self._fail(method, context, error, started, meter)
            finally:
                self._leave()

        async def call(request: Any, context: Any) -> AsyncGenerator[Any, None]:
            started = time.perf_counter()
            self._enter()
            try:
                with self._opened(context, meter):
                    async with aclosing(behaviour(request, context)) as replies:
                        async for reply in replies:
                            yield reply
            except Exception as error:
                await self._fail(method, context, error, started, meter)
            finally:
                self._leave()

        # What writes by itself is spared a generator.
        return write if inspect.iscoroutinefunction(behaviour) else call

    @contextmanager
    def _opened(self, context: Any, meter: CallMeter | None) -> Iterator[None]:
        """A stream, from the moment it is let in to its end."""
        release: Callable[[], None] = _nothing
        if meter is not None:
            meter.opened(1)
        try:
            if self._draining:
                raise unavailable("the server stops")
            if self.admission is not None:
                release = self.admission.stream(context)
            yield
            if meter is not None:
                meter.ended()
        except (asyncio.CancelledError, GeneratorExit):
            if meter is not None:
                meter.ended("CANCELLED")
            raise
        finally:
            if meter is not None:
                meter.opened(-1)
            release()

    def _enter(self) -> None:
        self._running += 1
        if self._running == 1:
            self._idle.clear()

    def _leave(self) -> None:
        self._running -= 1
        if not self._running:
            self._idle.set()

    # -- failing ---------------------------------------------------------------------------------

    async def _unknown(self, request: bytes, context: Any) -> None:
        del request
        error = ServiceError(error_pb2.REASON_UNIMPLEMENTED, "this server does not have the call")
        await context.abort_with_status(rich_status(error))

    async def _fail(
        self, method: str, context: Any, error: Exception, started: float, meter: CallMeter | None = None
    ) -> None:
        """End the call with the status of `error`. Always raises."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        found = report(self._log, method, error, started)
        if meter is not None:
            meter.ended(found.contract.status)
        await context.abort_with_status(rich_status(found))


def _nothing() -> None:
    """The end of a stream that was not let in."""
