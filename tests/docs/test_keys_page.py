"""The page about keys: its commands work in their order, its tables say what the code does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from sixledger.cli.main import run
from sixledger.client import errors
from sixledger.ledger.key_list import MAGIC, SignedKeyList
from support.command_line import environment
from support.key_lives import CASES
from support.pages import DOCS

TEXT = (DOCS / "how-to" / "rotate-keys.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    section = TEXT.split(f"## {heading}\n")[1]
    lines = re.findall(r"^\|(.*)\|$", section.split("\n## ")[0], re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def test_the_commands_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In their order, in one folder, by a person who trusted the first key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIXLEDGER_CONFIG", environment(tmp_path)["SIXLEDGER_CONFIG"])

    def call(*arguments: str) -> str:
        capsys.readouterr()
        status = run(list(arguments))
        said = capsys.readouterr()
        assert (status, said.err) == (0, ""), (arguments, said.err)
        return said.out

    key = ""
    commands = re.findall(r"^\$ sixledger (.*)$", TEXT, re.MULTILINE)
    for command in commands:
        said = call(*shlex.split(command.replace("SHORT", key.split("+")[1] if key else "")))
        if " generate " in f" {command} ":
            key = said.strip()
            call("keys", "trust", key)
    assert len(commands) == 10
    note = (tmp_path / "cards.example.org.keys").read_text(encoding="utf-8")
    content = SignedKeyList.parse(note).content
    assert (content.number, [entry.reason for entry in content.keys]) == (4, ["compromised", None])
    (trusted,) = json.loads(call("keys", "--json"))
    assert trusted["key_list"] == 4


def test_the_page_shows_a_list_as_it_looks() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert shown.startswith(MAGIC)
    assert [line.split(" ")[1::2] for line in shown.splitlines()[4:]] == [["from", "until"]] * 2


def test_the_table_of_the_verifier_is_what_the_verifier_says() -> None:
    """Each row is a case that the tests of the verifier try, in the same order."""
    table = rows("What a verifier says")
    assert len(table) == len(CASES)
    for (_, receipt, verdict, signer, _), (_, kept, expected, authenticated, _) in zip(
        table, CASES.values(), strict=True
    ):
        assert (bool(receipt), verdict) == (kept, expected)
        assert signer == ("" if verdict != "VALID" else "authenticated" if authenticated else "unauthenticated")


def test_the_refusals_of_a_client_exist() -> None:
    named = re.findall(r"`([A-Z]\w+)`", "".join(row[1] for row in rows("What a client does")))
    assert named == ["OriginChanged", "KeyRevoked", "KeyListRolledBack", "KeyListsDiffer", "BadKeyList"]
    assert all(issubclass(getattr(errors, name), errors.ServerCheated) for name in named)
