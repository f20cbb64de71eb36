"""Group commit in short stops of the loop, and when the thread takes over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import pytest
from sixledger.service.store.base import StoreError
from sixledger.service.store.group_commit import GroupCommit
from sixledger.service.store.pace import REST, Pace


class Disk:
    """Writes at once unless it is told not to, and notes who wrote what."""

    def __init__(self) -> None:
        self.loop = threading.get_ident()
        self.batches: list[tuple[str, list[str]]] = []
        self.declines = False
        self.failure: Exception | None = None
        #: How long a write takes, and what time it is for the pace.
        self.takes_s = 0.0
        self.now = 0.0

    def write(self, jobs: Sequence[str]) -> list[str]:
        self.batches.append(("loop" if threading.get_ident() == self.loop else "thread", list(jobs)))
        if "bad" in jobs:
            raise OSError("no space")
        return [job.upper() for job in jobs]

    def write_at_once(self, jobs: Sequence[str]) -> list[str] | None:
        if self.declines:
            return None
        if self.failure is not None:
            raise self.failure
        results = self.write(jobs)
        self.pace.took(self.takes_s)
        return results

    @property
    def writers(self) -> list[str]:
        return [writer for writer, _ in self.batches]

    pace: Pace


@pytest.fixture
async def disk() -> Disk:
    disk = Disk()
    disk.pace = Pace(lambda: disk.now)
    return disk


@pytest.fixture
async def commits(disk: Disk) -> AsyncIterator[GroupCommit[str, str]]:
    commits = GroupCommit(disk.write, max_jobs=100, max_bytes=1000, write_at_once=disk.write_at_once, pace=disk.pace)
    commits.start()
    yield commits
    commits.refuse()
    await asyncio.to_thread(commits.join)


async def test_while_it_is_quick_the_loop_writes(commits: GroupCommit[str, str], disk: Disk) -> None:
    for job in "abc":
        assert await commits.submit(job.encode(), job, 1) == job.upper()
    assert disk.batches == [("loop", ["a"]), ("loop", ["b"]), ("loop", ["c"])]


async def test_what_is_submitted_in_one_turn_of_the_loop_is_written_together(
    commits: GroupCommit[str, str], disk: Disk
) -> None:
    futures = [commits.submit(bytes((number,)), f"job {number}", 1) for number in range(70)]
    await asyncio.sleep(0)
    assert [len(jobs) for _, jobs in disk.batches] == [70]
    await asyncio.gather(*futures)


async def test_jobs_of_one_key_keep_their_order(commits: GroupCommit[str, str], disk: Disk) -> None:
    futures = [commits.submit(job[:1].encode(), job, 1) for job in ("a1", "a2", "a3", "b1", "b2")]
    await asyncio.gather(*futures)
    assert [jobs for _, jobs in disk.batches] == [["a1", "b1"], ["a2", "b2"], ["a3"]]


async def test_a_slow_disk_is_left_to_the_thread_until_it_is_quick_again(
    commits: GroupCommit[str, str], disk: Disk
) -> None:
    disk.takes_s = 0.1
    for number in range(5):
        await commits.submit(b"a", f"slow {number}", 1)
    assert disk.writers == ["loop", "thread", "thread", "thread", "thread"]
    disk.takes_s, disk.now = 0.0, disk.now + REST * 0.2
    for number in range(3):
        await commits.submit(b"a", f"quick {number}", 1)
    assert disk.writers[5:] == ["loop", "loop", "loop"]


async def test_what_would_take_long_goes_to_the_thread_alone(commits: GroupCommit[str, str], disk: Disk) -> None:
    disk.declines = True
    assert await commits.submit(b"a", "long", 1) == "LONG"
    disk.declines = False
    assert await commits.submit(b"a", "short", 1) == "SHORT"
    assert disk.writers == ["thread", "loop"]


async def test_what_goes_wrong_on_the_loop_is_done_again_on_the_thread(
    commits: GroupCommit[str, str], disk: Disk
) -> None:
    disk.failure = OSError("database is locked")
    assert await commits.submit(b"a", "a", 1) == "A"
    disk.failure = None
    assert await commits.submit(b"a", "b", 1) == "B"  # and the loop is left alone for a while
    assert disk.writers == ["thread", "thread"]


async def test_a_batch_that_fails_on_both_fails_its_callers_only(commits: GroupCommit[str, str], disk: Disk) -> None:
    results = await asyncio.gather(
        *(commits.submit(job.encode(), job, 1) for job in ("a", "bad")), return_exceptions=True
    )
    assert [str(result) for result in results] == ["the store could not write, nothing was changed: no space"] * 2
    assert all(type(result) is StoreError for result in results)
    assert await commits.submit(b"c", "c", 1) == "C"


async def test_a_cancelled_caller_leaves_the_others_their_results(commits: GroupCommit[str, str], disk: Disk) -> None:
    futures = [commits.submit(job.encode(), job, 1) for job in "abc"]
    futures[1].cancel()
    assert [await futures[0], await futures[2]] == ["A", "C"]


async def test_what_was_taken_is_finished_and_nothing_more_is_taken(commits: GroupCommit[str, str], disk: Disk) -> None:
    futures = [commits.submit(b"a", f"a{number}", 1) for number in range(5)]
    commits.refuse()
    with pytest.raises(StoreError, match="closed"):
        commits.submit(b"z", "z", 1)
    await asyncio.to_thread(commits.join)
    assert await asyncio.gather(*futures) == [f"A{number}" for number in range(5)]
