"""The nemesis: breaks replicas, network, database, clocks and disk, by a plan that follows from a seed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random

from chaos.cluster import Cluster
from chaos.servers import Replica
from chaos.wire import State, Wire

KILL, STOP = "kill", "stop"
CUT_CLIENTS, CUT_DATABASE = "cut from clients", "cut from database"
SLOW_CLIENTS, SLOW_DATABASE = "slow to clients", "slow to database"
RESTART_DATABASE, DROP_WAKEUPS, SKEW, FILL_DISK = "restart database", "drop wake-ups", "skew clock", "fill disk"

ON_POSTGRES = (
    *(KILL, KILL, STOP, STOP, CUT_CLIENTS, CUT_CLIENTS, CUT_DATABASE, CUT_DATABASE, CUT_DATABASE),
    *(SLOW_CLIENTS, SLOW_DATABASE, RESTART_DATABASE, DROP_WAKEUPS, SKEW, SKEW, FILL_DISK),
)
#: A single server can be killed and its disk can fill; its clients can be cut off.
ON_SQLITE = (*(KILL,) * 7, FILL_DISK, CUT_CLIENTS, SKEW)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that breaks: when, what, for how long."""

    at_s: float
    kind: str
    #: Index of the replica that it hits; the database and the disk are there for all.
    replica: int
    seconds: float
    #: How a wire breaks.
    mode: State = State.OPEN
    #: Seconds by which the clock is wrong, share of wake-ups that are dropped, seconds of delay; of a wire that holds
    #: what is sent: not 0 if that is lost in the end.
    amount: float = 0.0


def plan(seed: int, seconds: float, replicas: int, kinds: Sequence[str], *, gap_s: float = 2.0) -> list[Fault]:
    """What breaks within so many seconds, one fault `gap_s` after the other on average. Every kind has its turns."""
    random = Random(seed)
    faults: list[Fault] = []
    deck: list[str] = []
    at_s = 0.0
    while (at_s := at_s + random.uniform(0.2, 2.0) * gap_s) < seconds:
        if not deck:
            deck = random.sample(list(kinds), len(kinds))
        faults.append(_fault(random, at_s, deck.pop(), random.randrange(replicas)))
    return faults


def _fault(random: Random, at_s: float, kind: str, replica: int) -> Fault:
    # Most are short, some last longer than the patience of a call.
    seconds = random.choice((random.uniform(0.0, 0.5), random.uniform(0.5, 3.0), random.uniform(3.0, 9.0)))
    mode, amount = State.OPEN, 0.0
    if kind in (CUT_CLIENTS, CUT_DATABASE):
        mode = random.choice((State.CUT, State.HELD, State.HELD, State.LOSSY))
        amount = float(random.randrange(2))
    elif kind in (SLOW_CLIENTS, SLOW_DATABASE):
        amount = random.uniform(0.01, 0.3)
    elif kind == SKEW:
        amount = random.uniform(-5.0, 5.0)
    elif kind == DROP_WAKEUPS:
        amount = random.choice((0.5, 0.9, 1.0))
    elif kind == FILL_DISK:
        seconds = min(seconds, 4.0)
    elif kind == KILL:
        seconds = min(seconds, 2.0)
    return Fault(at_s, kind, replica, seconds, mode, amount)


class Nemesis:
    """Carries a plan out. Faults overlap, but no replica has two at a time."""

    def __init__(self, cluster: Cluster) -> None:
        """Breaks this."""
        self._cluster = cluster
        #: What was done, and for how long it lasted.
        self.done: list[tuple[Fault, float]] = []
        self._until = 0.0
        self._acts: dict[str, Callable[[Fault, Replica], Awaitable[None]]] = {
            KILL: self._kill,
            STOP: self._stop,
            CUT_CLIENTS: self._cut_clients,
            CUT_DATABASE: self._cut_database,
            SLOW_CLIENTS: self._slow_clients,
            SLOW_DATABASE: self._slow_database,
            RESTART_DATABASE: self._restart_database,
            DROP_WAKEUPS: self._drop_wakeups,
            SKEW: self._skew,
            FILL_DISK: self._fill_disk,
        }

    async def run(self, faults: Sequence[Fault], seconds: float) -> None:
        """Do what can be begun within so many seconds; returns when the last fault has ended."""
        clock = asyncio.get_running_loop().time
        started = clock()
        self._until = started + seconds
        async with asyncio.TaskGroup() as tasks:
            for fault in faults:
                await asyncio.sleep(started + fault.at_s - clock())
                tasks.create_task(self._inject(fault))

    async def _inject(self, fault: Fault) -> None:
        cluster, clock = self._cluster, asyncio.get_running_loop().time
        replica = cluster.replicas[fault.replica]
        if fault.kind == FILL_DISK and cluster.server is not None and not cluster.disk.mounted:
            return  # it is not our disk
        async with AsyncExitStack() as stack:
            of_all = fault.kind in (RESTART_DATABASE, FILL_DISK)
            await stack.enter_async_context(cluster.lock if of_all else replica.lock)
            begun = clock()
            if begun > self._until:
                return  # its turn has come too late
            await self._acts[fault.kind](fault, replica)
            self.done.append((fault, clock() - begun))

    async def _kill(self, fault: Fault, replica: Replica) -> None:
        await asyncio.to_thread(replica.kill)
        await asyncio.sleep(fault.seconds)
        await replica.start()
        await asyncio.sleep(1.0)  # one that is killed before it has done anything finds nothing

    async def _stop(self, fault: Fault, replica: Replica) -> None:
        replica.signal(signal.SIGSTOP)
        await asyncio.sleep(fault.seconds)
        replica.signal(signal.SIGCONT)

    async def _break(self, fault: Fault, wire: Wire) -> None:
        wire.set(fault.mode)
        await asyncio.sleep(fault.seconds)
        if fault.amount:
            wire.set(State.CUT)
        wire.set(State.OPEN)

    async def _cut_clients(self, fault: Fault, replica: Replica) -> None:
        await self._break(fault, replica.clients)

    async def _cut_database(self, fault: Fault, replica: Replica) -> None:
        assert replica.database is not None
        await self._break(fault, replica.database)

    async def _slow(self, fault: Fault, wire: Wire) -> None:
        wire.delay_s = fault.amount
        await asyncio.sleep(fault.seconds)
        wire.delay_s = 0.0

    async def _slow_clients(self, fault: Fault, replica: Replica) -> None:
        await self._slow(fault, replica.clients)

    async def _slow_database(self, fault: Fault, replica: Replica) -> None:
        assert replica.database is not None
        await self._slow(fault, replica.database)

    async def _restart_database(self, _: Fault, __: Replica) -> None:
        await self._cluster.restart_database()

    async def _drop_wakeups(self, fault: Fault, replica: Replica) -> None:
        replica.order(f"drop {fault.amount}")
        await asyncio.sleep(fault.seconds)
        replica.order("drop 0")

    async def _skew(self, fault: Fault, replica: Replica) -> None:
        replica.skew_s = fault.amount  # it stays wrong, also when the replica starts again
        replica.order(f"skew {fault.amount}")

    async def _fill_disk(self, fault: Fault, replica: Replica) -> None:
        disk = self._cluster.disk
        if disk.mounted:
            await asyncio.to_thread(disk.fill)
        else:
            replica.order("files 65536")
        await asyncio.sleep(fault.seconds)
        disk.free()
        replica.order("files -1")
        if self._cluster.server is not None:
            await self._cluster.revive_database()
