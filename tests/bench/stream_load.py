"""The load of the stream benchmark: a process of its own, with workers that each have a stream of their own.

Windows of unary commands, of commands on play streams one by one and ten at a time, of commands of engine sessions,
and of echo calls on bare streams take turns. Prints what it measured as JSON.

    python -m bench.stream_load <address> <rounds> <seconds of a window> <workers>
"""

from __future__ import annotations

import random
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from bench.echo import ECHOES
from bench.loops import tell
from bench.unary_load import _CARDS, _SEATS, _SELECT, _TAKE, Load, Prepared, Window, _echo_request
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.author import Author
from sixledger.v1 import engine_service_pb2 as engine
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2

_PLAY, _SESSION = "/sixledger.v1.MatchService/Play", "/sixledger.v1.EngineService/Session"
#: Matches of one worker when commands go ten to a message.
_TEN = 10


class _Stream:
    """One stream, bytes in and out."""

    def __init__(self, load: Load, number: int, method: str) -> None:
        self._call = load.channel(number).stream_stream(method)()

    async def ask(self, request: bytes) -> bytes:
        """Write a message and read one."""
        await self._call.write(request)
        return bytes(await self._call.read())

    async def read(self) -> bytes:
        return bytes(await self._call.read())

    async def write(self, request: bytes) -> None:
        await self._call.write(request)

    async def close(self) -> None:
        self._call.cancel()


def _order(match: Prepared, seat: int, command: bytes, tag: int) -> pb.PlayOrder:
    act = pb.Act(match_id=match.match_id, token=match.tokens[seat], request_id=random.randbytes(16))
    return pb.PlayOrder(tag=tag, command=pb.SubmitCommandRequest(act=act, decision=match.decision, command=command))


class Game:
    """A match that plays its first round."""

    def __init__(self, match: Prepared) -> None:
        self.match = match
        #: The answer to the last move.
        self.played = pb.PlayedCommand()
        self._moves = self._round()

    async def next(self) -> tuple[int, bytes] | None:
        """The next seat and its command; None at the end of the round."""
        return await anext(self._moves, None)

    async def _round(self) -> AsyncIterator[tuple[int, bytes]]:
        match = self.match
        for turn in range(_CARDS):
            for seat in range(_SEATS):
                yield seat, _SELECT[match.hands[seat][turn]]
            match.decision += 1
            if (chooser := _chooser(self.played)) is not None:
                yield chooser, random.choice(_TAKE)
                match.decision += 1


def _chooser(played: pb.PlayedCommand) -> int | None:
    for event in record_pb2.Body.FromString(played.record.body).events:
        if event.nimmt.WhichOneof("event") == "row_choice_needed":
            return int(event.nimmt.row_choice_needed.seat)
    return None


def _played(item: pb.PlayItem) -> pb.PlayedCommand:
    if item.WhichOneof("item") != "played":
        raise RuntimeError(f"a command was answered with {item.WhichOneof('item')}")
    return item.played


class StreamLoad(Load):
    """Streams to one server."""

    async def play_stream(
        self, ready: deque[Prepared], number: int, deadline: float, waits: list[float], *, at_once: int = 1
    ) -> bool:
        """Worker `number`: play `at_once` matches on a stream, a command of each in a message, until the deadline."""
        stream, clock = _Stream(self, number, _PLAY), time.perf_counter
        try:
            if len(ready) < at_once:
                return False
            games = [Game(ready.popleft()) for _ in range(at_once)]
            while clock() < deadline:
                orders = []
                for at in range(at_once):
                    if (move := await games[at].next()) is None:
                        if not ready:
                            return False
                        games[at] = Game(ready.popleft())
                        move = await games[at].next()
                        assert move is not None
                    orders.append(_order(games[at].match, *move, at))
                request = pb.PlayRequest(orders=orders)
                data = request.SerializeToString()
                begun = clock()
                await stream.write(data)
                answered = 0
                while answered < at_once:
                    reply = await stream.read()
                    for item in pb.PlayResponse.FromString(reply).items:
                        games[item.tag].played = _played(item)
                        waits.append(clock() - begun)
                        answered += 1
                if len(self.sizes) < 1000:
                    self.sizes.append((len(data), len(reply)))
            return True
        finally:
            await stream.close()

    async def session(self, script: list[bytes], number: int, deadline: float, waits: list[float]) -> bool:
        """Worker `number`: start a match and play it in a session, a command in a message, until the deadline."""
        stream, clock = _Stream(self, number, _SESSION), time.perf_counter
        try:
            while clock() < deadline:
                await stream.ask(script[0])
                for request in script[1:]:
                    if (begun := clock()) >= deadline:
                        break
                    reply = await stream.ask(request)
                    waits.append(clock() - begun)
                    if len(self.sizes) < 1000:
                        self.sizes.append((len(request), len(reply)))
            return True
        finally:
            await stream.close()

    async def echoes(self, request: bytes, number: int, deadline: float, waits: list[float]) -> bool:
        """Worker `number`: send messages on a bare stream until the deadline."""
        stream, clock = _Stream(self, number, ECHOES), time.perf_counter
        try:
            while (begun := clock()) < deadline:
                await stream.ask(request)
                waits.append(clock() - begun)
            return True
        finally:
            await stream.close()

    def mean_sizes(self) -> tuple[int, int]:
        """Mean sizes of the messages since the last time, to the server and back."""
        to_server, back = (sum(sizes) // len(self.sizes) for sizes in zip(*self.sizes, strict=True))
        self.sizes.clear()
        return to_server, back


def script() -> list[bytes]:
    """The requests of a session that starts a match of two seats and plays it to its end, a command each."""
    options = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=4)
    start = engine.StartMatchRequest(
        match_id=b"m" * 16,
        root_secret=b"s" * 32,
        game="nimmt",
        seats=2,
        request_id=b"o" * 16,
        time_us=1,
        immediate=True,
    )
    start.options.nimmt.CopyFrom(options)
    author, match, _ = Author.open(
        GAME, 2, options, root_secret=start.root_secret, match_id=start.match_id, request_id=start.request_id,
        time_us=1, immediate=True,
    )  # fmt: skip
    requests = [engine.SessionRequest(steps=[engine.SessionStep(start=start)]).SerializeToString()]
    chance = random.Random(1)
    while not match.over:
        seat = match.to_act[0]
        command = GAME.schema.commands.pack(chance.choice(GAME.legal(match.state, seat)))
        cause = record_pb2.Cause(
            kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=chance.randbytes(16), decision=match.decision
        )
        action = engine.Action(cause=cause, time_us=match.time_us + 1, command=command.SerializeToString())
        match, _ = author.act(match, action)
        requests.append(engine.SessionRequest(steps=[engine.SessionStep(action=action)]).SerializeToString())
    return requests


async def main(address: str, rounds: int, seconds: float, workers: int) -> dict[str, Any]:
    """Measure: a window of each kind in turn, after one of each that does not count."""
    load, sessions = StreamLoad(address), script()
    rates = dict.fromkeys(("unary", "play", "ten"), 8000.0)
    sizes: dict[str, tuple[int, int]] = {}
    windows: list[dict[str, Any]] = []
    try:
        for number in range(rounds + 1):
            found: dict[str, Window] = {}
            first = number == 0
            for kind in ("unary", "play", "ten", "session"):
                load.sizes.clear()
                if kind == "session":
                    found[kind] = await load.window(seconds, workers, partial(load.session, sessions))
                else:
                    at_once = _TEN if kind == "ten" else 1
                    # A match is good for 20 commands and a few more; some to spare if this window is faster.
                    wanted = workers * at_once + int(rates[kind] * seconds / (_SEATS * _CARDS) * 1.5)
                    ready = await load.prepare_many(wanted, workers)
                    if kind == "unary":
                        work = partial(load.play, ready)
                    else:
                        work = partial(load.play_stream, ready, at_once=at_once)
                    found[kind] = await load.window(seconds, workers, work, may_end=first)
                    rates[kind] = found[kind].calls / found[kind].wall_s
                sizes[kind] = load.mean_sizes()
                if kind in ("play", "session"):
                    request = _echo_request(*sizes[kind])
                    echo = await load.window(seconds, workers, partial(load.echoes, request))
                    found[f"{kind}_echo"] = echo
            windows.append({kind: window.as_dict() for kind, window in found.items()})
        return {"sizes": sizes, "windows": windows[1:]}
    finally:
        await load.close()


if __name__ == "__main__":
    tell(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
