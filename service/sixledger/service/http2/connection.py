"""One HTTP/2 connection: bytes in, calls; replies, bytes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc
import ngh2
from sixledger.service.http2.call import Call
from sixledger.service.http2.keepalive import Keepalive, PingPolicy
from sixledger.service.http2.listening import peer_of
from sixledger.service.http2.metadata import CONTENT_TYPE, RESPONSE, CallFault, Header, read_timeout

if TYPE_CHECKING:
    from sixledger.service.http2.server import Http2Server

#: Bytes of replies of a call that wait, above which its handler waits too.
UNSENT = 16 << 10
#: Bytes that wait in the socket, above which nothing more goes to it.
SOCKET_BUFFER = 256 << 10
#: What a caller may send before it gets credit: on a stream, and on all streams of the connection.
STREAM_WINDOW, CONNECTION_WINDOW = 256 << 10, 4 << 20
#: Bytes of the headers of a call, each counting so many more (RFC 9113, 6.5.2), and their number.
MAX_HEADERS, HEADER_OVERHEAD, MAX_HEADER_COUNT = 16 << 10, 32, 100
#: What the engine takes: beyond this the whole connection ends, which may be a proxy's and have the calls of many.
CONFIGURATION = ngh2.Configuration(
    auto_window_update=False,
    max_inbound_header_list_size=4 * MAX_HEADERS,
    max_inbound_header_count=4 * MAX_HEADER_COUNT,
    # Calls taken back at once: so many, and a second. Behind a proxy, everybody who closes a page takes back a stream.
    stream_reset_rate_limit=(10_000, 1_000),
)
#: Seconds for which an end waits until handlers have noticed and the last statuses are on the way, and then again until
#: the other end has taken them.
FAREWELL_S = 1.0

_NOT_GRPC: list[Header] = [(b":status", b"415")]
_NOT_POST: list[Header] = [(b":status", b"405"), (b"allow", b"POST")]


class Connection(asyncio.Protocol):
    """Drives the HTTP/2 engine of one connection, and keeps its calls."""

    def __init__(self, server: Http2Server) -> None:
        self.server = server
        self.loop = asyncio.get_running_loop()
        #: The other end, in grpc's words: `ipv4:127.0.0.1:5000`.
        self.peer = ""
        self._calls: dict[int, Call] = {}
        self._engine = ngh2.Connection(ngh2.Role.SERVER, CONFIGURATION)
        self._transport: asyncio.Transport | None = None
        self._flush_due = False
        self._is_full = False
        #: Of the connection, for what callers send: see `_restore_window`.
        self._window = CONNECTION_WINDOW
        #: Handlers that wait until what they sent has left, by stream.
        self._waiting: dict[int, asyncio.Future[None]] = {}
        #: Streams whose calls have ended before their callers stopped sending.
        self._half_open: list[int] = []
        #: For whoever waits until there is no call.
        self._idle: asyncio.Future[None] | None = None
        #: Set when the socket is closed.
        self._lost = self.loop.create_future()
        self._keepalive: Keepalive | None = None
        self._pings = PingPolicy()

    # -- the socket ----------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport
        self.peer = peer_of(transport.get_extra_info("peername"))
        tls = transport.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() != "h2":
            transport.abort()  # who speaks no HTTP/2 understands no answer either
            return
        if self.server.is_ending:
            transport.abort()  # accepted, or done with its handshake, when nobody counts connections any more
            return
        transport.set_write_buffer_limits(high=SOCKET_BUFFER)
        self.server.connections.add(self)
        settings = {
            ngh2.Setting.MAX_CONCURRENT_STREAMS: self.server.max_streams,
            ngh2.Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            ngh2.Setting.MAX_HEADER_LIST_SIZE: MAX_HEADERS,
        }
        self._engine.initiate_connection(settings)
        self._engine.set_local_window_size(self._window)
        silence_s, answer_s = self.server.keepalive_s, self.server.keepalive_timeout_s
        self._keepalive = Keepalive(self.loop, silence_s, answer_s, self._ping, self.abort)
        self.flush_soon()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._keepalive is not None:
            self._keepalive.heard_at = self.loop.time()
        try:
            self._engine.receive_data(data)
        except ngh2.NGH2Error:  # what breaks a rule is told so by a GOAWAY; this is beyond it, or comes after the end
            self._handle_events()
            self.close()
            return
        self._handle_events()
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush)

    def _handle_events(self) -> None:
        for event in self._engine.events():
            handle = _HANDLERS.get(type(event))
            if handle is not None:
                handle(self, event)

    def pause_writing(self) -> None:
        """The socket takes no more for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """The socket takes more."""
        self._is_full = False
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone: so are all its calls."""
        self.server.connections.discard(self)
        if self._keepalive is not None:
            self._keepalive.stop()
            self._keepalive = None
        self._transport = None
        _set(self._lost)
        for call in tuple(self._calls.values()):
            call.abandon()
            if call.at_rest:
                self.forget(call)
        self._release(every=True)

    def close(self) -> None:
        """Close it once what waits in the socket has been sent."""
        if self._transport is not None and not self._transport.is_closing():  # closed twice, TLS cannot be aborted
            self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- the end ---------------------------------------------------------------------------------------

    async def idle(self) -> None:
        """Wait until it has no call."""
        if self._calls:
            self._idle = self._idle or self.loop.create_future()
            await asyncio.shield(self._idle)

    def announce_end(self) -> None:
        """Tell the other end to make its next calls elsewhere; those that run go on."""
        with suppress(ngh2.NGH2Error):
            self._engine.send_shutdown_notice()
        self.flush_soon()

    def end(self, call: Call, trailers: Sequence[Header], *, alone: bool) -> None:
        """Send the status of a call, `alone`: before any reply."""
        try:
            if alone:
                self._engine.send_response(call.stream_id, [*RESPONSE, *trailers], end_stream=True)
            else:
                self._engine.send_trailers(call.stream_id, trailers)
        except ngh2.NGH2Error:
            return  # the stream has gone
        if call.half_open:
            self._half_open.append(call.stream_id)
        self.flush_soon()

    async def finish(self) -> None:
        """End every call, say good-bye and close."""
        for call in tuple(self._calls.values()):
            call.fail(CallFault(grpc.StatusCode.UNAVAILABLE, "the server stops"))
        self._flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self.idle()
        with suppress(ngh2.NGH2Error):
            self._engine.terminate_connection()
        self._flush()
        # Aborted if the other end takes nothing more, or does not answer the good-bye of TLS.
        for leave in (self.close, self.abort):
            leave()
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_S):
                    await asyncio.shield(self._lost)

    # -- what comes ------------------------------------------------------------------------------------

    def _on_request(self, event: ngh2.RequestReceived) -> None:
        path = b""
        method = kind = timeout = None
        size = 0
        for header, value in event.headers:
            size += len(header) + len(value) + HEADER_OVERHEAD
            if header == b":path":
                path = value
            elif header == b":method":
                method = value
            elif header == b"content-type":
                kind = value
            elif header == b"grpc-timeout":
                timeout = value
        self._pings.forgive()
        stream_id = event.stream_id
        if method != b"POST" or kind is None or not _is_grpc(kind):
            refusal = _NOT_POST if method != b"POST" else _NOT_GRPC
            with suppress(ngh2.NGH2Error):  # the stream has gone
                self._engine.send_response(stream_id, refusal, end_stream=True)
            return
        name = path.decode("latin-1")
        call = Call(self, stream_id, name, event.headers, self.server.takes_many(name))
        self._calls[stream_id] = call
        if self.server.is_ending:
            call.fail(CallFault(grpc.StatusCode.UNAVAILABLE, "the server stops"))
            return
        if size > MAX_HEADERS or len(event.headers) > MAX_HEADER_COUNT:
            message = f"a call may have {MAX_HEADER_COUNT} headers of {MAX_HEADERS} bytes in all"
            call.fail(CallFault(grpc.StatusCode.RESOURCE_EXHAUSTED, message))
            return
        if timeout is not None:
            try:
                call.limit(read_timeout(timeout))
            except CallFault as fault:
                call.fail(fault)
                return
        if call.takes_many:
            call.start()
        if event.end_stream:
            call.received(b"", True)

    def _on_data(self, event: ngh2.DataReceived) -> None:
        call = self._calls.get(event.stream_id)
        if call is None:
            self.credit(event.stream_id, len(event.data))
        else:
            call.received(event.data, event.end_stream)

    def _on_trailers(self, event: ngh2.TrailersReceived) -> None:
        call = self._calls.get(event.stream_id)
        if call is not None:
            call.received(b"", True)

    def _on_gone(self, event: ngh2.StreamReset | ngh2.StreamClosed) -> None:
        stream_id = event.stream_id
        call = self._calls.get(stream_id)
        if call is not None:
            call.abandon()
            if call.at_rest:
                self.forget(call)
        if waiting := self._waiting.pop(stream_id, None):
            _set(waiting)
        try:
            if self._engine.local_window_size < CONNECTION_WINDOW // 4:
                self._restore_window()
        except ngh2.NGH2Error:
            return  # the connection ends

    def _restore_window(self) -> None:
        """Let the caller send as much as ever.

        If a stream is reset of whose last frame only a part has come, the engine forgets that part: nobody would ever
        acknowledge it. Raises NGH2Error if the connection ends.
        """
        owed = sum(call.owed for call in self._calls.values())
        if self._engine.local_window_size + owed < CONNECTION_WINDOW // 4:
            self._window += CONNECTION_WINDOW // 2
            self._engine.set_local_window_size(self._window)
            self.flush_soon()

    def _on_ping(self, event: ngh2.PingReceived) -> None:
        if not self._pings.is_borne(self.loop.time()):
            with suppress(ngh2.NGH2Error):
                self._engine.send_goaway(ngh2.ErrorCode.ENHANCE_YOUR_CALM, debug_data=b"too_many_pings")
            self._flush()
            self.close()

    def _ping(self) -> None:
        with suppress(ngh2.NGH2Error):
            self._engine.ping()
        self._flush()

    def forget(self, call: Call) -> None:
        """A call has ended, and its stream has gone."""
        self._calls.pop(call.stream_id, None)
        if self._idle is not None and not self._calls:
            _set(self._idle)
            self._idle = None

    # -- what goes -------------------------------------------------------------------------------------

    def credit(self, stream_id: int, size: int) -> None:
        """Let the caller send so many bytes more."""
        if size:
            with suppress(ngh2.NGH2Error):  # the stream has gone
                self._engine.acknowledge_received_data(size, stream_id)

    def send_headers(self, stream_id: int, headers: Sequence[Header]) -> None:
        """Begin a reply."""
        self._pings.forgive()
        with suppress(ngh2.NGH2Error):
            self._engine.send_response(stream_id, headers)
        self.flush_soon()

    def send(self, stream_id: int, data: bytes) -> None:
        """Go on with a reply."""
        self._pings.forgive()
        with suppress(ngh2.NGH2Error):
            self._engine.send_data(stream_id, data)
        self.flush_soon()

    async def room(self, stream_id: int) -> None:
        """Wait until not too much of a stream's replies waits to be sent."""
        while self._transport is not None and self._unsent(stream_id) > UNSENT:
            waiting = self._waiting.get(stream_id)
            if waiting is None or waiting.done():  # done: who waited was cancelled, and went on
                waiting = self._waiting[stream_id] = self.loop.create_future()
            await waiting

    def flush_soon(self) -> None:
        """Send at the end of this turn of the loop: what is made in one turn goes in one piece."""
        if not self._flush_due:
            self._flush_due = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        transport, engine = self._transport, self._engine
        if transport is None or self._is_full or transport.is_closing():
            return
        try:
            data = engine.data_to_send()
        except ngh2.NGH2Error:  # it has broken down
            self.close()
            return
        if data:
            transport.write(data)
            self._handle_events()  # streams end as their last bytes leave
        if self._half_open:
            self._reset_half_open()
        if self._waiting:
            self._release()
        if not engine.want_read and not engine.want_write:
            self.close()

    def _reset_half_open(self) -> None:
        """Tell the callers of calls that have ended to stop sending, once they have been sent the status."""
        left = []
        for stream_id in self._half_open:
            with suppress(ngh2.NGH2Error):  # the stream has gone
                if self._unsent(stream_id) or not self._has_credit(stream_id):
                    left.append(stream_id)
                else:
                    self._engine.reset_stream(stream_id, ngh2.ErrorCode.NO_ERROR)
                    self.flush_soon()
        self._half_open = left

    def _release(self, *, every: bool = False) -> None:
        for stream_id, waiting in tuple(self._waiting.items()):
            if every or self._unsent(stream_id) <= UNSENT:
                del self._waiting[stream_id]
                _set(waiting)

    def _has_credit(self, stream_id: int) -> bool:
        """False if the engine must keep a status back, as it does where it may send no body. Raises NGH2Error."""
        return self._engine.remote_window_size > 0 and self._engine.stream_remote_window_size(stream_id) > 0

    def _unsent(self, stream_id: int) -> int:
        try:
            return self._engine.queued_body_size(stream_id)
        except ngh2.NGH2Error:
            return 0


_HANDLERS: dict[type, Callable[[Connection, Any], None]] = {
    ngh2.RequestReceived: Connection._on_request,
    ngh2.DataReceived: Connection._on_data,
    ngh2.TrailersReceived: Connection._on_trailers,
    ngh2.StreamReset: Connection._on_gone,
    ngh2.StreamClosed: Connection._on_gone,
    ngh2.PingReceived: Connection._on_ping,
}


def _set(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _is_grpc(kind: bytes) -> bool:
    """Whether a content type is that of gRPC; `application/grpc-web` is another protocol."""
    return kind == CONTENT_TYPE or kind.startswith((CONTENT_TYPE + b"+", CONTENT_TYPE + b";"))
