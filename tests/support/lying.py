"""A lying server: whatever it says, as it would say it to the honest clients of one match.

`told` shows records that may be anything to one viewer, as a service does: with the openings that are due, the late
ones when their epoch is revealed, and signed heads. `honest` is the client of a viewer before it has heard anything.
`Crooked` is a game that does not keep to its rules, for a server that lies with everything that follows.
`LyingServer` is a real one on a socket, which alters what it sends.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import grpc
import grpc.aio
from cryptography.hazmat.primitives import serialization
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from sixledger.client import errors
from sixledger.client.core.feed import Feed
from sixledger.client.core.session import Session
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.settings import Settings
from sixledger.client.trust import TrustStore
from sixledger.engine.chance import Chance
from sixledger.engine.game import Setup
from sixledger.engine.nimmt.game import Nimmt
from sixledger.engine.nimmt.state import State
from sixledger.engine.registry import Registry
from sixledger.ledger import records as records_
from sixledger.ledger.heads import HeadSigner
from sixledger.testing import FakeServer
from sixledger.testing.faults import METHODS
from sixledger.v1 import match_service_pb2, record_pb2
from support.ledgers import SIGNER, Table, secret
from support.openings import late_openings
from support.play import ScriptedStreams, run

Records = Sequence[record_pb2.Record]
Response = match_service_pb2.WatchMatchResponse


# -- one match without a socket ------------------------------------------------------------------


@dataclass(slots=True)
class SeatOf(Credentials):
    """The credentials of a seat of a table that was played without clients."""

    joined_with: bytes = field(default=b"", repr=False)

    def request_id(self, purpose: str) -> bytes:
        """That of the join is in the ledger."""
        # super() without arguments does not work in a dataclass with slots.
        return self.joined_with if purpose == "join" else Credentials.request_id(self, purpose)


def credentials(table: Table, seat: int) -> Credentials:
    """What the honest player of a seat keeps."""
    key = b""
    if seat in table.signing:
        raw, none = serialization.Encoding.Raw, serialization.NoEncryption()
        key = Table.key(table, seat).private_bytes(raw, serialization.PrivateFormat.Raw, none)
    contribution = table.contribution(seat) if seat in table.contributing else b""
    made = SeatOf(table.match.match_id, seat, secret(f"seat {table.name} {seat}"), key, contribution, token="token")
    for record in table.records:
        body = record_pb2.Body.FromString(record.body)
        if any(step.HasField("joined") and step.joined.seat == seat for step in body.lifecycle):
            made.joined_with = body.cause.request_id
    return made


def honest(table: Table, viewer: int | None) -> Tracker:
    """The client of a viewer; None: of a spectator."""
    made = credentials(table, viewer) if viewer is not None else None
    return Tracker(table.match.match_id, SIGNER.verifier_key, made)


def viewers(table: Table) -> list[int | None]:
    """Every seat that a person holds, and a spectator."""
    return [*(number for number, seat in enumerate(table.match.seats) if not seat.hosted), None]


def head(records: Records, count: int, signer: HeadSigner = SIGNER) -> str:
    """The signed head of the first `count` records."""
    body = record_pb2.Body.FromString(records[count - 1].body)
    return _signed(signer, body.match_id, count, records[count - 1].hash, body.time_us)


@cache
def _signed(signer: HeadSigner, match_id: bytes, count: int, record_hash: bytes, time_us: int) -> str:
    return signer.sign(match_id, count, record_hash, time_us)


def told(records: Records, viewer: int | None, signer: HeadSigner = SIGNER) -> list[Response]:
    """What a service shows to a viewer of these records, each with its head, and at last that all are there."""
    shown, before = [], 0
    for seq, record in enumerate(records):
        body = record_pb2.Body.FromString(record.body)
        after = max([before, *(reveal.epoch for reveal in body.reveals)])
        item = Response()
        item.record.record.CopyFrom(_redacted(record, viewer, after))
        item.record.head = head(records, seq + 1, signer)
        for earlier in range(seq if after > before else 0):
            if late := late_openings(_sealed(records[earlier]), viewer, before, after):
                item.record.late_openings.add(seq=earlier, openings=late)
        before = after
        shown.append(item)
    shown.append(Response(caught_up=match_service_pb2.CaughtUp(head=head(records, len(records), signer))))
    return shown


def _sealed(record: record_pb2.Record) -> record_pb2.Record:
    """The record without openings that have no seal."""
    openings = [opening for opening in record.openings if opening.seal < len(record.seals)]
    return record_pb2.Record(body=record.body, seals=record.seals, openings=openings, hash=record.hash)


def _redacted(record: record_pb2.Record, viewer: int | None, revealed: int) -> record_pb2.Record:
    """The record as a viewer gets it, with all openings that have no seal."""
    shown = record_pb2.Record()
    shown.CopyFrom(records_.redact(_sealed(record), viewer, revealed))
    shown.openings.extend(opening for opening in record.openings if opening.seal >= len(record.seals))
    return shown


@dataclass
class Heard:
    """How a client took a stream."""

    client: Tracker
    #: What it raised; None if it believed everything.
    lie: errors.ClientError | None
    #: Number of the message that it did not believe.
    at: int


def listen(client: Tracker, stream: Sequence[Response], notes: Iterable[str] = ()) -> Heard:
    """Let a client hear a stream through its feed, and at last other signed heads, until it has enough."""
    feed = Feed(Session("lying.test:1", Settings(patience=0.0), TrustStore()), client)
    script = ScriptedStreams(list(stream))
    for number in range(len(stream)):
        try:
            run(feed.pull(), script)
        except errors.ClientError as error:
            return Heard(client, error, number)
    try:
        for note in notes:
            client.head(note)
    except errors.ClientError as error:
        return Heard(client, error, len(stream))
    return Heard(client, None, len(stream))


# -- a game that does not keep to its rules ------------------------------------------------------


class Crooked(Nimmt):
    """6 nimmt! in which `bend` makes of each event what it likes; with `own_seed` draws come from another seed.

    It has the name and the digest of the real one. Everything that follows is by the rules: seats see it and go on.
    """

    def __init__(self, bend: Callable[[Any], Iterable[Any]] | None = None, *, own_seed: bool = False) -> None:
        self._bend = bend
        self._own_seed = own_seed

    def start(self, state: State, setup: Setup, chance: Chance) -> Iterator[Message]:
        yield from self._bent(super().start(state, setup, self._chance(chance)))

    def play(self, state: State, seat: int | None, command: Any, chance: Chance) -> Iterator[Message]:
        yield from self._bent(super().play(state, seat, command, self._chance(chance)))

    def _chance(self, chance: Chance) -> Chance:
        return Chance.from_key(bytes(32)) if self._own_seed else chance

    def _bent(self, events: Iterator[Message]) -> Iterator[Message]:
        for event in events:
            copy = type(event)()
            copy.CopyFrom(event)
            yield from (copy,) if self._bend is None else self._bend(copy)


# -- a real server -------------------------------------------------------------------------------

#: Makes of a request and its reply (or the next item of a stream) what is sent instead: any number of messages.
Lie = Callable[[Any, Any], Iterable[Any]]


class Lies(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Alters what a server sends."""

    def __init__(self) -> None:
        """Honest until `tell` says otherwise."""
        self._lies: dict[str, Lie] = {}

    def tell(self, method: str, lie: Lie) -> None:
        """From now on replies of this call are lies. Raises KeyError for no call."""
        self._lies[METHODS[method].name] = lie

    def repent(self) -> None:
        """Be honest again."""
        self._lies.clear()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """The handler of a call, through which the lies go."""
        handler = await continuation(handler_call_details)
        name = handler_call_details.method.rpartition("/")[2]
        if handler is None or name not in METHODS:
            return handler
        asks: Any = GetMessageClass(METHODS[name].input_type)
        kind: Any = GetMessageClass(METHODS[name].output_type)

        def lied(request: Any, reply: Any) -> list[bytes]:
            data = reply if isinstance(reply, bytes) else reply.SerializeToString()
            lie = self._lies.get(name)
            if lie is None:
                return [data]
            request = asks.FromString(request) if isinstance(request, bytes) else request
            return [each.SerializeToString() for each in lie(request, kind.FromString(data))]

        coders = (handler.request_deserializer, bytes)
        if handler.unary_unary is not None:

            async def call(request: Any, context: Any) -> bytes:
                (data,) = lied(request, await handler.unary_unary(request, context))
                return data

            return grpc.unary_unary_rpc_method_handler(call, *coders)
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(_stream(handler.unary_stream, lied), *coders)
        return handler


def _stream(behaviour: Any, lied: Callable[[Any, Any], list[bytes]]) -> Any:
    async def write(request: Any, context: Any) -> None:
        await behaviour(request, _Lying(context, lambda reply: lied(request, reply)))

    async def generate(request: Any, context: Any) -> AsyncIterator[bytes]:
        async for reply in behaviour(request, context):
            for data in lied(request, reply):
                yield data

    return write if inspect.iscoroutinefunction(behaviour) else generate


class _Lying:
    """The context of a stream whose items are altered."""

    def __init__(self, context: Any, lied: Callable[[Any], list[bytes]]) -> None:
        self._context = context
        self._lied = lied

    def __getattr__(self, name: str) -> Any:
        """Everything else is that of the context."""
        return getattr(self._context, name)

    async def write(self, reply: Any) -> None:
        """Send what is made of an item."""
        for data in self._lied(reply):
            await self._context.write(data)


class LyingServer(FakeServer):
    """A real server on a socket, with the real key. `lies` alter its replies, and its game may be crooked."""

    def __init__(self, game: Crooked | None = None, **arguments: Any) -> None:
        """`game` is what it plays instead of the games of this build."""
        super().__init__(**arguments)
        self.lies = Lies()
        self._game = game

    @property
    def signer(self) -> HeadSigner:
        """Signs whatever the test likes with the key of the server."""
        return self._running().host.signer

    def start(self) -> None:
        """Start, with the crooked game."""
        super().start()
        if self._game is not None:
            self._running().host.registry = Registry([self._game])

    def _server_arguments(self) -> dict[str, Any]:
        arguments = super()._server_arguments()
        return {**arguments, "interceptors": (self.lies, *arguments["interceptors"])}
