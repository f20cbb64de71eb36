"""The specification names every message, field and value of the schema as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from sixledger.engine import visibility
from sixledger.engine.registry import installed
from sixledger.ledger import file, jsonl, keys, records
from sixledger.v1 import game_pb2, record_pb2

SPEC = (Path(__file__).parents[2] / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
TYPES = {
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
}
#: Messages of the same files that are no part of a ledger.
ELSEWHERE = {"View", "Position"}


def reachable(*roots: Any) -> tuple[list[Any], list[Any]]:
    """The messages and enums that the fields of some messages lead to, of the same package, in that order."""
    messages, enums, waiting = list(roots), [], list(roots)
    while waiting:
        for field in waiting.pop(0).fields:
            if field.enum_type is not None and field.enum_type not in enums:
                enums.append(field.enum_type)
            held = field.message_type
            if held is not None and held not in messages and held.file.package == roots[0].file.package:
                messages.append(held)
                waiting.append(held)
    return messages, enums


def packages() -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Each package with its messages and enums that are part of a ledger."""
    own = {**record_pb2.DESCRIPTOR.message_types_by_name, **game_pb2.DESCRIPTOR.message_types_by_name}
    kept = [message for name, message in own.items() if name not in ELSEWHERE]
    yield "sixledger.v1", kept, reachable(*kept)[1]
    for game in installed().offered():
        kinds = (*game.schema.commands.cases, *game.schema.events.cases)
        wrappers = kinds[0].DESCRIPTOR.file.message_types_by_name
        messages, enums = reachable(*(wrappers[name] for name in ("Command", "Event", "Options")))
        yield wrappers["Command"].file.package, messages, enums


PACKAGES = {package: (messages, enums) for package, messages, enums in packages()}


def blocks(kind: str) -> dict[str, list[str]]:
    found = re.findall(rf"```{kind} (\S+)\n(.*?)```", SPEC, re.DOTALL)
    return {package: text.strip().splitlines() for package, text in found}


def describe(descriptor: Any, package: str) -> str:
    parts = []
    for field in descriptor.fields:
        held = field.message_type or field.enum_type
        name = TYPES[field.type] if held is None else held.full_name.removeprefix(f"{package}.")
        mark = "*" if field.is_repeated else "?" if field.has_presence else ""
        parts.append(f"{field.number} {field.name} {name}{mark}")
    oneof = " oneof" if any(not each.name.startswith("_") for each in descriptor.oneofs) else ""
    return f"{descriptor.name}{oneof} {', '.join(parts)}".strip()


def describe_enum(descriptor: Any) -> str:
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", descriptor.name).upper() + "_"
    values = ", ".join(f"{value.number} {value.name.removeprefix(prefix)}" for value in descriptor.values)
    return f"{descriptor.name} {values}"


def test_every_game_is_specified() -> None:
    assert list(blocks("messages")) == list(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_messages(package: str) -> None:
    written = {re.sub(r" {2,}", " ", line) for line in blocks("messages")[package]}
    assert written == {describe(descriptor, package) for descriptor in PACKAGES[package][0]}


@pytest.mark.parametrize("package", PACKAGES)
def test_enums(package: str) -> None:
    written = {re.sub(r" {2,}", " ", line) for line in blocks("enums")[package]}
    assert written == {describe_enum(descriptor) for descriptor in PACKAGES[package][1]}


def test_secret_fields() -> None:
    rows = re.findall(r"^\| (\w+) `(\w+)` \| ((?:`\w+`(?:, )?)+) \| (\w+) \|$", SPEC, re.MULTILINE)
    names = {visibility.SEAT: "SEAT", visibility.EPOCH: "EPOCH"}
    actual = []
    for game in installed().offered():
        for kind in (*game.schema.commands.cases, *game.schema.events.cases):
            hashable: Any = kind
            found = visibility.classes(hashable)
            if found.secret:
                fields = ", ".join(f"`{field}`" for field in found.secret)
                actual.append((game.id, kind.DESCRIPTOR.name, fields, names[found.kind]))
    assert sorted(rows) == sorted(actual)


def test_kinds_of_acts() -> None:
    kinds = re.findall(r"^\| (\d) \| (\w+) \|", SPEC, re.MULTILINE)
    assert {(int(number), name.upper()) for number, name in kinds} == {(kind.value, kind.name) for kind in keys.ActKind}


def test_limits() -> None:
    assert f"{jsonl.MAX_LINE_BYTES >> 20} MiB, the unpacked file {jsonl.MAX_FILE_BYTES >> 20} MiB" in SPEC
    assert (file.MAX_RECORDS, file.MAX_HEADS) == (2**18, 2**16)
    assert "2^18 records and 2^16 heads" in SPEC
    assert f"at most {records.MAX_SEALS} seals" in SPEC.replace("\n", " ")
