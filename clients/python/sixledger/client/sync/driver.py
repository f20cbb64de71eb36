"""Performs the effects of flows on a grpc channel, blocking."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import grpc
from sixledger.client.core.flow import Effect, Flow, Locked, Open, Read, Sleep, Unary, Upload
from sixledger.client.errors import Closed
from sixledger.client.settings import Settings
from sixledger.client.statuses import from_rpc_error
from sixledger.v1.catalog_service_pb2_grpc import CatalogServiceStub
from sixledger.v1.engine_service_pb2_grpc import EngineServiceStub
from sixledger.v1.match_service_pb2_grpc import MatchServiceStub
from sixledger.v1.replay_service_pb2_grpc import ReplayServiceStub

T = TypeVar("T")


class Driver:
    """One channel. Several threads may run flows at once."""

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None, settings: Settings) -> None:
        """Connects with the first call."""
        options = settings.channel_options()
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options=options)
        self._stubs: dict[str, Any] = {
            "CatalogService": CatalogServiceStub(self._channel),
            "MatchService": MatchServiceStub(self._channel),
            "EngineService": EngineServiceStub(self._channel),
            "ReplayService": ReplayServiceStub(self._channel),
        }
        self.closed = False

    def close(self) -> None:
        """End every call and the connection."""
        self.closed = True
        self._channel.close()

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

    def _method(self, effect: Unary | Upload | Open) -> Any:
        return getattr(self._stubs[effect.service], effect.method)
