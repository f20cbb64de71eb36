"""Any table, from its messages alone: for games that have no board of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf import json_format
from sixledger.cli.dispute.boards import Board, Card

#: What a view says of its viewer rather than of the table.
_OF_THE_VIEWER = frozenset({"viewer", "legal"})


def board(view: Any, names: Sequence[str]) -> Board:
    """What is known, field by field."""
    content: dict[str, Any] = json_format.MessageToDict(view, preserving_proto_field_name=True)
    known = {name: value for name, value in content.items() if name not in _OF_THE_VIEWER}
    return Board("What everybody sees", facts=tuple(_leaves("", known)))


def hand(view: Any) -> tuple[Card, ...]:
    """Which of the fields are a hand cannot be told."""
    return ()


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(f"{path} · {name}" if path else str(name), each)
    elif isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        for number, each in enumerate(value):
            yield from _leaves(f"{path} {number}", each)
    else:
        yield path.replace("_", " "), " ".join(map(str, value)) if isinstance(value, list) else str(value)
