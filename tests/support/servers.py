"""Servers in the test's event loop, and players who use them as clients do: over a socket, by the schema."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import grpc
import grpc.aio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.rpc import error_details_pb2, status_pb2
from grpc_status.rpc_status import GRPC_DETAILS_METADATA_KEY
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import hashing, keys
from sixledger.service.config import Settings
from sixledger.service.server import Server
from sixledger.v1 import (
    access_service_pb2_grpc,
    catalog_service_pb2_grpc,
    engine_service_pb2_grpc,
    error_pb2,
    game_pb2,
    match_service_pb2_grpc,
    record_pb2,
    replay_service_pb2_grpc,
)
from sixledger.v1 import match_service_pb2 as pb

#: What carries the calls of servers in tests; the fixture `transport` names one after the other.
TRANSPORT = "grpcio"
#: A short match: one round of 6 nimmt!.
ONE_ROUND = game_pb2.Options(nimmt=nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1))
TWO_ROUNDS = game_pb2.Options(nimmt=nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=2))


@dataclass
class Client:
    """Stubs of every service on one channel."""

    channel: Any

    def __post_init__(self) -> None:
        self.match: Any = match_service_pb2_grpc.MatchServiceStub(self.channel)
        self.engine: Any = engine_service_pb2_grpc.EngineServiceStub(self.channel)
        self.access: Any = access_service_pb2_grpc.AccessServiceStub(self.channel)
        self.catalog: Any = catalog_service_pb2_grpc.CatalogServiceStub(self.channel)
        self.replay: Any = replay_service_pb2_grpc.ReplayServiceStub(self.channel)


def memory_settings(**changes: Any) -> Settings:
    """Settings for a server on a free port of this machine that keeps nothing and looks for news often."""
    values: dict[str, Any] = {
        "listen": "127.0.0.1:0",
        "store": "memory:",
        "watch_tick_s": 0.05,
        "origin": "test.example",
        "transport": TRANSPORT,
    }
    return Settings(**(values | changes))


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Client]:
    """A client with a connection of its own."""
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(server.address, options=options) as channel:
        yield Client(channel)


@asynccontextmanager
async def serving(settings: Settings | None = None, **arguments: Any) -> AsyncIterator[tuple[Server, Client]]:
    """A running server and a client of it."""
    async with Server(settings or memory_settings(), **arguments) as server, client_of(server) as client:
        yield server, client


@dataclass
class Failure:
    """What a client can tell of a call that failed."""

    code: grpc.StatusCode
    reason: str
    metadata: dict[str, str]
    violations: list[str]
    illegal: error_pb2.IllegalCommandDetail | None
    retry: bool
    message: str
    #: Seconds to wait, as RetryInfo says.
    retry_after: float = 0.0


def failure(error: grpc.aio.AioRpcError) -> Failure:
    """Read the rich status of an error."""
    raw = next((value for key, value in error.trailing_metadata() or () if key == GRPC_DETAILS_METADATA_KEY), b"")
    status = status_pb2.Status.FromString(raw if isinstance(raw, bytes) else raw.encode())
    found = Failure(error.code(), "", {}, [], None, False, error.details() or "")
    for detail in status.details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        illegal = error_pb2.IllegalCommandDetail()
        if detail.Unpack(info):
            assert info.domain == "sixledger.dev"
            found.reason, found.metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            found.violations = [violation.field for violation in bad.field_violations]
        elif detail.Unpack(illegal):
            found.illegal = illegal
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            found.retry = True
            info_ = error_details_pb2.RetryInfo()
            detail.Unpack(info_)
            found.retry_after = info_.retry_delay.seconds + info_.retry_delay.nanos / 1e9
    return found


async def failing(call: Any) -> Failure:
    """The failure of a call that must fail."""
    try:
        reply = await call
    except grpc.aio.AioRpcError as error:
        return failure(error)
    raise AssertionError(f"the call succeeded with a {type(reply).__name__}")


@dataclass
class Player:
    """A seat and what its client keeps."""

    seat: int
    private_key: Ed25519PrivateKey | None = None
    contributes: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    contribution: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    token: str = ""

    @property
    def public_key(self) -> bytes:
        """32 bytes, or none."""
        return b"" if self.private_key is None else keys.public_bytes(self.private_key)


@dataclass
class HostedTable:
    """A hosted match and its players."""

    client: Client
    match_id: bytes
    owner_token: str
    first_hash: bytes
    players: list[Player]
    #: Hash of the newest record that the table has seen.
    seen: bytes = b""

    def signed(
        self, player: Player, kind: keys.ActKind, payload: bytes, request_id: bytes, decision: int = 0
    ) -> dict[str, Any]:
        """The observed head and the signature of an act, or nothing if the player does not sign."""
        if player.private_key is None:
            return {}
        observed = self.first_hash if kind is keys.ActKind.JOIN else self.seen
        message = keys.act_message(self.match_id, player.seat, kind, decision, observed, request_id, payload)
        return {"observed_head": observed, "signature": player.private_key.sign(message)}

    def act(self, player: Player, kind: keys.ActKind, payload: bytes, decision: int = 0) -> pb.Act:
        """A new act of a player, signed if the player signs."""
        request_id = secrets.token_bytes(16)
        proof = self.signed(player, kind, payload, request_id, decision)
        return pb.Act(match_id=self.match_id, token=player.token, request_id=request_id, **proof)

    def join_request(self, player: Player) -> pb.JoinMatchRequest:
        """The request with which a player joins."""
        request_id = hashing.sha256(b"sixledger/join/1\n", self.match_id, player.secret)[:16]
        return pb.JoinMatchRequest(
            match_id=self.match_id,
            seat=player.seat,
            secret=player.secret,
            public_key=player.public_key,
            contributes=player.contributes,
            **self.signed(player, keys.ActKind.JOIN, player.public_key, request_id),
        )

    async def join(self) -> None:
        """Let every player join."""
        for player in self.players:
            reply = await self.client.match.JoinMatch(self.join_request(player))
            player.token, self.seen = reply.token, reply.record.hash

    async def contribute(self) -> None:
        """Let every contributing player commit, then reveal."""
        contributing = [player for player in self.players if player.contributes]
        for player in contributing:
            value = hashing.contribution_commitment(self.match_id, player.seat, player.contribution)
            act = self.act(player, keys.ActKind.COMMITMENT, value)
            reply = await self.client.match.CommitContribution(pb.CommitContributionRequest(act=act, commitment=value))
            self.seen = reply.record.hash
        for player in contributing:
            act = self.act(player, keys.ActKind.CONTRIBUTION, player.contribution)
            request = pb.RevealContributionRequest(act=act, contribution=player.contribution)
            self.seen = (await self.client.match.RevealContribution(request)).record.hash

    async def info(self) -> pb.MatchInfo:
        """What stands in public about the match."""
        info: pb.MatchInfo = (await self.client.match.GetMatch(pb.GetMatchRequest(match_id=self.match_id))).match
        return info

    async def legal(self, player: Player) -> pb.ListLegalCommandsResponse:
        """The legal commands of a player."""
        request = pb.ListLegalCommandsRequest(match_id=self.match_id, token=player.token)
        reply: pb.ListLegalCommandsResponse = await self.client.match.ListLegalCommands(request)
        return reply

    def command_request(self, player: Player, command: game_pb2.Command, decision: int) -> pb.SubmitCommandRequest:
        """The request with which a player plays."""
        data = command.SerializeToString()
        act = self.act(player, keys.ActKind.COMMAND, data, decision)
        return pb.SubmitCommandRequest(act=act, decision=decision, command=data)

    async def next_request(self, random: Random) -> pb.SubmitCommandRequest:
        """A random legal command of a seat that may act."""
        info = await self.info()
        player = self.players[random.choice(list(info.to_act))]
        legal = await self.legal(player)
        return self.command_request(player, random.choice(list(legal.commands)), legal.decision)

    async def submit(self, request: pb.SubmitCommandRequest) -> pb.SubmitCommandResponse:
        """Play."""
        reply: pb.SubmitCommandResponse = await self.client.match.SubmitCommand(request)
        self.seen = reply.record.hash
        return reply

    async def play(self, random: Random, commands: int = 10_000) -> list[pb.SubmitCommandRequest]:
        """Play at random until the match ends or `commands` were given; the requests."""
        played: list[pb.SubmitCommandRequest] = []
        while len(played) < commands and (await self.info()).status == pb.MATCH_STATUS_RUNNING:
            played.append(await self.next_request(random))
            await self.submit(played[-1])
        return played

    async def records(self, token: str = "") -> list[record_pb2.Record]:
        """Every record, as the holder of a token may see it now."""
        records: list[record_pb2.Record] = []
        while True:
            request = pb.ListRecordsRequest(match_id=self.match_id, token=token, first_seq=len(records), page_size=7)
            page = await self.client.match.ListRecords(request)
            records += page.records
            if page.head:
                return records


async def create(
    client: Client,
    players: Sequence[Player] | int = 2,
    *,
    game: str = "nimmt",
    options: game_pb2.Options = ONE_ROUND,
    mode: record_pb2.ContributionMode.ValueType = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
    **fields: Any,
) -> HostedTable:
    """A match that nobody has joined yet; `fields` are further ones of the request."""
    seated = [Player(seat) for seat in range(players)] if isinstance(players, int) else list(players)
    request = pb.CreateMatchRequest(
        game=game, options=options, seats=len(seated), mode=mode, secret=secrets.token_bytes(32), **fields
    )
    reply = await client.match.CreateMatch(request)
    return HostedTable(client, reply.match_id, reply.owner_token, reply.record.hash, seated)


async def start(client: Client, players: Sequence[Player] | int = 2, **arguments: Any) -> HostedTable:
    """A match that has started."""
    table = await create(client, players, **arguments)
    await table.join()
    await table.contribute()
    return table


async def watched(call: AsyncIterator[pb.WatchMatchResponse], count: int = 100_000) -> list[pb.WatchMatchResponse]:
    """The items of a watch until it ends, `count` at most."""
    items = []
    async for item in call:
        items.append(item)
        if len(items) == count:
            break
    return items
