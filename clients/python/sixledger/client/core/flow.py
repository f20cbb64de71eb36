"""Flows: the client's logic as generators that yield what is to be done and are sent what came of it.

A driver (`sixledger.client.sync`, `sixledger.client.aio`) performs each effect: it waits, calls, reads; a
failed effect is thrown into the flow. So both clients run the same code, and tests run it without a socket.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message
from sixledger.client.errors import ServiceError, TransportError
from sixledger.client.settings import Settings

T = TypeVar("T")


class Handle(Protocol):
    """An open stream of the transport."""

    def cancel(self) -> bool:
        """Give it up. Harmless when it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Unary:
    """Make a call; the result is its reply."""

    service: str
    method: str
    request: Message = field(repr=False)
    timeout: float


@dataclass(frozen=True, slots=True)
class Upload:
    """Make a call that streams requests; the result is its reply."""

    service: str
    method: str
    requests: Callable[[], Iterator[Message]] = field(repr=False)
    timeout: float


@dataclass(frozen=True, slots=True)
class Open:
    """Open a stream of replies; the result is its Handle."""

    service: str
    method: str
    request: Message = field(repr=False)
    timeout: float


@dataclass(frozen=True, slots=True)
class Duplex:
    """Open a stream that goes both ways; the result is its Handle.

    What is put into the queue `outbox` is sent, as `pack` makes a message of it: several at once, `most` at most, if
    they gathered meanwhile. None ends the sending.
    """

    service: str
    method: str
    outbox: Any
    pack: Callable[[list[Any]], Message] = field(repr=False)
    most: int
    timeout: float


@dataclass(frozen=True, slots=True)
class Take:
    """Wait for the next thing in a queue, at most so many seconds; None: for ever. Raises TransportError."""

    queue: Any
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """Run another flow beside this one, to its end or until the client is closed."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class Read:
    """Wait for the next message of a stream; the result is the message, or None at its end."""

    handle: Handle


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Locked:
    """Run another flow while nobody else holds the lock; the result is that of the flow."""

    lock: Any
    flow: Flow[Any]


Effect: TypeAlias = Unary | Upload | Open | Duplex | Take | Spawn | Read | Sleep | Locked
Flow: TypeAlias = Generator[Effect, Any, T]


def gathered(first: Any, outbox: Any, most: int) -> tuple[list[Any], bool]:
    """What is in an outbox, `first` included, at most `most`; and True if the sending ends after it."""
    batch = []
    item = first
    while item is not None:
        batch.append(item)
        if len(batch) >= most or outbox.empty():
            return batch, False
        item = outbox.get_nowait()
    return batch, True


class Backoff:
    """Pauses between attempts: growing, jittered, and over once the patience is used up."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """The patience starts to run now."""
        self._settings = settings
        self._clock = clock
        self._until = clock() + settings.patience
        self._pause = settings.first_pause
        self._jitter = random.Random()  # noqa: S311  # spreads clients, guards no secret

    def after(self, error: ServiceError | TransportError) -> Sleep:
        """The pause before the next attempt. Raises `error` if it must not or need not be tried again."""
        if not error.retryable or self._clock() >= self._until:
            raise error
        pause = self._pause * self._jitter.uniform(0.5, 1.0)
        self._pause = min(2 * self._pause, self._settings.longest_pause)
        least = error.retry_after if isinstance(error, ServiceError) else 0.0
        if self._clock() + least >= self._until:
            raise error
        return Sleep(max(pause, least))


def repeated(effect: Unary | Upload, settings: Settings) -> Flow[Any]:
    """The reply of a call that may be repeated: reads, and acts with a request id."""
    backoff = Backoff(settings)
    while True:
        try:
            return (yield effect)
        except (ServiceError, TransportError) as error:
            pause = backoff.after(error)
        yield pause
