"""Match hosts without a socket: a clock that is set by hand, and stores that fail on purpose."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from sixledger.ledger.heads import HeadSigner
from sixledger.service.host import MatchHost
from sixledger.service.keyring import Keyring
from sixledger.service.match_servicer import MatchServicer
from sixledger.service.store import (
    ApiKeyRow,
    AppendResult,
    Cursor,
    Due,
    Entry,
    MatchRow,
    MemoryStore,
    Store,
    TokenFloor,
)
from sixledger.service.tokens import TokenMint
from sixledger.service.watch import WatchTiming
from sixledger.v1 import game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import ONE_ROUND

KEYRING = Keyring(bytes(range(32)), bytes(range(32, 64)))
TIMING = WatchTiming(tick_s=0.02, heartbeat_s=5)
START_US = 1_700_000_000_000_000

_request_ids = count(1)


def request_id() -> bytes:
    """A request id that was not used before."""
    return next(_request_ids).to_bytes(16, "big")


class Clock:
    """A clock that moves when it is told to, in microseconds."""

    def __init__(self) -> None:
        self.now_us = START_US

    def __call__(self) -> int:
        return self.now_us


class StoreAround(Store):
    """Passes everything on to another store. `before_append` may act first, or raise."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.appends = 0
        self.before_append: Callable[[Entry], Awaitable[None]] | None = None
        self.after_append: Callable[[Entry], Awaitable[None]] | None = None

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def create(self, row: MatchRow, first: Entry) -> bool:
        return await self.inner.create(row, first)

    async def append(self, entry: Entry) -> AppendResult:
        self.appends += 1
        if self.before_append is not None:
            await self.before_append(entry)
        result = await self.inner.append(entry)
        if self.after_append is not None:
            await self.after_append(entry)
        return result

    async def match(self, match_id: bytes) -> MatchRow | None:
        return await self.inner.match(match_id)

    async def records(self, match_id: bytes, first: int, limit: int) -> list[bytes]:
        return await self.inner.records(match_id, first, limit)

    async def find_request(self, match_id: bytes, kind: int, seat: int, request_id: bytes) -> int | None:
        return await self.inner.find_request(match_id, kind, seat, request_id)

    async def display_names(self, match_id: bytes) -> dict[int, str]:
        return await self.inner.display_names(match_id)

    async def list_matches(
        self,
        *,
        status: int | None,
        game: str | None,
        after: Cursor | None,
        limit: int,
        free_seats: bool = False,
        owner: str | None = None,
    ) -> Sequence[MatchRow]:
        return await self.inner.list_matches(
            status=status, game=game, after=after, limit=limit, free_seats=free_seats, owner=owner
        )

    async def count_matches(self, owner: str, statuses: Collection[int]) -> int:
        return await self.inner.count_matches(owner, statuses)

    async def bots(self, match_id: bytes) -> dict[int, str]:
        return await self.inner.bots(match_id)

    async def matches_with_bots(self, statuses: Collection[int]) -> Sequence[bytes]:
        return await self.inner.matches_with_bots(statuses)

    async def match_ids(self, statuses: Collection[int], *, after: bytes | None, limit: int) -> Sequence[bytes]:
        return await self.inner.match_ids(statuses, after=after, limit=limit)

    async def erase_names(self, match_id: bytes | None, seat: int | None, name: str | None) -> int:
        return await self.inner.erase_names(match_id, seat, name)

    async def archivable(self, status: int, before_us: int, *, after: Cursor | None, limit: int) -> Sequence[Cursor]:
        return await self.inner.archivable(status, before_us, after=after, limit=limit)

    async def archive(self, match_id: bytes, records: int, last_hash: bytes) -> bool:
        return await self.inner.archive(match_id, records, last_hash)

    async def unarchive(self, match_id: bytes, records: Sequence[bytes]) -> bool:
        return await self.inner.unarchive(match_id, records)

    async def kept_secrets(self, *, after: bytes | None, limit: int) -> Sequence[tuple[bytes, bytes]]:
        return await self.inner.kept_secrets(after=after, limit=limit)

    async def replace_secret(self, match_id: bytes, before: bytes, after: bytes) -> bool:
        return await self.inner.replace_secret(match_id, before, after)

    async def deadlines(self, *, after: Due | None, limit: int) -> Sequence[Due]:
        return await self.inner.deadlines(after=after, limit=limit)

    def token_floor(self, match_id: bytes, seat: int) -> int:
        return self.inner.token_floor(match_id, seat)

    async def raise_floor(self, match_id: bytes, seat: int, floor: TokenFloor) -> None:
        await self.inner.raise_floor(match_id, seat, floor)

    async def put_api_key(self, row: ApiKeyRow) -> None:
        await self.inner.put_api_key(row)

    async def api_keys(self) -> Sequence[ApiKeyRow]:
        return await self.inner.api_keys()


@dataclass
class Replica:
    """One host on a store, with the servicer in front of it."""

    host: MatchHost
    servicer: MatchServicer
    clock: Clock

    async def start(self, seats: int = 2, options: game_pb2.Options = ONE_ROUND) -> StartedMatch:
        """A match that runs."""
        created = await self.servicer.CreateMatch(
            pb.CreateMatchRequest(
                game="nimmt", options=options, seats=seats, mode=record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
            )
        )
        tokens = []
        for seat in range(seats):
            joined = await self.servicer.JoinMatch(pb.JoinMatchRequest(match_id=created.match_id, seat=seat))
            tokens.append(joined.token)
        return StartedMatch(created.match_id, created.owner_token, tokens)

    async def request(self, match: StartedMatch, choice: int = 0, index: int = 0) -> pb.SubmitCommandRequest:
        """A new request of the first seat that may act (or another, by `index`)."""
        stands = (await self.host.fresh(match.match_id)).match
        seat = stands.to_act[index]
        commands = stands.game.legal(stands.state, seat)
        command = stands.game.schema.commands.pack(commands[choice]).SerializeToString()
        act = pb.Act(match_id=match.match_id, token=match.tokens[seat], request_id=request_id())
        return pb.SubmitCommandRequest(act=act, decision=stands.decision, command=command)

    async def play(self, match: StartedMatch, commands: int = 10_000) -> None:
        """Play until the match ends or `commands` were given."""
        for _ in range(commands):
            if (await self.host.fresh(match.match_id)).match.over:
                return
            await self.servicer.SubmitCommand(await self.request(match))

    async def watch(self, match_id: bytes, **arguments: Any) -> AsyncGenerator[pb.WatchMatchResponse, None]:
        """The items of a watch."""
        async for item in self.servicer.WatchMatch(pb.WatchMatchRequest(match_id=match_id, **arguments)):
            yield item


@dataclass
class StartedMatch:
    """A match and the tokens that act in it."""

    match_id: bytes
    owner_token: str
    tokens: list[str]


def replica(store: Store, clock: Clock | None = None, timing: WatchTiming = TIMING, **arguments: Any) -> Replica:
    """A host on an open store. All replicas share their keys."""
    clock = clock or Clock()
    host = MatchHost(store, HeadSigner("test.example", KEYRING.signing_key), clock=clock, **arguments)
    return Replica(host, MatchServicer(host, TokenMint(KEYRING.token_key, 3600, store.token_floor), timing), clock)


@asynccontextmanager
async def hosting(**arguments: Any) -> AsyncIterator[tuple[Replica, StoreAround]]:
    """A host on a store in memory, and the store."""
    async with StoreAround(MemoryStore()) as store:
        yield replica(store, **arguments), store


def ledger_of(store: StoreAround, match_id: bytes) -> Awaitable[list[bytes]]:
    """The stored records of a match."""
    return store.records(match_id, 0, 100_000)


def root_secrets() -> Callable[[], bytes]:
    """The same row of root secrets each time."""
    numbers = count()
    return lambda: hashlib.sha256(next(numbers).to_bytes(4, "big")).digest()
