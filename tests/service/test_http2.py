"""The transport over HTTP/2: framing, limits, flow control and ends that grpcio would see to by itself.

That it carries the same calls in the same way show the tests with the fixture `transport`.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import grpc
import grpc.aio
import ngh2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sixledger.client import AsyncClient
from sixledger.service.config import Settings
from sixledger.service.http2 import connection as connections
from sixledger.service.http2.call import Call
from sixledger.service.http2.framing import Deframer, framed
from sixledger.service.http2.listening import peer_of
from sixledger.service.http2.metadata import CallFault, read_metadata, read_timeout, status_trailers
from sixledger.service.http2.server import Http2Server
from sixledger.service.server import Server
from sixledger.v1 import catalog_service_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.http2 import HEADERS, RawClient, raw_client
from support.servers import Client, create, failing, memory_settings, serving, start

ORIGIN = b"/sixledger.v1.CatalogService/GetOrigin"
PLAY = b"/sixledger.v1.MatchService/Play"
INTERNAL, UNIMPLEMENTED, RESOURCE_EXHAUSTED, INVALID_ARGUMENT = "13", "12", "8", "3"


def http2(**changes: Any) -> Settings:
    return memory_settings(transport="http2", **changes)


# -- messages and metadata ---------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=30), max_size=6), st.data())
def test_messages_come_out_however_their_bytes_arrive(messages: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(map(framed, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    deframer, found = Deframer(30), []
    for first, last in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += deframer.feed(whole[first:last])
    assert (found, deframer.complete) == (messages, True)


def test_a_length_is_refused_before_its_bytes_are_there() -> None:
    with pytest.raises(CallFault, match="larger than the 10"):
        Deframer(10).feed(framed(bytes(11))[:5])


@pytest.mark.parametrize(("text", "seconds"), [(b"2H", 7200), (b"3M", 180), (b"5S", 5), (b"250m", 0.25), (b"7u", 7e-6)])
def test_time_limits(text: bytes, seconds: float) -> None:
    assert read_timeout(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", [b"", b"S", b"5", b"5x", b"123456789S", b"-1S", "٣S".encode()])
def test_time_limits_that_are_none(text: bytes) -> None:
    with pytest.raises(CallFault, match="grpc-timeout"):
        read_timeout(text)


def test_statuses_travel_as_text_and_metadata_as_it_is() -> None:
    trailers = status_trailers(grpc.StatusCode.ABORTED, "50 % – näh\n", [("a-bin", b"\0\xff"), ("b", "c")])
    assert trailers == [
        (b"grpc-status", b"10"),
        (b"grpc-message", b"50 %25 %E2%80%93 n%C3%A4h%0A"),
        (b"a-bin", b"AP8"),
        (b"b", b"c"),
    ]
    own = [(b":path", b"/"), (b"te", b"trailers"), (b"content-type", b"application/grpc"), (b"grpc-timeout", b"1S")]
    assert read_metadata([*own, *trailers[2:]]) == (("a-bin", b"\0\xff"), ("b", "c"))
    assert read_metadata([(b"a-bin", b"AP8,AA=="), (b"b-bin", b"?")]) == (("a-bin", b"\0\xff"), ("a-bin", b"\0"))


# -- calls that no client of gRPC makes ----------------------------------------------------------------


async def test_what_is_no_call_gets_an_answer_and_the_connection_lives() -> None:
    """Wrong methods and types, bodies that are none, one message too many, compression, a call that is not there."""
    async with serving(http2(max_request_bytes=1000)) as (server, _), raw_client(server.port) as raw:
        for kind in (b"text/html", b"application/grpc-web", None):
            await raw.call(ORIGIN, content_type=kind)
            answer = await raw.until(lambda event: isinstance(event, ngh2.ResponseReceived))
            assert dict(answer.headers)[b":status"] == b"415"
        assert (await raw.status(await raw.call(ORIGIN)))[0] == UNIMPLEMENTED
        assert (await raw.status(await raw.call(ORIGIN, b"", b"")))[0] == UNIMPLEMENTED
        assert (await raw.status(await raw.call(b"/nothing", b"")))[0] == UNIMPLEMENTED
        assert (await raw.status(await raw.call(b"/nothing", end=False)))[0] == UNIMPLEMENTED
        assert (await raw.status(await raw.call(ORIGIN, b"", grpc_timeout=b"soon")))[0] == INTERNAL
        code, message = await raw.status(await raw.call(ORIGIN, bytes(1001)))
        assert (code, message) == (
            RESOURCE_EXHAUSTED,
            "a message of 1001 bytes is larger than the 1000 that a request may have",
        )
        for body, code in ((b"\0\0\0", INTERNAL), (b"\0\0\0\0\5abc", INTERNAL), (b"\1\0\0\0\0", UNIMPLEMENTED)):
            stream = await raw.call(ORIGIN, end=False)
            raw.engine.send_data(stream, body, end_stream=True)
            await raw.flush()
            assert (await raw.status(stream))[0] == code
        assert (await raw.status(await raw.call(ORIGIN, b"")))[0] == "0"


async def test_a_stream_with_a_bad_message_ends_with_what_is_wrong() -> None:
    """Also when the handler waits for the next order already."""
    async with serving(http2(max_request_bytes=1000)) as (server, _), raw_client(server.port) as raw:
        stream = await raw.call(PLAY, end=False)
        raw.engine.send_data(stream, framed(bytes(2000))[:10])
        await raw.flush()
        assert (await raw.status(stream))[0] == RESOURCE_EXHAUSTED
        # The caller has not ended its side: it is told to stop sending.
        reset = await raw.until(lambda event: isinstance(event, ngh2.StreamReset))
        assert (reset.stream_id, reset.error_code) == (stream, ngh2.ErrorCode.NO_ERROR)
        assert server.gate.running == 0


async def _pings(raw: RawClient) -> None:
    for _ in range(50):
        raw.engine.ping(bytes(8))
        await raw.flush()
        await raw.until(lambda event: isinstance(event, ngh2.PingAcknowledged))


async def _taken_back(raw: RawClient) -> None:
    for _ in range(20_000):
        raw.engine.reset_stream(await raw.call(PLAY, end=False))
    await raw.flush()
    await raw.until(lambda event: isinstance(event, ngh2.PingAcknowledged))


async def _long_headers(raw: RawClient) -> None:
    await raw.status(await raw.call(ORIGIN, b"", x_long=b"x" * 100_000))


@pytest.mark.parametrize("flood", [_pings, _taken_back, _long_headers])
async def test_a_flood_ends_its_connection_and_nobody_elses(flood: Callable[[RawClient], Awaitable[None]]) -> None:
    """Pings without end, calls that are taken back at once, headers without end."""
    async with serving(http2()) as (server, client):
        table = await start(client)
        async with raw_client(server.port) as raw:
            with pytest.raises((EOFError, ConnectionError, ngh2.NGH2Error)):
                await flood(raw)
        await table.play(Random(1), 4)
        assert server.gate.running == 0


async def test_a_caller_who_reads_nothing_holds_little_of_the_server() -> None:
    """The handler of its stream waits; a call on another stream of its connection is answered."""
    async with serving(http2()) as (server, client):
        table = await start(client)
        await table.play(Random(1), 10)
        async with raw_client(server.port) as raw:
            streams = []
            for _ in range(20):
                watch = pb.WatchMatchRequest(match_id=table.match_id).SerializeToString()
                streams.append(await raw.call(b"/sixledger.v1.MatchService/WatchMatch", watch))
            # Nothing is acknowledged, so that the window of the connection is used up.
            await asyncio.sleep(0.3)
            (connection,) = (each for each in _transport(server).connections if each.peer.endswith(_port(raw)))
            waiting = sum(connection._unsent(stream) for stream in streams)
            assert waiting <= len(streams) * (connections.UNSENT + 10_000)
        assert (await client.match.GetMatch(pb.GetMatchRequest(match_id=table.match_id))).match.match_id


def _transport(server: Server) -> Http2Server:
    transport = server._transport
    assert isinstance(transport, Http2Server)
    return transport


def _port(raw: Any) -> str:
    return f":{raw.writer.get_extra_info('sockname')[1]}"


async def test_requests_that_nobody_reads_get_no_more_credit() -> None:
    """A flood of orders stops at the window of its stream, and goes on when the handler has read."""
    gate, done = asyncio.Event(), asyncio.Event()
    size = 0

    async def slow(requests: Any, context: Any) -> None:
        nonlocal size
        await gate.wait()
        async for request in requests:
            size += len(request)
        await context.write(b"")
        done.set()

    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(serving(http2()))
        handler = grpc.stream_stream_rpc_method_handler(slow)
        server._transport.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("test.Slow", {"Slow": handler}),)
        )
        call = client.channel.stream_stream("/test.Slow/Slow")()
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for _ in range(100):
                await call.write(bytes(20_000))
                sent += 20_000
            await call.done_writing()

        flooding = asyncio.create_task(flood())
        await asyncio.sleep(0.3)
        # What the server holds; gRPC's client counts a message as sent a little earlier.
        assert sent <= connections.STREAM_WINDOW + 200_000
        gate.set()
        await asyncio.wait_for(done.wait(), 10)
        await flooding
        assert size == sent == 2_000_000


# -- deadlines, ends, addresses --------------------------------------------------------------------------


async def test_a_deadline_ends_the_handler_too() -> None:
    """On both sides: the caller hears DEADLINE_EXCEEDED, and nothing of the call is left in the server."""
    async with serving(http2()) as (server, client):
        table = await create(client, 2)
        stub = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id), timeout=0.2)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            async for _ in stub:
                pass
        assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        async with asyncio.timeout(5):
            while server.gate.running:  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.01)


async def test_a_call_that_has_ended_leaves_nothing_for_the_garbage_collector() -> None:
    """Thousands end each second: as rings of objects they would stop everybody while they are looked for."""
    async with serving(http2()) as (server, client):
        table = await create(client, 2)
        gc.collect()
        gc.disable()
        try:
            await table.info()
            assert (await failing(_again(server, bytes(16)))).reason == "UNKNOWN_MATCH"
            watch = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id))
            await watch.read()
            watch.cancel()
            stream = client.match.Play()
            await stream.write(pb.PlayRequest(orders=[pb.PlayOrder(tag=1)]))
            await stream.read()
            await stream.done_writing()
            assert await stream.read() is grpc.aio.EOF
            async with raw_client(server.port) as raw:
                assert (await raw.status(await raw.call(PLAY, b"no message")))[0] == INVALID_ARGUMENT
                gone = raw.engine.send_request([*{**HEADERS, b":path": PLAY}.items()])
                opened = raw.engine.data_to_send()
                raw.engine.reset_stream(gone, ngh2.ErrorCode.CANCEL)
                raw.writer.write(opened + raw.engine.data_to_send())  # reset before its first turn
                await raw.writer.drain()
                assert (await raw.status(await raw.call(ORIGIN, b"")))[0] == "0"
            async with asyncio.timeout(5):
                while any(type(each) is Call for each in gc.get_objects()):  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.01)
        finally:
            gc.enable()


async def test_calls_that_run_when_it_stops_finish_and_the_connection_says_so() -> None:
    """A GOAWAY for whoever is connected; a watch hears UNAVAILABLE."""
    server = Server(http2())
    await server.start()
    async with raw_client(server.port) as raw:
        assert (await raw.status(await raw.call(ORIGIN, b"")))[0] == "0"
        stopping = asyncio.create_task(server.stop(1))
        assert (await raw.until(lambda event: isinstance(event, ngh2.GoAwayReceived))).error_code == 0
        with pytest.raises(EOFError):
            await raw.until(lambda event: False)
        await stopping
    assert not _transport(server).connections


@pytest.mark.skipif(sys.platform == "win32", reason="socket files of POSIX")
async def test_it_listens_on_a_socket_file_and_leaves_none_behind(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with serving(http2(listen=f"unix:{path}")) as (server, client):
        assert server.address == f"unix:{path}"
        await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest())
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="socket files of POSIX")
async def test_a_socket_file_is_taken_from_nobody(tmp_path: Path) -> None:
    """A second server is refused as long as the first answers; it may have what a dead one has left behind."""
    settings = http2(listen=f"unix:{tmp_path / 'socket'}")
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "socket"))
    left.close()
    async with serving(settings) as (_, client):
        with pytest.raises(OSError, match="free"):
            await Server(settings).start()
        await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest())
        # One that has come in between keeps its file.
        (tmp_path / "socket").rename(tmp_path / "former")
        (tmp_path / "socket").touch()
    assert (tmp_path / "socket").exists()


async def test_an_address_without_a_host_is_refused() -> None:
    with pytest.raises(OSError, match="right"):
        await Server(http2(listen=":0")).start()


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("127.0.0.1", 5000), "ipv4:127.0.0.1:5000"),
        (("::1", 5000, 0, 0), "ipv6:%5B::1%5D:5000"),
        (("fe80::1%eth0", 5000, 0, 2), "ipv6:%5Bfe80::1%25eth0%5D:5000"),
        (("::ffff:10.0.0.1", 5000, 0, 0), "ipv4:10.0.0.1:5000"),
        ("", "unix:"),
        (None, "unix:"),
    ],
)
def test_callers_are_named_as_by_grpcio(address: Any, peer: str) -> None:
    assert peer_of(address) == peer


async def test_a_name_stands_for_all_its_addresses_with_one_port() -> None:
    """`localhost` is 127.0.0.1 and, where there is IPv6, ::1."""
    async with serving(http2(listen="localhost:0")) as (server, _):
        for host in {str(found[4][0]) for found in socket.getaddrinfo("localhost", None)}:
            try:
                socket.create_connection((host, server.port), timeout=5).close()
            except OSError:
                assert ":" in host, "127.0.0.1 must answer"


async def test_our_clients_play_over_it() -> None:
    """A match from the first call to the export, over a play stream and verified by the client all the way."""
    async with serving(http2()) as (server, _), AsyncClient(server.address) as client:
        created = await client.matches.create("nimmt", seats=2, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY)
        players = [await client.matches.join(created.match_id, seat) for seat in range(2)]
        await players[0].refresh()
        await players[0].resign()
        assert (await failing(_again(server, created.match_id))).reason == "WRONG_PHASE"


async def _again(server: Server, match_id: bytes) -> Any:
    async with grpc.aio.insecure_channel(server.address) as channel:
        return await Client(channel).match.JoinMatch(pb.JoinMatchRequest(match_id=match_id, seat=0))


def test_the_setting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("sixledger.service.http2")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ngh2", None)

    async def begin() -> None:
        await Server(http2()).start()

    with pytest.raises(ValueError, match=r"sixledger\[http2\]"):
        asyncio.run(begin())
    with pytest.raises(ValueError, match="transport must be"):
        Settings(transport="carrier pigeon")
