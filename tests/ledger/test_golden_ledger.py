"""Golden ledgers: reproduced byte for byte, and verified by this build as by every later one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from sixledger.engine.game import Game
from sixledger.engine.registry import installed
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from sixledger.ledger.file import load
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import VERDICT_INCOMPLETE, VERDICT_VALID
from support import golden, golden_ledger
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


def test_the_ledgers_of_released_rulesets_are_pinned_byte_for_byte() -> None:
    """A change of a file and of what makes it, both at once, does not pass either."""
    for path, digest in golden_ledger.pinned().items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, path
    assert not golden_ledger.missing_pins()


def test_a_pinned_ledger_is_never_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--update` adds what is new, and nothing else."""
    old, new = tmp_path / "nimmt@1" / "old.ledger.jsonl", tmp_path / "nimmt@1" / "new.ledger.jsonl"
    monkeypatch.setattr(golden_ledger, "FOLDER", tmp_path)
    monkeypatch.setattr(golden_ledger, "PINNED", tmp_path / "pins")
    monkeypatch.setattr(golden_ledger, "ledgers", lambda: {old: b"changed", new: b"new"})
    monkeypatch.setattr("sys.argv", ["golden_ledger.py", "--update"])
    old.parent.mkdir()
    old.write_bytes(b"frozen")
    before = f"{hashlib.sha256(b'frozen').hexdigest()}  nimmt@1/old.ledger.jsonl\n"
    (tmp_path / "pins").write_text(before)
    assert golden_ledger.main() == 1
    assert (old.read_bytes(), new.read_bytes()) == (b"frozen", b"new")
    assert "old.ledger.jsonl: differs, but is of a released ruleset" in capsys.readouterr().out
    assert (tmp_path / "pins").read_text() == (
        f"{hashlib.sha256(b'new').hexdigest()}  nimmt@1/new.ledger.jsonl\n{before}"
    )


def _options(path: Path) -> Any:
    """The options of a golden ledger."""
    body = record_pb2.Body.FromString(load(path).records[0].body)
    opened = body.lifecycle[0].opened
    return installed().get(opened.ruleset.id, opened.ruleset.version).schema.options.unpack(opened.options)


def test_every_variant_has_a_golden_ledger_and_a_golden_text() -> None:
    """What the rules book calls a variant, and every way of telling time."""
    by_ledger = [_options(path) for path in ON_DISK if "running" not in path.name]
    by_text = [
        entry.game.complete(entry.seats, ParseDict(entry.options, entry.game.schema.options.kind())).options
        for entry in golden.playthroughs()
    ]
    for options in (by_ledger, by_text):
        nimmt = [each for each in options if isinstance(each, nimmt_pb2.Options)]
        piece = [each for each in options if isinstance(each, piece_pb2.Options)]
        assert {each.variant for each in nimmt} == set(nimmt_pb2.Variant.values()) - {0}
        assert {each.double_pack for each in nimmt} >= set(nimmt_pb2.DoublePack.values())
        assert {each.time_mode for each in piece} == set(piece_pb2.TimeMode.values()) - {0}
        assert {each.discard for each in piece} == {bool(each.beasts) for each in piece} == {True, False}
        assert any(isinstance(each, forces_pb2.Options) for each in options)
