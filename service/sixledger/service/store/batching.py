"""How jobs gather into batches: whatever arrives during a flush is the next batch.

There is no waiting window: an idle writer takes a single job at the end of the turn of the loop, and under load the
batches grow by themselves to what arrives during a flush. How a batch is written is for the subclasses to say:
blocking, on a thread or in a short stop of the loop (`group_commit`), or as a coroutine (`loop_commit`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from sixledger.service.store.base import StoreError, UnknownOutcome

J = TypeVar("J")
R = TypeVar("R")


class Waiter(NamedTuple, Generic[J, R]):
    """A job and who waits for its result."""

    key: bytes
    job: J
    size: int
    future: asyncio.Future[R]


class Gathering(ABC, Generic[J, R]):
    """Gives jobs away in batches, one batch at a time, and each caller the result of its job.

    Jobs of one key never share a batch and keep their order; keys take turns, so that a busy one cannot
    starve the others. `max_jobs` and `max_bytes` bound a batch; a single job larger than `max_bytes` is a batch.

    Batches are put together on the loop, at the end of its turn: whatever was submitted in one turn is
    written together.
    """

    def __init__(self, *, max_jobs: int, max_bytes: int) -> None:
        if max_jobs < 1:
            raise ValueError(f"a batch needs room for a job, max_jobs is {max_jobs}")
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        #: Waiting jobs by key, the key whose turn is next first.
        self._backlog: dict[bytes, deque[Waiter[J, R]]] = {}
        self._loop = asyncio.get_running_loop()
        #: True from the moment a batch is due until its results are delivered.
        self._busy = False
        self._closed = False

    def submit(self, key: bytes, job: J, size: int) -> asyncio.Future[R]:
        """Queue a job of `size` bytes, in the order of the calls. The future gets its result or StoreError."""
        if self._closed:
            raise StoreError("the store is closed")
        future: asyncio.Future[R] = self._loop.create_future()
        queue = self._backlog.get(key)
        waiter = Waiter(key, job, size, future)
        if queue is None:
            self._backlog[key] = deque((waiter,))
        else:
            queue.append(waiter)
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._hand_over)
        return future

    def refuse(self) -> None:
        """Take no more jobs; those that were taken will be finished. On the loop's thread."""
        if not self._closed:
            self._closed = True
            if not self._busy:
                self._end()

    @abstractmethod
    def _begin(self, batch: list[Waiter[J, R]]) -> None:
        """Write a batch, and call `_deliver` on the loop."""

    @abstractmethod
    def _end(self) -> None:
        """No batch will follow."""

    def _hand_over(self) -> None:
        if not self._backlog:
            self._busy = False
            if self._closed:
                self._end()
        else:
            self._begin(self._take())

    def _take(self) -> list[Waiter[J, R]]:
        batch: list[Waiter[J, R]] = []
        behind: list[tuple[bytes, deque[Waiter[J, R]]]] = []
        size = 0
        while self._backlog and len(batch) < self._max_jobs:
            key = next(iter(self._backlog))
            queue = self._backlog[key]
            size += queue[0].size
            if batch and size > self._max_bytes:
                break
            del self._backlog[key]
            batch.append(queue.popleft())
            if queue:
                behind.append((key, queue))
        self._backlog.update(behind)
        return batch

    def _deliver(
        self, batch: list[Waiter[J, R]], results: Sequence[R | StoreError] | None, failure: Exception | None
    ) -> None:
        """Give each caller its result, or all of them the failure of the batch, and go on with the next batch."""
        self._hand_over()
        if results is None:
            for waiter in batch:
                if not waiter.future.done():
                    waiter.future.set_exception(_failed(failure))
        else:
            answer(batch, results)


def answer(batch: Sequence[Waiter[J, R]], results: Sequence[R | StoreError]) -> None:
    """Give each caller its result."""
    for (_, _, _, future), result in zip(batch, results, strict=True):
        if future.done():  # its caller was cancelled
            continue
        if isinstance(result, StoreError):
            future.set_exception(result)
        else:
            future.set_result(result)


def _failed(failure: Exception | None) -> StoreError:
    """An error for one caller: each gets its own, since a raised one collects where it was raised."""
    if isinstance(failure, UnknownOutcome):
        error: StoreError = UnknownOutcome(str(failure))
    else:
        error = StoreError(f"the store could not write, nothing was changed: {failure}")
    error.__cause__ = failure
    return error
