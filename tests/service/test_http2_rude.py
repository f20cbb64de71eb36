"""The transport over HTTP/2 and rude, slow or vanished callers: nobody else suffers, and nothing of them is kept."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import ngh2
import pytest
from sixledger.service.http2 import connection as connections
from sixledger.service.http2.call import EOF
from sixledger.service.http2.framing import Deframer, framed
from support.certificates import self_signed
from support.http2 import HEADERS, handling, no_complaints, raw_client
from support.servers import memory_settings

ECHO, READ, HOLD = b"/test.Test/Echo", b"/test.Test/Read", b"/test.Test/Hold"


@pytest.fixture(autouse=True)
async def calm() -> AsyncIterator[None]:
    """No exception reaches the event loop in any of these."""
    with no_complaints():
        yield


async def echo(request: bytes, context: Any) -> bytes:
    return request


async def read(requests: Any, context: Any) -> bytes:
    return b"%d" % sum([len(request) async for request in requests])


async def hold(requests: Any, context: Any) -> None:
    await context.write(b"")
    await asyncio.Event().wait()


HANDLERS = {
    "Echo": grpc.unary_unary_rpc_method_handler(echo),
    "Read": grpc.stream_unary_rpc_method_handler(read),
    "Hold": grpc.stream_stream_rpc_method_handler(hold),
}


def serving(**changes: Any) -> Any:
    return handling(memory_settings(transport="http2", **changes), **HANDLERS)


# -- what must not end a connection for all its calls ----------------------------------------------------


@pytest.mark.parametrize("method", [b"GET", b"POST"])
async def test_a_request_that_is_taken_back_in_the_same_packet_harms_no_other(method: bytes) -> None:
    """Whether it is a call or not: its stream has gone before it is looked at."""
    async with serving() as (_, port), raw_client(port) as raw:
        headers = {**HEADERS, b":path": ECHO, b":method": method}
        stream = raw.engine.send_request(list(headers.items()))
        opening = raw.engine.data_to_send()
        raw.engine.reset_stream(stream)
        raw.writer.write(opening + raw.engine.data_to_send())
        assert (await raw.status(await raw.call(ECHO, b"x")))[0] == "0"


@pytest.mark.parametrize(
    "noise", [b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)]
)
async def test_what_is_no_http2_is_hung_up_on_without_a_word_in_the_log(noise: bytes) -> None:
    async with serving() as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(noise)
        async with asyncio.timeout(5):
            await reader.read()
        writer.close()
        assert not server.connections


async def test_a_caller_who_says_good_bye_gets_what_is_due_without_a_word_in_the_log() -> None:
    """The connection ends with the last bytes of the last call, when the engine takes no more orders."""
    async with serving() as (server, port), raw_client(port) as raw:
        stream = await raw.call(ECHO, bytes(1000), end=False)
        raw.engine.send_goaway()
        raw.engine.end_stream(stream)
        await raw.flush()
        assert await raw.status(stream) == ("0", "")
        with suppress(EOFError, ConnectionError):
            await raw.until(lambda _: False)
        assert not server.connections


async def test_headers_beyond_every_limit_end_the_connection_without_a_word_in_the_log() -> None:
    async with serving() as (_, port), raw_client(port) as raw:
        await raw.call(ECHO, b"", x_long=b"x" * 100_000)
        with pytest.raises((EOFError, ConnectionError)):
            await raw.until(lambda _: False)


async def test_too_many_headers_end_their_call_and_no_other() -> None:
    """The connection may be that of a proxy, with the calls of many."""
    async with serving() as (_, port), raw_client(port) as raw:
        other = await raw.call(ECHO, end=False)
        assert (await raw.status(await raw.call(ECHO, b"", x_long=b"x" * 20_000)))[0] == "8"
        many: dict[str, Any] = {f"x{number}": b"" for number in range(101)}
        assert (await raw.status(await raw.call(ECHO, b"", **many)))[0] == "8"
        raw.engine.send_data(other, framed(b"x"), end_stream=True)
        await raw.flush()
        assert (await raw.status(other))[0] == "0"


# -- memory and time --------------------------------------------------------------------------------------


def test_a_message_in_small_pieces_costs_no_more_than_its_bytes() -> None:
    """Each piece is looked at once: a message of a megabyte in pieces of 16 bytes is no work for seconds."""
    deframer, message = Deframer(1 << 20), framed(bytes(1 << 20))
    started = time.process_time()
    found = [each for start in range(0, len(message), 16) for each in deframer.feed(message[start : start + 16])]
    assert (found, deframer.complete) == ([bytes(1 << 20)], True)
    assert time.process_time() - started < 1


async def test_empty_requests_are_not_free() -> None:
    """Five bytes on the wire are a request in memory: a flood of them to a handler that reads none is stopped."""
    async with serving() as (_, port), raw_client(port) as raw:
        stream = await raw.call(HOLD, end=False)
        raw.engine.send_data(stream, framed(b"") * 400_000)
        await raw.flush()
        await raw.nothing(0.3)
        # What was taken besides the window: what the handler was given credit for before the limit.
        assert 2_000_000 - raw.engine.queued_body_size(stream) <= connections.STREAM_WINDOW + 64_000


# -- credit -----------------------------------------------------------------------------------------------


async def test_calls_that_end_with_unread_requests_use_up_no_credit() -> None:
    """What a stream was sent and never read counts for its connection no longer once the stream has gone."""
    async with serving() as (_, port), raw_client(port) as raw:
        for _ in range(20):  # twenty times a full window of a stream are more than that of the connection
            stream = await raw.call(HOLD, end=False)
            await raw.until(lambda event: isinstance(event, ngh2.DataReceived))
            raw.engine.send_data(stream, framed(bytes(1000)) * 300)
            await raw.flush()
            await raw.nothing(0.02)
            raw.engine.reset_stream(stream)
            await raw.flush()
        assert await raw.status(await raw.call(READ, *[bytes(200_000)] * 10)) == ("0", "")


async def test_frames_that_were_cut_off_by_a_refusal_use_up_no_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is refused while half of a frame is there does not take the window of its connection with it."""
    monkeypatch.setattr(connections, "CONNECTION_WINDOW", 256 << 10)
    async with serving(max_request_bytes=20_000) as (_, port), raw_client(port) as raw:
        await raw.until(lambda event: isinstance(event, ngh2.SettingsAcknowledged))
        for _ in range(40):
            stream = await raw.call(READ, end=False)
            raw.engine.send_data(stream, b"\1" + bytes(4))
            refused = raw.engine.data_to_send()
            raw.engine.send_data(stream, bytes(16_000))
            cut = raw.engine.data_to_send()
            assert len(cut) > 16_000, "the caller has no credit left"
            raw.writer.write(refused + cut[:-100])
            await raw.until(lambda event: isinstance(event, ngh2.StreamReset))
            raw.writer.write(cut[-100:])


async def test_a_status_waits_for_credit_before_the_caller_is_told_to_stop() -> None:
    """A reset that overtakes the status would hide it."""
    settings = {ngh2.Setting.INITIAL_WINDOW_SIZE: 0}
    async with serving() as (_, port), raw_client(port, settings) as raw:
        stream = await raw.call(HOLD, end=False, grpc_timeout=b"100m")
        await raw.nothing(0.3, ngh2.StreamReset)
        raw.engine.update_settings({ngh2.Setting.INITIAL_WINDOW_SIZE: 1000})
        await raw.flush()
        assert await raw.status(stream) == ("4", "the deadline has passed")
        await raw.until(lambda event: isinstance(event, ngh2.StreamReset))


# -- handlers -----------------------------------------------------------------------------------------------


async def stubborn(requests: Any, context: Any) -> None:
    """Takes no notice of being cancelled."""
    while True:
        try:
            await context.write(bytes(1000))
            await context.read()
        except asyncio.CancelledError:
            ENDINGS.append("cancelled")
            if len(ENDINGS) == 5:
                return


async def impatient(requests: Any, context: Any) -> None:
    """Gives a reply up that is not taken in time, and goes on when it can."""
    with suppress(TimeoutError):
        await asyncio.wait_for(context.write(bytes(100_000)), 0.05)
    await context.write(b"more")


async def raising(request: bytes, context: Any) -> bytes:
    raise grpc.aio.AbortError


async def untidy(request: bytes, context: Any) -> bytes:
    await context.abort(grpc.StatusCode.ABORTED, "no", (("number", 7),))
    return b""


ENDINGS: list[str] = []
HANDLERS |= {
    "Stubborn": grpc.stream_stream_rpc_method_handler(stubborn),
    "Impatient": grpc.stream_stream_rpc_method_handler(impatient),
    "Raising": grpc.unary_unary_rpc_method_handler(raising),
    "Untidy": grpc.unary_unary_rpc_method_handler(untidy),
}


async def doubled(requests: Any, context: Any) -> None:
    while (text := await context.read()) is not EOF:
        await context.write(text + text)


HANDLERS["Doubled"] = grpc.stream_stream_rpc_method_handler(doubled, bytes.decode, str.encode)


async def test_a_handler_of_messages_reads_and_writes_messages() -> None:
    async with serving() as (_, port), raw_client(port) as raw:
        stream = await raw.call(b"/test.Test/Doubled", b"ab")
        assert (await raw.until(lambda event: isinstance(event, ngh2.DataReceived))).data == framed(b"abab")
        assert (await raw.status(stream))[0] == "0"


async def test_a_handler_that_ignores_its_end_gets_no_further() -> None:
    """Neither does it spin, nor does it wait for ever: every write and read tells it again."""
    ENDINGS.clear()
    async with serving() as (server, port), raw_client(port) as raw:
        stream = await raw.call(b"/test.Test/Stubborn", end=False, grpc_timeout=b"50m")
        assert (await raw.status(stream))[0] == "4"
        raw.engine.reset_stream(stream)
        assert (await raw.status(await raw.call(ECHO, b"")))[0] == "0"
        (connection,) = server.connections
        async with asyncio.timeout(5):
            await connection.idle()
    assert ENDINGS == ["cancelled"] * 5


async def test_a_reply_that_was_given_up_does_not_hinder_the_next_one() -> None:
    async with serving() as (_, port), raw_client(port) as raw:
        stream = await raw.call(b"/test.Test/Impatient")
        await raw.nothing(0.2)
        raw.engine.acknowledge_received_data(65_535, stream)
        await raw.flush()
        assert await raw.status(stream) == ("0", "")


@pytest.mark.parametrize("method", [b"/test.Test/Raising", b"/test.Test/Untidy"])
async def test_an_end_that_a_handler_bungles_is_an_end(method: bytes) -> None:
    """An AbortError without `abort`, and metadata that is none: the caller is told nevertheless."""
    async with serving() as (_, port), raw_client(port) as raw:
        assert (await raw.status(await raw.call(method, b"")))[0] == "2"


# -- ends -----------------------------------------------------------------------------------------------------


async def large(request: bytes, context: Any) -> bytes:
    return bytes(20_000_000)


HANDLERS["Large"] = grpc.unary_unary_rpc_method_handler(large)


async def test_a_stop_waits_for_no_caller_who_takes_nothing() -> None:
    """Not even for one whose socket is full: then the last word cannot be said."""
    wide = {ngh2.Setting.INITIAL_WINDOW_SIZE: (1 << 31) - 1}
    async with serving() as (server, port), raw_client(port, wide) as raw:
        raw.engine.set_local_window_size((1 << 31) - 1)
        await raw.call(b"/test.Test/Large", b"")
        await asyncio.sleep(0.2)
        (connection,) = server.connections
        assert connection._is_full
        async with asyncio.timeout(5):
            await server.stop(0)
        assert not server.connections


async def test_a_stop_waits_for_no_good_bye_of_tls(tmp_path: Path) -> None:
    """Nor is a connection taken whose handshake ends when the server stops already."""
    certificate, key = self_signed(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    trusting.set_alpn_protocols(["h2"])

    def shake_hands(plain: socket.socket) -> ssl.SSLSocket:
        return trusting.wrap_socket(plain, server_hostname="localhost")

    with ExitStack() as stack:
        async with serving(tls_certificate=certificate, tls_key=key) as (server, port):
            plain = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(2)]
            stack.enter_context(await asyncio.to_thread(shake_hands, plain[0]))
            async with asyncio.timeout(5):
                while not server.connections:  # noqa: ASYNC110 - what is waited for has no event
                    await asyncio.sleep(0.01)
                stopping = asyncio.create_task(server.stop(0))
                late = stack.enter_context(await asyncio.to_thread(shake_hands, plain[1]))
                with suppress(ConnectionError):
                    assert not await asyncio.to_thread(late.recv, 1000)
                await stopping
            assert not server.connections


async def test_silence_is_counted_from_the_last_word() -> None:
    async with serving(keepalive_s=0.6, keepalive_timeout_s=0.3) as (server, port), raw_client(port) as raw:
        await raw.nothing(0.1)
        assert (await raw.status(await raw.call(ECHO, b"")))[0] == "0"
        last = asyncio.get_running_loop().time()
        await raw.until(lambda event: isinstance(event, ngh2.PingReceived))
        assert asyncio.get_running_loop().time() - last < 1
        # It answers, and is left alone; then it falls silent.
        await raw.until(lambda event: isinstance(event, ngh2.PingReceived))
        assert await raw.reader.read(100)
        with suppress(ConnectionError):
            while await raw.reader.read(100):
                pass
        assert not server.connections
