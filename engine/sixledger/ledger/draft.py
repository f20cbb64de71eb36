"""The next record before it is sealed: what an act has caused so far, applied step by step to a copy of the match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.engine.chance import Chance, Stream
from sixledger.ledger import assembly, clocks, keys, wire
from sixledger.ledger.assembly import Secret
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.match import Match
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import Command, spelling_of
from sixledger.ledger.whole import WholeRecord
from sixledger.v1 import record_pb2


@dataclass(slots=True)
class Draft:
    """The next record before it is sealed."""

    cause: record_pb2.Cause
    time_us: int
    #: The match as it stands after the record, but for hash and number.
    after: Match
    #: Decision and epoch before the record.
    decision_before: int
    epoch_before: int
    command_bytes: bytes = field(default=b"", repr=False)
    command: Any = field(default=None, repr=False)
    #: How the command is spelled, if that is known already.
    spelled: Command | None = None
    signature: bytes = b""
    lifecycle: list[record_pb2.Lifecycle] = field(default_factory=list)
    #: Concrete events, each with the epoch in which it was yielded.
    events: list[tuple[Any, int]] = field(default_factory=list, repr=False)
    reveals: list[record_pb2.Reveal] = field(default_factory=list)
    #: Indices of the events that needed a draw.
    drawn: set[int] = field(default_factory=set)
    #: Verifies the signature of the act; None: `keys.verify`.
    verify: keys.Verify | None = None

    def body(self) -> tuple[bytes, list[Secret]]:
        """The bytes of the public body and the secrets to be sealed, in their order."""
        match, cause = self.after, self.cause
        spelling = spelling_of(match.game.schema)
        secrets: list[Secret] = []
        command = b""
        if self.command is not None:
            spelled = self.spelled or spelling.spell(self.command, self.command_bytes)
            command = spelled.public
            if spelled.is_sealed:
                value = wire.sealed_command(self.command_bytes, self.signature)
                secrets.append((1 << cause.seat, self.epoch_before, value))
        if self.signature and not secrets:
            cause.signature = self.signature
        events: list[bytes] = []
        for event, epoch in self.events:
            field_, sealed_value, audience, _ = spelling.event(event)
            events.append(field_)
            if sealed_value is not None:
                secrets.append((audience, epoch, sealed_value))
        body = wire.body(
            match.match_id,
            match.seq + 1,
            self.time_us,
            cause.SerializeToString(deterministic=True),
            command,
            events,
            self.lifecycle,
            self.reveals,
        )
        return body, secrets

    def seal(self, salt_key: bytes) -> WholeRecord:
        """The record; `after` then stands after it. To be called once."""
        match = self.after
        body, secrets = self.body()
        record = assembly.seal(match.match_id, match.seq + 1, body, secrets, match.hash, salt_key)
        self.settle(record.hash)
        return record

    def settle(self, record_hash: bytes) -> None:
        """Let `after` stand after the record with this hash."""
        actor = self.cause.seat if self.command is not None else None
        self.after.finish_record(record_hash, self.time_us, self.decision_before, actor)

    # -- building up -----------------------------------------------------------------------------

    def step(self, **kinds: Message) -> None:
        """Add one step of the match's life, named by its case, and apply it."""
        lifecycle = record_pb2.Lifecycle(**kinds)  # type: ignore[arg-type]  # the case names are the keywords
        self.lifecycle.append(lifecycle)
        self.after.take_step(lifecycle)

    def take(self, events: Iterable[Message], chance: Watched | None = None) -> None:
        """Take the events of a generator, applying each before asking for the next."""
        game, state = self.after.game, self.after.state
        for event in events:
            if chance is not None and chance.drew:
                self.drawn.add(len(self.events))
                chance.drew = False
            self.events.append((event, game.epoch(state)))
            game.evolve(state, event)

    def start(self, seeds: SeedChain) -> None:
        """Fix the entropy and begin the game."""
        match = self.after
        self.step(sealed=record_pb2.EntropySealed(entropy=match.expected_entropy()))
        chance = Watched(seeds.chance(match.entropy))
        self.take(match.game.start(match.state, match.setup, chance), chance)

    def close_if_complete(self, seeds: SeedChain) -> None:
        """Close the seats when the table is complete, as record 0 says what that is."""
        if closing_fault(self.after, by_itself=True) is None:
            self.close(seeds)

    def close(self, seeds: SeedChain) -> None:
        """Close the seats with those that are taken; start if nobody is to contribute."""
        closed = record_pb2.SeatsClosed()
        for seat in self.after.seats:
            if seat.joined:
                added = closed.seats.add(public_key=seat.public_key, contributes=seat.contributes)
                if seat.hosted:
                    added.hosted = True
        self.step(closed=closed)
        self.start_if_contributed(seeds)

    def start_if_contributed(self, seeds: SeedChain) -> None:
        """Start the game when no contribution is missing any more."""
        if not clocks.missing(self.after, clocks.REVEAL):
            self.start(seeds)

    def reveal_ended_epochs(self, seeds: SeedChain) -> None:
        """Reveal the epoch that ended with this record, or the open one if the match is over."""
        match = self.after
        if match.state is None:
            return
        ended = match.over or match.game.outcome(match.state) is not None
        last = match.epoch if ended else match.epoch - 1
        if last > match.revealed:
            self.reveals = [
                record_pb2.Reveal(epoch=epoch, chain=seeds.element(epoch))
                for epoch in range(match.revealed + 1, last + 1)
            ]
            match.seeds = match.seeds.copy()
            match.seeds.reveal(last, seeds.element(last))


def closing_fault(match: Match, *, by_itself: bool) -> str | None:
    """Why the seats of an open match cannot be closed with those that are taken; None if they can.

    `by_itself`: without a word of the owner, who may begin with fewer seats.
    """
    taken = [number for number, seat in enumerate(match.seats) if seat.joined]
    least = match.opened.ready_seats or len(match.seats)
    if by_itself and len(taken) < least:
        return f"{len(taken)} of {least} seats are taken"
    if not taken:
        return "no seat is taken"
    if taken[-1] >= len(taken):
        free = next(number for number, seat in enumerate(match.seats) if not seat.joined)
        return f"seat {free} is free before a taken one: seats keep their numbers, and are played from 0 on"
    unready = [n for n in taken if not (match.seats[n].ready or match.seats[n].hosted)]
    if unready and match.opened.HasField("ready_seats"):
        return f"not ready: {', '.join(map(str, unready))}"
    try:
        match.setup_for(len(taken))
    except LedgerFault as fault:
        return fault.message
    return None


def _classes(message: Message) -> visibility.Classes:
    kind: Any = type(message)
    return visibility.classes(kind)


class Watched(Chance):
    """Chance that remembers whether anything was drawn."""

    __slots__ = ("_chance", "drew")

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.drew = False

    def stream(self, epoch: int, label: str) -> Stream:
        """The stream, and a note that it was asked for."""
        self.drew = True
        return self._chance.stream(epoch, label)
