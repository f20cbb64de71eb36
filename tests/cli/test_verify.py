"""`sixledger verify`."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.cli.demo import change_one_bit
from sixledger.cli.local_table import LocalTable
from sixledger.cli.seating import bot_names
from sixledger.engine.bots import bot, concrete
from sixledger.engine.nimmt import GAME
from sixledger.ledger import file
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.keys import key_id
from support.command_line import CommandLine
from support.ledgers import Table

#: What `--json` holds, for every verdict.
FIELDS = {
    *("file", "verdict", "exit_status", "summary", "match_id", "ruleset", "record_count", "signer_authenticated"),
    *("fairness", "attribution", "winners", "unchecked", "finding", "last_good"),
}
FINDING = {"seq", "line", "layer", "seat", "request_id", "message", "differences", "position"}

SIGNER = HeadSigner("cards.example.org", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = HeadSigner("cards.example.org", Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))


def ledger(*, turns: int | None = None) -> bytes:
    """The ledger of one round of three, or of its first turns as a spectator has it."""
    setup = GAME.complete(3, GAME.presets["d4"].options)
    minds = dict.fromkeys((1, 2), bot("nimmt", "heuristic"))
    table = LocalTable(GAME, setup, ["A", *bot_names(2)], minds, seed=1, clock=lambda: 1_767_268_800_000_000)
    while not table.over and (turns is None or table.view().turn <= turns):
        table.advance()
        if not table.over:
            table.submit(concrete(table.view().legal[0]))
    records = table.records
    head = SIGNER.sign(table.match_id, len(records), records[-1].hash, table.time_us)
    return file.dump(records, [head], [SIGNER.verifier_key], viewer="operator" if turns is None else "spectator")


@pytest.fixture(scope="module")
def good() -> bytes:
    """A valid ledger."""
    return ledger()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A file with the key that signed it."""
    path = tmp_path / "server.vkey"
    path.write_text(f"{SIGNER.verifier_key}\n")
    return path


def write(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return name


def test_valid_with_the_key(quick: CommandLine, tmp_path: Path, good: bytes, key: Path) -> None:
    ran = quick("verify", write(tmp_path, "good.jsonl", good), "--key", key)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(" VALID  good.jsonl\n")
    assert "signed by a trusted key" in ran.out
    assert "signer unauthenticated" not in ran.out
    assert "no contribution – no seat contributed to the deal" in ran.out
    assert "seat 0  no key  " in ran.out
    assert "unsigned" in ran.out


def test_every_move_is_given_to_a_key(quick: CommandLine, tmp_path: Path) -> None:
    """In words, and with the number of every record for a program."""
    table = Table(2, signing=frozenset({1}), name="who").play()
    write(tmp_path, "who.jsonl", table.file())
    public = table.public_key(1)
    said = quick("verify", "who.jsonl").out
    told = json.loads(quick("verify", "who.jsonl", "--json").out)["attribution"]
    plain, signer = told["holders"]
    assert (signer["public_key"], signer["key_id"]) == (public.hex(), key_id(public).hex())
    assert f"seat 1  key {key_id(public).hex()}  {len(signer['signed'])} signed" in said
    assert f"seat 0  no key  {len(plain['unsigned'])} unsigned" in said
    assert (plain["public_key"], plain["signed"], signer["unsigned"], told["table"]) == (None, [], [], [0])
    assert sorted([0, *plain["unsigned"], *signer["signed"]]) == list(range(told["record_count"]))


def test_without_a_key_the_signer_is_unauthenticated(quick: CommandLine, tmp_path: Path, good: bytes) -> None:
    """Valid all the same, but the first line says that nobody vouches for it."""
    ran = quick("verify", write(tmp_path, "good.jsonl", good))
    assert ran.status == 0
    assert ran.out.splitlines()[0] == " VALID  good.jsonl  signer unauthenticated"


def test_a_trusted_key_is_used_and_those_of_others_are_not(
    quick: CommandLine, tmp_path: Path, good: bytes, key: Path
) -> None:
    write(tmp_path, "good.jsonl", good)
    stranger = HeadSigner("elsewhere.example", Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))).verifier_key
    assert quick("keys", "trust", str(stranger)).status == 0
    assert "signer unauthenticated" in quick("verify", "good.jsonl").out
    assert quick("keys", "trust", key).status == 0
    assert "signed by a trusted key" in quick("verify", "good.jsonl").out
    again = quick("keys", "trust", str(OTHER.verifier_key)).refused(1)
    assert "keys forget cards.example.org" in again


def test_the_key_of_somebody_else_is_a_bad_signature(quick: CommandLine, tmp_path: Path, good: bytes) -> None:
    ran = quick("verify", write(tmp_path, "good.jsonl", good), "--key", str(OTHER.verifier_key))
    assert ran.status == 1
    assert ran.out.startswith(" BAD_SIGNATURE ")


def test_a_changed_bit_is_found_and_named(quick: CommandLine, tmp_path: Path, good: bytes, key: Path) -> None:
    ran = quick("verify", write(tmp_path, "bad.jsonl", change_one_bit(good)), "--key", key)
    assert (ran.status, ran.err) == (1, "")
    middle = (good.count(b"\n") - 2) // 2
    assert ran.out.startswith(" TAMPERED  bad.jsonl\n")
    assert f"record {middle}, line {middle + 2}" in ran.out
    assert re.search(rf"last good record +{middle - 1}\b", ran.out)


def test_json_for_programs(quick: CommandLine, tmp_path: Path, good: bytes) -> None:
    """One document for a file, a line for each of several, always with the same fields."""
    write(tmp_path, "good.jsonl", good)
    write(tmp_path, "bad.jsonl", change_one_bit(good))
    valid = json.loads(quick("verify", "good.jsonl", "--json").out)
    assert set(valid) == FIELDS
    assert (valid["verdict"], valid["exit_status"], valid["finding"]) == ("VALID", 0, None)
    assert len(bytes.fromhex(valid["match_id"])) == 16
    *both, summary = map(json.loads, quick("verify", "good.jsonl", "bad.jsonl", "--json").out.splitlines())
    assert "file" not in summary
    assert [each["verdict"] for each in both] == ["VALID", "TAMPERED"]
    assert set(both[1]) == FIELDS
    assert set(both[1]["finding"]) == FINDING
    assert (both[1]["finding"]["layer"], both[1]["exit_status"]) == ("chain", 1)
    assert both[1]["last_good"]["seq"] == both[1]["finding"]["seq"] - 1


def test_of_several_files_the_bad_get_a_line_and_the_worst_gives_the_status(
    quick: CommandLine, tmp_path: Path, good: bytes
) -> None:
    write(tmp_path, "good.jsonl", good)
    write(tmp_path, "bad.jsonl", change_one_bit(good))
    write(tmp_path, "packed.jsonl.gz", gzip.compress(good))
    ran = quick("verify", "good.jsonl", "packed.jsonl.gz")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "2 ledgers: 2 VALID"
    assert quick("verify", "good.jsonl", "bad.jsonl").status == 1
    worst = quick("verify", "good.jsonl", "missing.jsonl", "bad.jsonl")
    assert worst.status == 2
    bad, summary, *_ = worst.out.splitlines()
    assert bad.startswith(" TAMPERED  bad.jsonl  at record ")
    assert summary == "3 ledgers: 1 TAMPERED, 1 VALID, 1 unusable"
    assert worst.err == "sixledger: missing.jsonl: the file cannot be read: No such file or directory\n"


def test_what_is_no_ledger_is_unusable(quick: CommandLine, tmp_path: Path, good: bytes) -> None:
    write(tmp_path, "text.txt", b"hello\n")
    write(tmp_path, "empty", b"")
    write(tmp_path, "half.gz", gzip.compress(good)[:-50])
    write(tmp_path, "deep.json", b"[" * 100_000 + b"\n")
    for name in ("text.txt", "empty", "deep.json"):
        assert "no ledger" in quick("verify", name).refused(2)
    assert str(tmp_path.name) in quick("verify", tmp_path).refused(2)
    assert "KEY" in quick("verify", "text.txt", "--key").refused(2).upper()
    assert "nokey.vkey" in quick("verify", "text.txt", "--key", "nokey.vkey").refused(2)
    assert quick("verify", "half.gz").status == 1
    content = json.loads(quick("verify", "text.txt", "--json").out)
    assert (content["file"], content["verdict"], content["exit_status"]) == ("text.txt", None, 2)


def test_a_running_match_is_incomplete_unless_partial_will_do(quick: CommandLine, tmp_path: Path) -> None:
    write(tmp_path, "running.jsonl", ledger(turns=2))
    ran = quick("verify", "running.jsonl")
    assert ran.status == 1
    assert ran.out.startswith(" INCOMPLETE  running.jsonl")
    assert "not checked" in ran.out
    assert quick("verify", "running.jsonl", "--partial").status == 0
