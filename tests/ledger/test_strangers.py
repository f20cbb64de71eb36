"""Heads of keys that nobody trusts prove nothing, neither for an origin nor against it."""

from __future__ import annotations

import pytest
from sixledger.ledger import file
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support.forging import write
from support.ledgers import KEYS, OTHER_SIGNER, SIGNER, Table, forge, head, heads, private_key, rounds

STRANGERS = [OTHER_SIGNER.verifier_key]


@pytest.fixture(scope="module")
def table() -> Table:
    return Table(options=rounds(1), name="strangers").play()


@pytest.fixture(scope="module")
def fork(table: Table) -> list[str]:
    """Heads by a stranger of another history than the table's."""
    other = forge(table.records, 9, lambda body: setattr(body, "time_us", body.time_us + 1))
    return [head(other, 12, signer=OTHER_SIGNER)]


def verdict(report: VerifyReport) -> str:
    return Verdict.Name(report.verdict).removeprefix("VERDICT_")


def test_a_stranger_cannot_charge_an_origin_with_two_histories(table: Table, fork: list[str]) -> None:
    report = verify_records(table.records, [*fork, *table.heads(12)], keys=STRANGERS, trusted=KEYS)
    assert (verdict(report), report.finding.layer) == ("BAD_SIGNATURE", "heads")
    assert "no trusted key" in report.summary


def test_nor_with_a_ledger_that_was_cut(table: Table) -> None:
    beyond = OTHER_SIGNER.sign(table.match.match_id, 99, table.match.hash, table.match.time_us)
    report = verify_records(table.records, [*table.heads(), beyond], keys=STRANGERS, trusted=KEYS)
    assert verdict(report) == "BAD_SIGNATURE"


def test_two_unknown_keys_are_not_one_signer(table: Table, fork: list[str]) -> None:
    report = verify_records(table.records, [*fork, *table.heads(12)], keys=[*KEYS, *STRANGERS])
    assert (verdict(report), "two keys" in report.summary) == ("BAD_SIGNATURE", True)


def test_two_trusted_keys_of_an_origin_are(table: Table, fork: list[str]) -> None:
    report = verify_records(table.records, [*fork, *table.heads(12)], trusted=[*KEYS, *STRANGERS])
    assert (verdict(report), report.finding.seq) == ("EQUIVOCATION", 11)


def test_a_receipt_is_not_outweighed_by_heads_of_a_stranger(table: Table) -> None:
    """The file was made anew and signed by a stranger; the head that was kept says that it was."""
    forged = forge(table.records, 9, lambda body: setattr(body, "time_us", body.time_us + 1))
    data = file.dump(forged, heads(forged, signer=OTHER_SIGNER), STRANGERS)
    report = verify(data, trusted=KEYS, receipts=[head(table.records, 12)])
    assert (verdict(report), report.finding.layer) == ("TAMPERED", "heads")


def test_a_fitting_head_of_a_stranger_is_named(table: Table) -> None:
    """It is no evidence, and does not make its key one of the origin's."""
    slipped_in = [head(table.records, 4, signer=OTHER_SIGNER), *table.heads()]
    report = verify(file.dump(table.records, slipped_in, [*KEYS, *STRANGERS]), trusted=KEYS)
    assert (verdict(report), report.signer_authenticated) == ("VALID", True)
    (note,) = report.unchecked
    assert STRANGERS[0].hash.hex() in note
    assert report.last_good.head == table.heads()[0]


def test_a_stranger_is_not_shown_as_the_witness_of_the_last_good_record(table: Table) -> None:
    forged = forge(table.records, 9, lambda body: setattr(body.cause, "decision", 99))
    given = [head(forged, 9, signer=OTHER_SIGNER), head(forged, 11), head(forged, len(forged))]
    report = verify_records(forged, given, keys=STRANGERS, trusted=KEYS)
    assert (verdict(report), report.last_good.seq) == ("ILLEGAL_COMMAND", 8)
    assert report.last_good.head == given[1]


def test_a_file_is_of_one_origin(table: Table) -> None:
    elsewhere = HeadSigner("elsewhere.example", private_key("elsewhere"))
    given = [head(table.records, 4, signer=elsewhere), *table.heads()]
    both = [SIGNER.verifier_key, elsewhere.verifier_key]
    report = verify(write(table.records, given, both, table.game), trusted=both)
    assert (verdict(report), report.finding.layer) == ("TAMPERED", "heads")
    assert "two origins" in report.summary
