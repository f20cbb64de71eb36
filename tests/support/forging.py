"""Forgeries that make sense: messages changed by field, chains made anew, files that no honest writer would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from sixledger.engine.game import Game
from sixledger.ledger import hashing, keys, viewers
from sixledger.ledger.decide import decide
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.file import header_line, record_line
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.ledger.readable import dumps, shown
from sixledger.ledger.records import Parts, read
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, game_pb2, record_pb2
from support.ledgers import SIGNER, START_US, Table, copies, private_key, rechain

_NUMBERS = (0, 1, 2, 3, 5, 9, 10, 11, 50, 60, 104, 105, 2000, 70000)
_LENGTHS = (0, 1, 8, 16, 32, 64)


def mutate(rng: Random, message: Any) -> None:
    """Change one thing somewhere in a message."""
    fields = list(type(message).DESCRIPTOR.fields)
    filled = [field for field in fields if _is_filled(message, field)]
    if filled and rng.random() < 0.8:
        _change(rng, message, rng.choice(filled))
    elif fields:
        _fill(rng, message, rng.choice(fields))


def _is_filled(message: Any, field: Any) -> bool:
    if field.is_repeated:
        return len(getattr(message, field.name)) > 0
    return field.message_type is not None and message.HasField(field.name)


def _change(rng: Random, message: Any, field: Any) -> None:
    values = getattr(message, field.name)
    if not field.is_repeated:
        mutate(rng, values)
        return
    index, choice = rng.randrange(len(values)), rng.random()
    if choice < 0.2:
        del values[index]
    elif field.message_type is None:
        values[index] = _scalar(rng, field)
    elif choice < 0.35:
        values.add().CopyFrom(values[index])
    else:
        mutate(rng, values[index])


def _fill(rng: Random, message: Any, field: Any) -> None:
    value = getattr(message, field.name)
    if field.is_repeated:
        if field.message_type is not None:
            value.add()
        else:
            value.append(_scalar(rng, field))
    elif field.message_type is not None:
        value.SetInParent()
    else:
        setattr(message, field.name, _scalar(rng, field))


def _scalar(rng: Random, field: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(rng.choice(_LENGTHS))
    if field.type == FieldDescriptor.TYPE_STRING:
        return "other"
    if field.type == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    return rng.choice(_NUMBERS)


def forgery(rng: Random, records: Sequence[record_pb2.Record]) -> list[record_pb2.Record]:
    """The records with one of them changed in some way, and everything made to fit again."""
    forged = copies(records)
    record = rng.choice(forged)
    body = record_pb2.Body.FromString(record.body)
    if record.openings and rng.random() < 0.4:
        opening = rng.choice(list(record.openings))
        sealed: Any = record_pb2.SealedCommand() if body.command and opening.seal == 0 else game_pb2.Event()
        sealed.ParseFromString(opening.value)
        mutate(rng, sealed)
        opening.value = sealed.SerializeToString(deterministic=True)
    else:
        for _ in range(rng.choice((1, 1, 2, 3))):
            mutate(rng, body)
        record.body = body.SerializeToString(deterministic=True)
    return rechain(forged)


# -- one record ----------------------------------------------------------------------------------


def body_of(record: record_pb2.Record) -> record_pb2.Body:
    """The body of a record; changing it changes nothing."""
    return record_pb2.Body.FromString(record.body)


@contextmanager
def editing(record: record_pb2.Record) -> Iterator[record_pb2.Body]:
    """The body of a record, to be changed and put back."""
    body = body_of(record)
    yield body
    record.body = body.SerializeToString(deterministic=True)


@contextmanager
def editing_secret(record: record_pb2.Record, seal: int) -> Iterator[Any]:
    """The open value of a seal, to be changed and put back: a SealedCommand, or an Event with secret fields."""
    opening = next(each for each in record.openings if each.seal == seal)
    value: Any = record_pb2.SealedCommand() if seal == 0 and body_of(record).command else game_pb2.Event()
    value.ParseFromString(opening.value)
    yield value
    opening.value = value.SerializeToString(deterministic=True)


def sign_again(record: record_pb2.Record, key: Any, command: bytes) -> None:
    """Let the seat of a record play `command`, in the open or under seal as before, as whoever holds its key can."""
    cause = body_of(record).cause
    in_the_open = bool(cause.signature) or not record.openings
    signature = signed_act(record, key, keys.ActKind.COMMAND, command)
    with editing(record) as body:
        body.cause.key_id = keys.key_id(keys.public_bytes(key))
        if in_the_open:
            body.command, body.cause.signature = command, signature
    if not in_the_open:
        with editing_secret(record, 0) as sealed:
            sealed.command, sealed.signature = command, signature


def signed_act(record: record_pb2.Record, key: Any, kind: keys.ActKind, payload: bytes, match_id: bytes = b"") -> bytes:
    """The signature of `key` under what the cause of a record says, for an act of this kind."""
    body = body_of(record)
    cause = body.cause
    message = keys.act_message(
        match_id or body.match_id, cause.seat, kind, cause.decision, cause.observed_head, cause.request_id, payload
    )
    return bytes(key.sign(message))


# -- a chain -------------------------------------------------------------------------------------


def chain(
    records_: Sequence[record_pb2.Record], *, renumber: bool = True, commit: bool = True
) -> list[record_pb2.Record]:
    """The records with hashes that fit; `renumber`: and numbers; `commit`: and commitments that fit the openings."""
    if renumber and commit:
        return rechain(records_)
    result, previous = copies(records_), hashing.ZERO_HASH
    for place, record in enumerate(result):
        body = body_of(record)
        seq = place if renumber else body.seq
        if seq != body.seq:
            body.seq = seq
            record.body = body.SerializeToString(deterministic=True)
        for opening in record.openings if commit else ():
            seal = record.seals[opening.seal]
            seal.commitment = hashing.commitment(body.match_id, seq, opening.seal, opening.salt, opening.value)
        record.hash = previous = hashing.record_hash(body.match_id, seq, previous, record.body, record.seals)
    return result


def sign_heads(records_: Sequence[record_pb2.Record], *counts: int, signer: HeadSigner = SIGNER) -> list[str]:
    """Heads of these counts that are possible, and of the last record."""
    there = len(records_)
    wanted = sorted({count for count in counts if 0 < count < there} | {there})
    found = []
    for count in wanted:
        body = body_of(records_[count - 1])
        found.append(signer.sign(body.match_id, count, records_[count - 1].hash, body.time_us))
    return found


# -- a file --------------------------------------------------------------------------------------


def write(
    records_: Sequence[record_pb2.Record],
    heads: Sequence[str],
    verifier_keys: Sequence[VerifierKey],
    game: Game[Any],
    *,
    viewer: str | None = None,
) -> bytes:
    """A file of anything that somebody may claim, with the header and readable copies that fit best."""
    bodies = [body_of(record) for record in records_]
    parts = [Parts.of(record) for record in records_]
    name = viewer or viewers.weakest(parts, 64, viewers.revealed_epoch(bodies))[0] or viewers.SPECTATOR
    origin = verifier_keys[0].origin
    lines = [header_line(records_, name, origin, verifier_keys)]
    for record in records_:
        said = record_pb2.Record(body=record.body, seals=record.seals, openings=record.openings)
        lines.append(record_line(record, _readable(said.SerializeToString(), game)))
    lines += [dumps({"head": note}) for note in heads]
    return "".join(line + "\n" for line in lines).encode()


@lru_cache(maxsize=4096)
def _readable(said: bytes, game: Game[Any]) -> Any:
    """The readable copy of a record without its hash; nothing where it cannot be read."""
    try:
        return shown(read(record_pb2.Record.FromString(said), game.schema), game.schema)
    except LedgerFault:
        return {}


# -- a match -------------------------------------------------------------------------------------


class Liar(Table):
    """An author who goes on from some record of a table as it likes, and checks no signature.

    It signs for the seats in `held` with their keys, and for other seats that sign with a key of its own.
    """

    held: frozenset[int]
    lying_seeds: SeedChain | None

    @classmethod
    def after(cls, table: Table, count: int, *, held: frozenset[int] = frozenset()) -> Liar:
        """Where `table` stood after its first `count` records."""
        liar = cls.__new__(cls)
        liar.__dict__.update(table.__dict__)
        liar.records, liar.matches = copies(table.records[:count]), table.matches[:count]
        liar.match = liar.matches[-1]
        liar.at = liar.match.time_us - START_US  # the clock stands still: no timer is ever due
        liar.rng = Random(f"{table.name} {count}")
        liar.requests, liar.held, liar.lying_seeds = 10_000, held, None
        return liar

    def key(self, seat: int) -> Any:
        """The key of a seat, if it is held."""
        return super().key(seat) if seat in self.held else private_key("liar")

    def act(self, action: engine_service_pb2.Action) -> record_pb2.Record:
        """Take an act into the ledger, whoever signed it."""
        seeds = self.lying_seeds or self.author.seeds
        draft = decide(self.match, action, seeds, check_signatures=False)
        record = draft.seal(self.author._salt_key).message
        self.match = draft.after
        self.records.append(record)
        self.matches.append(self.match)
        return record
