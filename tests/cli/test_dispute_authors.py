"""Whom a dispute report names: whoever can have made what is wrong, and nobody who cannot."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from sixledger.cli.dispute.case import Case, open_case
from sixledger.cli.dispute.facts import facts
from sixledger.cli.dispute.page import page
from sixledger.cli.dispute.wording import SELF, SIGNED, STOLEN
from sixledger.cli.receipts import Receipts
from sixledger.ledger import file, hashing
from sixledger.ledger.heads import HeadSigner, SignedHead
from sixledger.ledger.key_list import ListedKey, Trust
from sixledger.ledger.records import Parts
from sixledger.v1 import record_pb2
from support import key_lives
from support.forging import editing, sign_heads, write
from support.key_lives import A, B, key_list, listed
from support.ledgers import KEYS, OTHER_SIGNER, SIGNER, Table, copies, forge

Records = list[record_pb2.Record]
AT = 12
ANYBODY = "Anybody who had the file can have "


@pytest.fixture(scope="module")
def table() -> Table:
    return Table(2, name="authors").play()


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Case]:
    def told(data: bytes, trusted: Sequence[Trust] = (), kept: Sequence[str] = ()) -> Case:
        path = tmp_path / "match.ledger.jsonl"
        path.write_bytes(data)
        receipts = Receipts()
        for note in kept:
            signed = SignedHead.parse(note)
            receipts.by_match.setdefault(signed.head.match_id, []).append(signed)
        return open_case(path, trusted, receipts)

    return told


def said(case: Case) -> dict[str, str]:
    """The verdict in words. There is a page of it, too."""
    found = facts(case, [])
    assert found["verdict"]["title"] in page(found)
    words: dict[str, str] = found["verdict"]
    return words


# -- a record that is none -----------------------------------------------------------------------


def _another_format(records: Records) -> None:
    with editing(records[AT]) as body:
        body.format = 99


def _unknown_field(records: Records) -> None:
    records[AT].body += b"\xfa\x7f\x01x"


def _no_body(records: Records) -> None:
    records[AT].body = b"\xff"


def _another_number(records: Records) -> None:
    with editing(records[AT]) as body:
        body.seq = 77


def _short_commitment(records: Records) -> None:
    seal = next(record for record in records if record.seals).seals[0]
    seal.commitment = seal.commitment[:31]


MALFORMED = (_another_format, _unknown_field, _no_body, _another_number, _short_commitment)


def _made(table: Table, change: Callable[[Records], None], signer: HeadSigner) -> bytes:
    """The ledger with a change that whoever holds the key of the signer makes fit."""
    records = copies(table.records)
    change(records)
    records = _tied(table, records)
    last = table.match
    return _file(table, records, signer.sign(last.match_id, len(records), records[-1].hash, last.time_us), signer)


def _tied(table: Table, records: Records) -> Records:
    """With hashes that fit, whatever the bodies hold."""
    previous = hashing.ZERO_HASH
    for seq, record in enumerate(records):
        seals = Parts.of(record).seals
        record.hash = previous = hashing.chain_hash(table.match.match_id, seq, previous, record.body, seals)
    return records


def _file(table: Table, records: Records, note: str, signer: HeadSigner) -> bytes:
    """With the readable copies of the honest records: that of a record which is none cannot be right."""
    header, *honest, last = write(table.records, [note], [signer.verifier_key], table.game).decode().splitlines()
    lines = [file.record_line(each, json.loads(line)["shown"]) for each, line in zip(records, honest, strict=True)]
    return "".join(f"{line}\n" for line in (header, *lines, last)).encode()


@pytest.mark.parametrize("change", MALFORMED)
def test_a_malformed_record_under_a_trusted_head_is_the_server_s(
    table: Table, told: Callable[..., Case], change: Callable[[Records], None]
) -> None:
    case = told(_made(table, change, SIGNER), KEYS)
    words = said(case)
    assert words["name"] == "TAMPERED"
    assert words["title"] == "This ledger was signed with a record in it that is none."
    assert words["answerable"] == SIGNED


@pytest.mark.parametrize("change", MALFORMED)
def test_under_a_head_that_nobody_vouches_for_it_may_be_anybody_s(
    table: Table, told: Callable[..., Case], change: Callable[[Records], None]
) -> None:
    words = said(told(_made(table, change, OTHER_SIGNER)))
    assert words["answerable"] == SELF
    assert SIGNED not in said(told(_made(table, change, OTHER_SIGNER), KEYS))["answerable"]


@pytest.mark.parametrize("change", MALFORMED)
def test_without_a_head_that_fits_anybody_can_have_changed_the_file(
    table: Table, told: Callable[..., Case], change: Callable[[Records], None]
) -> None:
    """The server has signed the honest records; the change is not in them."""
    records = copies(table.records)
    change(records)
    note = table.heads()[-1]
    for forged in (records, _tied(table, copies(records))):
        words = said(told(_file(table, forged, note, SIGNER), KEYS))
        assert ANYBODY in words["answerable"]


def test_a_changed_readable_copy_is_never_the_server_s(table: Table, told: Callable[..., Case]) -> None:
    """Every record is as it was signed; what lies beside is not signed."""
    words = said(told(table.file(20).replace(b'"seat":1', b'"seat":0', 1), KEYS))
    assert ANYBODY in words["answerable"]


def test_a_clock_that_ran_backwards_under_a_trusted_head_is_the_server_s(
    table: Table, told: Callable[..., Case]
) -> None:
    forged = forge(table.records, 20, lambda body: setattr(body, "time_us", body.time_us - 10_000_000))
    words = said(told(file.dump(forged, sign_heads(forged), KEYS), KEYS))
    assert words["answerable"] == SIGNED


# -- keys that were stolen, as the server says ---------------------------------------------------

DAY = 86_400_000_000
TITLES = {
    "valid": "Nothing is wrong: the match was played exactly as recorded.",
    "not yet": "a key of the server for a time at which that key was not valid.",
    "expired": "a key of the server for a time at which that key was not valid.",
    "ends later": "Nothing is wrong: the match was played exactly as recorded.",
    "revoked before": "a key of the server for a time at which that key was not valid.",
    "revoked later": "Nothing is wrong: the match was played exactly as recorded.",
    "stolen before": "This ledger is signed with a key that had been stolen by then, as the server says.",
    "stolen before, receipt": "This ledger is signed with a key that had been stolen by then, as the server says.",
    "stolen later": "the key that vouches for it was stolen later, as the server says.",
    "stolen later, receipt": "Nothing is wrong: the match was played exactly as recorded.",
}


@pytest.mark.parametrize("case", key_lives.CASES)
def test_each_case_of_a_key_is_said_in_plain_words(table: Table, told: Callable[..., Case], case: str) -> None:
    (start, end, revoked, reason), with_receipt, verdict, _, _ = key_lives.CASES[case]
    start, end, revoked = (None if each is None else table.match.time_us + each for each in (start, end, revoked))
    trusted = key_list(ListedKey(A.verifier_key, start, end, revoked, reason), listed("B"))
    (note,) = sign_heads(table.records, signer=A)
    words = said(told(file.dump(table.records, [note], [A.verifier_key]), [trusted], [note] if with_receipt else []))
    assert words["name"] == verdict
    assert words["title"].endswith(TITLES[case])
    assert "does not have the server's key" not in words["answerable"]


def test_a_running_match_under_a_key_that_was_stolen_later(told: Callable[..., Case]) -> None:
    table = Table(2, name="running authors").play(5)
    trusted = key_list(listed("A", revoked=table.match.time_us + 1), listed("B"))
    data = file.dump(table.records, sign_heads(table.records, signer=A), [A.verifier_key], viewer="spectator")
    words = said(told(data, [trusted]))
    assert words["name"] == "INCOMPLETE"
    assert "the thief can have made this" in words["meaning"]
    assert "verifier key" not in words["advice"]


def test_a_receipt_that_a_theft_disowns_is_not_taken_for_the_ledger(table: Table, told: Callable[..., Case]) -> None:
    trusted = key_list(listed("A", revoked=0), listed("B"))
    data = file.dump(table.records, sign_heads(table.records, signer=B), [B.verifier_key])
    words = said(told(data, [trusted], sign_heads(table.records[:5], signer=A)))
    assert words["title"] == "A signed head that was given proves nothing: its key had been stolen by then, " + (
        "as the server says."
    )


@pytest.mark.parametrize("stolen_later", [True, False])
def test_two_stories_are_the_server_s_or_the_thief_s(
    table: Table, told: Callable[..., Case], stolen_later: bool
) -> None:
    forged = forge(table.records, 10, lambda body: setattr(body, "time_us", body.time_us + 1))
    entry = listed("A", revoked=table.match.time_us + DAY) if stolen_later else listed("A")
    trusted = key_list(entry, listed("B", table.match.time_us + 2 * DAY) if not stolen_later else listed("B"))
    data = file.dump(forged, sign_heads(forged, signer=A), [A.verifier_key])
    words = said(told(data, [trusted], sign_heads(table.records[:15], signer=A)))
    assert words["name"] == "EQUIVOCATION"
    assert ("the thief" in words["answerable"]) == stolen_later
    assert ("That is proven" in words["title"]) != stolen_later


def test_what_breaks_the_rules_under_a_stolen_key_may_be_the_thief_s(table: Table, told: Callable[..., Case]) -> None:
    """Unless somebody kept the head: no thief can have put it there."""
    forged = forge(table.records, 10, lambda body: setattr(body.cause, "decision", 77))
    trusted = key_list(listed("A", revoked=table.match.time_us + 1), listed("B"))
    notes = sign_heads(forged, signer=A)
    data = file.dump(forged, notes, [A.verifier_key])
    assert said(told(data, [trusted]))["answerable"].endswith(STOLEN)
    assert said(told(data, [trusted], notes))["answerable"].endswith(SIGNED)
