"""Ledgers for tests: whole matches with fixed keys, seeds and times, and forgeries of them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.engine.game import Game
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import clocks, file, hashing, keys, records
from sixledger.ledger.author import Author
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.ledger.match import Match
from sixledger.v1 import engine_service_pb2, record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
SEATS = record_pb2.CONTRIBUTION_MODE_SEATS
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY

START_US = 1_750_000_000_000_000
D4 = GAME.presets["d4"].options


def rounds(number: int) -> nimmt_pb2.Options:
    """Options of a match of `number` rounds."""
    return nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=number)


def secret(name: str) -> bytes:
    """32 fixed bytes for `name`."""
    return hashlib.sha256(f"sixledger test {name}".encode()).digest()


def private_key(name: str) -> Ed25519PrivateKey:
    """A fixed private key for `name`."""
    return Ed25519PrivateKey.from_private_bytes(secret(f"key {name}"))


SIGNER = HeadSigner("ledger.example", private_key("origin"))
OTHER_SIGNER = HeadSigner("ledger.example", private_key("another"))
KEYS: Sequence[VerifierKey] = (SIGNER.verifier_key,)


@dataclass
class Table:
    """Plays one match and keeps its records, every draw and every time fixed by `name`."""

    seats: int = 2
    options: Any = field(default_factory=lambda: D4)
    mode: record_pb2.ContributionMode.ValueType = SERVER_ONLY
    #: Seats that sign their acts, and seats that contribute.
    signing: frozenset[int] = frozenset()
    contributing: frozenset[int] = frozenset()
    immediate: bool = False
    #: The table asks for readiness from so many seats on; 0: it does not.
    ready_seats: int = 0
    name: str = "table"
    game: Game[Any] = GAME
    #: Time limits, and what happens when a seat runs out of time.
    clock: record_pb2.Clock | None = None
    policy: record_pb2.TimeoutPolicy.ValueType = record_pb2.TIMEOUT_POLICY_UNSPECIFIED
    #: Microseconds since the start of the match for the next acts; None: a time that grows with the records.
    at: int | None = None

    def __post_init__(self) -> None:
        self.rng = random.Random(self.name)
        self.requests = 0
        self.records: list[record_pb2.Record] = []
        #: The author's match after each record.
        self.matches: list[Match] = []
        self.author, self.match, record = Author.open(
            self.game,
            self.seats,
            self.options,
            root_secret=secret(f"root {self.name}"),
            match_id=secret(f"match {self.name}")[:16],
            request_id=self.request_id(),
            time_us=START_US,
            mode=self.mode,
            immediate=self.immediate,
            ready_seats=self.ready_seats,
            clock=self.clock,
            timeout_policy=self.policy,
        )
        self.records.append(record)
        self.matches.append(self.match)

    def request_id(self) -> bytes:
        """The next request id."""
        self.requests += 1
        return secret(f"request {self.name} {self.requests}")[:16]

    def action(self, seat: int, kind: keys.ActKind, payload: bytes = b"", **fields: Any) -> engine_service_pb2.Action:
        """An act of a seat, signed if the seat signs."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_SEAT, seat=seat, request_id=self.request_id())
        if kind is keys.ActKind.COMMAND:
            cause.decision = self.match.decision
        if seat in self.signing:
            key = self.key(seat)
            cause.observed_head = self.match.first_hash if kind is keys.ActKind.JOIN else self.match.recent[-1]
            message = keys.act_message(
                self.match.match_id, seat, kind, cause.decision, cause.observed_head, cause.request_id, payload
            )
            cause.key_id = keys.key_id(keys.public_bytes(key))
            cause.signature = key.sign(message)
        at = 1_000 * len(self.records) if self.at is None else self.at
        return engine_service_pb2.Action(cause=cause, time_us=START_US + at, **fields)

    def key(self, seat: int) -> Ed25519PrivateKey:
        """The private key of a seat."""
        return private_key(f"{self.name} seat {seat}")

    def public_key(self, seat: int) -> bytes:
        """The public key of a seat; empty if it does not sign."""
        return keys.public_bytes(self.key(seat)) if seat in self.signing else b""

    def contribution(self, seat: int) -> bytes:
        """What a seat contributes."""
        return secret(f"contribution {self.name} {seat}")

    def act(self, action: engine_service_pb2.Action) -> record_pb2.Record:
        """Take an act into the ledger."""
        self.match, record = self.author.act(self.match, action)
        self.records.append(record)
        self.matches.append(self.match)
        return record

    def join(self, seat: int, *, hosted: bool = False) -> record_pb2.Record:
        """A seat joins."""
        public_key = self.public_key(seat)
        join = engine_service_pb2.JoinAction(
            public_key=public_key, contributes=seat in self.contributing, hosted=hosted
        )
        return self.act(self.action(seat, keys.ActKind.JOIN, public_key, join=join))

    def leave(self, seat: int) -> record_pb2.Record:
        """A seat leaves."""
        return self.act(self.action(seat, keys.ActKind.LEAVE, leave=engine_service_pb2.LeaveAction()))

    def ready(self, seat: int) -> record_pb2.Record:
        """A seat is ready."""
        return self.act(self.action(seat, keys.ActKind.READY, ready=engine_service_pb2.ReadyAction()))

    def close(self) -> record_pb2.Record:
        """The owner closes the seats."""
        return self.act(self.table_action(close=engine_service_pb2.CloseAction()))

    def start(self) -> None:
        """All that happens before the first deal."""
        if self.immediate:
            return
        for seat in range(self.seats):
            self.join(seat)
        self.contribute()

    def contribute(self) -> None:
        """Every contributing seat contributes."""
        if self.mode == COMMIT_REVEAL:
            for seat in sorted(self.contributing):
                self.commit(seat)
        for seat in sorted(self.contributing):
            self.reveal(seat)

    def commit(self, seat: int) -> record_pb2.Record:
        """A seat commits to its contribution."""
        value = hashing.contribution_commitment(self.match.match_id, seat, self.contribution(seat))
        return self.act(self.action(seat, keys.ActKind.COMMITMENT, value, commitment=value))

    def reveal(self, seat: int) -> record_pb2.Record:
        """A seat contributes."""
        value = self.contribution(seat)
        return self.act(self.action(seat, keys.ActKind.CONTRIBUTION, value, contribution=value))

    def command(self, seat: int, command: Any) -> engine_service_pb2.Action:
        """The act of playing a command."""
        data = self.game.schema.commands.pack(command).SerializeToString(deterministic=True)
        return self.action(seat, keys.ActKind.COMMAND, data, command=data)

    def play_one(self) -> record_pb2.Record:
        """Some seat plays some legal command."""
        seat = self.rng.choice(self.match.to_act)
        return self.act(self.command(seat, self.rng.choice(self.game.legal(self.match.state, seat))))

    def play(self, commands: int | None = None) -> Table:
        """Start if need be, and play `commands` commands, or to the end."""
        if self.match.state is None:
            self.start()
        while not self.match.over and commands != 0:
            self.play_one()
            commands = commands - 1 if commands else None
        return self

    def resign(self, seat: int) -> record_pb2.Record:
        """A seat resigns."""
        return self.act(self.action(seat, keys.ActKind.RESIGN, resign=engine_service_pb2.ResignAction()))

    def abort(self) -> record_pb2.Record:
        """The table aborts."""
        return self.act(self.table_action(abort=engine_service_pb2.AbortAction()))

    def table_action(self, **fields: Any) -> engine_service_pb2.Action:
        """An act of the table."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=self.request_id())
        at = 1_000_000 if self.at is None else self.at
        return engine_service_pb2.Action(cause=cause, time_us=START_US + at, **fields)

    def pause(self) -> record_pb2.Record:
        """The owner pauses the match."""
        return self.act(self.table_action(pause=engine_service_pb2.PauseAction()))

    def resume(self) -> record_pb2.Record:
        """The owner resumes it."""
        return self.act(self.table_action(resume=engine_service_pb2.ResumeAction()))

    def fire(self, late_us: int = 1) -> record_pb2.Record:
        """The first armed timer fires, so much later than its deadline."""
        timer = self.match.timers()[0]
        return self.act(clocks.fire(timer, timer.deadline_us + late_us))

    def table_command(self, command: Any) -> engine_service_pb2.Action:
        """The act of the table that gives a command."""
        cause = record_pb2.Cause(kind=record_pb2.CAUSE_KIND_TABLE, request_id=self.request_id())
        data = self.game.schema.commands.pack(command).SerializeToString(deterministic=True)
        return engine_service_pb2.Action(cause=cause, time_us=START_US + 1_000 * len(self.records), command=data)

    def heads(self, *counts: int) -> list[str]:
        """Signed heads for some counts and for the last record."""
        return heads(self.records, *counts)

    def file(self, *counts: int, **options: Any) -> bytes:
        """The ledger file with the heads of `counts` and of the last record."""
        return file.dump(self.records, self.heads(*counts), KEYS, **options)


def heads(records_: Sequence[record_pb2.Record], *counts: int, signer: HeadSigner = SIGNER) -> list[str]:
    """Signed heads of records for some counts and for the last record."""
    return [head(records_, count, signer=signer) for count in sorted({*counts, len(records_)})]


def head(records_: Sequence[record_pb2.Record], count: int, *, signer: HeadSigner = SIGNER) -> str:
    """The signed head of the first `count` records."""
    last = records_[count - 1]
    body = record_pb2.Body.FromString(last.body)
    return signer.sign(body.match_id, count, last.hash, body.time_us)


# -- lying ---------------------------------------------------------------------------------------


def copies(records_: Sequence[record_pb2.Record]) -> list[record_pb2.Record]:
    """Independent copies."""
    return [record_pb2.Record.FromString(record.SerializeToString()) for record in records_]


def rechain(records_: Sequence[record_pb2.Record]) -> list[record_pb2.Record]:
    """Give every record the number and the hash that make the chain fit again, and every seal its commitment."""
    result, previous = [], hashing.ZERO_HASH
    for seq, record in enumerate(copies(records_)):
        body = record_pb2.Body.FromString(record.body)
        body.seq = seq
        record.body = body.SerializeToString(deterministic=True)
        for opening in record.openings:
            seal = record.seals[opening.seal]
            seal.commitment = hashing.commitment(body.match_id, seq, opening.seal, opening.salt, opening.value)
        record.hash = previous = hashing.record_hash(body.match_id, seq, previous, record.body, record.seals)
        result.append(record)
    return result


def forge(
    records_: Sequence[record_pb2.Record],
    seq: int,
    change: Callable[[record_pb2.Body], None] | None = None,
    change_record: Callable[[record_pb2.Record], None] | None = None,
) -> list[record_pb2.Record]:
    """What a lying author signs: record `seq` changed, everything else made to fit again."""
    result = copies(records_)
    if change is not None:
        body = record_pb2.Body.FromString(result[seq].body)
        change(body)
        result[seq].body = body.SerializeToString(deterministic=True)
    if change_record is not None:
        change_record(result[seq])
    return rechain(result)


def forge_secret(
    records_: Sequence[record_pb2.Record], seq: int, seal: int, change: Callable[[Any], None]
) -> list[record_pb2.Record]:
    """A lying author's ledger with another sealed value; `change` gets the secret event or SealedCommand."""

    def apply(record: record_pb2.Record) -> None:
        body = record_pb2.Body.FromString(record.body)
        facts = records.read(record, GAME.schema, body)
        opening = next(each for each in record.openings if each.seal == seal)
        if facts.owners[seal] == -1:
            sealed = record_pb2.SealedCommand.FromString(opening.value)
            change(sealed)
            opening.value = sealed.SerializeToString(deterministic=True)
        else:
            event = type(body.events.add()).FromString(opening.value)
            change(event)
            opening.value = event.SerializeToString(deterministic=True)

    return forge(records_, seq, change_record=apply)


def find(records_: Sequence[record_pb2.Record], event: str, *, skip: int = 0) -> int:
    """The number of the first record, after `skip` others, with an event of the case `event`."""
    for seq, record in enumerate(records_):
        body = record_pb2.Body.FromString(record.body)
        if any(each.nimmt.WhichOneof("event") == event for each in body.events):
            if not skip:
                return seq
            skip -= 1
    raise LookupError(event)
