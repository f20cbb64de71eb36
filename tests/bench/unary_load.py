"""The load of the unary benchmark: a process of its own, 64 workers, each in matches of its own.

It knows as little of the game as it can, so that it is cheaper than the server: two seats that do not sign,
any card of the hand, any row. Hands come from views that are fetched before the clock starts. Commands and
echo calls take turns, window by window. Prints what it measured as JSON.

    python -m bench.unary_load <address> <rounds> <seconds of a window> <workers>
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
from bench.echo import ECHO, USAGE
from bench.loops import tell
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2

_SEATS = 2
_CARDS = 10
_CHANNELS = 4

#: What a worker does: its number, when to stop, where to note how long each call took. False if it ran out of work.
Work = Callable[[int, float, list[float]], Awaitable[bool]]


def _command(command: pb.Command) -> bytes:
    return game_pb2.Command(nimmt=command).SerializeToString()


_SELECT = [_command(pb.Command(select_card=pb.SelectCard(card=card))) for card in range(105)]
_TAKE = [_command(pb.Command(take_row=pb.TakeRow(row=row))) for row in range(4)]


@dataclass(slots=True)
class Prepared:
    """A match that has just started: its seats' tokens and hands, and the number of its decision."""

    match_id: bytes
    tokens: list[str]
    hands: list[list[int]]
    decision: int


@dataclass(slots=True)
class Window:
    """What happened in one window of time."""

    calls: int
    wall_s: float
    load_cpu_s: float
    server_cpu_s: float
    waits: list[float]

    def as_dict(self) -> dict[str, float]:
        """Rates, CPU time in µs a call, shares of a core, waits in ms."""
        self.waits.sort()
        return {
            "calls_per_s": self.calls / self.wall_s,
            "server_us": self.server_cpu_s / self.calls * 1e6,
            "server_cores": self.server_cpu_s / self.wall_s,
            "load_us": self.load_cpu_s / self.calls * 1e6,
            "load_cores": self.load_cpu_s / self.wall_s,
            "p50_ms": self.waits[len(self.waits) // 2] * 1e3,
            "p99_ms": self.waits[len(self.waits) * 99 // 100] * 1e3,
        }


class Load:
    """Calls to one server over a few channels."""

    def __init__(self, address: str) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channels = [grpc.aio.insecure_channel(address, options) for _ in range(_CHANNELS)]
        self.sizes: list[tuple[int, int]] = []

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    def channel(self, number: int) -> Any:
        """The channel of worker `number`."""
        return self._channels[number % _CHANNELS]

    def stub(self, number: int, method: str) -> Callable[[bytes], Awaitable[bytes]]:
        """A call on the channel of worker `number`, bytes in and out."""
        stub: Callable[[bytes], Awaitable[bytes]] = self.channel(number).unary_unary(method)
        return stub

    async def call(self, number: int, method: str, request: Any, reply: type[Any]) -> Any:
        """A call with messages, for what is not measured."""
        stub = self.stub(number, f"/sixledger.v1.MatchService/{method}")
        return reply.FromString(await stub(request.SerializeToString()))

    async def prepare(self, number: int) -> Prepared:
        """Open a match and take both seats; the game has then started."""
        options = game_pb2.Options(nimmt=pb.Options(end_mode=pb.END_MODE_ROUNDS, rounds=2))
        created = await self.call(
            number,
            "CreateMatch",
            match_service_pb2.CreateMatchRequest(
                game="nimmt", options=options, seats=_SEATS, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
            ),
            match_service_pb2.CreateMatchResponse,
        )
        prepared = Prepared(created.match_id, [], [], 0)
        for seat in range(_SEATS):
            request = match_service_pb2.JoinMatchRequest(match_id=created.match_id, seat=seat, secret=os.urandom(32))
            joined = await self.call(number, "JoinMatch", request, match_service_pb2.JoinMatchResponse)
            prepared.tokens.append(joined.token)
        for seat, token in enumerate(prepared.tokens):
            wanted = match_service_pb2.GetViewRequest(match_id=created.match_id, token=token)
            seen = (await self.call(number, "GetView", wanted, match_service_pb2.GetViewResponse)).view.nimmt
            prepared.hands.append(list(seen.seats[seat].hand))
            prepared.decision = seen.decision
        return prepared

    async def prepare_many(self, count: int, workers: int) -> deque[Prepared]:
        """That many matches."""
        ready: deque[Prepared] = deque()

        async def worker(number: int) -> None:
            for _ in range(number, count, workers):
                ready.append(await self.prepare(number))

        await asyncio.gather(*(worker(number) for number in range(workers)))
        return ready

    async def play(self, ready: deque[Prepared], number: int, deadline: float, waits: list[float]) -> bool:
        """Worker `number`: play prepared matches until the deadline. False if there were too few."""
        submit = self.stub(number, "/sixledger.v1.MatchService/SubmitCommand")
        while time.perf_counter() < deadline:
            if not ready:
                return False
            await self._play_round(submit, ready.popleft(), deadline, waits)
        return True

    async def _play_round(
        self, submit: Callable[[bytes], Awaitable[bytes]], match: Prepared, deadline: float, waits: list[float]
    ) -> None:
        """Play the first round of a match, or as far as the deadline lets."""
        clock = time.perf_counter

        async def send(seat: int, command: bytes) -> bytes:
            begun = clock()
            act = match_service_pb2.Act(
                match_id=match.match_id, token=match.tokens[seat], request_id=random.randbytes(16)
            )
            request = match_service_pb2.SubmitCommandRequest(act=act, decision=match.decision, command=command)
            data = request.SerializeToString()
            reply = await submit(data)
            waits.append(clock() - begun)
            if len(self.sizes) < 1000:
                self.sizes.append((len(data), len(reply)))
            return reply

        for turn in range(_CARDS):
            reply = b""
            for seat in range(_SEATS):
                if clock() >= deadline:
                    return
                reply = await send(seat, _SELECT[match.hands[seat][turn]])
            match.decision += 1
            if (chooser := _row_chooser(reply)) is not None:
                await send(chooser, random.choice(_TAKE))
                match.decision += 1

    async def echo(self, request: bytes, number: int, deadline: float, waits: list[float]) -> bool:
        """Worker `number`: call the echo until the deadline."""
        stub, clock = self.stub(number, ECHO), time.perf_counter
        while (begun := clock()) < deadline:
            await stub(request)
            waits.append(clock() - begun)
        return True

    async def window(self, seconds: float, workers: int, work: Work, *, may_end: bool = False) -> Window:
        """All workers at once for so many seconds, with the CPU time of both sides.

        It ends with the first worker that finds no more work; after less than half of the time only if it `may_end`.
        """
        waits: list[float] = []
        server, load, begun = await self._server_cpu(), time.process_time(), time.perf_counter()
        working = [asyncio.ensure_future(work(number, begun + seconds, waits)) for number in range(workers)]
        try:
            for finished in asyncio.as_completed(working):
                if not await finished:
                    break
            wall, load, calls = time.perf_counter() - begun, time.process_time() - load, len(waits)
        finally:
            for worker in working:
                worker.cancel()
            await asyncio.wait(working)
        for worker in working:
            if not worker.cancelled():
                worker.result()
        if wall < seconds / 2 and not may_end:
            raise RuntimeError("too few matches were prepared: the server is faster than this load expects")
        return Window(calls, wall, load, await self._server_cpu() - server, waits)

    async def _server_cpu(self) -> float:
        seconds, _ = struct.unpack("!dd", await self.stub(0, USAGE)(b""))
        return float(seconds)


def _row_chooser(reply: bytes) -> int | None:
    """The seat that must choose a row after this reply, if one must."""
    body = record_pb2.Body.FromString(match_service_pb2.SubmitCommandResponse.FromString(reply).record.body)
    for event in body.events:
        if event.nimmt.WhichOneof("event") == "row_choice_needed":
            return int(event.nimmt.row_choice_needed.seat)
    return None


async def main(address: str, rounds: int, seconds: float, workers: int) -> dict[str, Any]:
    """Measure: windows of commands and of echo calls by turns, after one of each that does not count."""
    load = Load(address)
    try:
        windows: list[dict[str, dict[str, float]]] = []
        rate, request_size, reply_size = 6000.0, 0, 0
        for number in range(rounds + 1):
            # A match is good for 20 commands and a few more; some to spare if this window is faster.
            ready = await load.prepare_many(workers + int(rate * seconds / (_SEATS * _CARDS) * 1.5), workers)
            played = await load.window(seconds, workers, partial(load.play, ready), may_end=number == 0)
            request_size, reply_size = (sum(sizes) // len(load.sizes) for sizes in zip(*load.sizes, strict=True))
            request = _echo_request(request_size, reply_size)
            echoed = await load.window(seconds, workers, partial(load.echo, request))
            rate = played.calls / played.wall_s
            windows.append({"command": played.as_dict(), "echo": echoed.as_dict()})
        return {"request_bytes": request_size, "reply_bytes": reply_size, "windows": windows[1:]}
    finally:
        await load.close()


def _echo_request(size: int, reply_size: int) -> bytes:
    """A request of `size` bytes for a reply of `reply_size`."""
    act = match_service_pb2.Act(match_id=bytes(16), token="t" * 40, request_id=bytes(16))
    request = match_service_pb2.SubmitCommandRequest(act=act, decision=reply_size)
    request.command = bytes(max(size - request.ByteSize() - 2, 0))
    return request.SerializeToString()


if __name__ == "__main__":
    tell(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
