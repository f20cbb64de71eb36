"""The guide to operating says what the files, the commands, the log and the benchmarks are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sixledger.cli.admin import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "operate.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
AUDIT = re.compile(r'\baudit(?:_here)?\(\s*"(\w+)"(?: if [\w.]+ else "(\w+)")?')


def test_every_file_that_is_named_exists() -> None:
    for path in re.findall(r"`(deploy/[\w./-]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_every_command_of_the_operator_exists() -> None:
    used = set(re.findall(r"sixledger admin ([\w-]+)", PAGE))
    assert {"restored", "abort", "erase-names", "new-keys"} <= used
    assert used <= set(app)


def test_the_table_of_the_audit_log_lists_the_acts_that_there_are() -> None:
    calls = 0
    acts: set[str] = set()
    for path in (ROOT / "service").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        acts |= {act for found in AUDIT.findall(text) for act in found if act}
        calls += len(re.findall(r"(?<!def )\baudit(?:_here)?\(", text))
        assert len(AUDIT.findall(text)) == len(re.findall(r"(?<!def )\baudit(?:_here)?\(", text)), path
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|[^|]+\|[^|]*(?:`key:ID`|likewise|`owner`|`user:NAME`)", PAGE, re.MULTILINE
    )
    assert calls
    assert {act for row in rows for act in re.findall(r"`(\w+)`", row)} == acts


@pytest.mark.parametrize(
    "row",
    [
        "unary command: durable, head signed",
        "command on play streams",
        "unary command, durable in PostgreSQL",
        "records to the watchers of a match",
        "memory of an idle watcher",
        "record, every opening included",
    ],
)
def test_capacity_is_rounded_from_the_benchmarks(row: str) -> None:
    (measured,) = re.findall(rf"^\| {re.escape(row)} \| ([\d,.]+)", BENCHMARKS, re.MULTILINE)
    (told,) = re.findall(rf"\| {re.escape(row)} \| ([\d,.]+)", PAGE)
    assert float(told.replace(",", "")) == pytest.approx(float(measured.replace(",", "")), rel=0.3)
