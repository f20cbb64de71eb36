"""Deciding: what the next record is, given an act. The one place where records come from.

The service decides and appends; the verifier decides again and compares. Nothing here changes the match
that it is given: the result carries the match as it stands afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.game import ABORTED, RESIGNED, Game
from sixledger.ledger import hashing, keys, records
from sixledger.ledger.faults import (
    BadSignature,
    ContributionMismatch,
    MalformedAct,
    SeatTaken,
    StaleDecision,
    WrongPhase,
)
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.match import Match, act_fault, audience
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
SEATS = record_pb2.CONTRIBUTION_MODE_SEATS
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
SEAT, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE


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
    signature: bytes = b""
    lifecycle: list[record_pb2.Lifecycle] = field(default_factory=list)
    #: Concrete events, each with the epoch in which it was yielded.
    events: list[tuple[Any, int]] = field(default_factory=list, repr=False)
    reveals: list[record_pb2.Reveal] = field(default_factory=list)
    #: Indices of the events that needed a draw.
    drawn: set[int] = field(default_factory=set)

    def body(self) -> tuple[record_pb2.Body, list[records.Secret]]:
        """The public body and the secrets to be sealed, in their order."""
        match, schema = self.after, self.after.game.schema
        body = record_pb2.Body(
            format=records.FORMAT, match_id=match.match_id, seq=match.seq + 1, time_us=self.time_us, cause=self.cause
        )
        if self.lifecycle:
            body.lifecycle.extend(self.lifecycle)
        if self.reveals:
            body.reveals.extend(self.reveals)
        secrets = []
        if self.command is not None and (secret := _classes(self.command).secret):
            public = game_pb2.Command()
            schema.commands.pack_without(public, self.command, secret)
            body.command = public.SerializeToString(deterministic=True)
            sealed = record_pb2.SealedCommand(command=self.command_bytes, signature=self.signature)
            value = sealed.SerializeToString(deterministic=True)
            secrets.append(records.Secret(1 << self.cause.seat, self.epoch_before, value))
        else:
            body.command = self.command_bytes
            body.cause.signature = self.signature
        add, events = body.events.add, schema.events
        for event, epoch in self.events:
            classes = _classes(event)
            if classes.secret:
                events.pack_without(add(), event, classes.secret)
                envelope = game_pb2.Event()
                events.pack_without(envelope, event, classes.public)
                value = envelope.SerializeToString(deterministic=True)
                secrets.append(records.Secret(audience(event), epoch, value))
            else:
                events.pack_into(add(), event)
        return body, secrets

    def seal(self, salt_key: bytes) -> record_pb2.Record:
        """The record; `after` then stands after it. To be called once."""
        body, secrets = self.body()
        record = records.seal(body, secrets, self.after.hash, salt_key)
        self.settle(record.hash)
        return record

    def settle(self, record_hash: bytes) -> None:
        """Let `after` stand after the record with this hash."""
        self.after.finish_record(record_hash, self.time_us, self.decision_before)

    # -- building up -----------------------------------------------------------------------------

    def step(self, **kinds: Message) -> None:
        """Add one step of the match's life, named by its case, and apply it."""
        lifecycle = record_pb2.Lifecycle(**kinds)  # type: ignore[arg-type]  # the case names are the keywords
        self.lifecycle.append(lifecycle)
        self.after.take_step(lifecycle)

    def take(self, events: Iterable[Message], chance: _Watched | None = None) -> None:
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
        chance = _Watched(seeds.chance(match.entropy))
        self.take(match.game.start(match.state, match.setup, chance), chance)

    def close_if_full(self, seeds: SeedChain) -> None:
        """Close the seats when the last one is taken; start if nobody is to contribute."""
        match = self.after
        if not all(seat.joined for seat in match.seats):
            return
        closed = [
            record_pb2.ClosedSeat(public_key=seat.public_key, contributes=seat.contributes) for seat in match.seats
        ]
        self.step(closed=record_pb2.SeatsClosed(seats=closed))
        self.start_if_contributed(seeds)

    def start_if_contributed(self, seeds: SeedChain) -> None:
        """Start the game when no contribution is missing any more."""
        if all(seat.contribution or not seat.contributes for seat in self.after.seats):
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


def _classes(message: Message) -> visibility.Classes:
    kind: Any = type(message)
    return visibility.classes(kind)


class _Watched(Chance):
    """Chance that remembers whether anything was drawn."""

    __slots__ = ("_chance", "drew")

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.drew = False

    def stream(self, epoch: int, label: str) -> Stream:
        self.drew = True
        return self._chance.stream(epoch, label)


def opening(
    game: Game[Any], seats: int, options: Any, mode: record_pb2.ContributionMode.ValueType, seeds: SeedChain
) -> record_pb2.MatchOpened:
    """The opening of a match; unspecified mode: commit and reveal. Raises IllegalOptions."""
    setup = game.complete(seats, options)
    return record_pb2.MatchOpened(
        ruleset=record_pb2.Ruleset(id=game.id, version=game.version, digest=game.digest),
        options=game.schema.options.pack(setup.options),
        seats=seats,
        epochs=game.epochs(setup),
        commitment=seeds.commitment,
        mode=mode or COMMIT_REVEAL,
    )


def open_match(match: Match, request_id: bytes, time_us: int, seeds: SeedChain, *, immediate: bool = False) -> Draft:
    """The draft of record 0 of `match`, fresh from `begin_opened`.

    `immediate` closes the seats at once, without keys and contributions, and starts the game in record 0;
    the mode must be SERVER_ONLY. Raises MalformedAct.
    """
    _check_request_id(request_id)
    _check_time(time_us)
    if len(match.match_id) != 16:
        raise MalformedAct("match_id", "must be 16 bytes")
    if immediate and match.opened.mode != SERVER_ONLY:
        raise MalformedAct("immediate", "needs the mode SERVER_ONLY: nobody can contribute")
    draft = Draft(record_pb2.Cause(kind=TABLE, request_id=request_id), time_us, match.copy(), 0, 0)
    draft.lifecycle.append(record_pb2.Lifecycle(opened=match.opened))
    if immediate:
        for seat in draft.after.seats:
            seat.joined = True
        draft.close_if_full(seeds)
    return draft


def decide(
    match: Match, action: engine_service_pb2.Action, seeds: SeedChain, *, check_signatures: bool = True
) -> Draft:
    """The draft of the record that `action` adds to `match`.

    `seeds` knows the epochs that the action deals or reveals. Raises Refused, MalformedCommand,
    IllegalCommand, or EpochSealed if `seeds` does not know enough; then nothing has changed.
    """
    draft = prepare(match, action)
    carry_out(draft, match, action, seeds, check_signatures=check_signatures)
    return draft


def prepare(match: Match, action: engine_service_pb2.Action, *, in_place: bool = False) -> Draft:
    """The empty draft of the record that `action` is to add. Raises MalformedAct.

    `in_place` lets the draft change `match` itself: for whoever needs it no more, even if the act fails.
    """
    given = action.cause
    _check_request_id(given.request_id)
    _check_time(action.time_us)
    cause = record_pb2.Cause(kind=given.kind, request_id=given.request_id)
    after = match if in_place else match.copy()
    return Draft(cause, max(action.time_us, match.time_us), after, match.decision, match.epoch)


def carry_out(
    draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, *, check_signatures: bool = True
) -> None:
    """Fill `draft`, as `prepare` made it, with what `action` causes. Raises what `decide` raises.

    If `seeds` does not know enough, the draft keeps what happened before the draw. Whoever has read the
    command may leave it in `draft.command`.
    """
    given, cause = action.cause, draft.cause
    kind = action.WhichOneof("action")
    if kind is None:
        raise MalformedAct("action", "is missing")
    # A command may be one of the table, too: once it is read, that is seen.
    allowed = (SEAT, TABLE) if kind == "command" else (TABLE,) if kind == "abort" else (SEAT,)
    if given.kind not in allowed:
        names = " or ".join(map(record_pb2.CauseKind.Name, allowed))
        raise MalformedAct("cause.kind", f"must be {names} for {kind}")
    if given.kind == SEAT:
        if given.seat >= len(match.seats):
            raise MalformedAct("cause.seat", f"there is no seat {given.seat}")
        cause.seat = given.seat
    _ACTS[kind](draft, match, action, seeds, check_signatures)
    draft.reveal_ended_epochs(seeds)


def _check_request_id(request_id: bytes) -> None:
    if len(request_id) != 16:
        raise MalformedAct("request_id", "must be 16 bytes")


def _check_time(time_us: int) -> None:
    if time_us > MAX_TIME_US:
        raise MalformedAct("time_us", "lies after the year 9999")


def _sign(
    draft: Draft, match: Match, action: engine_service_pb2.Action, kind: keys.ActKind, payload: bytes, check: bool
) -> None:
    """Take the signature of an act into the draft, if it is right. Raises BadSignature."""
    given, cause = action.cause, draft.cause
    key = payload if kind is keys.ActKind.JOIN else match.seats[given.seat].public_key
    if kind is keys.ActKind.COMMAND:
        cause.decision = given.decision
    if key:
        cause.key_id = keys.key_id(key)
    cause.observed_head = given.observed_head
    draft.signature = given.signature
    if check and (fault := act_fault(match, cause, kind, payload, key, given.signature)):
        raise BadSignature(fault)


def _join(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat, join = action.cause.seat, action.join
    if join.public_key:
        try:
            keys.load_public_key(join.public_key)
        except keys.BadKey as error:
            raise MalformedAct("join.public_key", str(error)) from error
    if join.contributes and match.opened.mode == SERVER_ONLY:
        raise MalformedAct("join.contributes", "the match takes no contributions")
    _sign(draft, match, action, keys.ActKind.JOIN, join.public_key, check)
    if match.over:
        raise WrongPhase("the match is over")
    if match.seats[seat].joined:
        raise SeatTaken(f"seat {seat} is taken")
    draft.step(joined=record_pb2.SeatJoined(seat=seat, public_key=join.public_key, contributes=join.contributes))
    draft.close_if_full(seeds)


def _commit(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat, value = match.seats[action.cause.seat], action.commitment
    if len(value) != 32:
        raise MalformedAct("commitment", "must be 32 bytes")
    _sign(draft, match, action, keys.ActKind.COMMITMENT, value, check)
    _check_contributing(match, action.cause.seat)
    if match.opened.mode != COMMIT_REVEAL:
        raise WrongPhase("contributions of this match are given in one step, without a commitment")
    if seat.commitment:
        raise WrongPhase(f"seat {action.cause.seat} has committed already")
    draft.step(committed=record_pb2.ContributionCommitted(seat=action.cause.seat, commitment=value))


def _contribute(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    number, value = action.cause.seat, action.contribution
    if len(value) != 32:
        raise MalformedAct("contribution", "must be 32 bytes")
    _sign(draft, match, action, keys.ActKind.CONTRIBUTION, value, check)
    _check_contributing(match, number)
    if match.seats[number].contribution:
        raise WrongPhase(f"seat {number} has contributed already")
    if match.opened.mode == COMMIT_REVEAL:
        missing = [n for n, seat in enumerate(match.seats) if seat.contributes and not seat.commitment]
        if missing:
            raise WrongPhase(f"the commitments of seats {missing} are missing")
        if match.seats[number].commitment != hashing.contribution_commitment(match.match_id, number, value):
            raise ContributionMismatch("contribution", "does not fit the commitment of the seat")
    draft.step(contributed=record_pb2.ContributionRevealed(seat=number, contribution=value))
    draft.start_if_contributed(seeds)


def _check_contributing(match: Match, seat: int) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if not match.closed:
        raise WrongPhase("the seats are not closed yet")
    if match.state is not None:
        raise WrongPhase("the game has started")
    if not match.seats[seat].contributes:
        raise WrongPhase(f"seat {seat} said when joining that it does not contribute")


def _play(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    game, given = match.game, action.cause
    command = draft.command if draft.command is not None else game.schema.read_command(action.command)
    of_seat = given.kind == SEAT
    if of_seat:
        _sign(draft, match, action, keys.ActKind.COMMAND, action.command, check)
    elif type(command) not in game.table_commands:
        raise MalformedAct("cause.kind", "must be CAUSE_KIND_SEAT: the table cannot give this command")
    if match.over:
        raise IllegalCommand("finished", "the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started")
    if of_seat and given.decision != draft.decision_before:
        raise StaleDecision(given.decision, draft.decision_before)
    draft.command, draft.command_bytes = command, action.command
    chance = _Watched(seeds.chance(match.entropy))
    draft.take(game.play(draft.after.state, given.seat if of_seat else None, command, chance), chance)


def _resign(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    _sign(draft, match, action, keys.ActKind.RESIGN, b"", check)
    if match.over:
        raise WrongPhase("the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started; its owner can abort it")
    draft.step(resigned=record_pb2.Resigned(seat=action.cause.seat))
    draft.take(match.game.leave(draft.after.state, RESIGNED, action.cause.seat))


def _abort(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    draft.step(aborted=record_pb2.Aborted())
    if match.state is not None:
        draft.take(match.game.leave(draft.after.state, ABORTED, None))


_ACTS: dict[str, Callable[[Draft, Match, engine_service_pb2.Action, SeedChain, bool], None]] = {
    "join": _join,
    "commitment": _commit,
    "contribution": _contribute,
    "command": _play,
    "resign": _resign,
    "abort": _abort,
}
