"""Matches that are followed: a spectator's and a player's table."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from google.protobuf.message import Message
from sixledger.client.aio.driver import Driver
from sixledger.client.core.evidence import Evidence
from sixledger.client.core.feed import WatchItem
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.table import SeatTable, Table
from sixledger.client.credentials import Credentials
from sixledger.engine.game import Outcome
from sixledger.ledger.fairness import Fairness, fairness
from sixledger.ledger.match import Match
from sixledger.v1 import match_service_pb2, record_pb2, replay_service_pb2


class AsyncWatchedMatch:
    """A match as a spectator follows it. Every record is checked as it arrives; a lie raises ServerCheated.

    After ServerCheated the table takes nothing more; `records` keeps what was believed until then, and `evidence`
    what proves the lie.
    """

    def __init__(self, driver: Driver, table: Table) -> None:
        """Made by `client.matches`."""
        self._driver = driver
        self._table = table

    # -- what is known here ------------------------------------------------------------------------

    @property
    def match_id(self) -> bytes:
        """The match, 16 bytes."""
        return self._table.tracker.match_id

    @property
    def records(self) -> tuple[Recorded, ...]:
        """What was received, from record 0 on."""
        return tuple(self._table.tracker.received)

    @property
    def match(self) -> Match:
        """Where the match stands after the last record received: status, seats, decision. Do not change it."""
        return self._table.tracker.match

    @property
    def receipts(self) -> dict[int, str]:
        """The signed heads received, by number of records."""
        return self._table.tracker.receipts.notes

    @property
    def latest_receipt(self) -> str:
        """The signed head received that vouches for most records; empty before the first."""
        return self._table.tracker.receipts.latest

    @property
    def fairness(self) -> Fairness:
        """How fair the deal provably is, as label and sentence; before the start how fair it can be.

        Computed here, from the records: every viewer gets the same. Raises LookupError before the first record.
        """
        return fairness(self._table.tracker.match)

    @property
    def over(self) -> bool:
        """True once the match has ended or was aborted."""
        return self._table.tracker.over

    def view(self) -> Any:
        """What the viewer sees, the game's View, computed here. Raises LookupError before the start."""
        return self._table.tracker.view()

    def outcome(self) -> Outcome | None:
        """The result; None while the match runs, or if it was aborted before the game started."""
        return self._table.tracker.outcome()

    def clock(self) -> match_service_pb2.ClockState | None:
        """How the clocks stand now: what every seat has left. None if the match has no time limits and is not paused.

        Computed here, from the records and the time of the service as far as its messages told; nothing is asked.
        """
        return self._table.tracker.clock()

    # -- following ---------------------------------------------------------------------------------

    async def watch(self, first_seq: int = 0) -> AsyncIterator[WatchItem]:
        """Every record from `first_seq` on, each once, then live ones until the match ends.

        Yields Recorded, CaughtUp (all that existed are here), Heartbeat and, last, WatchEnded. Broken streams
        are resumed from the next record. Raises ServerCheated, and TransportError or Unavailable if the
        service stays away longer than the patience of the settings.
        """
        position = first_seq
        table = self._table
        while True:
            while position < table.tracker.count:
                position += 1
                yield table.tracker.received[position - 1]
            if (ending := table.ending()) is not None:
                yield ending
                return
            item = await self._driver.run(table.pull(position))
            if item is not None and not isinstance(item, (Recorded, match_service_pb2.WatchEnded)):
                yield item

    async def refresh(self) -> None:
        """Read every record that exists now, with the signed head of the last."""
        await self._driver.run(self._table.refresh())

    # -- evidence ----------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence | None:
        """What to keep of the lie that ended the trust: `evidence.save(folder)`. None while there was none."""
        return self._table.tracker.evidence

    async def export(self, path: str | Path) -> Path:
        """Write what was received, with the receipts, as a ledger file; gzipped if `path` ends with `.gz`."""
        return await self._driver.run(self._table.export(path))

    async def verify(self) -> replay_service_pb2.VerifyReport:
        """Replay everything received with the rules of this build. Raises ServerCheated if anything is wrong.

        The report says INCOMPLETE while sealed parts prevent a full replay: before the end, that is.
        """
        return await self._driver.run(self._table.verify())

    async def close(self) -> None:
        """Stop following. Harmless when repeated."""
        self._table.feed.close()

    async def __aenter__(self) -> Self:
        """The table itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop following."""
        await self.close()


class AsyncSeatedMatch(AsyncWatchedMatch):
    """A match as a player follows it, and plays.

    Whoever waits or looks (`turn`, `watch`, `refresh`) also does what the seat owes to the randomness before the start.
    """

    def __init__(self, driver: Driver, table: SeatTable) -> None:
        """Made by `client.matches`."""
        super().__init__(driver, table)
        self._seat = table

    @property
    def seat(self) -> int:
        """The seat, from 0."""
        return self._seat.credentials.seat

    @property
    def credentials(self) -> Credentials:
        """The secrets of the seat: save them to go on after a restart."""
        return self._seat.credentials

    @property
    def receipt_path(self) -> Path | None:
        """The file in which the latest signed head is kept, beside the credentials; None if these have no file.

        It is what `sixledger verify --receipt` takes. It is replaced whenever the service vouches for more records.
        """
        return self._seat.credentials.receipt_path

    @property
    def flows(self) -> SeatTable:
        """What the table does, as flows: for the areas of the client."""
        return self._seat

    @property
    def may_act(self) -> bool:
        """True if the seat may act after the last record received."""
        return self._seat.tracker.may_act

    def legal(self) -> list[Message]:
        """The legal commands, concrete messages of the game in the order of its rules, computed here."""
        return self._seat.tracker.legal()

    async def turn(self) -> bool:
        """Wait until the seat may act; False if the match is over."""
        return await self._driver.run(self._seat.turn())

    async def play(self, command: Message, *, decision: int | None = None) -> Recorded:
        """Play a command: a concrete message of the game, its Command, or the envelope. The result is the record.

        Answers the open decision, or the given one. Repeated until the service answers; a repetition never
        plays twice. Raises IllegalCommand, Malformed, StaleDecision, WrongPhase or ServerCheated.
        """
        return await self._driver.run(self._seat.play(command, decision))

    async def resign(self) -> Recorded:
        """Resign: the match ends. The result is the record. Raises WrongPhase."""
        return await self._driver.run(self._seat.resign())

    async def ready(self) -> Recorded:
        """Say that the seat is ready, at a table that asks for it. The result is the record. Raises WrongPhase."""
        return await self._driver.run(self._seat.ready())

    async def leave(self) -> record_pb2.Record:
        """Give the seat up before the seats are closed: it is free again. The result is the record.

        The table follows the match no longer; `turn` is false from then on. Raises WrongPhase.
        """
        return await self._driver.run(self._seat.leave())

    async def refresh_token(self) -> None:
        """Take a fresh token in place of the one that will expire. Credentials with a file are saved."""
        await self._driver.run(self._seat.refresh_token())

    async def revoke_tokens(self) -> None:
        """Make all tokens of the seat worthless but a fresh one, which this table has.

        For somebody who fears that another has seen the token. Credentials with a file are saved.
        """
        await self._driver.run(self._seat.revoke_tokens())
