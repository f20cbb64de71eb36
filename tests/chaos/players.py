"""A player at a seat, who uses the real client, sends again and elsewhere, and writes down what it was told."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import grpc
from chaos import history as told
from chaos.clients import TIMEOUT_S, Clients, reason
from sixledger.client import AsyncSeatedMatch, Recorded
from sixledger.client.core.flow import Flow
from sixledger.client.core.session import MATCHES
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ServerCheated, ServiceError, TransportError
from sixledger.client.statuses import from_rpc_error
from sixledger.engine.bots import random_policy
from sixledger.v1 import match_service_pb2, record_pb2

#: Refusals that an honest player can meet: the match went on, or time ran out.
_HONEST = frozenset({"STALE_DECISION", "ILLEGAL_COMMAND", "WRONG_PHASE"})
#: Shares of decisions: sent to other replicas as well; given up after an attempt without an answer; resigned instead.
_COPIED, _GIVEN_UP, _RESIGNED = 0.2, 0.1, 0.002


class Player:
    """One seat of one match."""

    def __init__(
        self, clients: Clients, credentials: Credentials, by: str, *, pace_s: float, hurry: asyncio.Event
    ) -> None:
        """Thinks `pace_s` on average, and not at all once `hurry` is set."""
        self._clients, self._credentials, self._by = clients, credentials, by
        self._pace_s, self._hurry = pace_s, hurry
        self._random = Random(clients.random.random())
        self._history = clients.history

    def _named(self, act: str, request_id: bytes = b"") -> dict[str, Any]:
        """What names an act of the seat; those that happen once have derived request ids."""
        request = (request_id or self._credentials.request_id(act)).hex()
        return {
            "match": self._credentials.match_id.hex(),
            "request": request,
            "act": act,
            "seat": self._credentials.seat,
        }

    def _acknowledged(self, named: dict[str, Any], recorded: Recorded) -> None:
        self._history.add(told.ACKNOWLEDGED, self._by, **named, seq=recorded.seq, hash=recorded.record.hash.hex())

    async def play(self) -> None:
        """Join, contribute, and play to the end."""
        by, match = self._by, self._credentials.match_id.hex()
        for act in ("join", "commitment", "contribution"):
            self._history.add(told.INVOKED, by, **self._named(act))
        client = self._clients.any()
        try:
            table = await self._clients.insist(lambda: client.matches.resume(self._credentials))
        except ServiceError as error:
            self._history.add(told.REFUSED, by, **self._named("join"), detail=error.reason)
            if error.reason not in _HONEST:
                self._clients.broken(by, match, error)
            return
        try:
            async with table:
                self._find(table, "join")
                await self._decide(table)
        except ServerCheated as error:
            self._clients.broken(by, match, error)
        for act in ("commitment", "contribution"):
            self._find(table, act)
        for recorded in table.records:
            self._history.add(told.SEEN, by, match=match, seq=recorded.seq, hash=recorded.record.hash.hex())
        for head in table.receipts.values():
            self._history.add(told.HEAD, by, match=match, detail=head)

    def _find(self, table: AsyncSeatedMatch, act: str) -> None:
        """Note that an act that the client does by itself was confirmed."""
        named = self._named(act)
        for recorded in table.records:
            cause = recorded.body.cause
            if cause.request_id.hex() == named["request"] and cause.seat == table.seat:
                self._acknowledged(named, recorded)

    async def _decide(self, table: AsyncSeatedMatch) -> None:
        while await self._clients.insist(table.turn):
            if not self._hurry.is_set():
                await asyncio.sleep(self._random.uniform(0, 2 * self._pace_s))
                if not table.may_act:
                    continue
            if self._random.random() < _RESIGNED:
                await self._resign(table)
            else:
                await self._command(table)

    async def _resign(self, table: AsyncSeatedMatch) -> None:
        named = self._named("resign")
        self._history.add(told.INVOKED, self._by, **named)
        try:
            recorded = await self._clients.insist(table.resign)
        except ServiceError as error:
            self._history.add(told.REFUSED, self._by, **named, detail=error.reason)
            await self._clients.insist(table.refresh)
        else:
            self._acknowledged(named, recorded)

    async def _command(self, table: AsyncSeatedMatch) -> None:
        """Play a command: the same request again, here and elsewhere, until there is an answer, or give up."""
        run, random = table._driver.run, self._random
        known = table.match.seq
        request = await run(table.flows.request(random_policy(table.view(), random)))
        named = self._named("command", request.act.request_id)
        self._history.add(told.INVOKED, self._by, **named, decision=request.decision)
        stubs = self._clients.stubs
        where = random.sample(stubs, random.randint(1, len(stubs))) if random.random() < _COPIED else []
        copies = [asyncio.create_task(self._blindly(stub, request, named)) for stub in where]
        gives_up = random.random() < _GIVEN_UP
        while True:
            try:
                recorded = await run(_submission(table, request))
            except (ServiceError, TransportError) as error:
                if error.retryable:
                    self._history.add(told.UNKNOWN, self._by, **named, detail=reason(error))
                    if gives_up:
                        break
                    await asyncio.sleep(random.uniform(0.05, 0.5))
                    continue
                self._history.add(told.REFUSED, self._by, **named, detail=reason(error))
                await self._clients.insist(table.refresh)
                if reason(error) not in _HONEST or table.match.seq == known:
                    self._clients.broken(self._by, named["match"], error)
                    await asyncio.sleep(1.0)
            else:
                self._acknowledged(named, recorded)
            break
        await asyncio.gather(*copies)

    async def _blindly(self, stub: Any, request: match_service_pb2.SubmitCommandRequest, named: dict[str, Any]) -> None:
        """The same request to one replica, whatever the others say."""
        await asyncio.sleep(self._random.choice((0.0, self._random.uniform(0.0, 0.5))))
        by = f"{self._by}/copy"
        try:
            reply = await stub.SubmitCommand(request, timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            found: Any = from_rpc_error(error)
            what = told.UNKNOWN if found.retryable else told.REFUSED
            self._history.add(what, by, **named, detail=reason(found))
        else:
            seq = record_pb2.Body.FromString(reply.record.body).seq
            self._history.add(told.ACKNOWLEDGED, by, **named, seq=seq, hash=reply.record.hash.hex())


def _submission(table: AsyncSeatedMatch, request: match_service_pb2.SubmitCommandRequest) -> Flow[Recorded]:
    """What `play` does, with a request that was made before."""
    flows = table.flows
    if flows.stream is None:
        reply = yield from flows.session.call(MATCHES, "SubmitCommand", request)
        return (yield from flows.take_reply(request.act.request_id, reply.record, reply.late_openings, reply.head))
    (played,) = yield from flows.stream.submit([request])
    return (yield from flows.take_played(request, played))
