"""What a record says, in words: who acted, when, signed or not, and what happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format
from rich.text import Text
from sixledger.cli.render import Drawing
from sixledger.cli.render.lifecycle import deal, life, timed_out
from sixledger.cli.replay.course import Entry, Eyes, Moment
from sixledger.ledger.heads import format_time
from sixledger.v1 import record_pb2

Names = Sequence[str]


def eyes_name(eyes: Eyes, names: Names) -> str:
    """Whose eyes they are."""
    if eyes.everything:
        return "all hands"
    if eyes.seat is None:
        return "spectator"
    name = names[eyes.seat]
    return f"seat {eyes.seat}" if name == f"Seat {eyes.seat}" else f"seat {eyes.seat}, {name}"


def actor(entry: Entry, names: Names) -> str:
    """Who caused the record."""
    if entry.seat is not None:
        return names[entry.seat] if entry.seat < len(names) else f"Seat {entry.seat}"
    return "the clock" if entry.kind == record_pb2.CAUSE_KIND_TIMER else "the table"


def where(entry: Entry) -> str:
    """Round and turn; before the start only that."""
    return f"round {entry.round}, turn {entry.turn}" if entry.round else "before the start"


def clock(time_us: int) -> str:
    """The time of day, UTC, in milliseconds."""
    return format_time(time_us)[11:23]


def day(time_us: int) -> str:
    """The date, UTC."""
    return format_time(time_us)[:10]


def signature(moment: Moment) -> tuple[str, str]:
    """What is known of the signature of the act, and a style. Every shown record was verified."""
    if moment.entry.seat is None:
        return "", ""
    facts = moment.facts
    if facts.command is not None and facts.command_bytes is None:
        return "sealed", "unsure"
    return ("✓ signed", "good") if facts.signature else ("unsigned", "faint")


def story(game: Drawing, moment: Moment, names: Names, eyes: Eyes) -> list[Text]:
    """What happened, in a few lines: never none."""
    lines = []
    for step in moment.facts.body.lifecycle:
        lines.append(Text(life(step, names), "faint"))
        if step.HasField("sealed"):
            lines.append(Text(deal(step, moment.match), "faint"))
    lines += [Text(said, "faint") for said in timed_out(moment.facts.body, names)]
    lines += game.tell(moment.events(eyes), names, eyes.seat)
    if not lines and (deed := moment.command(eyes)) is not None:
        you = moment.entry.seat is not None and moment.entry.seat == eyes.seat
        who = Text("you" if you else actor(moment.entry, names), "you" if you else "heading")
        lines = [who.append(": ", "default").append(spell(*deed), "not bold default")]
    return lines or [Text("Nothing that can be seen from here.", "faint")]


def spell(command: Any, whole: bool) -> str:
    """A command as words: `select card 41`, or `select card (sealed)`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", command.DESCRIPTOR.name).lower()
    content = json_format.MessageToDict(command, preserving_proto_field_name=True)
    words = [_field(name, key, value) for key, value in content.items()]
    return " ".join([name, *words, *([] if whole else ["(sealed)"])])


def _field(name: str, key: str, value: Any) -> str:
    said = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return said if name.endswith(key) else f"{key.replace('_', ' ')} {said}"


def fresh_cards(events: Sequence[Any]) -> list[int]:
    """The cards that were placed just now: they stand out in the drawing."""
    placed = [event for event in events if event.DESCRIPTOR.name == "CardPlaced" and hasattr(event, "card")]
    return [event.card for event in placed if isinstance(event.card, int)]
