"""Signed heads that say too much, too little, or two things."""

from __future__ import annotations

import base64

from adversary.attacks import Limit
from adversary.attempts import Evidence, Strength, ledger, story
from adversary.scenes import Scene
from sixledger.ledger import hashing
from sixledger.ledger.heads import HeadSigner
from support.forging import Liar, chain, editing, sign_heads
from support.ledgers import KEYS, OTHER_SIGNER, SIGNER, Table, head, private_key

GAMES = ("base", "nifty", "forces", "piece")
HEADS = "heads"
#: Another origin, with a key of its own.
STRANGER = HeadSigner("elsewhere.example", private_key("elsewhere"))


def _count(where: Scene) -> int:
    return len(where.table.records)


def _fork(where: Scene) -> tuple[int, Liar]:
    """Another history from the middle on, properly made: the table aborted."""
    seq = where.command()
    liar = Liar.after(where.table, seq)
    liar.abort()
    return seq, liar


@story("two-histories", Strength.SERVER, *GAMES)
def each_seat_has_its_own(where: Scene) -> Evidence:
    """Both are valid by themselves. The head of one beside the file of the other proves that one signer told both."""
    seq, liar = _fork(where)
    other = sign_heads(liar.records)[-1]
    data = ledger(where, where.records(), where.table.heads(seq))
    return Evidence(data, "EQUIVOCATION", HEADS, seq, receipts=[other])


@story("two-histories", Strength.SERVER, *GAMES, limit=Limit.UNSEEN_HEADS)
def nobody_compares(where: Scene) -> Evidence:
    _, liar = _fork(where)
    return Evidence(ledger(where, liar.records, sign_heads(liar.records)), "VALID")


@story("two-heads", Strength.SERVER, *GAMES)
def in_one_file(where: Scene) -> Evidence:
    seq, liar = _fork(where)
    heads = [head(liar.records, seq + 1), *where.table.heads(seq + 1)]
    return Evidence(ledger(where, where.records(), heads), "EQUIVOCATION", HEADS, seq)


@story("two-heads", Strength.RECEIPT, *GAMES)
def one_in_the_file_and_one_kept(where: Scene) -> Evidence:
    seq, liar = _fork(where)
    data = ledger(where, where.records(), where.table.heads(seq + 1))
    return Evidence(data, "EQUIVOCATION", HEADS, seq, receipts=[head(liar.records, seq + 1)])


@story("rechain-new-key", Strength.OWN_KEY, *GAMES)
def another_key_of_the_same_name(where: Scene) -> Evidence:
    """Every record as it was, or not: the name is the server's, the key is not."""
    records = where.records()
    with editing(records[-1]) as body:
        body.time_us += 1
    records = chain(records)
    data = ledger(where, records, sign_heads(records, signer=OTHER_SIGNER), [OTHER_SIGNER.verifier_key])
    return Evidence(data, "BAD_SIGNATURE", HEADS)


@story("rechain-new-key", Strength.OWN_KEY, "unsigned", limit=Limit.UNPINNED_KEY)
def where_nobody_knows_the_key(where: Scene) -> Evidence:
    """The report says that the signer is unauthenticated."""
    records = where.records()
    data = ledger(where, records, sign_heads(records, signer=OTHER_SIGNER), [OTHER_SIGNER.verifier_key])
    return Evidence(data, "VALID", trusted=())


@story("head-longer", Strength.SERVER, *GAMES)
def five_records_too_many(where: Scene) -> Evidence:
    last = where.table.match
    note = SIGNER.sign(last.match_id, _count(where) + 5, last.hash, last.time_us)
    return Evidence(ledger(where, where.records(), [*where.table.heads(), note]), "TRUNCATED", HEADS, _count(where))


@story("head-other-time", Strength.SERVER, *GAMES)
def a_second_later(where: Scene) -> Evidence:
    last = where.table.match
    note = SIGNER.sign(last.match_id, _count(where), last.hash, last.time_us + 1_000_000)
    return Evidence(ledger(where, where.records(), [head(where.table.records, 4), note]), "TAMPERED", HEADS, 4)


@story("head-other-time", Strength.RECEIPT, *GAMES)
def two_times_for_one_record(where: Scene) -> Evidence:
    last = where.table.match
    note = SIGNER.sign(last.match_id, _count(where), last.hash, last.time_us + 1_000_000)
    data = ledger(where, where.records(), where.table.heads())
    return Evidence(data, "EQUIVOCATION", HEADS, _count(where) - 1, receipts=[note])


@story("head-other-match", Strength.SERVER, *GAMES)
def of_another_match(where: Scene) -> Evidence:
    other = Table(name="another match").play(3)
    heads = [head(other.records, 4), *where.table.heads()]
    return Evidence(ledger(where, where.records(), heads), "TAMPERED", HEADS)


@story("head-other-origin", Strength.OWN_KEY, *GAMES)
def of_a_server_that_is_not_trusted(where: Scene) -> Evidence:
    heads = sign_heads(where.records(), signer=STRANGER)
    return Evidence(ledger(where, where.records(), heads, [STRANGER.verifier_key]), "BAD_SIGNATURE", HEADS)


@story("head-other-origin", Strength.OWN_KEY, "base", "piece")
def beside_those_of_the_server(where: Scene) -> Evidence:
    """A file is of one origin."""
    heads = [*sign_heads(where.records()[:4], signer=STRANGER), *where.table.heads()]
    data = ledger(where, where.records(), heads, [KEYS[0], STRANGER.verifier_key])
    return Evidence(data, "TAMPERED", HEADS)


@story("heads-descending", Strength.EDIT, *GAMES)
def the_later_one_first(where: Scene) -> Evidence:
    heads = where.table.heads(4, 6)
    heads[0], heads[1] = heads[1], heads[0]
    return Evidence(ledger(where, where.records(), heads), "TAMPERED", HEADS)


@story("heads-descending", Strength.EDIT, *GAMES)
def one_of_them_twice(where: Scene) -> Evidence:
    heads = where.table.heads(4)
    return Evidence(ledger(where, where.records(), [heads[0], *heads]), "TAMPERED", HEADS)


@story("no-head", Strength.EDIT, *GAMES)
def none_at_all(where: Scene) -> Evidence:
    return Evidence(ledger(where, where.records(), []), "TRUNCATED", HEADS, _count(where))


@story("head-by-other-key", Strength.OWN_KEY, *GAMES)
def a_key_slipped_in(where: Scene) -> Evidence:
    """It fits the records, and would make the key look like one of the server's: the report says that it is not."""
    heads = [*sign_heads(where.records()[:4], signer=OTHER_SIGNER), *where.table.heads()]
    data = ledger(where, where.records(), heads, [KEYS[0], OTHER_SIGNER.verifier_key])
    return Evidence(data, "VALID", noted="which is no trusted key")


@story("frame-server", Strength.OWN_KEY, *GAMES)
def a_head_of_another_history_by_another_key(where: Scene) -> Evidence:
    """Not the server has told two stories: the verifier must not say so."""
    _, liar = _fork(where)
    heads = [*sign_heads(liar.records, signer=OTHER_SIGNER), *where.table.heads()]
    data = ledger(where, where.records(), heads, [KEYS[0], OTHER_SIGNER.verifier_key])
    return Evidence(data, "BAD_SIGNATURE", HEADS)


@story("frame-server", Strength.OWN_KEY, *GAMES)
def a_receipt_by_another_key(where: Scene) -> Evidence:
    seq, liar = _fork(where)
    data = ledger(where, where.records(), where.table.heads(seq))
    return Evidence(data, "BAD_SIGNATURE", HEADS, receipts=sign_heads(liar.records, signer=OTHER_SIGNER))


@story("frame-server", Strength.EDIT, *GAMES)
def a_changed_receipt(where: Scene) -> Evidence:
    """The note of the server, with another hash in it."""
    true = where.table.heads(6)[0]
    hashed = base64.b64encode(where.table.records[5].hash).decode()
    false = base64.b64encode(hashing.sha256(b"another history")).decode()
    data = ledger(where, where.records(), where.table.heads())
    return Evidence(data, "BAD_SIGNATURE", HEADS, receipts=[true.replace(hashed, false)])
