"""One call, from its headers to its trailers."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from sixledger.service.http2.context import Context
from sixledger.service.http2.framing import Deframer, framed
from sixledger.service.http2.metadata import (
    OK,
    RESPONSE,
    CallFault,
    Header,
    Item,
    status_trailers,
)

if TYPE_CHECKING:
    from sixledger.service.http2.connection import Connection

#: What `read` gives when there are no more requests. The stubs of grpc do not know it.
EOF: Any = getattr(grpc.aio, "EOF")  # noqa: B009
#: Bytes of requests that wait for a handler, above which the caller gets no further credit; and what a request counts
#: beyond its own, so that empty ones are not free.
UNREAD, OVERHEAD = 16 << 10, 32


class Call(Context):
    """A call on a stream of a connection. For handlers and interceptors it is the context."""

    __slots__ = (
        "_begun",
        "_connection",
        "_deframer",
        "_headers_sent",
        "_inbox",
        "_owed",
        "_reader",
        "_request_ended",
        "_task",
        "_timer",
        "_unread",
        "closed",
        "method",
        "stream_id",
        "takes_many",
    )  # fmt: skip

    def __init__(
        self, connection: Connection, stream_id: int, method: str, headers: Sequence[Header], takes_many: bool
    ) -> None:
        """`takes_many`: whether its handler takes a stream of requests, or there is none that takes a single one."""
        super().__init__(connection.loop, connection.peer, headers)
        self.stream_id = stream_id
        self.method = method
        self.takes_many = takes_many
        #: True once the transport has forgotten the stream.
        self.closed = False
        self._connection = connection
        self._deframer = Deframer(connection.server.max_request_bytes)
        #: Requests that nobody has read, and their bytes; bytes that the caller has no new credit for yet.
        self._inbox: deque[bytes] = deque()
        self._unread = 0
        self._owed = 0
        self._request_ended = False
        self._reader: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        #: A task that is cancelled before its first step never makes one.
        self._begun = False
        self._headers_sent = False

    # -- what the connection says ------------------------------------------------------------------

    @property
    def at_rest(self) -> bool:
        """True if nothing will happen for it any more."""
        return self._ended and (not self._begun or self._task is None)

    @property
    def half_open(self) -> bool:
        """True if it has ended, and the caller may still send."""
        return self._ended and not self._request_ended

    @property
    def owed(self) -> int:
        """Bytes that the caller has sent and gets no new credit for yet."""
        return self._owed

    def start(self) -> None:
        """Let the handler run."""
        if self._task is None and not self._ended:
            self._task = self._loop.create_task(self._run())

    def limit(self, seconds: float) -> None:
        """End it with DEADLINE_EXCEEDED after that time."""
        self._deadline = self._loop.time() + seconds
        self._timer = self._loop.call_later(seconds, self._expire)

    def received(self, data: bytes, end: bool) -> None:
        """Take a part of the body; `end`: its last one."""
        self._request_ended = end
        if self._ended:
            self._connection.credit(self.stream_id, len(data))
            return
        if data:
            try:
                messages = self._deframer.feed(data)
            except CallFault as fault:
                self._connection.credit(self.stream_id, len(data))
                self.fail(fault)
                return
            for message in messages:
                self._inbox.append(message)
                self._unread += OVERHEAD + len(message)
            if self._unread > UNREAD and self.takes_many:
                self._owed += len(data)
            else:
                self._connection.credit(self.stream_id, len(data))
        if end:
            self._end_request()
        elif not self.takes_many and len(self._inbox) > 1:
            self.fail(CallFault(grpc.StatusCode.UNIMPLEMENTED, "the call takes one request, not several"))
        self._wake()

    def _end_request(self) -> None:
        if not self._deframer.complete:
            self.fail(CallFault(grpc.StatusCode.INTERNAL, "the request ends in the middle of a message"))
        elif not self.takes_many:
            if len(self._inbox) != 1:
                message = f"the call takes one request, not {len(self._inbox)}"
                self.fail(CallFault(grpc.StatusCode.UNIMPLEMENTED, message))
            else:
                self.start()

    def fail(self, fault: CallFault) -> None:
        """End it for what is wrong below its messages, or beside it."""
        self._finish(fault.code, fault.message)
        self._cancel()

    def abandon(self) -> None:
        """The caller has gone, or the stream: nobody waits for an answer."""
        self.closed = True
        if not self._ended:  # else its handler may be cleaning up
            self._end(grpc.StatusCode.CANCELLED, "the caller has gone")
            self._cancel()

    def _expire(self) -> None:
        self.fail(CallFault(grpc.StatusCode.DEADLINE_EXCEEDED, "the deadline has passed"))

    def _cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            if not self._begun:  # it never will, nor forget itself
                self._task = None

    # -- running -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._begun = True
        try:
            handler = await self._connection.server.handler(self.method, self)
            if handler is None:
                await self.abort(grpc.StatusCode.UNIMPLEMENTED, "this server does not have the call")
            await self._answer(handler)
        except grpc.aio.AbortError:
            self._finish(grpc.StatusCode.UNKNOWN, "the call was aborted")  # has no effect after `abort`
        except asyncio.CancelledError:
            if not self._ended:  # not by this class
                self._finish(grpc.StatusCode.CANCELLED, "the call was cancelled")
        except Exception as error:  # what the interceptors have let through: nobody is told more than that it failed
            self._connection.server.report(self.method, error)
            self._finish(grpc.StatusCode.UNKNOWN, "the call failed in an unexpected way")
        else:
            if not self._ended:
                self._finish_well()
        finally:
            if self.closed:
                self._connection.forget(self)
            # The context variables of the task lead back to the call: as a ring they would wait for the collector.
            self._task = None

    async def _answer(self, handler: Any) -> None:
        request: Any = self
        if handler.request_streaming:
            request = self._requests(handler.request_deserializer)
        else:
            data = self._inbox.popleft() if self._inbox else b""
            request = data if handler.request_deserializer is None else handler.request_deserializer(data)
        serialise = handler.response_serializer
        if handler.response_streaming:
            behaviour = handler.stream_stream if handler.request_streaming else handler.unary_stream
            replies = behaviour(request, self._context(handler))
            if inspect.isasyncgen(replies):
                async with aclosing(replies):
                    async for reply in replies:
                        await self.write(_bytes(reply, serialise))
            else:
                await replies
        else:
            behaviour = handler.stream_unary if handler.request_streaming else handler.unary_unary
            reply = await behaviour(request, self._context(handler))
            if not self._ended:
                self._send(_bytes(reply, serialise))

    def _context(self, handler: Any) -> Any:
        deserialise, serialise = handler.request_deserializer, handler.response_serializer
        return self if deserialise is None and serialise is None else _OfMessages(self, deserialise, serialise)

    async def _requests(self, deserialise: Any) -> AsyncIterator[Any]:
        while (data := await self.read()) is not EOF:
            yield data if deserialise is None else deserialise(data)

    # -- the context, for handlers and interceptors --------------------------------------------------

    def cancelled(self) -> bool:
        """True if the caller has gone, or the deadline has passed."""
        return self._ended and self._code in (grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)

    def set_compression(self, compression: grpc.Compression) -> None:
        """Nothing: replies are never compressed."""

    def disable_next_message_compression(self) -> None:
        """Nothing: replies are never compressed."""

    async def read(self) -> Any:
        """The next request; see Context."""
        while not self._inbox:
            if self._ended:
                raise _over()
            if self._request_ended:
                return EOF
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        message = self._inbox.popleft()
        self._unread -= OVERHEAD + len(message)
        if self._owed and self._unread <= UNREAD:
            self._connection.credit(self.stream_id, self._owed)
            self._owed = 0
            self._connection.flush_soon()
        return message

    async def write(self, message: bytes) -> None:
        """Send a reply; see Context."""
        if self._ended:
            raise _over()
        self._send(message)
        await self._connection.room(self.stream_id)

    # -- sending -------------------------------------------------------------------------------------

    def _send_headers(self, own: Sequence[Header] = ()) -> None:
        if not (self._headers_sent or self._ended):
            self._headers_sent = True
            self._connection.send_headers(self.stream_id, [*RESPONSE, *own])

    def _send(self, message: bytes) -> None:
        self._send_headers()
        self._connection.send(self.stream_id, framed(message))

    def _finish_well(self) -> None:
        self._send_headers()
        self._finish(self._code, self._details)

    def _finish(self, code: grpc.StatusCode, message: str, metadata: Sequence[Item] = ()) -> None:
        """Send the status, unless the call has ended before."""
        if self._ended:
            return
        trailers: Sequence[Header] = OK
        if code is not grpc.StatusCode.OK or self._trailing or metadata:
            trailers = [*status_trailers(code, message, metadata), *self._trailing]
        self._end(code, message)
        self._connection.end(self, trailers, alone=not self._headers_sent)

    def _end(self, code: grpc.StatusCode, message: str) -> None:
        self._ended = True
        self._code, self._details = code, message
        for callback in self._callbacks:
            self._loop.call_soon(callback, self)
        if self._timer is not None:
            self._timer.cancel()
        self._inbox.clear()
        if self._owed:  # the connection would miss it for ever
            self._connection.credit(self.stream_id, self._owed)
            self._connection.flush_soon()
            self._owed = 0
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


def _over() -> asyncio.CancelledError:
    return asyncio.CancelledError("the call has ended")


def _bytes(reply: Any, serialise: Any) -> bytes:
    data: bytes = reply if serialise is None else serialise(reply)
    return data


class _OfMessages:
    """The context of a handler whose requests or replies are messages."""

    def __init__(self, call: Call, deserialise: Any, serialise: Any) -> None:
        self._call = call
        self._deserialise = deserialise
        self._serialise = serialise

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the call."""
        return getattr(self._call, name)

    async def read(self) -> Any:
        """The next request, `EOF` when there are no more."""
        data = await self._call.read()
        return data if data is EOF or self._deserialise is None else self._deserialise(data)

    async def write(self, reply: Any) -> None:
        """Send a reply."""
        await self._call.write(_bytes(reply, self._serialise))
