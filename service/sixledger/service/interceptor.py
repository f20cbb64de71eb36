"""The one interceptor: maps errors to statuses, logs what failed or was slow, and turns calls away at the end.

An ordinary success costs a counter and two looks at the clock; nothing is logged for it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
import grpc.aio
from sixledger.service.errors import ServiceError, translate, unavailable
from sixledger.service.logs import Log, places
from sixledger.service.status import code, rich_status
from sixledger.service.store import StoreError
from sixledger.v1 import error_pb2

#: Calls of these services stay possible to the end.
_ALWAYS = ("/grpc.health.", "/grpc.reflection.")
_OPERATORS_BUSINESS = frozenset({"INTERNAL", "DATA_LOSS"})


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Stands before every call of a server."""

    def __init__(self, *, slow_s: float = 1.0) -> None:
        """Unary calls that take longer than `slow_s` seconds are logged."""
        self._slow_s = slow_s
        self._handlers: dict[str, Any] = {}
        self._draining = False
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._log = Log("calls")

    @property
    def running(self) -> int:
        """Number of calls that run, streams included."""
        return self._running

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

        async def call(request: Any, context: Any) -> Any:
            started = clock()
            self._enter()
            try:
                if self._draining:
                    raise unavailable("the server stops")
                reply = await behaviour(request, context)
            except Exception as error:
                await self._fail(method, context, error, started)
                raise  # never reached: failing ends the call
            finally:
                self._leave()
            if clock() - started > slow_s:
                self._log.warning("slow_call", method=method, ms=round((clock() - started) * 1000))
            return reply

        return call

    def _stream(self, method: str, behaviour: Callable[[Any, Any], AsyncGenerator[Any, None]]) -> Any:
        async def call(request: Any, context: Any) -> AsyncGenerator[Any, None]:
            started = time.perf_counter()
            self._enter()
            try:
                if self._draining:
                    raise unavailable("the server stops")
                async with aclosing(behaviour(request, context)) as replies:
                    async for reply in replies:
                        yield reply
            except Exception as error:
                await self._fail(method, context, error, started)
            finally:
                self._leave()

        return call

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

    async def _fail(self, method: str, context: Any, error: Exception, started: float) -> None:
        """End the call with the status of `error`. Always raises."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        found = translate(error) or _defect(error)
        fields: dict[str, Any] = {
            "method": method,
            "reason": found.contract.name,
            "code": code(found).name,
            "ms": round((time.perf_counter() - started) * 1000, 1),
            **{key: found.metadata[key] for key in ("rule", "match", "incident") if key in found.metadata},
        }
        if found.contract.status in _OPERATORS_BUSINESS:
            # The types and places of the whole chain, never texts: a foreign exception's text may hold anything.
            cause: BaseException | None = error
            fields["errors"] = []
            while cause is not None:
                fields["errors"].append({"type": type(cause).__qualname__, "at": places(cause.__traceback__)})
                cause = cause.__cause__ or cause.__context__
            self._log.error("call_failed", **fields)
        elif isinstance(error, StoreError):
            self._log.error("call_failed", store=str(error), **fields)
        else:
            self._log.info("call_failed", **fields)
        await context.abort_with_status(rich_status(found))


def _defect(error: Exception) -> ServiceError:
    del error  # nothing of it leaves the server
    incident = secrets.token_hex(8)
    return ServiceError(
        error_pb2.REASON_INTERNAL, f"a defect of the service, incident {incident}", metadata={"incident": incident}
    )
