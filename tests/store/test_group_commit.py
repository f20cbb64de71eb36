"""How jobs gather into batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest
from sixledger.service.store.base import StoreError
from sixledger.service.store.group_commit import GroupCommit


class Writer:
    """Notes its batches; each waits for `gate`."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Semaphore(0)
        self.began = threading.Semaphore(0)

    def write(self, jobs: Sequence[str]) -> list[str]:
        self.began.release()
        self.gate.acquire()
        self.batches.append(list(jobs))
        if "bad" in jobs:
            raise OSError("no space")
        return [job.upper() for job in jobs]


@pytest.fixture
async def writer() -> Writer:
    return Writer()


@pytest.fixture
async def commits(writer: Writer) -> AsyncIterator[GroupCommit[str, str]]:
    commits = GroupCommit(writer.write, max_jobs=3, max_bytes=100)
    commits.start()
    yield commits
    commits.refuse()
    writer.gate.release(1000)
    await asyncio.to_thread(commits.join)


async def occupy(commits: GroupCommit[str, str], writer: Writer) -> asyncio.Future[str]:
    """Let the writer begin a batch, so that what follows must gather."""
    first = commits.submit(b"first", "first", 1)
    await asyncio.to_thread(writer.began.acquire)
    return first


async def test_a_single_job_is_written_at_once(commits: GroupCommit[str, str], writer: Writer) -> None:
    future = await occupy(commits, writer)
    writer.gate.release()
    assert await future == "FIRST"


async def test_what_gathers_during_a_flush_is_the_next_batch_up_to_its_bound(
    commits: GroupCommit[str, str], writer: Writer
) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(name.encode(), name, 1) for name in "abcde"]
    writer.gate.release(3)
    assert await asyncio.gather(*futures) == list("ABCDE")
    assert writer.batches == [["first"], ["a", "b", "c"], ["d", "e"]]


async def test_jobs_of_one_key_never_share_a_batch_and_keep_their_order(
    commits: GroupCommit[str, str], writer: Writer
) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(job[:1].encode(), job, 1) for job in ("a1", "a2", "a3", "b1", "b2")]
    writer.gate.release(4)
    await asyncio.gather(*futures)
    assert writer.batches[1:] == [["a1", "b1"], ["a2", "b2"], ["a3"]]


async def test_a_busy_key_does_not_starve_the_others(commits: GroupCommit[str, str], writer: Writer) -> None:
    await occupy(commits, writer)
    jobs = ["a1", "a2", "a3", "b1", "c1", "d1", "e1"]
    futures = [commits.submit(job[:1].encode(), job, 1) for job in jobs]
    writer.gate.release(5)
    await asyncio.gather(*futures)
    assert writer.batches[1:] == [["a1", "b1", "c1"], ["d1", "e1", "a2"], ["a3"]]


async def test_bytes_bound_a_batch_too_and_a_large_job_goes_alone(
    commits: GroupCommit[str, str], writer: Writer
) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(job.encode(), job, size) for job, size in (("a", 60), ("b", 60), ("c", 900), ("d", 1))]
    writer.gate.release(5)
    await asyncio.gather(*futures)
    assert writer.batches[1:] == [["a"], ["b"], ["c"], ["d"]]


async def test_a_failed_batch_fails_its_own_callers_only(commits: GroupCommit[str, str], writer: Writer) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(job.encode(), job, 1) for job in ("a", "bad", "c", "d")]
    writer.gate.release(3)
    results = await asyncio.gather(*futures, return_exceptions=True)
    assert [str(result) for result in results[:3]] == ["the store could not write, nothing was changed: no space"] * 3
    assert all(type(result) is StoreError for result in results[:3])
    assert results[3] == "D"


async def test_a_cancelled_caller_leaves_the_others_their_results(
    commits: GroupCommit[str, str], writer: Writer
) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(job.encode(), job, 1) for job in "abc"]
    futures[1].cancel()
    writer.gate.release(2)
    assert await futures[0] == "A"
    assert await futures[2] == "C"


async def test_what_was_taken_is_finished_and_nothing_more_is_taken(
    commits: GroupCommit[str, str], writer: Writer
) -> None:
    await occupy(commits, writer)
    futures = [commits.submit(b"a", f"a{number}", 1) for number in range(5)]
    commits.refuse()
    with pytest.raises(StoreError, match="closed"):
        commits.submit(b"z", "z", 1)
    writer.gate.release(10)
    await asyncio.to_thread(commits.join)
    assert await asyncio.gather(*futures) == [f"A{number}" for number in range(5)]
    assert len(writer.batches) == 6


def test_a_batch_has_room_for_a_job() -> None:
    async def make() -> None:
        GroupCommit(lambda jobs: jobs, max_jobs=0, max_bytes=1)

    with pytest.raises(ValueError, match="max_jobs is 0"):
        asyncio.run(make())
