"""Comparing a recorded body with the recomputed one, field by field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message
from sixledger.engine import visibility
from sixledger.ledger.assembly import Secret
from sixledger.ledger.draft import Draft
from sixledger.ledger.faults import RULES_DIVERGENCE, SEED_MISMATCH, TAMPERED, LedgerFault, Verdict
from sixledger.ledger.heads import b64
from sixledger.ledger.readable import dumps, render
from sixledger.ledger.records import Facts
from sixledger.v1 import record_pb2

#: Differences that a report names at most, and characters of a value that it shows.
MAX_DIFFERENCES, MAX_SHOWN = 20, 200
ABSENT, HIDDEN = "(absent)", "(not public yet)"

Difference = tuple[str, str, str]


def text(value: Any) -> str:
    """A value of a field for people."""
    if isinstance(value, Message):
        result = dumps(render(value))
    elif isinstance(value, bytes):
        result = b64(value)
    else:
        result = str(value)
    return result if len(result) <= MAX_SHOWN else result[: MAX_SHOWN - 1] + "…"


def differences(path: str, recorded: Message, expected: Message, hidden: Iterable[str] = ()) -> list[Difference]:
    """The differing fields of two messages of one type. Fields `hidden` are named, not shown."""
    found: list[Difference] = []
    for field in type(recorded).DESCRIPTOR.fields:
        mine, other = getattr(recorded, field.name), getattr(expected, field.name)
        name = f"{path}.{field.name}" if path else field.name
        presence = field.has_presence
        if mine == other and not (presence and recorded.HasField(field.name) != expected.HasField(field.name)):
            continue
        if field.name in hidden:
            found.append((name, HIDDEN, HIDDEN))
        elif presence and recorded.HasField(field.name) != expected.HasField(field.name):
            absent = not recorded.HasField(field.name)
            found.append((name, ABSENT if absent else text(mine), text(other) if absent else ABSENT))
        elif field.is_repeated:
            found += _lists(name, list(mine), list(other))
        elif isinstance(mine, Message):
            found += differences(name, mine, other)
        elif field.enum_type is not None:
            names = {value.number: value.name for value in field.enum_type.values}
            found.append((name, names.get(mine, str(mine)), names.get(other, str(other))))
        else:
            found.append((name, text(mine), text(other)))
    return found


def _lists(path: str, recorded: list[Any], expected: list[Any]) -> list[Difference]:
    found: list[Difference] = []
    for index in range(max(len(recorded), len(expected))):
        name = f"{path}[{index}]"
        if index >= len(recorded):
            found.append((name, ABSENT, text(expected[index])))
        elif index >= len(expected):
            found.append((name, text(recorded[index]), ABSENT))
        elif recorded[index] != expected[index]:
            if isinstance(recorded[index], Message):
                found += differences(name, recorded[index], expected[index])
            else:
                found.append((name, text(recorded[index]), text(expected[index])))
    return found


def _fault(verdict: Verdict.ValueType, layer: str, message: str, found: list[Difference]) -> LedgerFault:
    fault = LedgerFault(verdict, layer, message)
    fault.differences = found[:MAX_DIFFERENCES]
    return fault


def compare(facts: Facts, record: record_pb2.Record, draft: Draft, secrets: list[Secret], revealed: int) -> None:
    """Compare a record with what its act causes. Raises LedgerFault for the first kind of difference.

    The record may be encoded in another way than `draft` would be: protobuf is not canonical, its meaning counts.
    """
    body = record_pb2.Body.FromString(draft.body()[0])
    compare_cause(facts, draft)
    compare_command(facts, draft)
    compare_lifecycle(facts.body, draft)
    compare_events(facts, draft, revealed, whole=True)
    found = _lists("reveals", list(facts.body.reveals), list(body.reveals))
    for name in ("format", "match_id", "seq", "time_us"):
        recorded, expected = getattr(facts.body, name), getattr(body, name)
        if recorded != expected:
            found.append((name, text(recorded), text(expected)))
    if found:
        raise _fault(RULES_DIVERGENCE, "rules", "the record is not the one that its act causes", found)
    compare_seals(record, secrets)


def compare_cause(facts: Facts, draft: Draft) -> None:
    """The cause; the signature of a sealed command is not in it. Raises LedgerFault."""
    expected = record_pb2.Cause()
    expected.CopyFrom(draft.cause)
    if -1 not in facts.owners:
        expected.signature = draft.signature
    if found := differences("cause", facts.body.cause, expected):
        raise _fault(RULES_DIVERGENCE, "rules", "the cause says what its act does not", found)


def compare_command(facts: Facts, draft: Draft) -> None:
    """The command, where the act did not bring it: what a timer plays for a seat. Raises LedgerFault."""
    if draft.cause.kind != record_pb2.CAUSE_KIND_TIMER or facts.command == draft.command:
        return
    recorded, expected = (
        type(command).DESCRIPTOR.name if command is not None else ABSENT for command in (facts.command, draft.command)
    )
    found = [("command", recorded, expected)]
    if recorded == expected:
        found = differences(f"command.{recorded}", facts.command, draft.command)
    message = "the timer played another command than the first legal one of the seat"
    raise _fault(RULES_DIVERGENCE, "rules", message, found)


def compare_lifecycle(body: record_pb2.Body, draft: Draft) -> None:
    """The steps in the life of the match. Raises LedgerFault."""
    found = _lists("lifecycle", list(body.lifecycle), draft.lifecycle)
    if not found:
        return
    is_seed = any("entropy" in path for path, _, _ in found)
    verdict, layer = (SEED_MISMATCH, "seeds") if is_seed else (RULES_DIVERGENCE, "rules")
    raise _fault(verdict, layer, "the steps in the life of the match are not those of the act", found)


def compare_events(facts: Facts, draft: Draft, revealed: int, *, whole: bool) -> None:
    """The events; unless `whole`, only those that the draft has. Raises LedgerFault.

    A drawn event that differs is a matter of the seeds, any other one of the rules.
    """
    closed = {facts.owners[index] for index in facts.closed}
    for index, (event, epoch) in enumerate(draft.events):
        recorded = facts.events[index] if index < len(facts.events) else None
        found = _event(index, recorded, event, is_open=index not in closed, is_public=epoch <= revealed)
        if not found:
            continue
        name = type(event).DESCRIPTOR.name
        if index in draft.drawn:
            raise _fault(
                SEED_MISMATCH, "seeds", f"event {index}, {name}, is not what the seed of epoch {epoch} gives", found
            )
        raise _fault(RULES_DIVERGENCE, "rules", f"the rules give another event {index}: {name}", found)
    if whole and len(facts.events) > len(draft.events):
        index = len(draft.events)
        found = [(f"events[{index}]", type(facts.events[index]).DESCRIPTOR.name, ABSENT)]
        raise _fault(RULES_DIVERGENCE, "rules", "the record has more events than the rules give", found)


def _event(index: int, recorded: Any, expected: Any, *, is_open: bool, is_public: bool) -> list[Difference]:
    path = f"events[{index}]"
    name = type(expected).DESCRIPTOR.name
    if recorded is None:
        return [(path, ABSENT, name)]
    if type(recorded) is not type(expected):
        return [(path, type(recorded).DESCRIPTOR.name, name)]
    kind: Any = type(expected)
    secret = visibility.classes(kind).secret
    if not is_open:
        expected = visibility.split(expected)[0]
    if recorded == expected:
        return []
    return differences(f"{path}.{name}", recorded, expected, () if is_public else secret)


def compare_seals(record: record_pb2.Record, secrets: list[Secret]) -> None:
    """Audience and epoch of every seal. Raises LedgerFault."""
    found: list[Difference] = []
    for index, (seal, (audience, epoch, _)) in enumerate(zip(record.seals, secrets, strict=False)):
        if seal.audience != audience:
            found.append((f"seals[{index}].audience", f"{seal.audience:b}", f"{audience:b}"))
        if seal.epoch != epoch:
            found.append((f"seals[{index}].epoch", str(seal.epoch), str(epoch)))
    if found or len(record.seals) != len(secrets):
        raise _fault(TAMPERED, "openings", "a seal is for other seats or another epoch than the rules say", found)
