"""The file: one spelling for every ledger, read strictly."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from sixledger.engine.nimmt import GAME
from sixledger.ledger import file, records
from sixledger.ledger.faults import LedgerFault, UnusableInput
from sixledger.ledger.file import dump, load
from sixledger.ledger.readable import dumps, render
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2, replay_service_pb2
from support import ledgers
from support.ledgers import COMMIT_REVEAL, KEYS, OTHER_SIGNER, Table, rounds

BOTH = frozenset({0, 1})


@pytest.fixture(scope="module")
def table() -> Table:
    return Table(3, rounds(2), COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="file").play()


@pytest.fixture(scope="module")
def running() -> Table:
    return Table(3, rounds(2), name="file").play(40)


def test_what_is_written_is_read_back(table: Table) -> None:
    ledger = load(table.file(4, 9))
    assert ledger.records == table.records
    assert [signed.note for signed in ledger.heads] == table.heads(4, 9)
    assert (ledger.origin, ledger.keys, ledger.viewer) == ("ledger.example", list(KEYS), "spectator")
    assert dump(ledger.records, [signed.note for signed in ledger.heads], ledger.keys) == table.file(4, 9)


def test_the_same_inputs_give_the_same_bytes(table: Table) -> None:
    again = Table(3, rounds(2), COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="file").play()
    assert again.file() == table.file()
    assert again.file(compress=True) == table.file(compress=True)


def test_gzip_is_transparent(table: Table, tmp_path: Path) -> None:
    packed = table.file(compress=True)
    assert len(packed) < len(table.file()) / 1.5
    path = tmp_path / "match.ledger.jsonl.gz"
    path.write_bytes(packed)
    for source in (packed, path, str(path), io.BytesIO(packed)):
        assert load(source).records == table.records


def test_damaged_gzip_is_no_crash(table: Table) -> None:
    packed = table.file(compress=True)
    with pytest.raises(LedgerFault) as cut:
        load(packed[:-20])
    assert cut.value.verdict == replay_service_pb2.VERDICT_TRUNCATED
    with pytest.raises(LedgerFault) as damaged:
        load(packed[:-6] + b"\x00" * 6)
    assert damaged.value.verdict == replay_service_pb2.VERDICT_TAMPERED


@pytest.mark.parametrize(
    ("viewer", "names"),
    [("operator", "operator"), ("seat:0", "seat:0"), ("seat:2", "seat:2"), ("spectator", "spectator")],
)
def test_a_running_match_is_written_for_its_viewer(running: Table, viewer: str, names: str) -> None:
    ledger = load(running.file(viewer=viewer))
    assert ledger.viewer == names
    seat = int(viewer[-1]) if viewer.startswith("seat") else None
    if viewer != "operator":
        expected = [records.redact(record, seat, running.match.revealed) for record in running.records]
        assert ledger.records == expected
        assert sum(len(record.openings) for record in ledger.records) < sum(len(r.openings) for r in running.records)


def test_a_file_is_named_after_the_weakest_viewer(table: Table) -> None:
    """After the match everybody may open everything, so every ledger of it is that of a spectator."""
    assert {load(table.file(viewer=v)).viewer for v in (None, "operator", "seat:1", "spectator")} == {"spectator"}


def test_an_exported_redaction_equals_a_redacted_export(running: Table) -> None:
    seat = [records.redact(record, 1, running.match.revealed) for record in running.records]
    assert dump(seat, running.heads(), KEYS, viewer="seat:1") == running.file(viewer="seat:1")
    assert dump(seat, running.heads(), KEYS) == running.file(viewer="seat:1")
    with pytest.raises(ValueError, match="does not have exactly the openings that seat:0"):
        dump(seat, running.heads(), KEYS, viewer="seat:0")


def test_the_readable_copy_shows_what_is_open_and_nothing_else(running: Table) -> None:
    own, public = (load(running.file(viewer=viewer)) for viewer in ("seat:0", "spectator"))
    body = [record_pb2.Body.FromString(record.body) for record in running.records]
    mine = max(n for n, b in enumerate(body) if b.cause.seat == 0 and b.events and b.command)
    card = json.loads(own.shown[mine])["command"]["select_card"]["card"]
    assert json.loads(own.shown[mine])["events"][0] == {"chosen": {"card": card, "cards": [], "seat": 0}}
    assert json.loads(public.shown[mine])["command"] == {"select_card": {}}
    assert json.loads(public.shown[mine])["events"][0] == {"chosen": {"seat": 0}}


def test_rendering_is_protobuf_json_with_defaults_but_without_empty_bytes(table: Table) -> None:
    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: pruned(each) for name, each in value.items() if each != "" or name in ("id", "reason")}
        return [pruned(each) for each in value] if isinstance(value, list) else value

    for record in table.records:
        body = record_pb2.Body.FromString(record.body)
        for message in (body, *body.events, *body.lifecycle):
            expected = MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            assert pruned(render(message)) == pruned(expected)
    position = GAME.position(table.match.state)
    expected = MessageToDict(position, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    assert render(position) == expected


# -- strictness ----------------------------------------------------------------------------------


def _reject(data: bytes, line: int) -> LedgerFault:
    with pytest.raises(LedgerFault) as caught:
        load(data)
    assert (caught.value.line, caught.value.verdict) == (line, replay_service_pb2.VERDICT_TAMPERED)
    return caught.value


def _edit(data: bytes, line: int, old: str, new: str) -> bytes:
    lines = data.decode().splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"body"', '{ "body"'),
        ('"seals":[]', '"seals":[],"seals":[]'),
        ('"openings":[]', '"openings":[1]'),
        ('"openings":[]', '"openings":{}'),
        ('"openings":[]', '"openings":null'),
        ('"openings":[]', '"openings":1.5'),
        ('"openings":[]', '"openings":NaN'),
        ('"openings":[],', ""),
        ('"body":"', '"body":"='),
        ('"hash":"', '"hash":"\\u0041'),
        ('"hash":"', '"hash":" '),
        ('"hash":', '"extra":1,"hash":'),
        ('{"body"', '[{"body"'),
    ],
)
def test_a_line_has_one_spelling(table: Table, old: str, new: str) -> None:
    _reject(_edit(table.file(), 2, old, new), 2)


def test_base64_has_one_spelling(table: Table) -> None:
    """The last character before the padding holds unused bits: only zeros are right."""
    line = table.file().decode().splitlines()[1]
    value = json.loads(line)["hash"]
    other = value[:-2] + chr(ord(value[-2]) + 1) + "="
    fault = _reject(_edit(table.file(), 2, value, other), 2)
    assert "base64" in fault.message


@pytest.mark.parametrize("bad", ["-1", "01", "18446744073709551616", "", "1.0", "١", "9" * 30])
def test_64_bit_numbers_are_canonical_decimal_strings(table: Table, bad: str) -> None:
    lines = table.file().decode().splitlines()
    at = next(n for n, line in enumerate(lines) if '"audience":"1"' in line)
    _reject(_edit(table.file(), at + 1, '"audience":"1"', f'"audience":{json.dumps(bad, ensure_ascii=False)}'), at + 1)


def test_a_number_is_no_boolean(table: Table) -> None:
    lines = table.file().decode().splitlines()
    at = next(n for n, line in enumerate(lines) if '"epoch":1' in line)
    _reject(_edit(table.file(), at + 1, '"epoch":1', '"epoch":true'), at + 1)


def test_records_do_not_follow_heads(table: Table) -> None:
    lines = table.file(3).splitlines(keepends=True)
    lines[-3], lines[-2] = lines[-2], lines[-3]
    _reject(b"".join(lines), len(lines) - 1)


def test_a_damaged_header_is_tampering_and_another_format_unusable(table: Table) -> None:
    _reject(table.file().replace(b'"origin"', b'"0rigin"', 1), 1)
    _reject(table.file().replace(b"ledger.example+", b"ledger-example+", 1), 1)
    with pytest.raises(UnusableInput, match="another format"):
        load(table.file().replace(b"ledger/1", b"ledger/2", 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version":1', '"version":2'),
        ('"origin":"ledger.example"', '"origin":"ledger.exampel"'),
        ('"id":"nimmt"', '"id":"nimmu"'),
        ('"match":"', '"match":"00'),
    ],
)
def test_the_header_says_what_follows_from_the_rest(table: Table, old: str, new: str) -> None:
    report = verify(_edit(table.file(), 1, old, new))
    assert (report.verdict, report.finding.line) == (replay_service_pb2.VERDICT_TAMPERED, 1)


def test_a_key_that_signed_nothing_does_not_belong_into_the_header(table: Table) -> None:
    assert dump(table.records, table.heads(), [*KEYS, OTHER_SIGNER.verifier_key]) == table.file()
    both = sorted([str(KEYS[0]), str(OTHER_SIGNER.verifier_key)])
    forged = _edit(table.file(), 1, json.dumps([str(KEYS[0])]), json.dumps(both, separators=(",", ":")))
    assert verify(forged).verdict == replay_service_pb2.VERDICT_TAMPERED


def test_a_key_stands_in_the_header_once(table: Table) -> None:
    assert dump(table.records, table.heads(), [*KEYS, *KEYS]) == table.file()
    twice = _edit(table.file(), 1, json.dumps(str(KEYS[0])), ",".join([json.dumps(str(KEYS[0]))] * 2))
    report = verify(twice)
    assert (report.verdict, report.finding.line) == (replay_service_pb2.VERDICT_TAMPERED, 1)


def test_a_readable_copy_that_lies_is_tampering(table: Table) -> None:
    lines = table.file().decode().splitlines()
    at = next(n for n, line in enumerate(lines) if '"hand_dealt"' in line)
    value = json.loads(lines[at])
    hand = next(event["hand_dealt"] for event in value["shown"]["events"] if "hand_dealt" in event)
    hand["cards"][0], hand["cards"][1] = hand["cards"][1], hand["cards"][0]
    lines[at] = dumps(value)
    report = verify(("\n".join(lines) + "\n").encode())
    assert (report.verdict, report.finding.line) == (replay_service_pb2.VERDICT_TAMPERED, at + 1)
    assert "readable copy" in report.finding.message


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("MAX_LINE_BYTES", 500, "has more than 500 bytes"),
        ("MAX_FILE_BYTES", 2000, "the file has more than 2000 bytes"),
        ("MAX_RECORDS", 3, "the file has more than 3 records"),
        ("MAX_HEADS", 1, "the file has more than 1 heads"),
        ("MAX_ALL_SEALS", 2, "the file has more than 2 seals"),
        ("MAX_KEYS", 0, "the header has more than 0 keys"),
    ],
)
def test_every_limit_is_named_in_its_fault(
    table: Table, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, words: str
) -> None:
    from sixledger.ledger import jsonl

    home = jsonl if hasattr(jsonl, limit) else file
    monkeypatch.setattr(home, limit, value)
    for compress in (False, True):
        data = table.file(3, compress=compress)
        with pytest.raises(UnusableInput, match=words):  # nothing is said about whether it is true
            load(data)


def test_a_small_gzip_that_unpacks_to_much_is_refused_early(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(table.file() + b"0" * (8 << 20))
    with pytest.raises(UnusableInput, match="has more than"):
        load(bomb)


def test_gzip_in_parts_and_with_padding_is_the_same_ledger(table: Table) -> None:
    """As `cat` and tapes make it; a part that begins and does not end is cut short, anything else is damage."""
    data = table.file()
    parts = [gzip.compress(data[at : at + 1000]) for at in range(0, len(data), 1000)]
    packed = b"".join(parts[:2]) + bytes(100_000) + b"".join(parts[2:]) + bytes(70_000)
    assert load(packed).records == table.records
    assert load(io.BytesIO(packed)).records == table.records
    for wrong, verdict in (
        (packed + parts[0][:15], "TRUNCATED"),
        (packed + b"xyz", "TAMPERED"),
        (packed[:-70_001], "TRUNCATED"),
    ):
        with pytest.raises(LedgerFault) as caught:
            load(wrong)
        assert replay_service_pb2.Verdict.Name(caught.value.verdict) == f"VERDICT_{verdict}"
    with pytest.raises(UnusableInput, match="more than 1024 gzip members"):
        load(parts[0] + gzip.compress(b"") * 1024)


def test_heads_and_keys_of_a_new_file_must_fit(table: Table) -> None:
    for heads, keys in (
        ([], KEYS),
        (table.heads(), []),
        (table.heads()[::-1] + table.heads(3)[:1], KEYS),
        ([ledgers.head(table.records, 3)], KEYS),
        (["nonsense"], KEYS),
    ):
        with pytest.raises(ValueError, match="head"):
            dump(table.records, heads, keys)
