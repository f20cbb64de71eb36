"""Group commit on a thread of its own: it writes whatever has gathered while it wrote before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from time import perf_counter

from sixledger.service.store.batching import Gathering, J, R, Waiter


class GroupCommit(Gathering[J, R]):
    """Gives jobs to `write` in batches, on a thread of its own, and each caller the result of its job.

    `write` makes a batch durable and returns one result per job, in order; if it raises, every caller
    of the batch gets a StoreError, and nothing of it may have been changed. How batches are put together
    says `Gathering`. They are handed over whole: the two threads meet twice a batch, not twice a job.
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
        super().__init__(max_jobs=max_jobs, max_bytes=max_bytes)
        self._write = write
        self._wrote = wrote
        #: Batches for the thread, at most one at a time; None asks it to end.
        self._inbox: SimpleQueue[list[Waiter[J, R]] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Start the thread. Results are delivered on the loop that ran when the object was made."""
        self._thread.start()

    def join(self) -> None:
        """Block until everything taken is written. Call `refuse` before, and not on the loop's thread."""
        self._thread.join()

    def _begin(self, batch: list[Waiter[J, R]]) -> None:
        self._inbox.put(batch)

    def _end(self) -> None:
        self._inbox.put(None)

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
