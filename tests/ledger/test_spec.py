"""The specification names every message, field and value of the schema as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from sixledger.engine import visibility
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import file, jsonl, keys, records
from sixledger.v1 import game_pb2, record_pb2

SPEC = (Path(__file__).parents[2] / "docs" / "spec" / "ledger.md").read_text(encoding="utf-8")
MODULES: dict[str, list[Any]] = {"sixledger.v1": [record_pb2, game_pb2], "sixledger.games.nimmt.v1": [nimmt_pb2]}
TYPES = {
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
}
#: Messages of the same files that are no part of a ledger.
ELSEWHERE = {"View", "Position", "SeatView", "SeatPosition"}


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


@pytest.mark.parametrize("package", MODULES)
def test_messages(package: str) -> None:
    written = {re.sub(r" {2,}", " ", line) for line in blocks("messages")[package]}
    actual = {
        describe(descriptor, package)
        for module in MODULES[package]
        for name, descriptor in module.DESCRIPTOR.message_types_by_name.items()
        if name not in ELSEWHERE
    }
    assert written == actual


@pytest.mark.parametrize("package", MODULES)
def test_enums(package: str) -> None:
    written = {re.sub(r" {2,}", " ", line) for line in blocks("enums")[package]}
    actual = set()
    for module in MODULES[package]:
        for name, descriptor in module.DESCRIPTOR.enum_types_by_name.items():
            prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_"
            values = ", ".join(f"{value.number} {value.name.removeprefix(prefix)}" for value in descriptor.values)
            actual.add(f"{name} {values}")
    assert written == {line for line in actual if line.split()[0] != "Phase"}


def test_secret_fields() -> None:
    rows = re.findall(r"^\| nimmt `(\w+)` \| `(\w+)` \| (\w+) \|$", SPEC, re.MULTILINE)
    names = {visibility.SEAT: "SEAT", visibility.EPOCH: "EPOCH"}
    actual = []
    for kind in (*GAME.schema.commands.cases, *GAME.schema.events.cases):
        hashable: Any = kind
        found = visibility.classes(hashable)
        actual += [(kind.DESCRIPTOR.name, field, names[found.kind]) for field in found.secret]
    assert sorted(rows) == sorted(actual)


def test_kinds_of_acts() -> None:
    kinds = re.findall(r"^\| (\d) \| (\w+) \|", SPEC, re.MULTILINE)
    assert {(int(number), name.upper()) for number, name in kinds} == {(kind.value, kind.name) for kind in keys.ActKind}


def test_limits() -> None:
    assert f"{jsonl.MAX_LINE_BYTES >> 20} MiB, the unpacked file {jsonl.MAX_FILE_BYTES >> 20} MiB" in SPEC
    assert (file.MAX_RECORDS, file.MAX_HEADS) == (2**18, 2**16)
    assert "2^18 records and 2^16 heads" in SPEC
    assert f"at most {records.MAX_SEALS} seals" in SPEC.replace("\n", " ")
