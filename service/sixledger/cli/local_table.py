"""A match without a server: this process deals, keeps the ledger and plays the bots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message
from sixledger.cli.seating import randoms, secret
from sixledger.engine.bots import Policy
from sixledger.engine.game import Game, Setup
from sixledger.engine.visibility import redact
from sixledger.ledger import records
from sixledger.ledger.author import Author
from sixledger.v1 import engine_service_pb2, record_pb2

#: The seat of the person.
PERSON = 0


class LocalTable:
    """One person against bots. Every act becomes a record of the ledger, as on a server."""

    def __init__(
        self,
        game: Game[Any],
        setup: Setup,
        names: Sequence[str],
        bots: Mapping[int, Policy],
        *,
        seed: int | None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """`bots` has a policy for every seat but the person's. With a `seed` the cards and bots repeat.

        `clock` gives microseconds since 1970-01-01 UTC; with a fixed one even the ledger is the same.
        """
        self.game = game
        self.names = list(names)
        self.viewer = PERSON
        self.match_id = secret(seed, "match")[:16]
        self.records: list[record_pb2.Record] = []
        self._bots = dict(bots)
        self._random = randoms(seed, list(bots))
        self._seed = seed
        self._clock = clock
        self._told: list[Any] = []
        self._author, self._match, record = Author.open(
            game,
            setup.seats,
            setup.options,
            root_secret=secret(seed, "root"),
            match_id=self.match_id,
            request_id=self._request_id(),
            time_us=self._clock(),
            immediate=True,
        )
        self._keep(record)

    @property
    def over(self) -> bool:
        """True once the match has ended."""
        return self._match.over

    @property
    def time_us(self) -> int:
        """Time of the last record."""
        return self._match.time_us

    def view(self) -> Any:
        """What the person sees."""
        return self.game.view(self._match.state, PERSON)

    def advance(self) -> list[Any]:
        """Let the bots act until the person must decide or the match is over; what happened since last time."""
        while not self.over and PERSON not in self._match.to_act:
            self._bot(self._match.to_act[0])
        for seat in self._match.to_act:
            if seat != PERSON:
                self._bot(seat)
        told, self._told = self._told, []
        return told

    def submit(self, command: Message) -> None:
        """The person's command. Raises IllegalCommand or MalformedCommand; then nothing has changed."""
        self._play(PERSON, command)

    def resign(self) -> None:
        """The person leaves: the match ends."""
        action = engine_service_pb2.Action(resign=engine_service_pb2.ResignAction())
        self._act(PERSON, action)

    def seconds_left(self) -> None:
        """Here nobody is in a hurry."""
        return

    def _bot(self, seat: int) -> None:
        view = self.game.view(self._match.state, seat)
        self._play(seat, self._bots[seat](view, self._random[seat]))

    def _play(self, seat: int, command: Message) -> None:
        data = self.game.schema.commands.pack(command).SerializeToString(deterministic=True)
        action = engine_service_pb2.Action(command=data)
        action.cause.decision = self._match.decision
        self._act(seat, action)

    def _act(self, seat: int, action: engine_service_pb2.Action) -> None:
        action.cause.kind = record_pb2.CAUSE_KIND_SEAT
        action.cause.seat = seat
        action.cause.request_id = self._request_id()
        action.time_us = self._clock()
        self._match, record = self._author.act(self._match, action)
        self._keep(record)

    def _keep(self, record: record_pb2.Record) -> None:
        self.records.append(record)
        facts = records.read(record, self.game.schema)
        self._told += [redact(event, PERSON) for event in facts.events]

    def _request_id(self) -> bytes:
        return secret(self._seed, f"request/{len(self.records)}")[:16]
