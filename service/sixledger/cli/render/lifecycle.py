"""Steps in the life of a match in words, the same for every game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from sixledger.ledger.fairness import fairness, promised
from sixledger.ledger.match import Match
from sixledger.v1 import record_pb2

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


#: What nobody, or some seat, did not do in time.
_MISSED = {
    record_pb2.TIMER_KIND_JOIN: "not enough players sat down in time",
    record_pb2.TIMER_KIND_CONTRIBUTE: "{who} did not contribute to the randomness in time",
    record_pb2.TIMER_KIND_REVEAL: "{who} did not reveal the contribution in time",
}


def _missed(missed: record_pb2.MissedDeadline, names: Sequence[str], result: str) -> str:
    who = " and ".join(names[seat] if seat < len(names) else f"seat {seat}" for seat in missed.seats)
    return f"{result}: {_MISSED.get(missed.timer, 'a deadline has passed').format(who=who)}."


def timed_out(body: record_pb2.Body, names: Sequence[str]) -> list[str]:
    """A line if a timer gave the command of a record, because its seat had run out of time; else none."""
    if body.cause.kind != record_pb2.CAUSE_KIND_TIMER or not body.command:
        return []
    seat = body.cause.seat
    who = names[seat] if seat < len(names) else f"seat {seat}"
    return [f"{who} has run out of time: the first legal command counts."]


def deal(step: record_pb2.Lifecycle, match: Match) -> str:
    """How fair the deal can be, where record 0 opens a match, and how fair it is, where the game begins."""
    return f"Deal: {promised(step.opened) if step.HasField('opened') else fairness(match)}."


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
    if kind == "aborted" and inner.HasField("missed"):
        return _missed(inner.missed, names, "The table is aborted")
    if kind == "withheld":
        return _missed(inner, names, "The match goes on without a contribution")
    if kind in _WORDS:
        return _WORDS[kind].format(who=who, seat=seat)
    content = json_format.MessageToDict(inner, preserving_proto_field_name=True)
    words = [
        f"{name} {value}" for name, value in content.items() if name != "seat" and not isinstance(value, dict | list)
    ]
    return f"{who + ' ' if who else ''}{kind.replace('_', ' ')}{': ' + ', '.join(words) if words else ''}."
