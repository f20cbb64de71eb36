"""What handlers and interceptors see of a call: the context, as grpc.aio has it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import grpc
import grpc.aio
from sixledger.service.http2.metadata import Header, Item, encoded, read_metadata


class Context(ABC):
    """The context of a call. The call itself derives from it, so that a call is one object."""

    __slots__ = ("_callbacks", "_code", "_deadline", "_details", "_ended", "_headers", "_loop", "_peer", "_trailing")

    def __init__(self, loop: asyncio.AbstractEventLoop, peer: str, headers: Sequence[Header]) -> None:
        """`peer` is the caller's address in grpc's words."""
        self._loop = loop
        self._peer = peer
        self._headers = headers
        #: By the clock of the loop; None: the call may take as long as it likes.
        self._deadline: float | None = None
        #: True once the status is on the way, or nobody waits for it.
        self._ended = False
        self._code = grpc.StatusCode.OK
        self._details = ""
        self._trailing: Sequence[Header] = ()
        self._callbacks: Sequence[Callable[[Any], None]] = ()

    # -- the caller ------------------------------------------------------------------------------------

    def peer(self) -> str:
        """Where the caller is, in grpc's words."""
        return self._peer

    def invocation_metadata(self) -> tuple[Item, ...]:
        """What the caller sent beside its requests."""
        return read_metadata(self._headers)

    def time_remaining(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - self._loop.time())

    def done(self) -> bool:
        """True once the status is on the way, or nobody waits for it."""
        return self._ended

    @abstractmethod
    def cancelled(self) -> bool:
        """True if the caller has gone, or the deadline has passed."""

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Have `callback` called with this context once the call is done."""
        self._callbacks = (*self._callbacks, callback)

    # -- messages ----------------------------------------------------------------------------------------

    @abstractmethod
    async def read(self) -> Any:
        """The next request, `EOF` when there are no more. Raises CancelledError once the call has ended."""

    @abstractmethod
    async def write(self, message: Any) -> None:
        """Send a reply. Waits while the caller does not take what was sent before.

        Raises CancelledError once the call has ended: a handler that goes on regardless does not spin here for ever.
        """

    # -- the end -------------------------------------------------------------------------------------------

    @abstractmethod
    def _send_headers(self, own: Sequence[Header] = ()) -> None:
        """Begin the reply, unless it has begun."""

    @abstractmethod
    def _finish(self, code: grpc.StatusCode, message: str, metadata: Sequence[Item] = ()) -> None:
        """Send the status, unless the call has ended before."""

    async def send_initial_metadata(self, metadata: Sequence[Item]) -> None:
        """Send headers of one's own before the first reply."""
        self._send_headers(encoded(metadata))

    def set_trailing_metadata(self, metadata: Sequence[Item]) -> None:
        """What goes with the status at the end."""
        self._trailing = encoded(metadata)

    def trailing_metadata(self) -> tuple[Item, ...]:
        """What was set to go with the status."""
        return read_metadata(self._trailing)

    def set_code(self, code: grpc.StatusCode) -> None:
        """The status with which the call ends when its handler returns."""
        self._code = code

    def code(self) -> grpc.StatusCode:
        """The status that was set, or with which the call has ended."""
        return self._code

    def set_details(self, details: str) -> None:
        """The text of the status with which the call ends when its handler returns."""
        self._details = details

    def details(self) -> str:
        """The text of the status that was set, or with which the call has ended."""
        return self._details

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Sequence[Item] = ()) -> NoReturn:
        """End the call with a status. Always raises."""
        self._finish(code, details, trailing_metadata)
        raise grpc.aio.AbortError("the call was aborted")

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        """End the call with a status. Always raises."""
        await self.abort(status.code, status.details, status.trailing_metadata or ())
