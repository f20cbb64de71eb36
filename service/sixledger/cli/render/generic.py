"""Any game, drawn from its messages alone: for games that have no drawing of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf import json_format
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree


def table(view: Any, names: Sequence[str], fresh: Collection[int] = ()) -> RenderableType:
    """What the viewer sees, field by field, without the list of legal commands."""
    content = json_format.MessageToDict(view, preserving_proto_field_name=True)
    content.pop("legal", None)
    tree = Tree(Text(_game_of(view), "heading"), guide_style="faint")
    _grow(tree, content)
    return tree


def _game_of(view: Any) -> str:
    """The name of the game, from its proto package: `ranks` of `ranks.v1`."""
    package = [part for part in view.DESCRIPTOR.file.package.split(".") if not re.fullmatch("v[0-9]+[a-z0-9]*", part)]
    return package[-1] if package else "table"


def tell(events: Sequence[Any], names: Sequence[str], viewer: int | None) -> list[Text]:
    """The events, a line each."""
    return [_line(event, names, viewer) for event in events]


def _line(event: Any, names: Sequence[str], viewer: int | None) -> Text:
    """An event as its name and its fields; seats get their names."""
    content = json_format.MessageToDict(event, preserving_proto_field_name=True)
    words = []
    for key, value in content.items():
        if key == "seat" and isinstance(value, int) and value < len(names):
            words.append(f"seat {value} ({'you' if value == viewer else names[value]})")
        else:
            words.append(f"{key} {_flat(value)}")
    name = event.DESCRIPTOR.name
    return Text.assemble((name, "heading"), ": " if words else "", ", ".join(words))


def ranking(view: Any, names: Sequence[str]) -> RenderableType:
    """The result, if the view has one with the fields that every game's result has (RULES 0.7)."""
    result = getattr(view, "result", None)
    if result is None or not getattr(result, "ranking", None):
        return Text("The match has ended.", "heading")
    order = sorted(range(len(result.ranking)), key=lambda seat: (result.ranking[seat], seat))
    lines = [f"  {result.ranking[seat]:>2}.  {names[seat]}  {result.scores[seat]}" for seat in order]
    return Group(Text("Final ranking", "heading"), *(Text(line) for line in lines))


def _grow(tree: Tree, content: Any) -> None:
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, dict | list) for v in value)):
            _grow(tree.add(Text(str(key), "number")), value)
        else:
            tree.add(Text.assemble((f"{key} ", "number"), _flat(value)))


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ".join(_flat(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {_flat(each)}" for key, each in value.items()) + "}"
    return str(value)
