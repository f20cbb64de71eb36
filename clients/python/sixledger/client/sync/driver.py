"""Performs the effects of flows on a grpc channel, blocking."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from queue import Empty
from threading import Thread, current_thread
from typing import Any, TypeVar

import grpc
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


#: A stream that is only read is read by the thread that asks for its next message, not by one of the library that
#: hands it over: that costs half.
_READ_WHERE_ASKED = ("SingleThreadedUnaryStream", 1)


class Driver:
    """One channel. Several threads may run flows at once."""

    def __init__(
        self, address: str, credentials: grpc.ChannelCredentials | None, settings: Settings, api_key: str = ""
    ) -> None:
        """Connects with the first call. Every call carries the `api_key`, if there is one."""
        self._metadata = (("authorization", f"Bearer {api_key}"),) if api_key else None
        options = [*settings.channel_options(), _READ_WHERE_ASKED]
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options=options)
        self._stubs: dict[str, Any] = {
            "CatalogService": CatalogServiceStub(self._channel),
            "MatchService": MatchServiceStub(self._channel),
            "EngineService": EngineServiceStub(self._channel),
            "ReplayService": ReplayServiceStub(self._channel),
            "AccessService": AccessServiceStub(self._channel),
        }
        self._threads: set[Thread] = set()
        self.closed = False

    def close(self) -> None:
        """End every call and the connection."""
        self.closed = True
        self._channel.close()
        for thread in list(self._threads):
            thread.join(timeout=5)

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        try:
            effect = next(flow)
            while True:
                try:
                    result = self._perform(effect)
                except BaseException as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(result)
        except StopIteration as stop:
            result_: T = stop.value
            return result_
        finally:
            flow.close()

    def _perform(self, effect: Effect) -> Any:
        if self.closed:
            raise Closed("the client was closed")
        try:
            match effect:
                case Unary():
                    return self._method(effect)(effect.request, timeout=effect.timeout)
                case Upload():
                    return self._method(effect)(effect.requests(), timeout=effect.timeout)
                case Open():
                    return self._method(effect)(effect.request, timeout=effect.timeout)
                case Read():
                    handle: Any = effect.handle
                    return next(handle, None)
                case Duplex():
                    return self._method(effect)(_messages(effect), timeout=effect.timeout)
                case Take():
                    try:
                        return effect.queue.get(timeout=effect.seconds)
                    except Empty:
                        raise TransportError("DEADLINE_EXCEEDED", "no answer in time") from None
                case Spawn():
                    thread = Thread(target=self._beside, args=(effect.flow,), name="sixledger-stream", daemon=True)
                    self._threads.add(thread)
                    thread.start()
                case Sleep():
                    return time.sleep(effect.seconds)
                case Locked():
                    with effect.lock:
                        return self.run(effect.flow)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from error
        except ValueError as error:  # how grpc says that the channel was closed
            if self.closed:
                raise Closed("the client was closed") from error
            raise

    def _beside(self, flow: Flow[None]) -> None:
        try:
            self.run(flow)
        finally:
            self._threads.discard(current_thread())

    def _method(self, effect: Unary | Upload | Open | Duplex) -> Any:
        method = getattr(self._stubs[effect.service], effect.method)
        return method if self._metadata is None else partial(method, metadata=self._metadata)


def _messages(effect: Duplex) -> Iterator[Message]:
    """What grpc sends, on a thread of its own."""
    ended = False
    while not ended and (first := effect.outbox.get()) is not None:
        batch, ended = gathered(first, effect.outbox, effect.most)
        yield effect.pack(batch)
