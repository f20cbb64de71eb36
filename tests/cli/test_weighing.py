"""Two ledgers of one match in a dispute report: where to look, and which of them can be true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sixledger.cli.demo import change_one_bit
from sixledger.ledger import file
from sixledger.v1 import record_pb2
from support.command_line import CommandLine
from support.disputes import disputed, lied
from support.ledgers import KEYS, OTHER_SIGNER, SIGNER, Table, head, heads


@pytest.fixture(scope="module")
def table() -> Table:
    return disputed()


@pytest.fixture(scope="module")
def lie(table: Table) -> list[record_pb2.Record]:
    return lied(table)


@pytest.fixture
def folder(tmp_path: Path, table: Table, lie: list[record_pb2.Record]) -> Path:
    """The true export, the one that the server lied in, a receipt of the true one, the key of the server."""
    (tmp_path / "mine").write_bytes(table.file(20))
    (tmp_path / "yours").write_bytes(file.dump(lie, heads(lie, 20), KEYS))
    (tmp_path / "seat-0.head").write_text(head(table.records, 60))
    (tmp_path / "server.vkey").write_text(f"{SIGNER.verifier_key}\n")
    return tmp_path


def dispute(quick: CommandLine, *arguments: str) -> dict[str, Any]:
    ran = quick("dispute", *arguments, "--key", "server.vkey", "--json", "-o", "report.html")
    assert ran.err == ""
    found: dict[str, Any] = json.loads(ran.out)
    return found


def place(table: Table, lie: list[record_pb2.Record]) -> int:
    """The record in which the lie is told."""
    pairs = enumerate(zip(table.records, lie, strict=True))
    return next(seq for seq, (true, told) in pairs if true.body != told.body)


def test_of_a_true_and_a_false_ledger_the_true_one_is_named(quick: CommandLine, folder: Path) -> None:
    """Whichever of the two is in dispute, and though the server signed both."""
    for first, second in (("yours", "mine"), ("mine", "yours")):
        found = dispute(quick, first, "--receipt", "seat-0.head", "--export", second)["comparison"]
        assert found["conclusion"] == "Of the two only mine can be true."
        wrong, right = sorted(found["by_themselves"], key=lambda each: each.startswith("Every"))
        assert wrong.startswith("yours is wrong by itself at record ")
        assert "not what the rules give" in wrong
        assert right == "Every move in mine follows the rules, and a key that you trust vouches for it."
        assert f"<strong>{found['conclusion']}</strong>" in (folder / "report.html").read_text()


def test_the_report_looks_where_the_rules_are_broken(
    quick: CommandLine, folder: Path, table: Table, lie: list[record_pb2.Record]
) -> None:
    """Signed heads say only that the two part after record 19; the rules say where, and the table is the one there."""
    seq = place(table, lie)
    for more in ((), ("--export", "mine")):
        found = dispute(quick, "yours", "--receipt", "seat-0.head", *more)
        assert (found["verdict"]["name"], found["bad_record"]["seq"], found["place"]) == ("EQUIVOCATION", 20, seq)
        assert found["table"]["after"] == seq - 1
        closer = found["closer_record"]
        assert (closer["seq"], closer["layer"]) == (seq, "rules")
        assert closer["recomputed"]
        assert closer["claimed"] != closer["recomputed"]
        text = (folder / "report.html").read_text()
        assert f"The table before record {seq}" in text
        assert "What the rules give" in text


def test_of_two_histories_that_keep_the_rules_neither_is_believed(
    quick: CommandLine, folder: Path, table: Table
) -> None:
    """The first difference is where to look; the rules cannot tell which of the two was played."""
    given: dict[str, Any] = {"signing": table.signing, "contributing": table.contributing, "name": table.name}
    other = Table(4, table.options, table.mode, **given).play(20)
    other.rng = Random("from here on they choose otherwise")
    other.play()
    (folder / "other").write_bytes(file.dump(other.records, heads(other.records, 20), KEYS))
    found = dispute(quick, "other", "--receipt", "seat-0.head", "--export", "mine")
    assert found["verdict"]["name"] == "EQUIVOCATION"
    assert found["comparison"]["conclusion"].startswith("Both could have happened by the rules")
    assert found["closer_record"] is None
    assert found["place"] == found["comparison"]["seq"] > found["bad_record"]["seq"]
    assert found["table"]["after"] == found["place"] - 1
    assert "is the first that the other account tells otherwise" in (folder / "report.html").read_text()


def test_who_signed_the_other_ledger_is_said(quick: CommandLine, folder: Path, table: Table) -> None:
    signed = heads(table.records, signer=OTHER_SIGNER)
    (folder / "strange").write_bytes(file.dump(table.records, signed, [OTHER_SIGNER.verifier_key]))
    found = dispute(quick, "mine", "--export", "strange")["comparison"]
    assert found["by_themselves"][1] == (
        "Every move in strange follows the rules, but no key that you trust vouches for all of it."
    )
    assert found["conclusion"] == ""


def test_two_files_of_one_name_are_told_apart(quick: CommandLine, folder: Path, table: Table) -> None:
    for name, data in (("a", table.file(20)), ("b", change_one_bit(table.file(20)))):
        (folder / name).mkdir()
        (folder / name / "match.jsonl").write_bytes(data)
    first, second = str(Path("a") / "match.jsonl"), str(Path("b") / "match.jsonl")
    said = json.loads(quick("compare", first, second, "--json").out)["summary"]
    assert f"as {first} tells it, and none as {second} tells it: believe {first}." in said
    assert f"{second} does not fit itself" in said
    found = dispute(quick, second, "--export", first)
    assert found["comparison"]["conclusion"] == f"Of the two only {first} can be true."
    assert any(first in line and second in line for line in found["commands"])


def test_the_commands_work_where_all_files_lie_in_one_folder(quick: CommandLine, folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("mine", "seat-0.head"):
        (folder / name).rename(folder / "sub" / name)
    found = dispute(quick, "yours", "--receipt", str(folder / "sub" / "seat-0.head"), "--export", "sub/mine")
    words = [shlex.split(line) for line in found["commands"]]
    assert ["sha256sum", "yours"] in words
    assert ["sixledger", "compare", "yours", "mine", "--key", "server.vkey"] in words
    assert words[-1] == shlex.split(
        "sixledger dispute yours --key server.vkey --receipt seat-0.head --export mine -o report.html"
    )


def test_rows_are_counted_alike_in_all_words(quick: CommandLine, folder: Path) -> None:
    """The act that took a row and what came of it speak of the same row."""
    closer = dispute(quick, "yours", "--receipt", "seat-0.head")["closer_record"]
    assert closer["act"].startswith("take row ")
    assert f"takes row {closer['act'].split()[-1]}:" in closer["claimed"][0]
    assert re.search(r"Seat \d: \d+ → row \d", closer["claimed"][1]), "a card is no part of a name"
