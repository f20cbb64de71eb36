"""`sixledger keys`."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from sixledger.ledger.heads import VerifierKey
from support.command_line import CommandLine


def test_a_server_key_is_private_and_shows_its_public_half(quick: CommandLine, tmp_path: Path) -> None:
    made = quick("keys", "generate", "server.key", "--origin", "example.org")
    assert VerifierKey.parse(made.out).origin == "example.org"
    assert stat.S_IMODE((tmp_path / "server.key").stat().st_mode) == 0o600
    assert quick("keys", "show", "server.key", "--origin", "example.org").out == made.out
    assert "exists already" in quick("keys", "generate", "server.key").refused(1)


def test_a_key_file_that_others_can_read_is_refused(quick: CommandLine, tmp_path: Path) -> None:
    quick("keys", "generate", "server.key")
    (tmp_path / "server.key").chmod(0o644)
    assert "chmod 600" in quick("keys", "show", "server.key").refused(2)


def test_trust_list_and_forget(quick: CommandLine) -> None:
    key = quick("keys", "generate", "server.key", "--origin", "example.org").out.strip()
    assert json.loads(quick("keys", "--json").out) == []
    assert quick("keys", "trust", key).status == 0
    assert json.loads(quick("keys", "list", "--json").out) == [{"origin": "example.org", "verifier_key": key}]
    assert key in quick("keys").out
    assert quick("keys", "forget", "example.org").status == 0
    assert json.loads(quick("keys", "--json").out) == []


def test_a_broken_trust_store_is_named(quick: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "trust.json").write_text("{")
    assert "trust.json" in quick("keys").refused(1)


def test_looking_makes_no_files(quick: CommandLine, tmp_path: Path) -> None:
    """Only what must remember something writes into the folder of settings."""
    quick("keys")
    quick("games")
    quick("verify", "nothing.jsonl")
    assert list(tmp_path.iterdir()) == []
