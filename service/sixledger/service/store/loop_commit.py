"""Group commit on the event loop: for stores whose driver is asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

from sixledger.service.store.base import StoreError, UnknownOutcome
from sixledger.service.store.batching import Gathering, J, R, Waiter


class LoopCommit(Gathering[J, R]):
    """Gives jobs to `write` in batches, one after the other, and each caller the result of its job.

    `write` makes a batch durable and returns for each job, in order, a result or the StoreError of its caller; if
    it raises, every caller of the batch gets a StoreError: one that says that nothing was changed if a StoreError was
    raised, else UnknownOutcome. How batches are put together says `Gathering`.
    """

    def __init__(
        self,
        write: Callable[[Sequence[J]], Awaitable[Sequence[R | StoreError]]],
        *,
        max_jobs: int,
        max_bytes: int,
        wrote: Callable[[int, float], None] | None = None,
    ) -> None:
        """`wrote` is told how many jobs were written and how many seconds it took."""
        super().__init__(max_jobs=max_jobs, max_bytes=max_bytes)
        self._write = write
        self._wrote = wrote
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def join(self) -> None:
        """Wait until everything taken is written. Call `refuse` before."""
        await self._ended.wait()

    def _begin(self, batch: list[Waiter[J, R]]) -> None:
        # Kept: the loop itself holds tasks only weakly.
        self._task = self._loop.create_task(self._flush(batch))

    def _end(self) -> None:
        self._ended.set()

    async def _flush(self, batch: list[Waiter[J, R]]) -> None:
        results: Sequence[R | StoreError] | None = None
        failure: Exception | None = None
        begun = perf_counter()
        try:
            results = await self._write([waiter.job for waiter in batch])
        except StoreError as error:
            failure = error
        except Exception as error:  # later batches must not suffer from whatever goes wrong in one
            failure = UnknownOutcome(f"a write that may have been made was broken off: {type(error).__name__}")
            failure.__cause__ = error
        except BaseException:  # the loop ends: nobody waits any more, but those who do must not for ever
            self._deliver(batch, None, UnknownOutcome("the server ends in a write that may have been made"))
            raise
        took_s = perf_counter() - begun
        self._deliver(batch, results, failure)
        if self._wrote is not None and results is not None:
            written = sum(not isinstance(result, StoreError) for result in results)
            if written:
                self._wrote(written, took_s)
