"""Performs the effects of flows on a grpc.aio channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message
from sixledger.client.core.flow import (
    Duplex,
    Effect,
    Flow,
    Locked,
    Open,
    Read,
    Sleep,
    Spawn,
    Take,
    Unary,
    Upload,
    gathered,
)
from sixledger.client.errors import Closed, TransportError
from sixledger.client.settings import Settings
from sixledger.client.statuses import from_rpc_error
from sixledger.v1.access_service_pb2_grpc import AccessServiceStub
from sixledger.v1.catalog_service_pb2_grpc import CatalogServiceStub
from sixledger.v1.engine_service_pb2_grpc import EngineServiceStub
from sixledger.v1.match_service_pb2_grpc import MatchServiceStub
from sixledger.v1.replay_service_pb2_grpc import ReplayServiceStub

T = TypeVar("T")


class Driver:
    """One channel of one event loop. Several tasks may run flows at once."""

    def __init__(
        self, address: str, credentials: grpc.ChannelCredentials | None, settings: Settings, api_key: str = ""
    ) -> None:
        """Connects with the first call. Every call carries the `api_key`, if there is one."""
        self._metadata = (("authorization", f"Bearer {api_key}"),) if api_key else None
        options = settings.channel_options()
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options=options)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, options=options)
        self._stubs: dict[str, Any] = {
            "CatalogService": CatalogServiceStub(self._channel),
            "MatchService": MatchServiceStub(self._channel),
            "EngineService": EngineServiceStub(self._channel),
            "ReplayService": ReplayServiceStub(self._channel),
            "AccessService": AccessServiceStub(self._channel),
        }
        self._tasks: set[asyncio.Task[None]] = set()
        self.closed = False

    async def close(self) -> None:
        """End every call and the connection."""
        self.closed = True
        await self._channel.close()
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        try:
            effect = next(flow)
            while True:
                try:
                    result = await self._perform(effect)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(result)
        except StopIteration as stop:
            result_: T = stop.value
            return result_
        finally:
            flow.close()

    async def _perform(self, effect: Effect) -> Any:
        if self.closed:
            raise Closed("the client was closed")
        try:
            match effect:
                case Unary():
                    return await self._method(effect)(effect.request, timeout=effect.timeout)
                case Upload():
                    return await self._method(effect)(effect.requests(), timeout=effect.timeout)
                case Open():
                    return self._method(effect)(effect.request, timeout=effect.timeout)
                case Read():
                    handle: Any = effect.handle
                    message = await handle.read()
                    end = grpc.aio.EOF  # pyright: ignore[reportAttributeAccessIssue]  # grpc has no types
                    return None if message is end else message
                case Duplex():
                    return self._method(effect)(_messages(effect), timeout=effect.timeout)
                case Take():
                    try:
                        async with asyncio.timeout(effect.seconds):
                            return await effect.queue.get()
                    except TimeoutError:
                        raise TransportError("DEADLINE_EXCEEDED", "no answer in time") from None
                case Spawn():
                    beside = asyncio.create_task(self.run(effect.flow))
                    self._tasks.add(beside)
                    beside.add_done_callback(self._tasks.discard)
                    return None
                case Sleep():
                    return await asyncio.sleep(effect.seconds)
                case Locked():
                    async with effect.lock:
                        return await self.run(effect.flow)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from error
        except grpc.aio.UsageError as error:  # how grpc says that the channel was closed
            if self.closed:
                raise Closed("the client was closed") from error
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Not this task was cancelled, but its call: the table was closed by another task.
            raise TransportError("CANCELLED", "the call was cancelled") from None

    def _method(self, effect: Unary | Upload | Open | Duplex) -> Any:
        method = getattr(self._stubs[effect.service], effect.method)
        return method if self._metadata is None else partial(method, metadata=self._metadata)


async def _messages(effect: Duplex) -> AsyncIterator[Message]:
    """What grpc sends, in a task of its own."""
    ended = False
    while not ended and (first := await effect.outbox.get()) is not None:
        batch, ended = gathered(first, effect.outbox, effect.most)
        yield effect.pack(batch)
