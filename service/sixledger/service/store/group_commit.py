"""Group commit by a function that blocks: in a short stop of the loop while that is quick, else on a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from time import perf_counter, thread_time

from sixledger.service.store.batching import Gathering, J, R, Waiter, answer
from sixledger.service.store.pace import Pace


class GroupCommit(Gathering[J, R]):
    """Gives jobs to `write` in batches, on a thread of its own, and each caller the result of its job.

    `write` makes a batch durable and returns one result per job, in order; if it raises, every caller
    of the batch gets a StoreError, and nothing of it may have been changed. How batches are put together
    says `Gathering`. They are handed over whole: the two threads meet twice a batch, not twice a job.

    With `write_at_once` the loop itself writes for as long as that is quick (`Pace`). It does what `write` does, in no
    more time than the disk takes; or it returns None or raises, and has changed nothing: then the thread writes the
    batch. Never do both work at the same time. Nothing arrives while the loop writes: a batch is what was submitted in
    one turn of the loop.
    """

    def __init__(
        self,
        write: Callable[[Sequence[J]], Sequence[R]],
        *,
        max_jobs: int,
        max_bytes: int,
        wrote: Callable[[int, float], None] | None = None,
        write_at_once: Callable[[Sequence[J]], Sequence[R] | None] | None = None,
        pace: Pace | None = None,
    ) -> None:
        """`wrote` is told, where it was written, how many jobs were made durable and how many seconds it took."""
        super().__init__(max_jobs=max_jobs, max_bytes=max_bytes)
        self._write = write
        self._write_at_once = write_at_once
        self._pace = pace or Pace()
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
        if self._write_at_once is None or not self._pace.is_quick or not self._written_at_once(batch):
            self._inbox.put(batch)

    def _written_at_once(self, batch: list[Waiter[J, R]]) -> bool:
        """Write a batch on the loop, if it can be done."""
        assert self._write_at_once is not None
        begun, worked_s = perf_counter(), thread_time()
        try:
            results = self._write_at_once([waiter.job for waiter in batch])
        except Exception:  # the thread will say what is wrong, or wait until it has passed
            self._pace.failed()
            return False
        if results is None:
            return False
        took_s, worked_s = perf_counter() - begun, thread_time() - worked_s
        self._pace.took(took_s - worked_s)  # the work itself is the same wherever it is done
        answer(batch, results)
        # In a turn of its own: those who were answered go on first, and others have their turn.
        self._loop.call_soon(self._hand_over)
        if self._wrote is not None:
            self._wrote(len(batch), took_s)
        return True

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
