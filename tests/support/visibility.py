"""The visibility of every field that commands and events can reach, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sixledger.engine.registry import installed
from sixledger.engine.visibility import EXEMPT, field_class
from sixledger.v1 import game_pb2

_NAMES = {1: "PUBLIC", 2: "SEAT", 3: "EPOCH"}


def roots() -> list[Any]:
    """The envelopes, and what the registered games put into `other`."""
    games = [game.schema for game in installed().all()]
    outer = [kind for schema in games for wrapping in (schema.commands, schema.events) for kind in wrapping.cases]
    return [game_pb2.Command.DESCRIPTOR, game_pb2.Event.DESCRIPTOR, *(kind.DESCRIPTOR for kind in outer)]


def reachable(descriptors: Iterable[Any]) -> Iterator[Any]:
    """Every field below these message types, without the exempt ones and Google's."""
    seen: set[str] = set()
    waiting = list(descriptors)
    while waiting:
        descriptor = waiting.pop()
        name = descriptor.full_name
        if name in seen or descriptor.name in EXEMPT or name.startswith("google."):
            continue
        seen.add(name)
        for field in descriptor.fields:
            yield field
            if field.message_type is not None:
                waiting.append(field.message_type)


def table() -> str:
    """One line a field, sorted: full name and class. Raises VisibilityError for a field without one."""
    lines = sorted(f"{field.full_name} {_NAMES[field_class(field)]}" for field in reachable(roots()))
    return "".join(f"{line}\n" for line in lines)
