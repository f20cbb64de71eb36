"""`sixledger keys`: whom a person trusts, and the keys of an own server."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from sixledger.ledger import file
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.ledger.key_list import SignedKeyList
from sixledger.service.keyring import Keyring
from support import ledgers
from support.command_line import CommandLine
from support.ledgers import Table


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
    assert json.loads(quick("keys", "list", "--json").out) == [
        {"origin": "example.org", "verifier_key": key, "key_list": None}
    ]
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


# -- the life of a server's keys -----------------------------------------------------------------


def shown(quick: CommandLine, name: str) -> list[tuple[str, str]]:
    """State and reason of the keys in a file."""
    found = json.loads(quick("keys", "show", name, "--json").out)
    return [(key["state"], key["reason"] or "") for key in found["keys"]]


def test_a_rotation_is_announced_published_and_followed(quick: CommandLine, tmp_path: Path) -> None:
    key = quick("keys", "generate", "server.key", "--origin", "example.org").out.strip()
    assert quick("keys", "trust", key).status == 0
    assert "was made" in quick("keys", "rotate", "server.key", "--origin", "example.org", "--at", "+30d").out
    assert shown(quick, "server.key") == [("active", ""), ("waiting", "")]
    at_once = quick("keys", "rotate", "server.key", "--at", "now")
    assert "was waiting" in at_once.out
    assert "will not be believed" in at_once.err
    assert shown(quick, "server.key") == [("retired", ""), ("active", "")]
    assert quick("keys", "publish", "server.key", "-o", "example.org.keys").status == 0
    note = (tmp_path / "example.org.keys").read_text()
    assert SignedKeyList.parse(note).content.number == 3
    assert quick("keys", "publish", "server.key").out == note
    page = quick("keys", "show", "example.org.keys").out
    assert page == quick("keys", "show", "server.key").out
    assert "key list 3 of example.org" in page
    assert quick("keys", "trust", "example.org.keys").status == 0
    (trusted,) = json.loads(quick("keys", "--json").out)
    assert (trusted["key_list"], trusted["verifier_key"]) == (3, page.splitlines()[0])
    assert "Traceback" not in quick("keys", "list").out


def test_a_revoked_key_is_named_with_its_successor(quick: CommandLine, tmp_path: Path) -> None:
    key = quick("keys", "generate", "server.key", "--origin", "example.org").out.strip()
    quick("keys", "trust", key)
    quick("keys", "rotate", "server.key", "--origin", "example.org", "--at", "+30d")
    quick("keys", "publish", "server.key", "-o", "ahead.keys")
    revoked = quick("keys", "revoke", "server.key", key.split("+")[1], "--since", "2026-01-01T00:00:00Z")
    assert (revoked.status, revoked.err) == (0, "")
    assert shown(quick, "server.key") == [("revoked", "compromised"), ("active", "")]
    quick("keys", "publish", "server.key", "-o", "now.keys")
    assert "compromised" in quick("keys", "trust", "now.keys").refused(1)
    quick("keys", "forget", "example.org")
    assert "compromised" in quick("keys", "trust", key).refused(1)
    assert quick("keys", "trust", "now.keys").status == 0


def test_a_revocation_without_a_key_ahead_warns(quick: CommandLine) -> None:
    key = quick("keys", "generate", "server.key").out.strip()
    revoked = quick("keys", "revoke", "server.key", key, "--reason", "lost")
    assert revoked.status == 0
    assert "cannot follow" in revoked.err
    assert quick("keys", "show", "server.key").out.splitlines()[0] in revoked.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rotate", "server.key", "--at", "tomorrow"), "no time"),
        (("rotate", "server.key", "--at", "2027-01-01T00:00:00"), "time zone"),
        (("rotate", "server.key", "--at", "2020-01-01T00:00:00Z"), "past"),
        (("rotate", "nothing.key"), "nothing.key"),
        (("revoke", "server.key", "00000000"), "has no key"),
        (("revoke", "server.key", "00000000", "--since", "+1h"), "has no key"),
        (("publish", "nothing.key"), "nothing.key"),
        (("show", "broken.keys"), "key list"),
        (("trust", "broken.keys"), "key list"),
        (("rotate", "listed.key", "--origin", "else.where"), "is of the origin localhost"),
    ],
)
def test_what_cannot_be_done_is_said(
    quick: CommandLine, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    for name in ("server.key", "listed.key"):
        quick("keys", "generate", name)
    quick("keys", "rotate", "listed.key")
    (tmp_path / "broken.keys").write_text("sixledger-keys/1\nlocalhost\n")
    assert words in quick("keys", *arguments).refused(2)


@pytest.fixture
def match(quick: CommandLine, tmp_path: Path) -> str:
    """A ledger signed by the only key of example.org; the result is that key."""
    key = quick("keys", "generate", "server.key", "--origin", "example.org").out.strip()
    signer = HeadSigner("example.org", Keyring.load(tmp_path / "server.key").signing_key)
    table = Table(name="keys").play()
    notes = ledgers.heads(table.records, signer=signer)
    (tmp_path / "match.ledger.jsonl").write_bytes(file.dump(table.records, notes, [signer.verifier_key]))
    (tmp_path / "receipt.txt").write_text(notes[-1])
    return key


def verdict(quick: CommandLine, *options: str) -> tuple[int, str, bool]:
    ran = quick("verify", "match.ledger.jsonl", "--json", *options)
    found = json.loads(ran.out)
    return ran.status, found["verdict"], found["signer_authenticated"]


def test_verify_takes_a_key_list(quick: CommandLine, match: str) -> None:
    quick("keys", "rotate", "server.key", "--origin", "example.org")
    quick("keys", "publish", "server.key", "-o", "list.keys")
    assert verdict(quick, "--key", "list.keys") == (0, "VALID", True)
    assert verdict(quick, "--key", match, "--key", "list.keys") == (0, "VALID", True)
    quick("keys", "trust", "list.keys")
    assert verdict(quick) == (0, "VALID", True)
    stranger = quick("keys", "generate", "other.key", "--origin", "example.org").out.strip()
    assert "did not sign" in quick("verify", "match.ledger.jsonl", "--key", stranger, "--key", "list.keys").refused(2)


def test_verify_knows_stolen_keys(quick: CommandLine, match: str) -> None:
    """From a list that is given, and from what is remembered of one that was refused."""
    quick("keys", "revoke", "server.key", match, "--origin", "example.org")
    quick("keys", "publish", "server.key", "-o", "list.keys")
    assert verdict(quick, "--key", "list.keys") == (0, "VALID", False)
    assert verdict(quick, "--key", "list.keys", "--receipt", "receipt.txt") == (0, "VALID", True)
    assert "only a receipt" in quick("verify", "match.ledger.jsonl", "--key", "list.keys").out
    assert "is compromised" in quick("verify", "match.ledger.jsonl", "--key", match, "--key", "list.keys").refused(2)
    quick("keys", "trust", match)
    assert verdict(quick) == (0, "VALID", True)
    quick("keys", "trust", "list.keys")
    assert verdict(quick) == (0, "VALID", False)
