"""Acts that come at about the same time are decided and written together; nobody waits long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter

import pytest
from sixledger.service import rendezvous
from sixledger.service.rendezvous import LONGEST_WAIT_S, Rendezvous
from sixledger.service.store.sqlite import SqliteStore
from sixledger.v1 import record_pb2
from support.hosts import replica


def _nobody() -> list[int]:
    return []


async def come(place: Rendezvous, turns: int, order: list[int], number: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    await place.meet()
    order.append(number)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long for a turn of the loop."""
    monkeypatch.setattr(rendezvous, "LONGEST_WAIT_S", 60.0)


@pytest.mark.usefixtures("patient")
async def test_whoever_comes_a_few_turns_later_goes_on_with_the_first() -> None:
    place, order = Rendezvous(), _nobody()
    tasks = [asyncio.create_task(come(place, 3 * number, order, number)) for number in range(4)]
    for _ in range(10):
        await asyncio.sleep(0)
        assert not order
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3]


async def test_enough_wait_for_nobody() -> None:
    place, order = Rendezvous(enough=5), _nobody()
    tasks = [asyncio.create_task(come(place, 0, order, number)) for number in range(5)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert order == [0, 1, 2, 3, 4]
    await asyncio.gather(*tasks)


async def test_waiting_has_an_end_though_somebody_comes_every_turn() -> None:
    place, order = Rendezvous(enough=10**9), _nobody()
    begun = perf_counter()
    tasks: list[asyncio.Task[None]] = []
    while not order and perf_counter() < begun + 10:
        tasks.append(asyncio.create_task(come(place, 0, order, len(tasks))))
        await asyncio.sleep(0)
    assert order, "nobody ever went on"
    assert perf_counter() - begun >= LONGEST_WAIT_S
    await asyncio.gather(*tasks)


async def test_whoever_leaves_keeps_nobody() -> None:
    place, order = Rendezvous(), _nobody()
    tasks = [asyncio.create_task(come(place, 0, order, number)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [1]
    await come(place, 0, order, 7)
    assert order == [1, 7]


def test_a_loop_that_ended_in_the_middle_keeps_nobody_of_the_next() -> None:
    place, order = Rendezvous(), _nobody()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(_broken_off(place))
    asyncio.run(come(place, 0, order, 1))
    assert order == [1]


async def _broken_off(place: Rendezvous) -> None:
    place.meet()
    raise ZeroDivisionError


@pytest.mark.usefixtures("patient")
async def test_commands_of_several_matches_are_one_batch_of_the_store(tmp_path: Path) -> None:
    """Also if they come in several turns of the loop: each takes another number of them before it gets here."""
    batches: list[int] = []
    async with SqliteStore(tmp_path / "matches.db") as store:
        at = replica(store)
        matches = [await at.start(2) for _ in range(8)]
        requests = [await at.request(match, 0, 0) for match in matches]
        store.on_flush = lambda jobs, seconds: batches.append(jobs)

        async def submit(number: int) -> None:
            for _ in range(number):
                await asyncio.sleep(0)
            await at.servicer.SubmitCommand(requests[number])

        await asyncio.gather(*map(submit, range(8)))
    assert batches == [8]


async def test_acts_of_one_match_follow_each_other(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "matches.db") as store:
        at = replica(store)
        match = await at.start(3)
        requests = [await at.request(match, 0, seat) for seat in range(3)]
        replies = await asyncio.gather(*map(at.servicer.SubmitCommand, requests))
        numbers = [record_pb2.Body.FromString(reply.record.body).seq for reply in replies]
        assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]
