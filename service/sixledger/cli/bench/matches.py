"""Callers of the service that know as little of the game as they can, to be cheaper than the server.

6 nimmt without signatures: any card of the hand, any row. Messages are written and read by hand where it counts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import grpc
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2

T = TypeVar("T")

CARDS = 10
#: What reading a stream gives at its end.
END = grpc.aio.EOF  # pyright: ignore[reportAttributeAccessIssue]  # grpc has no types
MATCH_SERVICE = "/sixledger.v1.MatchService"
#: Streams that share a connection, at most; servers allow a thousand calls at once on one by default.
_STREAMS = 500
_CHANNELS = 4


def _command(command: nimmt_pb2.Command) -> bytes:
    return game_pb2.Command(nimmt=command).SerializeToString()


_SELECT = [_command(nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=card))) for card in range(105)]
_TAKE = [_command(nimmt_pb2.Command(take_row=nimmt_pb2.TakeRow(row=row))) for row in range(4)]


class Table:
    """A match that runs: whose turn it is, and with which command."""

    def __init__(self, match_id: bytes, tokens: list[str], chance: Random) -> None:
        self.match_id, self.tokens = match_id, tokens
        self.hands: list[list[int]] = []
        self.decision = 0
        self._chance = chance
        self._turn = self._seat = 0
        self._chooser: int | None = None

    def deal(self, hands: list[list[int]], decision: int) -> None:
        """Begin a round with these cards, by seat."""
        self.hands, self.decision = hands, decision
        self._turn = self._seat = 0

    @property
    def at_end(self) -> bool:
        """True if the cards of the round are played."""
        return self._turn == CARDS and self._chooser is None

    def request(self) -> match_service_pb2.SubmitCommandRequest:
        """The next command; `told` must get the record that it makes. Not at the end of a round."""
        if self._chooser is not None:
            seat, command = self._chooser, self._chance.choice(_TAKE)
        else:
            seat, command = self._seat, _SELECT[self.hands[self._seat][self._turn]]
        act = match_service_pb2.Act(
            match_id=self.match_id, token=self.tokens[seat], request_id=self._chance.randbytes(16)
        )
        return match_service_pb2.SubmitCommandRequest(act=act, decision=self.decision, command=command)

    def told(self, record: record_pb2.Record) -> None:
        """Go on after the record of the last command."""
        if self._chooser is not None:
            self._chooser = None
            self.decision += 1
            return
        self._seat += 1
        if self._seat == len(self.tokens):  # all cards of the turn lie there
            self._seat = 0
            self._turn += 1
            self.decision += 1
            self._chooser = _row_chooser(record)


def _row_chooser(record: record_pb2.Record) -> int | None:
    """The seat that must choose a row after this record, if one must. In 6 nimmt at most one must in a turn."""
    for event in record_pb2.Body.FromString(record.body).events:
        if event.nimmt.WhichOneof("event") == "row_choice_needed":
            return int(event.nimmt.row_choice_needed.seat)
    return None


class Caller:
    """Calls and streams to one server, over a few connections."""

    def __init__(
        self, address: str, *, tls: str | None = None, key: str = "", channels: int = _CHANNELS, seed: int = 0
    ) -> None:
        self._address, self._tls = address, tls
        self.metadata = [("authorization", f"Bearer {key}")] if key else None
        self.chance = Random(seed)  # noqa: S311  # repeatable on purpose
        #: Calls that were made by `call`.
        self.calls = 0
        self._channels = [self.connect() for _ in range(channels)]

    def connect(self) -> Any:
        """A connection of its own; close it."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        if self._tls is None:
            return grpc.aio.insecure_channel(self._address, options)
        roots = None if self._tls == "system" else Path(self._tls).read_bytes()
        return grpc.aio.secure_channel(self._address, grpc.ssl_channel_credentials(roots), options)

    async def close(self) -> None:
        """Close the connections."""
        for channel in self._channels:
            await channel.close()

    def channel(self, number: int) -> Any:
        """The connection of caller `number`."""
        return self._channels[number % len(self._channels)]

    def stub(self, number: int, method: str) -> Callable[[bytes], Awaitable[bytes]]:
        """A call on the connection of caller `number`, bytes in and out."""
        stub = self.channel(number).unary_unary(method)
        if self.metadata is None:
            return stub  # type: ignore[no-any-return]  # grpc has no types
        return lambda request: stub(request, metadata=self.metadata)

    async def call(self, number: int, method: str, request: Any, reply: type[Any]) -> Any:
        """A call of the match service with messages."""
        self.calls += 1
        return reply.FromString(await self.stub(number, f"{MATCH_SERVICE}/{method}")(request.SerializeToString()))

    async def open(self, number: int, *, seats: int = 2, rounds: int = 2, dealt: bool = True) -> Table:
        """Open a match of so many rounds and take all seats; the game has then started."""
        options = game_pb2.Options(nimmt=nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=rounds))
        wanted = match_service_pb2.CreateMatchRequest(
            game="nimmt", options=options, seats=seats, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        )
        created = await self.call(number, "CreateMatch", wanted, match_service_pb2.CreateMatchResponse)
        tokens = []
        for seat in range(seats):
            request = match_service_pb2.JoinMatchRequest(match_id=created.match_id, seat=seat, secret=os.urandom(32))
            joined = await self.call(number, "JoinMatch", request, match_service_pb2.JoinMatchResponse)
            tokens.append(joined.token)
        table = Table(created.match_id, tokens, self.chance)
        if dealt:
            await self.look(number, table)
        return table

    async def look(self, number: int, table: Table) -> None:
        """Look at the hands of a round that begins."""
        hands, decision = [], 0
        for seat, token in enumerate(table.tokens):
            wanted = match_service_pb2.GetViewRequest(match_id=table.match_id, token=token)
            seen = (await self.call(number, "GetView", wanted, match_service_pb2.GetViewResponse)).view.nimmt
            hands.append(list(seen.seats[seat].hand))
            decision = seen.decision
        table.deal(hands, decision)


def channels_for(streams: int) -> int:
    """How many connections so many streams need."""
    return max(_CHANNELS, -(-streams // _STREAMS))


async def at_once(count: int, workers: int, make: Callable[[int], Awaitable[T]]) -> list[T]:
    """`make(number)` for each number below `count`, by so many workers; in any order."""
    made: list[T] = []

    async def work(numbers: Iterable[int]) -> None:
        made.extend([await make(number) for number in numbers])

    numbers = iter(range(count))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(min(workers, count)):
            tasks.create_task(work(numbers))
    return made
