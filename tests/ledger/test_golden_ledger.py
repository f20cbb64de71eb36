"""Golden ledgers: reproduced byte for byte, and verified by this build as by every later one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sixledger.engine.game import Game
from sixledger.engine.registry import installed
from sixledger.ledger.verify import verify
from sixledger.v1.replay_service_pb2 import VERDICT_INCOMPLETE, VERDICT_VALID
from support import golden_ledger
from support.ledgers import KEYS

LEDGERS = golden_ledger.ledgers()
ON_DISK = sorted(golden_ledger.FOLDER.glob("*@*/*.ledger.jsonl"))


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.ledger.jsonl')}"


@pytest.mark.parametrize("path", LEDGERS, ids=_named)
def test_a_golden_ledger_is_reproduced_byte_for_byte(path: Path) -> None:
    """If the change is meant: `python tests/support/golden_ledger.py --update`."""
    assert path.read_bytes() == LEDGERS[path]


@pytest.mark.parametrize("path", ON_DISK, ids=_named)
def test_a_golden_ledger_is_verified(path: Path) -> None:
    report = verify(path, trusted=KEYS)
    expected = VERDICT_INCOMPLETE if "running" in path.name else VERDICT_VALID
    assert report.verdict == expected, report.summary
    assert report.signer_authenticated


@pytest.mark.parametrize("game", installed().all(), ids=lambda game: f"{game.id}@{game.version}")
def test_every_registered_ruleset_has_a_golden_ledger_of_a_finished_match(game: Game[Any]) -> None:
    """A ruleset without one could change unnoticed: make one in tests/support/golden_ledger.py."""
    own = [path for path in ON_DISK if path.parent.name == f"{game.id}@{game.version}"]
    assert [path for path in own if "running" not in path.name]


def test_no_golden_ledger_is_forgotten() -> None:
    assert set(ON_DISK) == set(LEDGERS)
