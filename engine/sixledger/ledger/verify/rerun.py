"""The rules layer: decide every record again and compare."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError
from sixledger.engine import visibility
from sixledger.engine.errors import EngineError, EpochSealed, IllegalCommand, MalformedCommand
from sixledger.ledger import keys
from sixledger.ledger import records as records_
from sixledger.ledger.applying import check_signature, check_timer, late
from sixledger.ledger.assembly import Secret
from sixledger.ledger.decide import carry_out, prepare
from sixledger.ledger.draft import Draft
from sixledger.ledger.faults import (
    BAD_SIGNATURE,
    ILLEGAL_COMMAND,
    SEED_MISMATCH,
    BadSignature,
    ContributionMismatch,
    LedgerFault,
    Refused,
    tampered,
)
from sixledger.ledger.folding import begin, fold
from sixledger.ledger.match import Match
from sixledger.ledger.opening import carry_out_opening, prepare_opening
from sixledger.ledger.records import Facts
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.ledger.verify import compare
from sixledger.ledger.verify.subject import Subject, at
from sixledger.v1 import engine_service_pb2, record_pb2

SEAT, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE
TIMER = record_pb2.CAUSE_KIND_TIMER

#: What a game may raise when it is asked about a state that hostile events led to.
CONFUSED = (EngineError, ValueError, LookupError, AssertionError, TypeError, AttributeError, ArithmeticError)


@dataclass(slots=True)
class Rerun:
    """The rules layer of one verification. `match` stands after the last record that was right."""

    subject: Subject
    seeds: SeedChain
    match: Match
    #: False once a sealed part is missing: then the state does not know everything any more.
    complete: bool = True
    #: Records that could only be folded, not decided again.
    folded: list[int] = field(default_factory=list)
    #: Verifies the signatures of acts that are decided again; None: at once.
    verify: keys.Verify | None = None
    #: The request ids of each kind of cause and seat.
    _requests: defaultdict[tuple[int, int], set[bytes]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, subject: Subject) -> Rerun:
        """Begin with record 0. Raises LedgerFault."""
        assert subject.seeds is not None, "the seeds layer came first"
        try:
            match = begin(subject.records[0], subject.registry)
        except LedgerFault as fault:
            raise at(fault, 0) from None
        return cls(subject, subject.seeds, match)

    def run(self) -> None:
        """Decide every record again. Raises LedgerFault."""
        for seq, (record, body) in enumerate(zip(self.subject.records, self.subject.bodies, strict=True)):
            try:
                cause = body.cause
                self.take_request(cause.kind, cause.seat, cause.request_id)
                self.step(record, body)
            except LedgerFault as fault:
                raise at(fault, seq) from None

    def take_request(self, kind: int, seat: int, request_id: bytes) -> None:
        """Remember the request id of the next record. Raises LedgerFault if it was used before."""
        used = self._requests[kind, seat]
        if request_id in used:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", "the request id was used before by the same seat")
        used.add(request_id)

    def step(self, record: record_pb2.Record, body: record_pb2.Body) -> None:
        """Decide the next record again, whose chain and openings are right. Raises LedgerFault."""
        if body.command and (not self.complete or self._command_is_sealed(record, body)):
            self._fold(record, None)
            return
        try:
            draft = self.decide(record, body)
        except EpochSealed:
            return  # folded already
        self._compare(record, body, draft)
        draft.settle(record.hash)
        self.match = draft.after

    def stand_before(self, seq: int) -> None:
        """Let the match stand before record `seq` again, after an attempt that changed it. Raises LedgerFault."""
        self.match = fold(list(self.subject.records[:seq]), self.subject.registry)

    # -- deciding again --------------------------------------------------------------------------

    def decide(self, record: record_pb2.Record, body: record_pb2.Body) -> Draft:
        """The draft that the act of the record leads to. Raises LedgerFault; EpochSealed: the record is folded."""
        match = self.match
        draft: Draft | None = None
        try:
            if match.seq < 0:
                if body.cause.kind != TABLE:
                    raise tampered("rules", "record 0 is not caused by the table")
                draft = prepare_opening(match, body.cause.request_id, body.time_us)
                carry_out_opening(draft, self.seeds, immediate=len(body.lifecycle) > 1)
            else:
                self._check_time(body)
                action, command = self._action(record, body)
                # Where a draw may be sealed, the record may have to be folded into the match as it was.
                draft = prepare(match, action, in_place=match.epoch <= self.seeds.known)
                draft.command, draft.verify = command, self.verify
                carry_out(draft, match, action, self.seeds)
        except EpochSealed:
            if draft is not None and draft.after is self.match:
                self.stand_before(body.seq)
            self._fold(record, draft)
            raise
        except BadSignature as error:
            raise LedgerFault(BAD_SIGNATURE, "rules", str(error)) from error
        except ContributionMismatch as error:
            raise LedgerFault(SEED_MISMATCH, "seeds", str(error)) from error
        except (IllegalCommand, MalformedCommand, Refused) as error:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", str(error)) from error
        except CONFUSED as error:
            if not self.folded:
                raise  # a state that the rules themselves led to: not the fault of the ledger
            raise tampered("rules", "the act cannot happen here") from error
        return draft

    def _check_time(self, body: record_pb2.Body) -> None:
        """The record fits the deadlines of the match. Raises LedgerFault."""
        match = self.match
        if body.cause.kind == TIMER:
            check_timer(next(iter(match.timers()), None), body)
        elif body.time_us > match.first_deadline_us:
            raise late(match, body)

    def _compare(self, record: record_pb2.Record, body: record_pb2.Body, draft: Draft) -> None:
        """Compare the record with the draft: bytes first, and by field if they differ."""
        expected, secrets = draft.body()
        if expected == record.body and _same_secrets(record, secrets):
            return
        facts = records_.read(record, self.match.game.schema)
        compare.compare(facts, record, draft, secrets, self.seeds.known)
        if facts.closed:
            self.folded.append(body.seq)

    def _action(self, record: record_pb2.Record, body: record_pb2.Body) -> tuple[engine_service_pb2.Action, Any]:
        """The act that a record says it came from, and its command, if it has one. Raises LedgerFault."""
        action = engine_service_pb2.Action(cause=body.cause, time_us=body.time_us)
        if body.cause.kind == TIMER:
            action.fire.SetInParent()
            return action, None
        if not body.command:
            take_step(action, body)
            return action, None
        command = self._read_command(body.command)
        if body.cause.kind != SEAT and not _is_of_table(self.match, body.cause, command):
            raise tampered("rules", "a command that neither a seat nor the table can have given")
        kind: Any = type(command)
        if visibility.classes(kind).kind == visibility.PUBLIC:
            action.command = body.command
            return action, command
        if not record.openings:
            raise tampered("openings", "a command with secret fields has no seal")
        try:
            sealed = record_pb2.SealedCommand.FromString(record.openings[0].value)
        except DecodeError as error:
            raise tampered("openings", "the sealed command cannot be read") from error
        action.command, action.cause.signature = sealed.command, sealed.signature
        return action, self._read_command(sealed.command)

    def _command_is_sealed(self, record: record_pb2.Record, body: record_pb2.Body) -> bool:
        """True if the command of a record has a seal, which is the first, and that is not open. Raises LedgerFault."""
        if not record.seals or (record.openings and record.openings[0].seal == 0):
            return False
        kind: Any = type(self._read_command(body.command))
        return visibility.classes(kind).kind != visibility.PUBLIC

    def _read_command(self, data: bytes) -> Any:
        """The command in `data`; not to be changed. Raises LedgerFault."""
        try:
            return spelling_of(self.match.game.schema).command(data).message
        except MalformedCommand as error:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", str(error)) from error

    # -- folding what cannot be decided again ----------------------------------------------------

    def _fold(self, record: record_pb2.Record, draft: Draft | None) -> None:
        """Apply a record of which something is sealed, and check what can be checked."""
        match = self.match
        facts = records_.read(record, match.game.schema)
        if facts.closed:
            self.complete = False
        if draft is not None:
            compare.compare_cause(facts, draft)
            compare.compare_lifecycle(facts.body, draft)
            compare.compare_events(facts, draft, self.seeds.known, whole=False)
        else:
            check_signature(match, facts)
            _check_command(match, facts)
        self.folded.append(facts.body.seq)
        try:
            match.apply(record, check_signatures=False)
        except CONFUSED as error:
            raise tampered("rules", "the events of the record cannot happen here") from error


def _same_secrets(record: record_pb2.Record, secrets: list[Secret]) -> bool:
    """True if the record seals and opens exactly these secrets."""
    if not len(secrets) == len(record.seals) == len(record.openings):
        return False
    for (audience, epoch, value), seal, opening in zip(secrets, record.seals, record.openings, strict=True):
        if opening.value != value or seal.audience != audience or seal.epoch != epoch:
            return False
    return True


def take_step(action: engine_service_pb2.Action, body: record_pb2.Body) -> None:
    """Put the act that a step in the life of the match stands for into `action`. Raises LedgerFault."""
    steps = body.lifecycle
    kind = steps[0].WhichOneof("step") if steps else None
    if kind == "joined":
        joined = steps[0].joined
        action.join.public_key, action.join.contributes = joined.public_key, joined.contributes
        action.join.hosted = joined.hosted
    elif kind == "left":
        action.leave.SetInParent()
    elif kind == "ready":
        action.ready.SetInParent()
    elif kind == "closed":
        action.close.SetInParent()
    elif kind == "committed":
        action.commitment = steps[0].committed.commitment
    elif kind == "contributed":
        action.contribution = steps[0].contributed.contribution
    elif kind == "resigned":
        action.resign.SetInParent()
    elif kind == "aborted":
        action.abort.SetInParent()
    elif kind == "paused":
        action.pause.SetInParent()
    elif kind == "resumed":
        action.resume.SetInParent()
    else:
        raise tampered("rules", "no act of a seat or of the table can cause this record")
    expected = TABLE if kind in ("aborted", "closed", "paused", "resumed") else SEAT
    if body.cause.kind != expected:
        raise tampered("rules", f"the record is caused by another than {record_pb2.CauseKind.Name(expected)}")


def _is_of_table(match: Match, cause: record_pb2.Cause, command: Any) -> bool:
    """True if the table gave the command and such commands are for it to give."""
    return cause.kind == TABLE and type(command) in match.game.table_commands


def _check_command(match: Match, facts: Facts) -> None:
    """Check what can be checked of a command in a state that does not know everything."""
    cause = facts.body.cause
    if facts.command is None:
        return
    if cause.kind == TIMER:
        return  # `applying.check_time` does it
    of_table = _is_of_table(match, cause, facts.command)
    if match.state is None or match.over or not (of_table or cause.kind == SEAT):
        raise LedgerFault(ILLEGAL_COMMAND, "rules", "a command where nobody can give one")
    try:
        if of_table:
            if facts.command not in match.game.table_legal(match.state):
                raise LedgerFault(ILLEGAL_COMMAND, "rules", "the command of the table is not legal")
            return
        decision = match.game.decision(match.state)
        if cause.decision != decision.number or cause.seat not in decision.seats:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", "the command answers no open decision of the seat")
        if facts.command_bytes is None:
            return
        try:
            legal = match.game.legal(match.state, cause.seat)
        except ValueError:
            return  # the hand of the seat is sealed
        if facts.command not in legal:
            raise LedgerFault(ILLEGAL_COMMAND, "rules", "the command is not legal")
    except CONFUSED as error:
        raise tampered("rules", "the command cannot be given here") from error
