"""Group commit on the loop: as on a thread, with a result or an error for each job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from sixledger.service.store.base import StoreError, UnknownOutcome
from sixledger.service.store.loop_commit import LoopCommit


class Writer:
    """Notes its batches; each waits for `gate`."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.failure: Exception | None = None

    async def write(self, jobs: Sequence[str]) -> list[str | StoreError]:
        self.batches.append(list(jobs))
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return [StoreError(job) if job.startswith("bad") else job.upper() for job in jobs]


async def test_what_gathers_during_a_flush_is_the_next_batch() -> None:
    writer, told = Writer(), []
    commits = LoopCommit(writer.write, max_jobs=3, max_bytes=100, wrote=lambda count, seconds: told.append(count))
    first = commits.submit(b"x", "x", 1)
    await asyncio.sleep(0.01)
    later = [commits.submit(job[:1].encode(), job, 1) for job in ("a1", "a2", "b1", "c1", "d1")]
    writer.gate.set()
    assert await asyncio.gather(first, *later) == ["X", "A1", "A2", "B1", "C1", "D1"]
    assert writer.batches == [["x"], ["a1", "b1", "c1"], ["d1", "a2"]]
    commits.refuse()
    await commits.join()
    assert told == [1, 3, 2]


async def test_each_job_of_a_batch_gets_its_own_result_or_error() -> None:
    writer, told = Writer(), []
    writer.gate.set()
    commits = LoopCommit(writer.write, max_jobs=9, max_bytes=100, wrote=lambda count, seconds: told.append(count))
    results = await asyncio.gather(
        *(commits.submit(job.encode(), job, 1) for job in ("a", "bad", "c")), return_exceptions=True
    )
    assert (results[0], type(results[1]), results[2]) == ("A", StoreError, "C")
    assert told == [2]


@pytest.mark.parametrize(
    ("failure", "kind", "text"),
    [
        (StoreError("no space"), StoreError, "nothing was changed: no space"),
        # Nobody knows how far it got.
        (RuntimeError("x"), UnknownOutcome, "may have been made was broken off: RuntimeError"),
        (UnknownOutcome("who knows"), UnknownOutcome, "who knows"),
    ],
)
async def test_a_failed_batch_fails_its_own_callers_each_with_an_error_of_its_own(
    failure: Exception, kind: type[StoreError], text: str
) -> None:
    writer = Writer()
    writer.gate.set()
    writer.failure = failure
    commits = LoopCommit(writer.write, max_jobs=9, max_bytes=100)
    errors = await asyncio.gather(*(commits.submit(job, "x", 1) for job in (b"a", b"b")), return_exceptions=True)
    assert [type(error) for error in errors] == [kind, kind]
    assert errors[0] is not errors[1]
    assert text in str(errors[0])
    writer.failure = None
    assert await commits.submit(b"a", "again", 1) == "AGAIN"


async def test_a_batch_that_the_end_of_the_loop_breaks_off_has_an_unknown_outcome() -> None:
    commits = LoopCommit(Writer().write, max_jobs=9, max_bytes=100)
    future = commits.submit(b"a", "x", 1)
    await asyncio.sleep(0.01)
    assert commits._task is not None
    commits._task.cancel()
    with pytest.raises(UnknownOutcome, match="may have been made"):
        await future


async def test_what_was_taken_is_finished_and_nothing_more_is_taken() -> None:
    writer = Writer()
    commits = LoopCommit(writer.write, max_jobs=1, max_bytes=100)
    futures = [commits.submit(b"a", f"a{number}", 1) for number in range(3)]
    await asyncio.sleep(0)
    futures[1].cancel()
    commits.refuse()
    with pytest.raises(StoreError, match="closed"):
        commits.submit(b"z", "z", 1)
    writer.gate.set()
    await commits.join()
    assert (await futures[0], await futures[2]) == ("A0", "A2")


async def test_an_idle_writer_ends_at_once() -> None:
    commits = LoopCommit(Writer().write, max_jobs=1, max_bytes=1)
    commits.refuse()
    await asyncio.wait_for(commits.join(), 1)
