"""A gigabyte of nonsense is refused in bounded memory and time, whatever its shape; so are absurd numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sixledger.ledger.verify import verify_records
from sixledger.v1 import record_pb2, replay_service_pb2
from support.ledgers import KEYS, Table, forge, heads

pytest.importorskip("resource", reason="the system cannot limit the memory of a process")
from support import nonsense  # needs it

#: What is said of a shape that is not beyond a limit, but simply no ledger.
WRONG = {
    "newlines": "this is no ledger",
    "newlines after the header": "TAMPERED at line 2",
    "a million headers": "TAMPERED at line 2",
    "nested lists": "TAMPERED at line 2",
    "nested header": "TAMPERED at line 1",
    "a number of a million digits": "TAMPERED at line 2",
    "a number with a huge exponent": "TAMPERED at line 2",
    "gzip bomb of newlines": "TAMPERED at line 2",
}


@pytest.fixture(scope="module")
def judged() -> dict[str, dict[str, Any]]:
    """What is said of every shape, in a process of its own that may have less memory than the nonsense is long."""
    script = Path(nonsense.__file__)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=200)
    assert ran.returncode == 0, ran.stderr
    return {each["name"]: each for each in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("name", nonsense.SHAPES)
def test_nonsense_is_refused_in_bounded_memory_and_time(judged: dict[str, dict[str, Any]], name: str) -> None:
    """The rest is never read, and whoever reads the refusal learns which limit it is."""
    found = judged[name]
    expected = WRONG.get(name, "which is more than this build reads")
    assert expected in found["said"]
    assert found["said"].startswith("unusable: ") or "TAMPERED" in expected
    assert found["read_mib"] < 260
    assert found["seconds"] < 30
    assert found["memory_mib"] < 500


def _opened(body: record_pb2.Body, **values: int) -> None:
    for name, value in values.items():
        setattr(body.lifecycle[0].opened, name, value)


def _many_seats(body: record_pb2.Body) -> None:
    del body.lifecycle[1:]
    body.lifecycle[0].opened.seats = 2**32 - 1


ABSURD: dict[str, Callable[[record_pb2.Body], None]] = {
    "epochs": partial(_opened, epochs=2**32 - 1),
    "seats": _many_seats,
    "ready seats": partial(_opened, ready_seats=2**32 - 1),
    "an empty reveal": lambda body: body.reveals.append(record_pb2.Reveal()),
    "a far reveal": lambda body: body.reveals.extend([record_pb2.Reveal(epoch=2**32 - 1, chain=bytes(32))]),
    "a seat": lambda body: setattr(body.cause, "seat", 2**32 - 1),
    "a decision": lambda body: setattr(body.cause, "decision", 2**64 - 1),
    "a time": lambda body: setattr(body, "time_us", 2**63 - 1),
    "a clock": lambda body: setattr(body.lifecycle[0].opened.clock, "bank_us", 2**63 - 1),
    "rules": lambda body: setattr(body.lifecycle[0].opened.ruleset, "version", 2**32 - 1),
    "steps": lambda body: body.lifecycle.extend([record_pb2.Lifecycle()] * 100_000),
    "events": lambda body: body.events.add() and None,
}


@pytest.mark.parametrize("what", ABSURD)
def test_absurd_numbers_in_record_0_are_a_verdict_at_once(what: str) -> None:
    """Signed by the author's own key, and chained anew."""
    table = Table(name="absurd", immediate=True).play()
    forged = forge(table.records, 0, ABSURD[what])
    report = verify_records(forged, heads(forged), keys=KEYS)
    assert report.verdict not in (replay_service_pb2.VERDICT_VALID, replay_service_pb2.VERDICT_UNSPECIFIED)
    assert report.finding.seq == 0


def test_absurd_audiences_and_epochs_of_a_seal_are_a_verdict() -> None:
    table = Table(name="absurd", immediate=True).play()
    sealed = next(number for number, record in enumerate(table.records) if record.seals)
    for name, value in (("audience", 2**64 - 1), ("epoch", 2**32 - 1)):

        def change(record: record_pb2.Record, name: str = name, value: int = value) -> None:
            setattr(record.seals[0], name, value)

        forged = forge(table.records, sealed, change_record=change)
        report = verify_records(forged, heads(forged), keys=KEYS)
        assert report.verdict != replay_service_pb2.VERDICT_VALID
