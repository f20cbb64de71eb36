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
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, Game
from sixledger.ledger import clocks, hashing, keys, records
from sixledger.ledger.faults import (
    BadSignature,
    ContributionMismatch,
    LedgerFault,
    MalformedAct,
    Paused,
    SeatTaken,
    StaleDecision,
    TimerDue,
    WrongPhase,
)
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.match import STALE, Match, act_fault, audience
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
SEATS = record_pb2.CONTRIBUTION_MODE_SEATS
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
SEAT, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE
TIMER = record_pb2.CAUSE_KIND_TIMER


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
        actor = self.cause.seat if self.command is not None else None
        self.after.finish_record(record_hash, self.time_us, self.decision_before, actor)

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
    game: Game[Any],
    seats: int,
    options: Any,
    mode: record_pb2.ContributionMode.ValueType,
    seeds: SeedChain,
    ready_seats: int = 0,
    clock: record_pb2.Clock | None = None,
    timeout_policy: record_pb2.TimeoutPolicy.ValueType = clocks.NO_POLICY,
) -> record_pb2.MatchOpened:
    """The opening of a match; unspecified mode: commit and reveal. Raises IllegalOptions or MalformedAct.

    `ready_seats`: the table asks for readiness, from so many seats on; 0: it does not. `clock`: its time limits.
    """
    setup = game.complete(seats, options)
    if ready_seats > seats:
        raise MalformedAct("ready_seats", f"the match has {seats} seats")
    if fault := clocks.clock_fault(clock or record_pb2.Clock(), timeout_policy):
        raise MalformedAct(*fault)
    clock, timeout_policy = clocks.settled(clock, timeout_policy)
    return record_pb2.MatchOpened(
        ruleset=record_pb2.Ruleset(id=game.id, version=game.version, digest=game.digest),
        options=game.schema.options.pack(setup.options),
        seats=seats,
        epochs=game.epochs(setup),
        commitment=seeds.commitment,
        mode=mode or COMMIT_REVEAL,
        ready_seats=ready_seats or None,
        clock=clock,
        timeout_policy=timeout_policy or None,
    )


def open_match(match: Match, request_id: bytes, time_us: int, seeds: SeedChain, *, immediate: bool = False) -> Draft:
    """The draft of record 0 of `match`, fresh from `begin_opened`.

    `immediate` closes the seats at once, without keys and contributions, and starts the game in record 0;
    the mode must be SERVER_ONLY. Raises MalformedAct.
    """
    draft = prepare_opening(match, request_id, time_us)
    carry_out_opening(draft, seeds, immediate=immediate)
    return draft


def prepare_opening(match: Match, request_id: bytes, time_us: int) -> Draft:
    """The draft of record 0 without what follows from it. Raises MalformedAct."""
    _check_request_id(request_id)
    _check_time(time_us)
    if len(match.match_id) != 16:
        raise MalformedAct("match_id", "must be 16 bytes")
    draft = Draft(record_pb2.Cause(kind=TABLE, request_id=request_id), time_us, match.copy(), 0, 0)
    draft.lifecycle.append(record_pb2.Lifecycle(opened=match.opened))
    return draft


def carry_out_opening(draft: Draft, seeds: SeedChain, *, immediate: bool) -> None:
    """Fill the draft of record 0 with what follows from the opening. Raises as `carry_out`."""
    if not immediate:
        return
    if draft.after.opened.mode != SERVER_ONLY:
        raise MalformedAct("immediate", "needs the mode SERVER_ONLY: nobody can contribute")
    if draft.after.opened.HasField("ready_seats"):
        raise MalformedAct("immediate", "does not go with ready_seats: there is nobody to be ready")
    for seat in draft.after.seats:
        seat.joined = True
    draft.close(seeds)


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
    allowed = {"command": (SEAT, TABLE), "fire": (TIMER,)}.get(kind, (TABLE,) if kind in _OF_TABLE else (SEAT,))
    if given.kind not in allowed:
        names = " or ".join(map(record_pb2.CauseKind.Name, allowed))
        raise MalformedAct("cause.kind", f"must be {names} for {kind}")
    if given.kind == SEAT:
        if given.seat >= len(match.seats):
            raise MalformedAct("cause.seat", f"there is no seat {given.seat}")
        cause.seat = given.seat
    # In place, the draft changes the match: what depends on where it stood is asked first.
    late = _late(match, action, draft.time_us) if given.kind != TIMER else None
    _ACTS[kind](draft, match, action, seeds, check_signatures)
    if late is not None:
        raise late
    draft.reveal_ended_epochs(seeds)


def _late(match: Match, action: engine_service_pb2.Action, time_us: int) -> Exception | None:
    """Why an act is refused that comes later than the first deadline; None if it does not."""
    if time_us <= match.first_deadline_us:
        return None
    own = next((timer for timer in match.timers() if timer.HasField("seat") and timer.seat == action.cause.seat), None)
    if action.WhichOneof("action") == "command" and own is not None and time_us > own.deadline_us:
        return IllegalCommand("too_late", f"the time of seat {own.seat} ended at {own.deadline_us}")
    timer = match.timers()[0]
    name = record_pb2.TimerKind.Name(timer.kind).removeprefix("TIMER_KIND_")
    return TimerDue(f"the timer {name} is due since {timer.deadline_us}: let it fire first")


def _check_request_id(request_id: bytes) -> None:
    if len(request_id) != 16:
        raise MalformedAct("request_id", "must be 16 bytes")


def _check_time(time_us: int) -> None:
    if time_us > MAX_TIME_US:
        raise MalformedAct("time_us", "lies after the year 9999")


def _sign(
    draft: Draft, match: Match, action: engine_service_pb2.Action, kind: keys.ActKind, payload: bytes, check: bool
) -> None:
    """Take the signature of an act into the draft, if it is right. Raises BadSignature or StaleDecision."""
    given, cause = action.cause, draft.cause
    key = payload if kind is keys.ActKind.JOIN else match.seats[given.seat].public_key
    if kind is keys.ActKind.COMMAND:
        cause.decision = given.decision
    if key:
        cause.key_id = keys.key_id(key)
    cause.observed_head = given.observed_head
    draft.signature = given.signature
    if not check:
        return
    if given.key_id and given.key_id != cause.key_id:
        raise BadSignature("the act names another key than the seat's")
    if fault := act_fault(match, cause, kind, payload, key, given.signature):
        if fault == STALE and kind is keys.ActKind.COMMAND and given.decision != draft.decision_before:
            raise StaleDecision(given.decision, draft.decision_before)
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
    if join.hosted and (join.public_key or join.contributes):
        raise MalformedAct("join.hosted", "a seat that the operator plays neither signs nor contributes")
    _sign(draft, match, action, keys.ActKind.JOIN, join.public_key, check)
    if match.over:
        raise WrongPhase("the match is over")
    if match.seats[seat].joined:
        raise SeatTaken(f"seat {seat} is taken")
    joined = record_pb2.SeatJoined(seat=seat, public_key=join.public_key, contributes=join.contributes)
    if join.hosted:
        joined.hosted = True
    draft.step(joined=joined)
    draft.close_if_complete(seeds)


def _leave(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    _sign(draft, match, action, keys.ActKind.LEAVE, b"", check)
    _check_gathering(match, action.cause.seat)
    draft.step(left=record_pb2.SeatLeft(seat=action.cause.seat))
    draft.close_if_complete(seeds)


def _ready(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    seat = action.cause.seat
    _sign(draft, match, action, keys.ActKind.READY, b"", check)
    _check_gathering(match, seat)
    if not match.opened.HasField("ready_seats"):
        raise WrongPhase("the table does not ask for readiness")
    if match.seats[seat].ready or match.seats[seat].hosted:
        raise WrongPhase(f"seat {seat} is ready already")
    draft.step(ready=record_pb2.SeatReady(seat=seat))
    draft.close_if_complete(seeds)


def _check_gathering(match: Match, seat: int) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.closed:
        raise WrongPhase("the seats are closed")
    if not match.seats[seat].joined:
        raise WrongPhase(f"seat {seat} is not taken")


def _close(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.closed:
        raise WrongPhase("the seats are closed")
    if fault := closing_fault(match, by_itself=False):
        raise WrongPhase(f"the seats cannot be closed: {fault}")
    draft.close(seeds)


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
    if match.paused:
        raise Paused("the match is paused")
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


def _pause(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if match.state is None:
        raise WrongPhase("the game has not started")
    if match.paused:
        raise Paused("the match is paused already")
    draft.step(paused=record_pb2.Paused())


def _resume(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    if match.over:
        raise WrongPhase("the match is over")
    if not match.paused:
        raise WrongPhase("the match is not paused")
    draft.step(resumed=record_pb2.Resumed())


def _fire(draft: Draft, match: Match, action: engine_service_pb2.Action, seeds: SeedChain, check: bool) -> None:
    given, cause, armed = action.cause, draft.cause, match.timers()
    if fault := clocks.timer_fault(armed[0] if armed else None, given, draft.time_us):
        raise MalformedAct(*fault)
    timer = armed[0]
    cause.seat, cause.timer, cause.armed_seq = timer.seat, timer.kind, timer.armed_seq
    step = clocks.consequence(match, timer)
    if step is None:
        _play_first_legal(draft, match, timer.seat, seeds)
        return
    draft.lifecycle.append(step)
    draft.after.take_step(step)
    if step.HasField("forfeited"):
        draft.take(match.game.leave(draft.after.state, FORFEIT, timer.seat))


def _play_first_legal(draft: Draft, match: Match, seat: int, seeds: SeedChain) -> None:
    """Play for a seat that ran out of time."""
    game = match.game
    command = game.legal(match.state, seat)[0]
    draft.cause.decision = draft.decision_before
    draft.command = command
    draft.command_bytes = game.schema.commands.pack(command).SerializeToString(deterministic=True)
    chance = _Watched(seeds.chance(match.entropy))
    draft.take(game.play(draft.after.state, seat, command, chance), chance)


_ACTS: dict[str, Callable[[Draft, Match, engine_service_pb2.Action, SeedChain, bool], None]] = {
    "join": _join,
    "commitment": _commit,
    "contribution": _contribute,
    "command": _play,
    "resign": _resign,
    "abort": _abort,
    "leave": _leave,
    "ready": _ready,
    "close": _close,
    "pause": _pause,
    "resume": _resume,
    "fire": _fire,
}
#: Acts of the table; all others are of a seat.
_OF_TABLE = frozenset({"abort", "close", "pause", "resume"})
