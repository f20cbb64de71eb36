"""The transport over HTTP/2 and rude, slow or vanished callers: nobody else suffers, and nothing of them is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import ngh2
import pytest
from sixledger.service.http2 import connection as connections
from sixledger.service.http2.framing import Deframer, framed
from support.http2 import ECHO, HANDLERS, HEADERS, HOLD, READ, handling, no_complaints, raw_client
from support.servers import memory_settings


@pytest.fixture(autouse=True)
async def calm() -> AsyncIterator[None]:
    """No exception reaches the event loop in any of these."""
    with no_complaints():
        yield


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


async def test_a_status_waits_for_credit_before_the_caller_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset that overtakes the status would hide it. The server does not ask again and again meanwhile."""
    flushes, flush = 0, connections.Connection._flush

    def counted(self: connections.Connection) -> None:
        nonlocal flushes
        flushes += 1
        flush(self)

    monkeypatch.setattr(connections.Connection, "_flush", counted)
    settings = {ngh2.Setting.INITIAL_WINDOW_SIZE: 0}
    async with serving() as (_, port), raw_client(port, settings) as raw:
        stream = await raw.call(HOLD, end=False, grpc_timeout=b"100m")
        await raw.nothing(0.3, ngh2.StreamReset)
        assert flushes < 20
        raw.engine.update_settings({ngh2.Setting.INITIAL_WINDOW_SIZE: 1000})
        await raw.flush()
        assert await raw.status(stream) == ("4", "the deadline has passed")
        await raw.until(lambda event: isinstance(event, ngh2.StreamReset))


# -- floods -----------------------------------------------------------------------------------------------------


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(frame(4, 0, 0) * 20_000, id="settings"),
        pytest.param(frame(0, 0, 1) * 20_000, id="empty bodies"),
        pytest.param(frame(2, 0, 9, bytes(5)) * 20_000, id="priorities"),
        pytest.param(frame(8, 0, 0, b"\0\0\0\1") * 20_000, id="credit"),
        pytest.param(frame(3, 0, 1, bytes(4)) * 20_000, id="resets"),
        pytest.param(frame(1, 0, 3, b"\x82") + frame(9, 0, 3, b"\x82") * 20_000, id="continued headers"),
    ],
)
async def test_a_flood_of_frames_is_borne_or_ended(flood: bytes) -> None:
    """Others are answered meanwhile, and nothing of it is left."""
    async with serving() as (server, port), raw_client(port) as other:
        async with raw_client(port) as raw:
            await raw.call(HOLD, end=False)
            await raw.until(lambda event: isinstance(event, ngh2.DataReceived))
            raw.writer.write(flood)
            async with asyncio.timeout(5):
                assert await other.status(await other.call(ECHO, b"")) == ("0", "")
            await asyncio.sleep(0.1)
        async with asyncio.timeout(5):
            while len(server.connections) > 1:  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "changes",
    [
        {b":path": None},
        {b":scheme": None},
        {b":method": None},
        {b"connection": b"close"},
        {b"Upper": b"x"},
        {b"odd": b"a\x00b"},
        {b"odd": b"a\r\nb: c"},
        {b":status": b"200"},
        {b"te": b"gzip"},
    ],
)
async def test_headers_that_break_the_rules_end_their_stream_at_most(changes: dict[bytes, bytes | None]) -> None:
    """By a reset, by a status or unnoticed; the next call is answered."""
    async with serving() as (_, port), raw_client(port) as raw:
        headers = {name: value for name, value in {**HEADERS, b":path": ECHO, **changes}.items() if value is not None}
        pseudo = [each for each in headers.items() if each[0][:1] == b":"]
        stream = raw.engine.send_request([*pseudo, *(each for each in headers.items() if each[0][:1] != b":")])
        raw.engine.send_data(stream, framed(b""), end_stream=True)
        await raw.flush()
        await raw.until(lambda event: isinstance(event, ngh2.StreamClosed) and event.stream_id == stream)
        assert await raw.status(await raw.call(ECHO, b"")) == ("0", "")
