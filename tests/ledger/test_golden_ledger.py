"""Golden ledgers: reproduced byte for byte, and verified by this build as by every later one."""

from __future__ import annotations

from pathlib import Path

import pytest
from sixledger.ledger.verify import verify
from sixledger.v1.replay_service_pb2 import VERDICT_INCOMPLETE, VERDICT_VALID
from support import golden_ledger
from support.ledgers import KEYS

LEDGERS = golden_ledger.ledgers()
ON_DISK = sorted(golden_ledger.FOLDER.glob("*@*/*.ledger.jsonl"))


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.name)
def test_a_golden_ledger_is_reproduced_byte_for_byte(path: Path) -> None:
    """If the change is meant: `python tests/support/golden_ledger.py --update`."""
    assert path.read_bytes() == LEDGERS[path]


@pytest.mark.parametrize("path", ON_DISK, ids=lambda path: path.name)
def test_a_golden_ledger_is_verified(path: Path) -> None:
    report = verify(path, trusted=KEYS)
    expected = VERDICT_INCOMPLETE if "running" in path.name else VERDICT_VALID
    assert report.verdict == expected, report.summary
    assert report.signer_authenticated


def test_there_are_golden_ledgers() -> None:
    assert set(ON_DISK) >= set(LEDGERS)
