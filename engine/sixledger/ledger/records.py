"""Records: what they say, read with the openings at hand, and what of them each viewer may have (DESIGN 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message
from sixledger.engine import visibility
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.schema import Malformed, Schema, parse_strict
from sixledger.ledger import hashing
from sixledger.ledger.faults import BAD_OPENING, LedgerFault, tampered
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.spelling import spelling_of
from sixledger.ledger.whole import may_open
from sixledger.v1 import game_pb2, record_pb2

FORMAT = 1
#: Seals of one record: their index has 16 bits.
MAX_SEALS = 65_535


def redact(record: record_pb2.Record, viewer: int | None, revealed: int) -> record_pb2.Record:
    """The record with the openings that `viewer` may have, and no others."""
    seals = record.seals
    allowed = [o for o in record.openings if may_open(seals[o.seal].audience, seals[o.seal].epoch, viewer, revealed)]
    if len(allowed) == len(record.openings):
        return record
    return record_pb2.Record(body=record.body, seals=record.seals, openings=allowed, hash=record.hash)


class Parts(NamedTuple):
    """Seals, openings and hash of a record, taken out of the message once: reading them there costs more."""

    #: Audience, epoch and commitment of each seal.
    seals: list[tuple[int, int, bytes]]
    #: Seal, salt and value of each opening.
    openings: list[tuple[int, bytes, bytes]]
    hash: bytes

    def __repr__(self) -> str:
        """Without the openings, which are secrets."""
        return f"Parts({len(self.seals)} seals, {len(self.openings)} openings)"

    @classmethod
    def of(cls, record: record_pb2.Record) -> Parts:
        """The parts of a record."""
        seals, openings = record.seals, record.openings  # often empty, and iterating over nothing has its price
        return cls(
            [(seal_.audience, seal_.epoch, seal_.commitment) for seal_ in seals] if seals else [],
            [(opening.seal, opening.salt, opening.value) for opening in openings] if openings else [],
            record.hash,
        )


def has_shape(seals: list[tuple[int, int, bytes]]) -> bool:
    """True if there are not too many seals and each commitment has its length: the formulas of the chain need it."""
    for _, _, commitment in seals:
        if len(commitment) != 32:
            return False
    return len(seals) <= MAX_SEALS


def check_shape(parts: Parts, body: record_pb2.Body) -> None:
    """Check the lengths and bounds that the formulas of the chain rely on. Raises LedgerFault."""
    if len(parts.seals) > MAX_SEALS:
        raise tampered("parse", f"the record has more than {MAX_SEALS} seals")
    for _, _, commitment in parts.seals:
        if len(commitment) != 32:
            raise tampered("parse", "a commitment is not 32 bytes")
    if body.time_us > MAX_TIME_US:
        raise tampered("clocks", "the time of the record lies after the year 9999")


def read_body(record: record_pb2.Record, *, strict: bool = True) -> record_pb2.Body:
    """The body of a record. Raises LedgerFault if it is none, or of another format.

    Without `strict` it may have fields that its schema does not know: for whoever compares its bytes later.
    """
    try:
        body = parse_strict(record_pb2.Body, record.body) if strict else record_pb2.Body.FromString(record.body)
    except (Malformed, DecodeError) as error:
        raise tampered("parse", "the body cannot be read or has unknown fields") from error
    if body.format != FORMAT:
        raise tampered("parse", f"the body has format {body.format}, this build reads format {FORMAT}")
    if len(body.match_id) != 16:
        raise tampered("parse", "the match id is not 16 bytes")
    if len(body.cause.request_id) != 16:
        raise tampered("parse", "the request id is not 16 bytes")
    return body


@dataclass(slots=True)
class Facts:
    """What a record says, as far as its openings tell. Its repr shows nothing that may be secret."""

    body: record_pb2.Body
    #: The command, whole if its seal is open (or it has none); None if the record has no command.
    command: Any = field(default=None, repr=False)
    #: The bytes of the whole command, if known.
    command_bytes: bytes | None = field(default=None, repr=False)
    #: The signature of the act, if known; empty if the seat does not sign.
    signature: bytes = field(default=b"", repr=False)
    #: The events, whole if their seal is open.
    events: list[Any] = field(default_factory=list, repr=False)
    #: Per seal: what it belongs to, -1 for the command, else the index of the event.
    owners: list[int] = field(default_factory=list)
    #: Seals that are not open.
    closed: list[int] = field(default_factory=list)
    #: Audience, epoch and commitment of each seal.
    seals: Sequence[tuple[int, int, bytes]] = ()


def read(
    record: record_pb2.Record, schema: Schema, body: record_pb2.Body | None = None, parts: Parts | None = None
) -> Facts:
    """Check seals and openings of a record against its body and put them together.

    `body` and `parts` save reading them again. Raises LedgerFault.
    """
    body = body if body is not None else read_body(record)
    seals, openings, _ = parts = parts or Parts.of(record)
    command: Any = None
    data, is_sealed = body.command or None, False
    try:
        events, owners, holds_secrets = public_events(schema, body.events)
    except Malformed as error:
        raise tampered("parse", f"an event {error}") from error
    if data is not None:
        try:
            spelled = spelling_of(schema).command(data)
        except MalformedCommand as error:
            raise tampered("parse", error.message) from error
        command, is_sealed = own(spelled.message), spelled.is_sealed
        if is_sealed:
            owners.insert(0, -1)
    if len(owners) != len(seals):
        raise tampered("openings", f"{len(seals)} seals where {len(owners)} are needed")
    if holds_secrets:
        raise tampered("openings", "a public part holds secret fields")
    values = check_openings(parts, body) if openings else {}
    closed = [index for index in range(len(seals)) if index not in values]
    facts = Facts(body, command, None if is_sealed else data, body.cause.signature, events, owners, closed, seals)
    if is_sealed and (values or facts.signature or command.ByteSize()):  # most that are shut show nothing at all
        _merge_command(facts, schema, values.get(0))
    for index, value in values.items():
        if (owner := owners[index]) >= 0:
            events[owner] = _merge_event(schema, events[owner], value)
    return facts


def public_events(schema: Schema, envelopes: Iterable[game_pb2.Event]) -> tuple[list[Any], list[int], bool]:
    """The concrete events of a body, the indices of those that have a secret part, and True if one holds it there.

    Raises Malformed.
    """
    events: list[Any] = []
    owners: list[int] = []
    unpack, classes, holds_any, holds_secrets = schema.events.unpack, visibility.classes, visibility.holds_any, False
    for envelope in envelopes:
        event = unpack(envelope)
        kind: Any = type(event)
        if secret := classes(kind).secret:
            owners.append(len(events))
            holds_secrets = holds_secrets or holds_any(event, secret)
        events.append(event)
    return events, owners, holds_secrets


def own(known: Any) -> Any:
    """A copy of a message that others hold, too."""
    message = type(known)()
    message.CopyFrom(known)
    return message


def _holds_secrets(public: Message) -> bool:
    kind: Any = type(public)
    return visibility.holds_any(public, visibility.classes(kind).secret)


def read_later(schema: Schema, before: Facts, openings: Iterable[record_pb2.Opening]) -> Facts:
    """What a record says with `openings` more, of seals that are closed in `before`. Raises LedgerFault.

    `openings` ascend by seal.
    """
    facts = replace(before, events=before.events.copy())
    values: dict[int, bytes] = {}
    for opening in openings:
        index = opening.seal
        if index not in before.closed:
            raise LedgerFault(BAD_OPENING, "openings", f"seal {index} is opened twice, or there is none")
        _check_opening(facts.body.match_id, facts.body.seq, index, opening.salt, opening.value, before.seals[index][2])
        values[index] = opening.value
    facts.closed = [index for index in before.closed if index not in values]
    for index, value in values.items():
        owner = facts.owners[index]
        if owner < 0:
            _merge_command(facts, schema, value)
        else:
            facts.events[owner] = _merge_event(schema, facts.events[owner], value)
    return facts


def check_openings(parts: Parts, body: record_pb2.Body) -> dict[int, bytes]:
    """The opened values by seal, each checked against its commitment. Raises LedgerFault."""
    values: dict[int, bytes] = {}
    last = -1
    for index, salt, value in parts.openings:
        if not last < index < len(parts.seals):
            raise LedgerFault(BAD_OPENING, "openings", f"opening of seal {index} is out of order or has no seal")
        last = index
        _check_opening(body.match_id, body.seq, index, salt, value, parts.seals[index][2])
        values[index] = value
    return values


def _check_opening(match_id: bytes, seq: int, index: int, salt: bytes, value: bytes, commitment: bytes) -> None:
    if len(salt) != 32:
        raise LedgerFault(BAD_OPENING, "openings", f"the salt of seal {index} is not 32 bytes")
    if hashing.commitment(match_id, seq, index, salt, value) != commitment:
        raise LedgerFault(BAD_OPENING, "openings", f"the opening of seal {index} does not fit its commitment")


def _merge_event(schema: Schema, public: Any, value: bytes) -> Any:
    try:
        secret = schema.events.unpack(parse_strict(game_pb2.Event, value))
        if type(secret) is not type(public):
            raise Malformed("is of another type than its public part")
        return visibility.merge(public, secret)
    except (Malformed, visibility.Overriding) as error:
        raise tampered("openings", f"the sealed part of an event {error}") from error


def _merge_command(facts: Facts, schema: Schema, value: bytes | None) -> None:
    if _holds_secrets(facts.command):
        raise tampered("openings", "the public part of a sealed command holds secret fields")
    if facts.signature:
        raise tampered("openings", "the signature of a sealed command lies in the open")
    if value is None:
        return
    try:
        sealed = spelling_of(schema).unseal(value)
    except (Malformed, MalformedCommand) as error:
        raise tampered("openings", f"the sealed command cannot be read: {error}") from error
    whole = own(sealed.command.message)
    if sealed.command.public != facts.body.command and (
        type(whole) is not type(facts.command) or visibility.split(whole)[0] != facts.command
    ):
        raise tampered("openings", "the sealed command is not the one whose public part is recorded")
    facts.command, facts.command_bytes, facts.signature = whole, sealed.data, sealed.signature
