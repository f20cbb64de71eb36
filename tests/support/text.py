"""Messages as text, and text as messages, for scenarios and golden playthroughs.

    chosen seat=0 card=14
    card_placed seats=[0] card=14 row=2 side=SIDE_RIGHT length=3

Numbers always show, even zero; a flag, choice, list or message shows only if it is set, so that new fields
of that kind leave old text alone. A message of one field shows as the value of that field, and one with a
code, such as a card of 6 Forces, as its code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from sixledger.engine.game import Game
from support import forces

_BOOL, _ENUM, _MESSAGE = FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_ENUM, FieldDescriptor.CPPTYPE_MESSAGE

#: Full name of a message with a code → message to code, code to message.
CODES: dict[str, tuple[Callable[[Any], str], Callable[[str], Message]]] = {
    "sixledger.games.forces.v1.Card": (forces.code, forces.card),
}


def _shows(message: Message, field: Any) -> bool:
    """True if the field is worth a word."""
    if field.is_repeated:
        return len(getattr(message, field.name)) > 0
    if field.has_presence:
        return message.HasField(field.name)
    return field.cpp_type not in (_BOOL, _ENUM) or bool(getattr(message, field.name))


def _one(field: Any, value: Any) -> str:
    if field.cpp_type == _MESSAGE:
        if value.DESCRIPTOR.full_name in CODES:
            return CODES[value.DESCRIPTOR.full_name][0](value)
        fields = value.DESCRIPTOR.fields
        return _value(value, fields[0]) if len(fields) == 1 else "{" + show_fields(value) + "}"
    if field.cpp_type == _ENUM:
        return str(field.enum_type.values_by_number[value].name)
    return json.dumps(value)


def _value(message: Message, field: Any) -> str:
    value = getattr(message, field.name)
    if field.is_repeated:
        return "[" + ",".join(_one(field, each) for each in value) + "]"
    return _one(field, value)


def fields_of(message: Message) -> dict[str, str]:
    """The text of every field that shows, by name."""
    return {each.name: _value(message, each) for each in message.DESCRIPTOR.fields if _shows(message, each)}


def show_fields(message: Message) -> str:
    """The fields of a message on one line."""
    return " ".join(f"{name}={value}" for name, value in fields_of(message).items())


def show_command(game: Game[Any], command: Message) -> str:
    """A concrete command: its case and its fields."""
    return f"{game.schema.commands.cases[type(command)]} {show_fields(command)}".rstrip()


def show_event(game: Game[Any], event: Message) -> str:
    """A concrete event: its case and its fields."""
    return f"{game.schema.events.cases[type(event)]} {show_fields(event)}".rstrip()


def read_command(game: Game[Any], text: str) -> Any:
    """The command in `text`, as `show_command` writes it (scalars, codes and lists of numbers)."""
    case, *parts = text.split()
    kinds = {name: kind for kind, name in game.schema.commands.cases.items()}
    values: dict[str, Any] = {}
    for part in parts:
        name, _, value = part.partition("=")
        kind = kinds[case].DESCRIPTOR.fields_by_name[name].message_type
        if kind is not None and kind.full_name in CODES:
            values[name] = CODES[kind.full_name][1](value)
        else:
            word = value[:1].isalpha() and value not in ("true", "false")
            values[name] = value if word else json.loads(value)
    return kinds[case](**values)
