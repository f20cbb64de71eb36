"""The readable copy of a record: what it says, as JSON, as far as it is open (docs/spec/ledger.md).

The mapping is that of protobuf JSON with the names of the schema and with default values printed, except
that empty bytes are left out. It is written here because every byte of a ledger file depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.engine.schema import Schema
from sixledger.ledger.heads import b64, format_time
from sixledger.ledger.records import Facts

_WIDE = frozenset(
    {
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT64,
        FieldDescriptor.TYPE_SINT64,
        FieldDescriptor.TYPE_FIXED64,
        FieldDescriptor.TYPE_SFIXED64,
    }
)
_FLOATS = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})


_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def dumps(value: Any) -> str:
    """RFC 8785 JSON. `value` has ASCII keys and no floats, so that sorting and encoding agree with it."""
    return _ENCODE(value)


def _plain(value: Any) -> Any:
    return value


def _enum_names(names: dict[int, str]) -> Callable[[Any], Any]:
    return lambda value: names.get(value, value)


@cache
def _plan(kind: Any) -> list[tuple[str, bool, bool, Callable[[Any], Any], bool]]:
    """Per field of a message type: name, repeated, presence, conversion, and whether it holds bytes."""
    plan = []
    for field in kind.DESCRIPTOR.fields:
        if field.type in _FLOATS or (field.message_type and field.message_type.GetOptions().map_entry):
            raise TypeError(f"{field.full_name}: floats and maps have no place in a ledger")
        convert: Callable[[Any], Any] = _plain
        if field.message_type is not None:
            convert = render
        elif field.enum_type is not None:
            convert = _enum_names({value.number: value.name for value in field.enum_type.values})
        elif field.type in _WIDE:
            convert = str
        elif field.type == FieldDescriptor.TYPE_BYTES:
            convert = b64
        is_bytes = field.type == FieldDescriptor.TYPE_BYTES
        plan.append((field.name, field.is_repeated, field.has_presence, convert, is_bytes))
    return plan


def render(message: Message, hidden: tuple[str, ...] = ()) -> dict[str, Any]:
    """A message as a JSON value, without its fields `hidden`."""
    result: dict[str, Any] = {}
    kind: Any = type(message)
    for name, repeated, presence, convert, is_bytes in _plan(kind):
        if name in hidden:
            continue
        value = getattr(message, name)
        if repeated:
            result[name] = list(value) if convert is _plain else [convert(each) for each in value]
        elif (presence and not message.HasField(name)) or (is_bytes and not value):
            continue
        else:
            result[name] = convert(value)
    return result


def _concrete(message: Message, case: str, *, is_open: bool) -> dict[str, Any]:
    kind: Any = type(message)
    return {case: render(message, () if is_open else visibility.classes(kind).secret)}


def shown(facts: Facts, schema: Schema) -> dict[str, Any]:
    """The readable copy of a record: cause, command, lifecycle, events, reveals and time."""
    body = facts.body
    closed = {facts.owners[index] for index in facts.closed}
    result: dict[str, Any] = {"cause": render(body.cause), "time": format_time(body.time_us)}
    if facts.command is not None:
        case = schema.commands.cases[type(facts.command)]
        result["command"] = _concrete(facts.command, case, is_open=-1 not in closed)
    if facts.events:
        cases = schema.events.cases
        result["events"] = [
            _concrete(event, cases[type(event)], is_open=index not in closed)
            for index, event in enumerate(facts.events)
        ]
    if body.lifecycle:
        result["lifecycle"] = [render(step) for step in body.lifecycle]
    if body.reveals:
        result["reveals"] = [render(reveal) for reveal in body.reveals]
    return result
