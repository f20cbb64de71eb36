"""Steps in the life of a match in words, the same for every game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format

_WORDS = {
    "joined": "{who} takes seat {seat}.",
    "left": "{who} leaves seat {seat}.",
    "ready": "{who} is ready.",
    "closed": "The seats are fixed.",
    "committed": "{who} commits to a contribution to the randomness.",
    "contributed": "{who} reveals the contribution.",
    "sealed": "The randomness is fixed: the game begins.",
    "resigned": "{who} resigns.",
    "forfeited": "{who} has run out of time.",
    "paused": "The clocks stand still.",
    "resumed": "The clocks run again.",
    "aborted": "The table is aborted.",
}


def life(step: Any, names: Sequence[str]) -> str:
    """One step; `names` are by seat. A step without words of its own is told by its name and plain fields."""
    kind: str | None = step.WhichOneof("step")
    if kind is None:
        return "A step that this build does not know."
    inner = getattr(step, kind)
    if kind == "opened":
        return f"The match is open: {inner.ruleset.id}, {inner.seats} seats."
    seat = getattr(inner, "seat", None)
    who = names[seat] if isinstance(seat, int) and seat < len(names) else ""
    if kind in _WORDS:
        return _WORDS[kind].format(who=who, seat=seat)
    content = json_format.MessageToDict(inner, preserving_proto_field_name=True)
    words = [
        f"{name} {value}" for name, value in content.items() if name != "seat" and not isinstance(value, dict | list)
    ]
    return f"{who + ' ' if who else ''}{kind.replace('_', ' ')}{': ' + ', '.join(words) if words else ''}."
