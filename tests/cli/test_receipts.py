"""`sixledger verify --receipt`: what somebody kept proves truncation and rewriting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sixledger.ledger import file
from sixledger.ledger.heads import BadNote, split_notes
from support.command_line import CommandLine
from support.ledgers import COMMIT_REVEAL, KEYS, OTHER_SIGNER, SIGNER, Table, forge, head, heads

SEATS = frozenset(range(2))


@pytest.fixture(scope="module")
def table() -> Table:
    """A finished match whose seats sign and contribute."""
    return Table(2, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="receipts").play()


@pytest.fixture
def folder(tmp_path: Path, table: Table) -> Path:
    """The whole ledger, the server's key, and a receipt of 20 records."""
    (tmp_path / "match.jsonl").write_bytes(table.file())
    (tmp_path / "server.vkey").write_text(f"{SIGNER.verifier_key}\n")
    (tmp_path / "twenty.head").write_text(head(table.records, 20))
    return tmp_path


def test_an_honest_receipt_agrees(quick: CommandLine, folder: Path) -> None:
    ran = quick("verify", "match.jsonl", "--key", "server.vkey", "--receipt", "twenty.head")
    assert (ran.status, ran.err) == (0, "")
    assert "1 receipt agrees with the ledger" in ran.out


def test_truncation_is_proven(quick: CommandLine, folder: Path, table: Table) -> None:
    """Cut behind record 15 and signed there: flawless but for the receipt."""
    short = table.records[:15]
    (folder / "cut.jsonl").write_bytes(file.dump(short, heads(short), KEYS, viewer="spectator"))
    assert quick("verify", "cut.jsonl", "--key", "server.vkey", "--partial").status == 0
    ran = quick("verify", "cut.jsonl", "--key", "server.vkey", "--partial", "--receipt", "twenty.head", "--json")
    found = json.loads(ran.out)
    assert (ran.status, found["verdict"]) == (1, "TRUNCATED")
    assert "vouches for 20 records, there are 15" in found["summary"]


def test_rewriting_is_proven_against_the_signer(quick: CommandLine, folder: Path, table: Table) -> None:
    """The server signed the new history as well: two stories."""
    forged = forge(table.records, 10, lambda body: setattr(body, "time_us", body.time_us + 1))
    (folder / "new.jsonl").write_bytes(file.dump(forged, heads(forged), KEYS))
    ran = quick("verify", "new.jsonl", "--key", "server.vkey", "--receipt", "twenty.head", "--json")
    assert (ran.status, json.loads(ran.out)["verdict"]) == (1, "EQUIVOCATION")


def test_two_receipts_of_one_count_are_equivocation(quick: CommandLine, folder: Path, table: Table) -> None:
    forged = forge(table.records, 10, lambda body: setattr(body, "time_us", body.time_us + 1))
    (folder / "both.head").write_text(head(table.records, 20) + "\n\n" + head(forged, 20))
    ran = quick("verify", "match.jsonl", "--key", "server.vkey", "--receipt", "both.head", "--json")
    assert (ran.status, json.loads(ran.out)["verdict"]) == (1, "EQUIVOCATION")


def test_a_forged_receipt_proves_nothing_but_is_named(quick: CommandLine, folder: Path, table: Table) -> None:
    (folder / "forged.head").write_text(head(table.records, 20, signer=OTHER_SIGNER))
    ran = quick("verify", "match.jsonl", "--key", "server.vkey", "--receipt", "forged.head", "--json")
    assert (ran.status, json.loads(ran.out)["verdict"]) == (1, "BAD_SIGNATURE")


def test_receipts_go_to_the_ledger_of_their_match(quick: CommandLine, folder: Path, table: Table) -> None:
    """Of several ledgers and receipts each receipt is held against its own; one that has none is said."""
    other = Table(2, name="another match").play()
    (folder / "other.jsonl").write_bytes(other.file())
    (folder / "other.head").write_text(head(other.records, 5))
    everything = ("verify", "match.jsonl", "other.jsonl", "--key", "server.vkey", "--receipt", "twenty.head")
    assert quick(*everything, "--receipt", "other.head").status == 0
    ran = quick("verify", "match.jsonl", "--key", "server.vkey", "--receipt", "other.head")
    assert ran.status == 2
    assert f"of match {other.match.match_id.hex()}" in ran.err


def test_what_is_no_receipt_is_refused(quick: CommandLine, folder: Path, table: Table) -> None:
    (folder / "text").write_text("hello\n")
    (folder / "half").write_text(head(table.records, 20) + "\nand more\n")
    (folder / "bytes").write_bytes(b"\xff\xfe")
    for name in ("text", "half", "bytes", "missing"):
        assert name in quick("verify", "match.jsonl", "--receipt", name).refused(2)
    assert "sixledger compare" in quick("verify", "match.jsonl", "--receipt", "match.jsonl").refused(2)


def test_notes_survive_mail(table: Table) -> None:
    """Line ends of Windows, a byte order mark and blank lines do no harm; a missing line does."""
    notes = [head(table.records, 3), head(table.records, 5)]
    sent = ("\ufeff" + "\n\n".join(notes) + "\n\n").replace("\n", "\r\n")
    assert split_notes(sent) == notes
    for wrong in ("", "\n", "hello\n" + notes[0], notes[0].replace("ledger.example\n", "", 1)):
        with pytest.raises(BadNote):
            split_notes(wrong)
