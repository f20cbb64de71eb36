"""The load of the watchers' benchmark: a process of its own with a thousand watchers of one match.

Windows in which the match is played while all watch, and in which as many messages of the same size are sent over bare
server streams, take turns. Before them: how much memory idle watchers take. Prints what it measured as JSON.

    python -m bench.watch_load <address> <rounds> <records of a window> <watchers>
"""

from __future__ import annotations

import asyncio
import random
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.echo import LISTEN, SAY, USAGE
from bench.loops import tell
from bench.stream_load import Game
from bench.unary_load import Load, Prepared
from sixledger.v1 import match_service_pb2 as pb

_WATCH = "/sixledger.v1.MatchService/WatchMatch"


class Watchers:
    """Many streams of one method, over a few channels."""

    def __init__(self, load: Load, count: int, method: str, request: bytes, first: int) -> None:
        self.received = 0
        self.bytes = 0
        self._goal = asyncio.Event()
        self._wanted = 0
        self._ready = asyncio.Semaphore(0)
        self._tasks = [
            asyncio.create_task(self._watch(load.channel(number).unary_stream(method)(request), first))
            for number in range(count)
        ]

    async def _watch(self, call: Any, first: int) -> None:
        for _ in range(first):
            await call.read()
        self._ready.release()
        while True:
            message = await call.read()
            self.received += 1
            self.bytes += len(message)
            if self.received >= self._wanted:
                self._goal.set()

    async def ready(self) -> None:
        """Wait until every stream has got its first messages."""
        for _ in self._tasks:
            await self._ready.acquire()

    async def all_have(self, each: int) -> None:
        """Wait until every stream has got that many messages since the last time."""
        self._wanted = each * len(self._tasks)
        while self.received < self._wanted:
            self._goal.clear()
            await self._goal.wait()
        self.received = 0
        self._wanted = 0

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class WatchLoad(Load):
    """A match, its watchers, and bare listeners."""

    async def usage(self) -> tuple[float, float]:
        """CPU seconds and memory in bytes of the server."""
        seconds, memory = struct.unpack("!dd", await self.stub(0, USAGE)(b""))
        return seconds, memory

    async def watched(self, match: Prepared, count: int) -> Watchers:
        """Spectators who have caught up."""
        request = pb.WatchMatchRequest(match_id=match.match_id, snapshot=True)
        watchers = Watchers(self, count, _WATCH, request.SerializeToString(), 2)
        await watchers.ready()
        return watchers

    async def delivered(
        self, watchers: Watchers, records: int, act: Callable[[], Awaitable[object]]
    ) -> dict[str, float]:
        """Let `act` happen so many times, each when all have got the message before."""
        begun, cpu = time.perf_counter(), (await self.usage())[0]
        for _ in range(records):
            await act()
            await watchers.all_have(1)
        cpu = (await self.usage())[0] - cpu
        messages = records * len(watchers._tasks)
        return {"per_cpu_second": messages / cpu, "per_second": messages / (time.perf_counter() - begun)}


async def main(address: str, rounds: int, records: int, count: int) -> dict[str, Any]:
    """Measure the memory of idle watchers, then windows by turns, after one of each that does not count."""
    load = WatchLoad(address)
    try:
        match = await load.prepare(0)
        await load.usage()
        warm = await load.watched(match, 50)
        await warm.close()
        await asyncio.sleep(0.5)
        before = (await load.usage())[1]
        idle = await load.watched(match, count)
        await asyncio.sleep(2)  # a tick has passed
        idle_bytes = ((await load.usage())[1] - before) / count
        await idle.close()

        submit = load.stub(0, "/sixledger.v1.MatchService/SubmitCommand")
        say = load.stub(0, SAY)
        windows = []
        for _ in range(rounds + 1):
            match = await load.prepare(0)
            watchers = await load.watched(match, count)
            game = Game(match)

            async def play(game: Game = game) -> None:
                move = await game.next()
                assert move is not None
                seat, command = move
                match = game.match
                act = pb.Act(match_id=match.match_id, token=match.tokens[seat], request_id=random.randbytes(16))
                request = pb.SubmitCommandRequest(act=act, decision=match.decision, command=command)
                reply = pb.SubmitCommandResponse.FromString(await submit(request.SerializeToString()))
                game.played = pb.PlayedCommand(record=reply.record)

            found = await load.delivered(watchers, records, play)
            size = watchers.bytes // (records * count)
            await watchers.close()
            listeners = Watchers(load, count, LISTEN, b"", 1)
            await listeners.ready()

            async def speak(message: bytes = bytes(size)) -> None:
                await say(message)

            bare = await load.delivered(listeners, records, speak)
            await listeners.close()
            windows.append({"watch": found, "bare": bare, "bytes": size})
        return {"idle_bytes": idle_bytes, "windows": windows[1:]}
    finally:
        await load.close()


if __name__ == "__main__":
    tell(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
