"""The reader of the wire format takes and refuses the same bytes as the protobuf runtime, and reads the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from js.node import ROOT, run
from js.samples import _play
from js.tables import PATH, tables
from sixledger.engine.schema import Malformed, parse_strict
from sixledger.v1 import game_pb2, record_pb2
from soak.plan import case_of


def test_the_tables_are_those_of_the_specification() -> None:
    """`python tests/js/tables.py --update` copies them."""
    assert PATH.read_text(encoding="utf-8") == tables()


def _plain(message: Message) -> dict[str, Any]:
    found = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            found[field.name] = [_value(field, each) for each in value]
        elif not field.has_presence or message.HasField(field.name):
            found[field.name] = _value(field, value)
    return found


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _plain(value)
    if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
        return str(value)
    return value.hex() if field.type == FieldDescriptor.TYPE_BYTES else value


def _changed(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(changed)) if changed else 0
        match rng.randrange(6):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1 if changed:
                changed[at] ^= 1 << rng.randrange(8)
            case 2:
                del changed[at : at + rng.randrange(1, 4)]
            case 3:
                changed[at:at] = rng.randbytes(rng.randrange(1, 3))
            case 4:
                changed += changed[at : at + rng.randrange(1, 30)]
            case 5 if changed and changed[at] < 128:
                more = [changed[at] | 128, *[128] * rng.randrange(9), rng.choice((0, 0, 1, 2, 127))]
                changed[at : at + 1] = bytes(more)
    return bytes(changed)


def _decode(cases: list[tuple[type[Message], bytes]]) -> list[dict[str, Any]]:
    lines = [json.dumps({"type": kind.DESCRIPTOR.full_name, "hex": data.hex()}) for kind, data in cases]
    done = run(ROOT / "tests" / "js" / "decode.mjs", text="".join(line + "\n" for line in lines))
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def _strict(kind: type[Message], data: bytes) -> dict[str, Any]:
    try:
        return {"ok": True, "value": _plain(parse_strict(kind, data))}
    except Malformed:
        return {"ok": False}


def test_it_reads_what_protobuf_reads_and_refuses_what_protobuf_refuses() -> None:
    rng = Random(1)
    found: list[tuple[type[Message], bytes]] = []
    for number in range(15):
        table = _play(case_of(number, 3), number, Random(number))
        for record in (*table.records[:12], *table.records[-3:]):
            body = record_pb2.Body.FromString(record.body)
            found.append((record_pb2.Body, record.body))
            for opening in record.openings:
                sealed = body.command and opening.seal == 0 and len(record.seals) > len(body.events)
                if not sealed:
                    found.append((game_pb2.Event, opening.value))
    cases = [(kind, _changed(rng, data)) for kind, data in rng.choices(found, k=4_000)]
    expected = [_strict(*case) for case in cases]
    assert 1_000 < sum(each["ok"] for each in expected) < 3_000
    for case, ours, theirs in zip(cases, expected, _decode(cases), strict=True):
        assert ours == theirs, case[1].hex()


@pytest.mark.parametrize(
    ("name", "data", "ok"),
    [
        ("a number of ten bytes", b"\x18" + b"\x80" * 9 + b"\x00", True),
        ("a number of eleven bytes", b"\x18" + b"\x80" * 10 + b"\x00", False),
        ("a tag of five bytes", b"\x98\x80\x80\x80\x00\x05", True),
        ("a tag of six bytes", b"\x98\x80\x80\x80\x80\x00\x05", False),
        ("a length in more bytes than needed", b"\x12\x81\x80\x00\x41", True),
        ("a field number that is not known", b"\x78\x01", False),
        ("another wire type", b"\x1d\x00\x00\x00\x00", False),
        ("a group", b"\x1b\x1c", False),
        ("field number 0", b"\x00\x00", False),
        ("a field cut off", b"\x12\x02\x41", False),
        ("a number cut off", b"\x18\x80", False),
        ("a field twice: the last counts", b"\x18\x01\x18\x02", True),
        ("a message twice: they merge", b"\x2a\x02\x08\x01\x2a\x02\x10\x07", True),
        ("two cases of a oneof: the last counts", b"\x3a\x06\x52\x00\x5a\x00\x52\x00", True),
        ("a list of numbers, not packed", b"\x42\x0b\x12\x09\x6a\x07\x08\x03\x08\x04\x0a\x01\x05", True),
    ],
)
def test_the_cases_that_the_specification_names(name: str, data: bytes, ok: bool) -> None:
    kind: Callable[..., Any] = record_pb2.Body
    (found,) = _decode([(record_pb2.Body, data)])
    assert found == _strict(record_pb2.Body, data), (name, kind)
    assert found["ok"] is ok
