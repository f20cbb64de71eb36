"""Keeps matches going at a cluster: opens them, seats players, lets watchers look on, aborts some."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

from chaos import history as told
from chaos.clients import Clients
from chaos.cluster import Cluster
from chaos.history import History
from chaos.players import Player
from chaos.tables import Deal, deals
from chaos.watchers import watch, watch_bare
from sixledger.client.credentials import Credentials
from sixledger.client.errors import ClientError, ServiceError
from sixledger.v1 import record_pb2

_SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY


class Bots:
    """Everybody who uses the service."""

    def __init__(self, cluster: Cluster, history: History, seed: int, *, pace_s: float = 0.2, clients: int = 6) -> None:
        """A seat thinks `pace_s` on average."""
        self._history, self._random = history, Random(seed)
        self._clients = Clients(cluster, history, self._random, clients)
        self._deals: Iterator[Deal] = deals(seed)
        self._pace_s = pace_s
        #: Set: no match begins any more, and those that run are played without a pause.
        self.finishing = asyncio.Event()
        #: Match ids of what was opened.
        self.opened: list[bytes] = []

    async def __aenter__(self) -> Bots:
        await self._clients.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._clients.__aexit__()

    async def play(self, tables: int) -> None:
        """So many matches at a time until `finishing`; returns when the last one has ended."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(tables):
                tasks.create_task(self._table(f"table-{number}"))

    async def _table(self, table: str) -> None:
        number = 0
        while not self.finishing.is_set():
            number += 1
            name = f"{table}/match-{number}"
            try:
                await self._match(next(self._deals), name)
            except (ClientError, ExceptionGroup, LookupError, ValueError, AssertionError) as error:
                self._clients.broken(name, "", error)
                await asyncio.sleep(0.5)

    async def _match(self, deal: Deal, name: str) -> None:
        secret = secrets.token_bytes(32)
        created = await self._clients.insist(
            lambda: self._clients.any().matches.create(
                deal.game, seats=deal.seats, options=deal.options, secret=secret, mode=deal.mode, **deal.timing
            )
        )
        match_id = created.match_id
        opening = {
            "match": match_id.hex(),
            "request": record_pb2.Body.FromString(created.record.body).cause.request_id.hex(),
            "act": "create",
        }
        self._history.add(told.ACKNOWLEDGED, name, **opening, seq=0, hash=created.record.hash.hex())
        self.opened.append(match_id)
        signs = [self._random.random() < 0.7 for _ in range(deal.seats)]
        async with asyncio.TaskGroup() as tasks:
            if deal.hosted:
                signs.pop()
                tasks.create_task(self._host(match_id, deal.seats - 1, created.owner_token, f"{name}/owner"))
            for seat, sign in enumerate(signs):
                credentials = Credentials.new(match_id, seat, sign=sign, contribute=deal.mode != _SERVER_ONLY)
                by = f"{name}/seat-{seat}"
                player = Player(self._clients, credentials, by, pace_s=self._pace_s, hurry=self.finishing)
                tasks.create_task(player.play())
            tasks.create_task(watch(self._clients, match_id, f"{name}/watcher"))
            tasks.create_task(watch_bare(self._clients, match_id, f"{name}/bare-watcher"))
            if deal.aborted:
                tasks.create_task(self._abort(match_id, created.owner_token, f"{name}/owner"))

    async def _abort(self, match_id: bytes, owner_token: str, by: str) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.finishing.wait(), self._random.uniform(0.0, 5.0))
        await self._own(
            "abort",
            match_id,
            by,
            lambda request_id: self._clients.any().matches.abort(match_id, owner_token, request_id=request_id),
        )

    async def _host(self, match_id: bytes, seat: int, owner_token: str, by: str) -> None:
        """Let the service play a seat."""
        await self._own(
            "seat bot",
            match_id,
            by,
            lambda request_id: self._clients.any().lobby.seat_bot(match_id, owner_token, seat, request_id=request_id),
            seat,
        )

    async def _own(
        self, act: str, match_id: bytes, by: str, call: Callable[[bytes], Awaitable[record_pb2.Record]], seat: int = -1
    ) -> None:
        """What the owner does, for the table or for a seat."""
        request_id = secrets.token_bytes(16)
        named: dict[str, Any] = {"match": match_id.hex(), "request": request_id.hex(), "act": act, "seat": seat}
        self._history.add(told.INVOKED, by, **named)
        try:
            record = await self._clients.insist(lambda: call(request_id))
        except ServiceError as error:
            self._history.add(told.REFUSED, by, **named, detail=error.reason)
        else:
            seq = record_pb2.Body.FromString(record.body).seq
            self._history.add(told.ACKNOWLEDGED, by, **named, seq=seq, hash=record.hash.hex())
