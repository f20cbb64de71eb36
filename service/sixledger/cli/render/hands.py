"""The hands of any game, from its messages alone: what a seat sees that the table does not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from rich.text import Text

#: What a view says of its viewer rather than of the table.
_OF_THE_VIEWER = frozenset({"viewer", "legal"})


def beyond(table: Any, views: Sequence[Any], names: Sequence[str]) -> list[Text]:
    """A line for each seat: the fields of its view that differ from the table as a spectator sees it."""
    public = _plain(table)
    lines = []
    for seat, view in enumerate(views):
        found = [f"{name} {value}" for name, value in _differences(public, _plain(view), "")]
        lines.append(Text.assemble((f"  {names[seat]}  ", "heading"), " · ".join(found) or "nothing more"))
    return lines


def _plain(view: Any) -> dict[str, Any]:
    content: dict[str, Any] = json_format.MessageToDict(view, preserving_proto_field_name=True)
    return {name: value for name, value in content.items() if name not in _OF_THE_VIEWER}


def _differences(public: Any, own: Any, path: str) -> list[tuple[str, str]]:
    """The leaves of `own` that `public` does not have, by the name of their field."""
    if own == public:
        return []
    if isinstance(own, dict):
        known = public if isinstance(public, dict) else {}
        return [leaf for name, value in own.items() for leaf in _differences(known.get(name), value, name)]
    if isinstance(own, list) and own and isinstance(own[0], dict):
        others = public if isinstance(public, list) and len(public) == len(own) else [None] * len(own)
        return [leaf for mine, other in zip(own, others, strict=True) for leaf in _differences(other, mine, path)]
    said = " ".join(map(str, own)) if isinstance(own, list) else str(own)
    return [(path.replace("_", " "), said)]
