"""Group commit by natural batching: one thread writes whatever has gathered while it wrote before.

There is no waiting window. An idle writer takes a single job at once; under load the batches grow by
themselves to what arrives during a flush.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
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
    """

    def __init__(self, write: Callable[[Sequence[J]], Sequence[R]], *, max_jobs: int, max_bytes: int) -> None:
        if max_jobs < 1:
            raise ValueError(f"a batch needs room for a job, max_jobs is {max_jobs}")
        self._write = write
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        #: None asks the thread to end, after all that came before.
        self._inbox: SimpleQueue[_Waiter[J, R] | None] = SimpleQueue()
        #: Waiting jobs by key, the key whose turn is next first. Used by the thread only.
        self._backlog: dict[bytes, deque[_Waiter[J, R]]] = {}
        self._thread = Thread(target=self._run, name="store-writer", daemon=True)
        self._loop = asyncio.get_running_loop()
        self._closed = False

    def start(self) -> None:
        """Start the thread. Results are delivered on the loop that ran when the object was made."""
        self._thread.start()

    def submit(self, key: bytes, job: J, size: int) -> asyncio.Future[R]:
        """Queue a job of `size` bytes, in the order of the calls. The future gets its result or StoreError."""
        if self._closed:
            raise StoreError("the store is closed")
        future: asyncio.Future[R] = self._loop.create_future()
        self._inbox.put(_Waiter(key, job, size, future))
        return future

    def refuse(self) -> None:
        """Take no more jobs; those that were taken will be finished."""
        if not self._closed:
            self._closed = True
            self._inbox.put(None)

    def join(self) -> None:
        """Block until everything taken is written. Call `refuse` before, and not on the loop's thread."""
        self._thread.join()

    def _run(self) -> None:
        ending = False
        while True:
            if not self._backlog:
                if ending:
                    return
                ending = not self._keep(self._inbox.get())
            for _ in range(self._inbox.qsize()):
                ending = not self._keep(self._inbox.get()) or ending
            if self._backlog:
                self._flush(self._take())

    def _keep(self, waiter: _Waiter[J, R] | None) -> bool:
        if waiter is None:
            return False
        queue = self._backlog.get(waiter.key)
        if queue is None:
            self._backlog[waiter.key] = deque((waiter,))
        else:
            queue.append(waiter)
        return True

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

    def _flush(self, batch: list[_Waiter[J, R]]) -> None:
        results: Sequence[R] | None = None
        failure: Exception | None = None
        try:
            results = self._write([waiter.job for waiter in batch])
        except Exception as error:  # the thread must outlive whatever goes wrong in one batch
            failure = error
        with suppress(RuntimeError):  # the loop ended without closing the store: nobody waits any more
            self._loop.call_soon_threadsafe(_deliver, [waiter.future for waiter in batch], results, failure)


def _deliver(futures: list[asyncio.Future[R]], results: Sequence[R] | None, failure: Exception | None) -> None:
    if results is None:
        for future in futures:
            if not future.done():
                error = StoreError(f"the store could not write, nothing was changed: {failure}")
                error.__cause__ = failure
                future.set_exception(error)
        return
    for future, result in zip(futures, results, strict=True):
        if not future.done():  # else its caller was cancelled
            future.set_result(result)
