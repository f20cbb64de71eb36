"""What handlers see of a call, and official clients of a server, is the same over every transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from sixledger.service.transport import transport_of
from support.servers import memory_settings

pytestmark = pytest.mark.usefixtures("transport")

EOF: Any = getattr(grpc.aio, "EOF")  # noqa: B009 - the stubs of grpc do not know it
OPTIONS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1)]


@asynccontextmanager
async def handling(**handlers: Any) -> AsyncIterator[str]:
    """The address of a server of these handlers, as `/test.Test/NAME`."""
    server = transport_of(memory_settings(), ())
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Test", handlers),))
    port = await server.listen()
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def channel_to(address: str, *options: tuple[str, Any]) -> Any:
    return grpc.aio.insecure_channel(address, options=[*OPTIONS, *options])


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)


async def test_a_handler_learns_of_the_call_and_says_how_it_ends() -> None:
    seen: dict[str, Any] = {}

    async def told(request: bytes, context: Any) -> bytes:
        seen["peer"] = context.peer().rpartition(":")[0]
        seen["left"] = 0 < context.time_remaining() < 6
        seen["metadata"] = {(key, value) for key, value in context.invocation_metadata() if key != "user-agent"}
        context.add_done_callback(lambda each: seen.update(done=each.done(), cancelled=each.cancelled()))
        await context.send_initial_metadata((("begun-bin", b"\0"),))
        context.set_trailing_metadata((("ended", "so"),))
        context.set_code(grpc.StatusCode.NOT_FOUND)
        context.set_details("none – of it")
        return b""

    async with handling(Told=grpc.unary_unary_rpc_method_handler(told)) as address, channel_to(address) as channel:
        call = channel.unary_unary("/test.Test/Told")(b"", timeout=5, metadata=(("a", "b c"), ("a-bin", b"\0,\xff")))
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call
        assert (raised.value.code(), raised.value.details()) == (grpc.StatusCode.NOT_FOUND, "none – of it")
        assert list(raised.value.trailing_metadata()) == [("ended", "so")]
        assert ("begun-bin", b"\0") in list(await call.initial_metadata())
        await until(lambda: "done" in seen)
    expected = {"peer": "ipv4:127.0.0.1", "left": True, "metadata": {("a", "b c"), ("a-bin", b"\0,\xff")}}
    assert seen == {**expected, "done": True, "cancelled": False}


async def test_a_handler_is_told_when_its_caller_leaves() -> None:
    ended: list[Any] = []

    async def waiting(request: bytes, context: Any) -> None:
        context.add_done_callback(ended.append)
        await context.write(b"")
        await asyncio.Event().wait()

    handler = grpc.unary_stream_rpc_method_handler(waiting)
    async with handling(Waiting=handler) as address, channel_to(address) as channel:
        call = channel.unary_stream("/test.Test/Waiting")(b"")
        await call.read()
        call.cancel()
        await until(lambda: ended)


async def test_messages_of_many_megabytes_go_both_ways() -> None:
    async def doubled(requests: Any, context: Any) -> None:
        while (data := await context.read()) is not EOF:
            await context.write(data + data)

    handler = grpc.stream_stream_rpc_method_handler(doubled)
    async with handling(Doubled=handler) as address, channel_to(address) as channel:
        sizes = (0, 1, 100_000, 4_000_000)
        call = channel.stream_stream("/test.Test/Doubled")(b"x" * size for size in sizes)
        assert [len(reply) async for reply in call] == [2 * size for size in sizes]


async def test_a_client_tries_again_as_its_configuration_says() -> None:
    tries = 0

    async def flaky(request: bytes, context: Any) -> bytes:
        nonlocal tries
        tries += 1
        if tries < 3:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "again")
        return b"%d" % tries

    policy = {
        "maxAttempts": 5,
        "initialBackoff": "0.01s",
        "maxBackoff": "0.1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    config = json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": policy}]})
    handler = grpc.unary_unary_rpc_method_handler(flaky)
    async with handling(Flaky=handler) as address, channel_to(address, ("grpc.service_config", config)) as channel:
        assert await channel.unary_unary("/test.Test/Flaky")(b"", wait_for_ready=True) == b"3"


async def test_the_client_for_threads_is_served_too() -> None:
    """Also when it sends without end to a call that has refused it."""

    async def refuse(requests: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "no more")

    async def numbers(request: bytes, context: Any) -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d" % number

    def play(address: str) -> tuple[list[bytes], grpc.StatusCode]:
        with grpc.insecure_channel(address, options=OPTIONS) as channel:
            replies = list(channel.unary_stream("/test.Test/Numbers")(b"", timeout=5))
            with pytest.raises(grpc.RpcError) as raised:
                next(channel.stream_stream("/test.Test/Refuse")(iter(lambda: bytes(1000), None), timeout=5))
            error: Any = raised.value
            return replies, error.code()

    handlers = {
        "Refuse": grpc.stream_stream_rpc_method_handler(refuse),
        "Numbers": grpc.unary_stream_rpc_method_handler(numbers),
    }
    async with handling(**handlers) as address:
        replies, code = await asyncio.to_thread(play, address)
    assert (replies, code) == ([b"0", b"1", b"2"], grpc.StatusCode.PERMISSION_DENIED)
