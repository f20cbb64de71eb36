"""What happened, in words: the records before the first bad one, and what that one claims."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from rich.text import Text
from sixledger.cli.dispute.case import Case
from sixledger.cli.render import drawing, generic
from sixledger.cli.render.lifecycle import life, timed_out
from sixledger.cli.replay import words
from sixledger.cli.replay.course import Eyes, Moment
from sixledger.ledger import records as records_
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.heads import MAX_TIME_US, format_time
from sixledger.ledger.verify.recompute import recompute
from sixledger.ledger.verify.rerun import CONFUSED
from sixledger.v1 import record_pb2

#: Records that are told at most.
_TOLD = 8
#: Times from here on cannot be written.
END_OF_TIME_US = MAX_TIME_US + 1


def name(seat: int) -> str:
    """A player's name: a ledger knows seats alone."""
    return f"Seat {seat}"


def time(time_us: int) -> str:
    """A time for people, UTC, in milliseconds."""
    text = format_time(time_us)
    return f"{text[:10]} {text[11:23]} UTC"


def actor(body: record_pb2.Body) -> str:
    """Who is said to have caused a record."""
    if body.cause.kind == record_pb2.CAUSE_KIND_SEAT:
        return name(body.cause.seat)
    return "the clock" if body.cause.kind == record_pb2.CAUSE_KIND_TIMER else "the table"


def lines(case: Case) -> list[dict[str, Any]]:
    """The last records before the first bad one, in words."""
    moment = case.moment
    if moment is None:
        return []
    last = moment.entry.seq
    names = [name(seat) for seat in range(max(len(moment.match.seats), case.course.at(0).match.opened.seats))]
    told = []
    for seq in range(max(0, last - _TOLD + 1), last + 1):
        each = case.course.at(seq)
        eyes = case.eyes if not case.eyes.everything or each.match.over else Eyes(everything=True)
        told.append(
            {
                "seq": seq,
                "who": words.actor(each.entry, names),
                "where": words.where(each.entry),
                "time": words.clock(each.entry.time_us),
                "signature": words.signature(each)[0],
                "lines": _story(each, names, eyes),
            }
        )
    return told


def _story(moment: Moment, names: list[str], eyes: Eyes) -> list[str]:
    """What happened as `eyes` had it, but told of everybody by name: whoever reads this was nobody at the table."""
    body = moment.facts.body
    told = [*(life(step, names) for step in body.lifecycle), *timed_out(body, names)]
    told += _plain(drawing(moment.match.game.id).tell(moment.events(eyes), names, None))
    if not told and (deed := moment.command(eyes)) is not None:
        told = [f"{words.actor(moment.entry, names)}: {words.spell(*deed)}"]
    return told or ["Nothing that can be seen from here."]


def _plain(told: Iterable[Text]) -> list[str]:
    return [line.plain.strip() for line in told]


def sides(case: Case, seq: int) -> tuple[list[str], list[str]]:
    """What a record says came of its act and what the rules give, in words; nothing if that cannot be computed."""
    should = recompute(case.ledger.records, seq)
    if not should:
        return [], []
    try:
        claims = records_.read(case.ledger.records[seq], case.course.game.schema).events
    except (LedgerFault, *CONFUSED):
        return [], []
    if claims == should:
        return [], []
    names = [name(seat) for seat in range(64)]
    said = [_plain(drawing(case.course.game.id).tell(events, names, None)) for events in (claims, should)]
    if said[0] == said[1]:  # where the words of the game are silent, the events speak for themselves
        unlike = [pair for pair in zip_longest(claims, should) if pair[0] != pair[1]]
        said = [
            _plain(generic.tell([each for each in side if each is not None], names, None))
            for side in zip(*unlike, strict=True)
        ]
    return said[0], said[1]


def claimed(case: Case, seq: int) -> list[str]:
    """What a bad record says came of its act, as far as it can be read; nothing of it is to be believed."""
    try:
        schema = case.course.game.schema
        facts = records_.read(case.ledger.records[seq], schema)
        names = [name(seat) for seat in range(64)]
        told = [*(life(step, names) for step in facts.body.lifecycle), *timed_out(facts.body, names)]
        return told + _plain(drawing(case.course.game.id).tell(facts.events, names, None))
    except (LedgerFault, *CONFUSED):
        return []


def act(case: Case, seq: int) -> str:
    """The command of a bad record, in words; empty if there is none that can be read."""
    try:
        facts = records_.read(case.ledger.records[seq], case.course.game.schema)
    except (LedgerFault, *CONFUSED):
        return ""
    return words.spell(facts.command, facts.command_bytes is not None) if facts.command is not None else ""
