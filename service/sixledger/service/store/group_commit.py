"""Group commit by natural batching: one thread writes whatever has gathered while it wrote before.

There is no waiting window. An idle writer takes a single job at once; under load the batches grow by
themselves to what arrives during a flush.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

from sixledger.service.store.base import StoreError

J = TypeVar("J")
R = TypeVar("R")


class _Waiter(NamedTuple, Generic[J, R]):
    key: bytes
    job: J
    size: int
    future: asyncio.Future[R]


class GroupCommit(Generic[J, R]):
    """Gives jobs to `write` in batches, on a thread of its own, and each caller the result of its job.

    `write` makes a batch durable and returns one result per job, in order; if it raises, every caller
    of the batch gets a StoreError, and nothing of it may have been changed. Jobs of one key never
    share a batch and keep their order; keys take turns, so that a busy one cannot starve the others.

    `max_jobs` and `max_bytes` bound a batch; a single job larger than `max_bytes` is a batch.

    Batches are put together on the loop and handed over whole, at the end of the loop's turn: whatever
    was submitted in one turn is written together, and the two threads meet twice a batch, not twice a job.
    """

    def __init__(
        self,
        write: Callable[[Sequence[J]], Sequence[R]],
        *,
        max_jobs: int,
        max_bytes: int,
        wrote: Callable[[int, float], None] | None = None,
    ) -> None:
        """`wrote` is told, on the thread, how many jobs were made durable and how many seconds it took."""
        if max_jobs < 1:
            raise ValueError(f"a batch needs room for a job, max_jobs is {max_jobs}")
        self._write = write
        self._wrote = wrote
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        #: Batches for the thread, at most one at a time; None asks it to end.
        self._inbox: SimpleQueue[list[_Waiter[J, R]] | None] = SimpleQueue()
        #: Waiting jobs by key, the key whose turn is next first.
        self._backlog: dict[bytes, deque[_Waiter[J, R]]] = {}
        self._thread = Thread(target=self._run, name="store-writer", daemon=True)
        self._loop = asyncio.get_running_loop()
        #: True from the moment a batch is due until its results are delivered.
        self._busy = False
        self._closed = False

    def start(self) -> None:
        """Start the thread. Results are delivered on the loop that ran when the object was made."""
        self._thread.start()

    def submit(self, key: bytes, job: J, size: int) -> asyncio.Future[R]:
        """Queue a job of `size` bytes, in the order of the calls. The future gets its result or StoreError."""
        if self._closed:
            raise StoreError("the store is closed")
        future: asyncio.Future[R] = self._loop.create_future()
        queue = self._backlog.get(key)
        waiter = _Waiter(key, job, size, future)
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
                self._inbox.put(None)

    def join(self) -> None:
        """Block until everything taken is written. Call `refuse` before, and not on the loop's thread."""
        self._thread.join()

    # -- on the loop -------------------------------------------------------------------------------

    def _hand_over(self) -> None:
        if self._backlog:
            self._inbox.put(self._take())
            return
        self._busy = False
        if self._closed:
            self._inbox.put(None)

    def _take(self) -> list[_Waiter[J, R]]:
        batch: list[_Waiter[J, R]] = []
        behind: list[tuple[bytes, deque[_Waiter[J, R]]]] = []
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

    def _deliver(self, batch: list[_Waiter[J, R]], results: Sequence[R] | None, failure: Exception | None) -> None:
        self._hand_over()
        if results is None:
            for waiter in batch:
                if not waiter.future.done():
                    error = StoreError(f"the store could not write, nothing was changed: {failure}")
                    error.__cause__ = failure
                    waiter.future.set_exception(error)
            return
        for waiter, result in zip(batch, results, strict=True):
            if not waiter.future.done():  # else its caller was cancelled
                waiter.future.set_result(result)

    # -- on the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        while (batch := self._inbox.get()) is not None:
            results: Sequence[R] | None = None
            failure: Exception | None = None
            begun = perf_counter()
            try:
                results = self._write([waiter.job for waiter in batch])
            except Exception as error:  # the thread must outlive whatever goes wrong in one batch
                failure = error
            took_s = perf_counter() - begun
            try:
                self._loop.call_soon_threadsafe(self._deliver, batch, results, failure)
            except RuntimeError:  # the loop ended without closing the store: nobody waits any more
                return
            if self._wrote is not None and results is not None:
                self._wrote(len(batch), took_s)
