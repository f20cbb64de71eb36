"""`sixledger compare`: whether two exports of a match tell the same, and who signed what."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from sixledger.cli.demo import change_one_bit
from sixledger.ledger import file
from sixledger.v1 import game_pb2, record_pb2
from support.command_line import CommandLine
from support.ledgers import COMMIT_REVEAL, KEYS, OTHER_SIGNER, SIGNER, Table, find, forge, forge_secret, head, heads

SEATS = frozenset(range(3))


@pytest.fixture(scope="module")
def table() -> Table:
    """A finished match of three."""
    return Table(3, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="compare").play()


@pytest.fixture(scope="module")
def running() -> Table:
    """A match in its first round: hands are sealed."""
    return Table(3, mode=COMMIT_REVEAL, signing=SEATS, contributing=SEATS, name="running").play(10)


@pytest.fixture
def folder(tmp_path: Path, table: Table) -> Path:
    """The whole ledger and the server's key."""
    (tmp_path / "match.jsonl").write_bytes(table.file(20))
    (tmp_path / "server.vkey").write_text(f"{SIGNER.verifier_key}\n")
    return tmp_path


def otherwise(table: Table) -> list[Any]:
    """Another history: a card was placed in another row."""

    def change(body: Any) -> None:
        placed = next(each for each in body.events if each.nimmt.WhichOneof("event") == "card_placed")
        placed.nimmt.card_placed.row = (placed.nimmt.card_placed.row + 1) % 4

    return forge(table.records, find(table.records, "card_placed", skip=2), change)


def compare(quick: CommandLine, *arguments: str) -> tuple[int, dict[str, Any]]:
    ran = quick("compare", *arguments, "--json")
    assert ran.err == ""
    found: dict[str, Any] = json.loads(ran.out)
    return ran.status, found


def test_the_same_file_is_the_same_history(quick: CommandLine, folder: Path, table: Table) -> None:
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(table.file(20)))
    status, found = compare(quick, "match.jsonl", "packed.jsonl.gz", "--key", "server.vkey")
    assert (status, found["relation"], found["fraud"], found["differences"]) == (0, "same", None, [])
    assert found["accounts"][0]["vouched_by"][-1]["trusted"] is True
    said = quick("compare", "match.jsonl", "packed.jsonl.gz").out
    assert said.startswith(" SAME HISTORY  match.jsonl  packed.jsonl.gz\n")


def test_other_viewers_are_no_difference(quick: CommandLine, folder: Path, running: Table) -> None:
    for viewer in ("seat:0", "seat:1", "spectator", "operator"):
        (folder / viewer).write_bytes(running.file(viewer=viewer))
    for first, second in (("seat:0", "seat:1"), ("spectator", "operator"), ("operator", "seat:1")):
        status, found = compare(quick, first, second)
        assert (status, found["relation"], found["differences"]) == (0, "same", [])
    assert "no difference of history" in found["summary"]
    assert "more sealed parts open" in found["summary"]


def test_an_earlier_export_is_a_beginning(quick: CommandLine, folder: Path, table: Table) -> None:
    short = table.records[:20]
    (folder / "early.jsonl").write_bytes(file.dump(short, heads(short), KEYS, viewer="seat:1"))
    for pair in (("match.jsonl", "early.jsonl"), ("early.jsonl", "match.jsonl")):
        status, found = compare(quick, *pair)
        assert (status, found["relation"]) == (0, "prefix")
        assert "early.jsonl ends with record 19" in found["summary"]


def test_two_matches_are_told_apart(quick: CommandLine, folder: Path, running: Table) -> None:
    (folder / "other.jsonl").write_bytes(running.file(viewer="spectator"))
    status, found = compare(quick, "match.jsonl", "other.jsonl")
    assert (status, found["relation"], found["match_id"]) == (1, "other_match", None)


def test_two_signed_histories_are_fraud(quick: CommandLine, folder: Path, table: Table) -> None:
    """The first difference is named with both values, and the two heads are the proof."""
    forged = otherwise(table)
    (folder / "forged.jsonl").write_bytes(file.dump(forged, heads(forged), KEYS))
    status, found = compare(quick, "match.jsonl", "forged.jsonl", "--key", "server.vkey")
    seq = find(table.records, "card_placed", skip=2)
    assert (status, found["relation"], found["seq"]) == (1, "different", seq)
    (difference,) = found["differences"]
    assert difference["path"].endswith("card_placed.row")
    assert difference["first"] != difference["second"]
    assert len(found["fraud"]) == 2
    assert all(voucher["key"] == str(SIGNER.verifier_key) for voucher in found["fraud"])
    assert "Proven" in found["summary"]
    assert quick("compare", "match.jsonl", "forged.jsonl").out.startswith(" FRAUD PROVEN ")


def test_heads_of_different_counts_prove_fraud_with_the_ledgers(quick: CommandLine, folder: Path, table: Table) -> None:
    forged = otherwise(table)[:-4]
    (folder / "forged.jsonl").write_bytes(file.dump(forged, heads(forged), KEYS, viewer="spectator"))
    status, found = compare(quick, "match.jsonl", "forged.jsonl", "--key", "server.vkey")
    counts = [voucher["count"] for voucher in found["fraud"]]
    assert (status, sorted(counts)) == (1, sorted([len(forged), len(table.records)]))


def test_a_history_signed_with_another_key_is_no_fraud_of_the_server(
    quick: CommandLine, folder: Path, table: Table
) -> None:
    forged = otherwise(table)
    notes = heads(forged, signer=OTHER_SIGNER)
    (folder / "forged.jsonl").write_bytes(file.dump(forged, notes, [OTHER_SIGNER.verifier_key]))
    status, found = compare(quick, "match.jsonl", "forged.jsonl", "--key", "server.vkey")
    assert (status, found["relation"], found["fraud"]) == (1, "different", None)
    assert "different keys" in found["summary"]


def test_a_changed_file_is_no_fraud(quick: CommandLine, folder: Path, table: Table) -> None:
    """Its chain does not fit, so no head vouches for it: the other one is to be believed."""
    (folder / "bad.jsonl").write_bytes(change_one_bit(table.file(20)))
    status, found = compare(quick, "bad.jsonl", "match.jsonl", "--key", "server.vkey")
    assert (status, found["relation"], found["fraud"]) == (1, "different", None)
    assert found["accounts"][0]["intact_records"] == found["seq"]
    assert "believe match.jsonl" in found["summary"]


def test_a_sealed_difference_is_found(quick: CommandLine, folder: Path, running: Table) -> None:
    """What a seal holds differs, and no viewer of the two has it open: the seals differ."""
    seq = _first_sealed(running)
    forged = forge_secret(running.records, seq, 0, _other_choice)
    for name, records in (("a", running.records), ("b", forged)):
        (folder / name).write_bytes(file.dump(records, heads(records), KEYS, viewer="spectator"))
    status, found = compare(quick, "a", "b")
    assert (status, found["seq"], found["differences"][0]["path"]) == (1, seq, "seals[0]")


def _first_sealed(table: Table) -> int:
    """The first record whose command is sealed."""
    bodies = [record_pb2.Body.FromString(record.body) for record in table.records]
    return next(seq for seq, body in enumerate(bodies) if body.command and table.records[seq].seals)


def _other_choice(sealed: Any) -> None:
    command = game_pb2.Command.FromString(sealed.command)
    command.nimmt.select_card.card = command.nimmt.select_card.card % 104 + 1
    sealed.command = command.SerializeToString(deterministic=True)


def test_another_opening_of_one_seal_is_a_difference(quick: CommandLine, folder: Path, table: Table) -> None:
    """One of the two does not fit, and it is said which."""
    lines = table.file(20).split(b"\n")
    at = next(number for number, line in enumerate(lines) if b'"openings":[{' in line)
    record = json.loads(lines[at])
    salt = base64.b64decode(record["openings"][0]["salt"])
    record["openings"][0]["salt"] = base64.b64encode(bytes([salt[0] ^ 1]) + salt[1:]).decode()
    lines[at] = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    (folder / "opened.jsonl").write_bytes(b"\n".join(lines))
    status, found = compare(quick, "match.jsonl", "opened.jsonl")
    assert (status, found["seq"]) == (1, at - 1)
    assert found["differences"][0]["first"] == "fits its seal"
    assert found["differences"][0]["second"] == "does not fit its seal"


def test_another_readable_copy_is_a_difference(quick: CommandLine, folder: Path, table: Table) -> None:
    """Nobody who reads the file reads its base64."""
    data = table.file(20)
    (folder / "copy.jsonl").write_bytes(data.replace(b'"seat":1', b'"seat":2', 1))
    status, found = compare(quick, "match.jsonl", "copy.jsonl")
    assert (status, [each["path"] for each in found["differences"]]) == (1, ["shown"])


# -- heads ---------------------------------------------------------------------------------------


def test_two_heads_of_one_count_are_fraud_without_any_ledger(quick: CommandLine, folder: Path, table: Table) -> None:
    (folder / "mine").write_text(head(table.records, 30))
    (folder / "yours").write_text(head(otherwise(table), 30))
    status, found = compare(quick, "mine", "yours", "--key", "server.vkey")
    assert (status, found["relation"]) == (1, "different")
    assert [voucher["count"] for voucher in found["fraud"]] == [30, 30]
    assert {voucher["head"] for voucher in found["fraud"]} == {head(table.records, 30), head(otherwise(table), 30)}
    unproven = compare(quick, "mine", "yours")[1]  # nobody knows whose signatures these are
    assert (unproven["relation"], unproven["fraud"]) == ("different", None)
    assert "give the key" in unproven["summary"]


def test_heads_and_a_ledger(quick: CommandLine, folder: Path, table: Table) -> None:
    """A head agrees, goes beyond the end, or contradicts; a contradiction with a later head is fraud."""
    last = len(table.records)
    short = table.records[:20]
    (folder / "early.jsonl").write_bytes(file.dump(short, heads(short), KEYS, viewer="spectator"))
    for name, note in (
        ("last", head(table.records, last)),
        ("thirty", head(table.records, 30)),
        ("other", head(otherwise(table), 30)),
    ):
        (folder / name).write_text(note)
    assert compare(quick, "match.jsonl", "last", "--key", "server.vkey")[1]["relation"] == "same"
    assert compare(quick, "thirty", "match.jsonl", "--key", "server.vkey")[1]["relation"] == "prefix"
    assert compare(quick, "early.jsonl", "thirty", "--key", "server.vkey")[1]["relation"] == "prefix"
    status, found = compare(quick, "match.jsonl", "other", "--key", "server.vkey")
    assert (status, found["relation"]) == (1, "different")
    assert sorted(voucher["count"] for voucher in found["fraud"]) == [30, last]
    assert found["differences"][0]["path"] == "records[29].hash"


def test_there_may_be_nothing_to_compare(quick: CommandLine, folder: Path, table: Table) -> None:
    (folder / "five").write_text(head(table.records, 5))
    (folder / "nine").write_text(head(table.records, 9))
    (folder / "stranger").write_text(head(table.records, 5, signer=OTHER_SIGNER))
    (folder / "empty").write_text("")
    assert "only a ledger can tell" in quick("compare", "five", "nine", "--key", "server.vkey").refused(2)
    assert "give the key" in quick("compare", "match.jsonl", "stranger", "--key", "server.vkey").refused(2)
    for name in ("empty", "missing"):
        assert name in quick("compare", "match.jsonl", name).refused(2)


def test_a_file_that_breaks_off_is_compared_as_far_as_it_goes(quick: CommandLine, folder: Path, table: Table) -> None:
    data = table.file(20)
    (folder / "half.jsonl").write_bytes(data[: len(data) // 2])
    status, found = compare(quick, "match.jsonl", "half.jsonl")
    assert (status, found["relation"]) == (0, "prefix")
    assert "read only in part" in found["summary"]
