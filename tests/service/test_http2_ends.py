"""The transport over HTTP/2: handlers that do as they like, and ends of calls, connections and servers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import ngh2
import pytest
from sixledger.service.http2.call import EOF
from sixledger.service.http2.framing import framed
from support.certificates import self_signed
from support.http2 import ECHO, HANDLERS, handling, no_complaints, raw_client
from support.servers import memory_settings


@pytest.fixture(autouse=True)
async def calm() -> AsyncIterator[None]:
    """No exception reaches the event loop in any of these."""
    with no_complaints():
        yield


def serving(**changes: Any) -> Any:
    return handling(memory_settings(transport="http2", **changes), **HANDLERS, **OWN)


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


async def doubled(requests: Any, context: Any) -> None:
    while (text := await context.read()) is not EOF:
        await context.write(text + text)


async def large(request: bytes, context: Any) -> bytes:
    return bytes(20_000_000)


ENDINGS: list[str] = []
OWN = {
    "Doubled": grpc.stream_stream_rpc_method_handler(doubled, bytes.decode, str.encode),
    "Large": grpc.unary_unary_rpc_method_handler(large),
    "Stubborn": grpc.stream_stream_rpc_method_handler(stubborn),
    "Impatient": grpc.stream_stream_rpc_method_handler(impatient),
    "Raising": grpc.unary_unary_rpc_method_handler(raising),
    "Untidy": grpc.unary_unary_rpc_method_handler(untidy),
}


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
