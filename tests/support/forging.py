"""Forgeries that make sense: messages changed by field, as a lying author would change them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from sixledger.v1 import game_pb2, record_pb2
from support.ledgers import copies, rechain

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
