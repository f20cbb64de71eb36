"""Stolen keys in words: what a dispute report says of each theft, and who takes which list of revoked keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from adversary import thefts
from adversary.attempts import ATTEMPTS, Attempt
from adversary.scenes import scene
from adversary.suite import outcome
from sixledger.cli.dispute.case import open_case
from sixledger.cli.dispute.facts import facts
from sixledger.cli.failures import Failure
from sixledger.cli.keys import read_trusts
from sixledger.cli.receipts import Receipts
from sixledger.client import TrustStore, errors
from sixledger.ledger.heads import SignedHead
from sixledger.ledger.key_list import KeyList, ListedKey, Reason, SignedKeyList
from support.ledgers import KEYS, OTHER_SIGNER, SIGNER, private_key

#: By the name of the variation: words of the title, and words of who can have done it.
SAID = {
    "in_the_middle_of_the_match": ("This ledger is signed with a key that had been stolen", "only claims the theft"),
    "before_the_match": ("This ledger", "only claims the theft"),
    "after_the_match": ("Nothing is wrong inside this ledger, but the key", "is open"),
    "after_a_head_that_somebody_kept": ("Nothing is wrong: ", "Nobody has changed the record"),
    "to_those_who_have_no_list": ("Nothing is wrong: ", "Nobody has changed the record"),
    "of_which_somebody_kept_a_head_from_before": ("Two different stories", "the server itself or"),
    "of_which_somebody_kept_a_head_from_after": ("A signed head that was given", "only claims the theft"),
    "of_which_nobody_kept_a_head": ("Nothing is wrong: ", "Nobody has changed the record"),
    "after_the_theft": ("This ledger is signed with a key that had been stolen", "the thief"),
    "with_times_before_the_theft": ("Nothing is wrong inside this ledger, but the key", "the thief"),
    "against_a_head_that_somebody_kept": ("Two different stories", "the thief"),
    "for_those_who_have_not_heard_of_it": ("Nothing is wrong: ", "Nobody has changed the record"),
    "beside_the_good_key": ("had been stolen", "the thief"),
}
VARIATIONS = [each for each in ATTEMPTS if each.module == "thefts" and each.scene == "base"]


@pytest.mark.parametrize("attempt", VARIATIONS, ids=lambda attempt: attempt.name)
def test_a_dispute_report_names_server_and_thief(attempt: Attempt, tmp_path: Path) -> None:
    evidence = outcome(attempt).evidence
    path = tmp_path / "match.ledger.jsonl"
    path.write_bytes(evidence.data)
    kept = [SignedHead.parse(note) for note in evidence.receipts]
    case = open_case(path, evidence.trusted, Receipts({kept[0].head.match_id: kept} if kept else {}))
    words = facts(case, [])["verdict"]
    title, answerable = SAID[attempt.name]
    assert words["name"] == evidence.verdict
    assert title in words["title"]
    assert answerable in words["answerable"]
    # Nothing that only holders of the server's keys can have done is blamed on anybody who had the file.
    assert "Anybody" not in words["answerable"]


def test_every_theft_is_said_in_words() -> None:
    assert SAID.keys() == {attempt.name for attempt in VARIATIONS}


def test_a_revocation_by_a_stranger_revokes_nothing(tmp_path: Path) -> None:
    """Somebody without a key of the origin lists its key as stolen, and his own as the next."""
    gone = ListedKey(SIGNER.verifier_key, None, None, 0, Reason.COMPROMISED)
    content = KeyList(SIGNER.origin, 9, thefts.DAY, (gone, ListedKey(OTHER_SIGNER.verifier_key)))
    forged = SignedKeyList.sign(content, [private_key("another")])
    path = tmp_path / "forged.keys"
    path.write_text(forged.note)
    with pytest.raises(Failure):
        read_trusts([str(KEYS[0]), str(path)])
    store = TrustStore(keys=[KEYS[0]])
    with pytest.raises(errors.OriginChanged):
        store.follow(forged, "here:1", 2 * thefts.DAY)
    assert store.trusted(SIGNER.origin) == KEYS[0]


def test_who_knew_the_next_key_follows_a_claim_and_who_did_not_stops() -> None:
    where = scene("base")
    claim = thefts.stolen(where, where.body(0).time_us)
    now = claim.content.time_us + thefts.DAY
    ahead = KeyList(SIGNER.origin, 2, 0, (ListedKey(SIGNER.verifier_key), ListedKey(thefts.NEXT.verifier_key)))
    knowing, ignorant = TrustStore(), TrustStore(keys=[KEYS[0]])
    knowing.follow(SignedKeyList.sign(ahead, [private_key("origin"), private_key("next")]), "here:1", now)
    knowing.follow(claim, "here:1", now)
    assert knowing.trusted(SIGNER.origin) == claim
    with pytest.raises(errors.ServerCheated):
        ignorant.follow(claim, "here:1", now)
    assert ignorant.trusted(SIGNER.origin) == KEYS[0]
