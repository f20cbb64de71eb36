"""Key lists of origins: their form, what follows from them, and what a verifier says in each case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sixledger.ledger import file
from sixledger.ledger.heads import HeadSigner, SignedHead
from sixledger.ledger.key_list import BadKeyList, KeyList, ListedKey, Reason, SignedKeyList, first_list, parse_trust
from sixledger.ledger.key_succession import Step, step
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.ledger.verify import verify, verify_records
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support import ledgers
from support.key_lives import BY_NAME, CASES, ORIGIN, PRIVATE, A, B, C, key_list, listed
from support.ledgers import Table

HASH = bytes(range(32))
MATCH = bytes(range(16))
DAY = 86_400_000_000
NOTE = key_list(listed("A", None, DAY), listed("B", DAY)).note


@pytest.fixture(scope="module")
def table() -> Table:
    return Table(name="key life").play()


def end_us(table: Table) -> int:
    return SignedHead.parse(table.heads()[-1]).head.time_us


# -- the form ------------------------------------------------------------------------------------


def test_a_list_can_be_read_by_people() -> None:
    made = key_list(
        listed("A", None, DAY),
        listed("B", DAY, None, revoked=2 * DAY, reason=Reason.COMPROMISED),
        listed("C", DAY),
        number=3,
        time_us=2 * DAY,
    )
    assert made.note.split("\n\n")[0].splitlines() == [
        "sixledger-keys/1",
        "ledger.example",
        "3",
        "1970-01-03T00:00:00.000000Z",
        f"{A.verifier_key} from - until 1970-01-02T00:00:00.000000Z",
        f"{B.verifier_key} from 1970-01-02T00:00:00.000000Z until - revoked 1970-01-03T00:00:00.000000Z compromised",
        f"{C.verifier_key} from 1970-01-02T00:00:00.000000Z until -",
    ]
    assert made.note.count("\n— ledger.example ") == 3
    assert SignedKeyList.parse(made.note) == made
    assert parse_trust(made.note) == made
    assert parse_trust(str(A.verifier_key)) == A.verifier_key


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sixledger-keys/1", "sixledger-keys/2"),
        ("\n2\n", "\n02\n"),
        ("\n2\n", "\n0\n"),
        (" from - ", " from  - "),
        ("1970-01-02T", "1970-02-30T"),
        ("1970-01-02T00", "1970-01-02T24"),
        ("until -\n", "until - \n"),
        ("until -\n", "until - revoked 1970-01-02T00:00:00.000000Z stolen\n"),
        ("until -\n", "until - revoked\n"),
        ("until -\n\n", "until -\n"),
        ("— ledger", "- ledger"),
        ("— ledger.example", "— ledger.examplE"),
    ],
)
def test_a_list_has_one_spelling(old: str, new: str) -> None:
    note = key_list(listed("A", None, DAY), listed("B", DAY)).note
    assert old in note
    with pytest.raises(BadKeyList):
        SignedKeyList.parse(note.replace(old, new))


def test_no_byte_of_a_list_is_free() -> None:
    note = key_list(listed("A", None, DAY), listed("B", DAY)).note
    for place in range(0, len(note), 7):
        changed = note[:place] + chr(ord(note[place]) ^ 1) + note[place + 1 :]
        with pytest.raises(BadKeyList):
            SignedKeyList.parse(changed)


@given(
    st.one_of(
        st.text(),
        st.text().map(lambda text: "sixledger-keys/1\n" + text),
        st.lists(st.sampled_from([*NOTE.splitlines(keepends=True), "\n", "-", "\ud800"])).map("".join),
        st.tuples(st.integers(0, len(NOTE)), st.integers(0, len(NOTE)), st.text(max_size=3)).map(
            lambda cut: NOTE[: cut[0]] + cut[2] + NOTE[cut[1] :]
        ),
    )
)
def test_whatever_is_read_is_a_list_or_said_to_be_none(text: str) -> None:
    try:
        assert SignedKeyList.parse(text).note == text
    except BadKeyList:
        assert text != NOTE


def test_signatures_are_of_keys_in_the_list_once_each() -> None:
    note = key_list(listed("A")).note
    line = note.splitlines(keepends=True)[-1]
    foreign = key_list(listed("B")).note.splitlines(keepends=True)[-1]
    for changed in (note + line, note + foreign, note.removesuffix(line), note + "\n", note[:-1], "x" * 70_000):
        with pytest.raises(BadKeyList):
            SignedKeyList.parse(changed)


def test_the_key_in_force_and_the_newest_must_sign() -> None:
    """So nobody can name another's key as their own, nor publish a list without the key that is in use."""
    for signers in ("A", "B", ""):
        with pytest.raises(BadKeyList, match=r"signed|signature"):
            key_list(listed("A", None, DAY), listed("B", DAY), signed_by=signers)


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (listed("A"), listed("A")),
        (listed("A", DAY, DAY),),
        (ListedKey(HeadSigner("else.where", PRIVATE["A"]).verifier_key),),
        tuple(listed("A") for _ in range(65)),
    ],
)
def test_a_list_that_contradicts_itself_is_refused(entries: tuple[ListedKey, ...]) -> None:
    with pytest.raises(BadKeyList):
        SignedKeyList.sign(KeyList(ORIGIN, 1, 0, entries), PRIVATE.values())


# -- signing -------------------------------------------------------------------------------------


def test_each_head_is_signed_by_the_key_of_its_time() -> None:
    held = key_list(listed("A", None, DAY), listed("B", DAY))
    replicas = [OriginSigner([PRIVATE[x] for x in "AB"], held, clock=clock) for clock in (lambda: 0, lambda: 9 * DAY)]
    for time_us, key in ((0, A), (DAY - 1, A), (DAY, B), (9 * DAY, B)):
        (note,) = {replica.sign(MATCH, 1, HASH, time_us) for replica in replicas}
        assert SignedHead.parse(note).signed_by(key.verifier_key)
    assert [replica.verifier_key for replica in replicas] == [A.verifier_key, B.verifier_key]


def test_the_successor_signs_for_the_whole_period_of_a_compromised_key() -> None:
    held = key_list(listed("A", revoked=DAY), listed("B"))
    signer = OriginSigner([PRIVATE["B"]], held)
    assert SignedHead.parse(signer.sign(MATCH, 1, HASH, 5)).signed_by(B.verifier_key)


def test_a_key_that_ended_without_a_successor_signs_on() -> None:
    """The verifier will object, but nobody's match stops."""
    signer = OriginSigner([PRIVATE["A"]], key_list(listed("A", None, DAY)))
    assert SignedHead.parse(signer.sign(MATCH, 1, HASH, 2 * DAY)).signed_by(A.verifier_key)


def test_a_signer_takes_up_newer_lists_only() -> None:
    first = first_list(A.verifier_key, PRIVATE["A"])
    signer = OriginSigner([PRIVATE["A"]], first)
    second = key_list(listed("A", None, DAY), listed("B", DAY))
    assert signer.replace([PRIVATE["A"], PRIVATE["B"]], second)
    assert not signer.replace([PRIVATE["A"], PRIVATE["B"]], second)
    for private, held in (
        (PRIVATE["A"], first),
        (PRIVATE["A"], key_list(listed("A", None, DAY), listed("B"), number=3)),
    ):
        with pytest.raises(ValueError, match=r"older|missing"):
            signer.replace([private], held)
    with pytest.raises(ValueError, match="revoked"):
        OriginSigner([PRIVATE["A"]], key_list(listed("A", revoked=DAY)))
    assert signer.signed_list == second


# -- from one list to the next -------------------------------------------------------------------

ONE = key_list(listed("A"), number=1)
TWO = key_list(listed("A", None, 5 * DAY), listed("B", 5 * DAY), number=2, time_us=DAY)


@pytest.mark.parametrize(
    ("held", "new", "now", "expected"),
    [
        # a bare key follows any list that it signed and in which it is not compromised
        (A.verifier_key, ONE, 0, Step.NEWER),
        (A.verifier_key, TWO, 9 * DAY, Step.NEWER),
        (B.verifier_key, ONE, 0, Step.UNVOUCHED),
        (A.verifier_key, key_list(listed("B")), 0, Step.UNVOUCHED),
        (A.verifier_key, key_list(listed("A", None, 5), listed("B", 5), time_us=5, signed_by="B"), 0, Step.UNVOUCHED),
        (A.verifier_key, key_list(listed("A", revoked=1), listed("B")), 0, Step.REVOKED),
        # a list follows one that a key with a say signed
        (ONE, ONE, 0, Step.SAME),
        (ONE, TWO, DAY, Step.NEWER),
        (TWO, ONE, DAY, Step.OLDER),
        (TWO, key_list(listed("A", None, 4 * DAY), listed("B", 4 * DAY), time_us=DAY), DAY, Step.FORKED),
        (TWO, key_list(listed("C"), number=3, time_us=DAY), DAY, Step.UNVOUCHED),
        (ONE, key_list(listed("A", revoked=1), listed("B"), number=2, time_us=DAY), DAY, Step.REVOKED),
        (
            ONE,
            key_list(listed("A", revoked=DAY, reason=Reason.SUPERSEDED), listed("B"), number=2, time_us=DAY),
            DAY,
            Step.NEWER,
        ),
        # a key that was published ahead stands in for a stolen one
        (TWO, key_list(listed("A", None, 5 * DAY, revoked=1), listed("B"), number=3, time_us=DAY), DAY, Step.NEWER),
        # a retired key that leaks later has no say, whatever time its list claims
        (
            TWO,
            key_list(
                listed("A", None, 5 * DAY),
                listed("B", 5 * DAY, revoked=DAY),
                listed("C", 5 * DAY),
                number=3,
                time_us=DAY,
                signed_by="AC",
            ),
            6 * DAY,
            Step.UNVOUCHED,
        ),
        # nothing is taken back
        (TWO, key_list(listed("B"), number=3, time_us=DAY), DAY, Step.REWRITTEN),
        (TWO, key_list(listed("B", 5 * DAY), listed("A", None, 5 * DAY), number=3, time_us=DAY), DAY, Step.REWRITTEN),
        (TWO, key_list(listed("A", None, 1), listed("B", 1), number=3, time_us=DAY), DAY, Step.REWRITTEN),
        (ONE, key_list(listed("A", 1), number=2, time_us=DAY), DAY, Step.REWRITTEN),
        (
            TWO,
            key_list(listed("A", None, 5 * DAY, revoked=1, reason=Reason.LOST), listed("B"), number=3, time_us=DAY),
            DAY,
            Step.REWRITTEN,
        ),
        (
            key_list(listed("A", revoked=1), listed("B"), number=2, time_us=DAY),
            key_list(listed("A"), listed("B"), number=3, time_us=DAY),
            DAY,
            Step.REWRITTEN,
        ),
        (TWO, key_list(listed("A", None, 5 * DAY), listed("B", 5 * DAY), number=3), DAY, Step.REWRITTEN),
        # a key that has not begun may be put off
        (
            TWO,
            key_list(listed("A", None, 8 * DAY), listed("B", 8 * DAY), number=3, time_us=2 * DAY),
            2 * DAY,
            Step.NEWER,
        ),
    ],
)
def test_what_a_list_is_to_somebody_who_holds_another(
    held: object, new: SignedKeyList, now: int, expected: Step
) -> None:
    assert step(held, new, now) is expected  # type: ignore[arg-type]


# -- what the verifier says ----------------------------------------------------------------------


def told(report: VerifyReport) -> tuple[str, bool, str]:
    verdict = Verdict.Name(report.verdict).removeprefix("VERDICT_")
    return verdict, report.signer_authenticated, "\n".join([report.summary, *report.unchecked])


@pytest.mark.parametrize("case", CASES)
def test_each_case_of_a_key_has_its_verdict(table: Table, case: str) -> None:
    life, with_receipt, verdict, authenticated, words = CASES[case]
    start, end, revoked = (None if offset is None else end_us(table) + offset for offset in life[:3])
    entry = ListedKey(A.verifier_key, start, end, revoked, life[3])
    held = key_list(entry, listed("B"), number=2, time_us=end_us(table) + DAY)
    note = ledgers.head(table.records, len(table.records), signer=A)
    data = file.dump(table.records, [note], [A.verifier_key])
    report = verify(data, trusted=[held], receipts=[note] if with_receipt else [])
    found = told(report)
    assert found[:2] == (verdict, authenticated), found
    assert words in found[2]
    if verdict == "BAD_SIGNATURE":
        assert report.finding.layer == "heads"


def test_a_key_that_is_not_in_the_list_signs_nothing(table: Table) -> None:
    note = ledgers.head(table.records, len(table.records), signer=C)
    report = verify(file.dump(table.records, [note], [C.verifier_key]), trusted=[key_list(listed("A"))])
    assert told(report)[:2] == ("BAD_SIGNATURE", False)
    assert f"its key {C.verifier_key.hash.hex()} is not in key list 2" in report.summary
    assert told(verify(table.file(5), trusted=[key_list(listed("A"))]))[:2] == ("BAD_SIGNATURE", False)


def test_a_list_of_another_origin_says_nothing(table: Table) -> None:
    other = first_list(HeadSigner("else.where", PRIVATE["A"]).verifier_key, PRIVATE["A"])
    assert told(verify(table.file(), trusted=[other]))[0] == "BAD_SIGNATURE"


def test_the_good_successor_vouches_for_what_a_stolen_key_signed(table: Table) -> None:
    """What is exported after the revocation is signed by the successor, for the whole period."""
    held = key_list(listed("A", revoked=end_us(table)), listed("B"))
    signer = OriginSigner([PRIVATE["A"], PRIVATE["B"]], held)
    note = ledgers.head(table.records, len(table.records), signer=signer)
    report = verify(file.dump(table.records, [note], signer.verifier_keys), trusted=[held])
    assert told(report)[:2] == ("VALID", True)


def test_a_receipt_of_a_stolen_key_covers_what_it_covers(table: Table) -> None:
    held = key_list(listed("A", revoked=end_us(table) + 1), listed("B"))
    receipt, last = (ledgers.head(table.records, count, signer=A) for count in (5, len(table.records)))
    report = verify(file.dump(table.records, [last], [A.verifier_key]), trusted=[held], receipts=[receipt])
    assert told(report)[:2] == ("VALID", False)
    assert "the first 5 records are vouched for otherwise" in report.unchecked[0]


def test_a_match_that_spans_a_rotation(table: Table) -> None:
    """The list proves all of it; the old key alone as much as it signed, and it says where that ends."""
    middle = SignedHead.parse(ledgers.head(table.records, 9)).head.time_us
    held = key_list(listed("A", None, middle + 1), listed("B", middle + 1))
    signer = OriginSigner([PRIVATE["A"], PRIVATE["B"]], held)
    notes = ledgers.heads(table.records, 4, 9, signer=signer)
    data = file.dump(table.records, notes, signer.verifier_keys)
    assert told(verify(data, trusted=[held]))[:2] == ("VALID", True)
    old = verify(data, trusted=[A.verifier_key])
    assert told(old)[:2] == ("BAD_SIGNATURE", False)
    assert (old.finding.seq, old.last_good.seq) == (9, 8)
    assert f"the trusted key {A.verifier_key.hash.hex()} vouches for the first 9 records" in old.finding.message
    assert told(verify(data))[:2] == ("VALID", False)
    wrong = key_list(listed("A", None, middle), listed("B", middle))
    assert "had expired" in verify(data, trusted=[wrong]).summary


def test_a_receipt_of_the_old_key_vouches_for_what_another_key_signed_again(table: Table) -> None:
    last = len(table.records)
    data = file.dump(table.records, [ledgers.head(table.records, last, signer=B)], [B.verifier_key])
    receipt = ledgers.head(table.records, last, signer=A)
    assert told(verify(data, trusted=[A.verifier_key], receipts=[receipt]))[:2] == ("VALID", True)


def test_two_histories_of_a_stolen_key_may_be_the_thiefs(table: Table) -> None:
    held = key_list(listed("A", revoked=end_us(table) + 1), listed("B"))
    head = SignedHead.parse(ledgers.head(table.records, 5, signer=A)).head
    forged = A.sign(head.match_id, 5, HASH, head.time_us)
    report = verify_records(table.records, [forged, ledgers.head(table.records, 5, signer=B)], trusted=[held])
    assert told(report)[0] == "EQUIVOCATION"
    assert "its thief" in report.summary


def test_of_two_lists_of_an_origin_the_newer_counts(table: Table) -> None:
    old = key_list(listed("A"), number=1)
    new = key_list(listed("A", revoked=0), listed("B"), number=2)
    note = ledgers.head(table.records, len(table.records), signer=BY_NAME["A"])
    for order in ([old, new], [new, old]):
        report = verify(file.dump(table.records, [note], [A.verifier_key]), trusted=order)
        assert told(report)[0] == "BAD_SIGNATURE"
