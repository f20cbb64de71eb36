"""Flows of an engine session: one match, kept by the service for the length of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sixledger.client.core.flow import Duplex, Flow, Handle, Locked, Read
from sixledger.client.core.session import ENGINE, Session
from sixledger.client.errors import BrokenStream, ClientError, Closed, TransportError
from sixledger.client.statuses import from_failure
from sixledger.v1 import engine_service_pb2 as pb
from sixledger.v1 import record_pb2


class EngineStream:
    """The stream of a session. Opens with the first step; one exchange at a time."""

    def __init__(self, session: Session, lock: Callable[[], Any], queue: Callable[[], Any]) -> None:
        """`lock` and `queue` make those of the driver."""
        self._session = session
        self._lock = lock()
        self._queue = queue
        self._outbox: Any = None
        self._handle: Handle | None = None
        self._closed = False

    def close(self) -> None:
        """End the session for good. Harmless when repeated."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._outbox.put_nowait(None)
            handle.cancel()

    # -- steps -------------------------------------------------------------------------------------

    def record(self, step: pb.SessionStep) -> Flow[record_pb2.Record]:
        """The record that a step makes."""
        result = yield from self.one(step, "record")
        record: record_pb2.Record = result.record
        return record

    def one(self, step: pb.SessionStep, kind: str) -> Flow[pb.SessionResult]:
        """The result of one step, which must be of this kind. Raises what the service refused it with."""
        (result,) = yield Locked(self._lock, self._exchange([step]))
        if result.WhichOneof("result") == "failure":
            raise from_failure(result.failure)
        if result.WhichOneof("result") != kind:
            raise BrokenStream(f"a step for {kind} was answered with {result.WhichOneof('result')}")
        found: pb.SessionResult = result
        return found

    def records(self, steps: Sequence[pb.SessionStep]) -> Flow[list[record_pb2.Record | ClientError]]:
        """The records of several steps; the last is the error of the first step that failed, if one did."""
        results = yield Locked(self._lock, self._exchange(steps))
        return [
            from_failure(result.failure) if result.WhichOneof("result") == "failure" else result.record
            for result in results
        ]

    def _exchange(self, steps: Sequence[pb.SessionStep]) -> Flow[list[pb.SessionResult]]:
        if self._closed:
            raise Closed("the session was closed")
        handle = self._handle
        if handle is None:
            outbox = self._outbox = self._queue()
            timeout = self._session.settings.session_timeout
            handle = self._handle = yield Duplex(ENGINE, "Session", outbox, _first, 1, timeout)
            assert handle is not None
        self._outbox.put_nowait(pb.SessionRequest(steps=steps))
        try:
            response = yield Read(handle)
            if response is None:
                raise TransportError("UNAVAILABLE", "the service ended the session")
        except BaseException as error:
            # What the session held is gone, or an answer is still to come: it cannot be used any further.
            self._drop()
            if self._closed and isinstance(error, TransportError):
                raise Closed("the session was closed") from error
            raise
        results = list(response.results)
        whole = len(results) == len(steps) or (results and results[-1].WhichOneof("result") == "failure")
        if not whole or len(results) > len(steps):
            self._drop()
            raise BrokenStream(f"{len(steps)} steps were answered with {len(results)} results")
        return results


def _first(requests: list[Any]) -> pb.SessionRequest:
    request: pb.SessionRequest = requests[0]
    return request
