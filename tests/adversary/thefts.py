"""Keys that were stolen, and thefts that are only claimed: what a revocation proves, and what it disowns.

The server signs with one key, publishes the next ahead, and one day says in its key list that the first is stolen
since some time. The list may be true or a lie: nobody can tell.
"""

from __future__ import annotations

from adversary.attacks import Limit
from adversary.attempts import Evidence, Strength, ledger, story
from adversary.scenes import Scene
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.key_list import KeyList, ListedKey, Reason, SignedKeyList
from support.forging import Liar, chain, editing, sign_heads
from support.ledgers import KEYS, SIGNER, private_key

GAMES = ("base", "nifty", "forces", "piece")
HEADS = "heads"
DAY = 86_400_000_000
#: The next key of the origin. It was published before anything happened.
NEXT = HeadSigner(SIGNER.origin, private_key("next"))
DISOWNED = "only a receipt that was kept from before proves anything"


def _time(where: Scene, count: int) -> int:
    """That of the last of the first `count` records, and of the head over them."""
    return where.body(count - 1).time_us


def _end(where: Scene) -> int:
    return _time(where, len(where.table.records))


def stolen(where: Scene, since_us: int) -> SignedKeyList:
    """The list that says so, published a day after the match: the next key takes over."""
    entries = (ListedKey(SIGNER.verifier_key, None, None, since_us, Reason.COMPROMISED), ListedKey(NEXT.verifier_key))
    return SignedKeyList.sign(KeyList(SIGNER.origin, 3, _end(where) + DAY, entries), [private_key("next")])


def _other_history(where: Scene, signer: HeadSigner) -> bytes:
    """From the middle on the table aborted, instead of what was played."""
    liar = Liar.after(where.table, where.command())
    liar.abort()
    return ledger(where, liar.records, sign_heads(liar.records, signer=signer), [signer.verifier_key])


# -- the match was honest, and the server wants to be rid of it ------------------------------------


@story("claim-theft", Strength.SERVER, *GAMES, limit=Limit.CLAIMED_THEFT)
def in_the_middle_of_the_match(where: Scene) -> Evidence:
    data = ledger(where, where.records(), where.table.heads())
    since = _time(where, where.command() + 1)
    return Evidence(data, "BAD_SIGNATURE", HEADS, trusted=[stolen(where, since)], honest=True)


@story("claim-theft", Strength.RECEIPT, *GAMES, limit=Limit.CLAIMED_THEFT)
def before_the_match(where: Scene) -> Evidence:
    """Then even what everybody kept proves nothing."""
    data, kept = ledger(where, where.records(), where.table.heads()), where.table.heads(4)
    trusted = [stolen(where, _time(where, 1))]
    return Evidence(data, "BAD_SIGNATURE", HEADS, trusted=trusted, receipts=kept, honest=True)


@story("claim-theft", Strength.SERVER, *GAMES)
def after_the_match(where: Scene) -> Evidence:
    """The ledger stays valid; that nobody vouches for it any more is said."""
    data = ledger(where, where.records(), where.table.heads())
    return Evidence(data, "VALID", trusted=[stolen(where, _end(where) + 1)], noted=DISOWNED, honest=True)


@story("claim-theft", Strength.RECEIPT, *GAMES)
def after_a_head_that_somebody_kept(where: Scene) -> Evidence:
    """To whoever kept it the last head proves what it always did."""
    data = ledger(where, where.records(), where.table.heads())
    kept = where.table.heads()[-1:]
    trusted = [stolen(where, _end(where) + 1)]
    return Evidence(data, "VALID", trusted=trusted, receipts=kept, authenticated=True, honest=True)


@story("claim-theft", Strength.SERVER, *GAMES)
def to_those_who_have_no_list(where: Scene) -> Evidence:
    """A bare key has no end: whoever pinned it and hears of no list goes on trusting it."""
    data = ledger(where, where.records(), where.table.heads())
    return Evidence(data, "VALID", trusted=KEYS, authenticated=True, honest=True)


# -- the server tells another history, and disowns the first one -----------------------------------


@story("disown-history", Strength.RECEIPT, *GAMES)
def of_which_somebody_kept_a_head_from_before(where: Scene) -> Evidence:
    """Both are signed with keys of the origin, and the claimed theft came later than the head."""
    seq = where.command()
    data, kept = _other_history(where, NEXT), where.table.heads(seq + 1)[:1]
    trusted = [stolen(where, _time(where, seq + 1) + 1)]
    return Evidence(data, "EQUIVOCATION", HEADS, seq, trusted=trusted, receipts=kept)


@story("disown-history", Strength.RECEIPT, *GAMES, limit=Limit.CLAIMED_THEFT)
def of_which_somebody_kept_a_head_from_after(where: Scene) -> Evidence:
    """What is refused is the head that somebody kept, not the history that was made up."""
    seq = where.command()
    data, kept = _other_history(where, NEXT), where.table.heads(seq + 1)[:1]
    trusted = [stolen(where, _time(where, 1))]
    return Evidence(data, "BAD_SIGNATURE", HEADS, trusted=trusted, receipts=kept, honest=True)


@story("disown-history", Strength.SERVER, *GAMES, limit=Limit.UNSEEN_HEADS)
def of_which_nobody_kept_a_head(where: Scene) -> Evidence:
    trusted = [stolen(where, _time(where, where.command() + 1))]
    return Evidence(_other_history(where, NEXT), "VALID", trusted=trusted, authenticated=True)


# -- a thief ---------------------------------------------------------------------------------------


@story("sign-with-stolen-key", Strength.SERVER, *GAMES)
def after_the_theft(where: Scene) -> Evidence:
    trusted = [stolen(where, _time(where, 2))]
    return Evidence(_other_history(where, SIGNER), "BAD_SIGNATURE", HEADS, trusted=trusted)


@story("sign-with-stolen-key", Strength.SERVER, *GAMES)
def with_times_before_the_theft(where: Scene) -> Evidence:
    """Nothing in it is wrong. The report says that the thief can have made it."""
    trusted = [stolen(where, _end(where) + 1)]
    return Evidence(_other_history(where, SIGNER), "VALID", trusted=trusted, noted=DISOWNED)


@story("sign-with-stolen-key", Strength.RECEIPT, *GAMES)
def against_a_head_that_somebody_kept(where: Scene) -> Evidence:
    seq = where.command()
    trusted, kept = [stolen(where, _end(where) + 1)], where.table.heads(seq + 1)[:1]
    return Evidence(_other_history(where, SIGNER), "EQUIVOCATION", HEADS, seq, trusted=trusted, receipts=kept)


@story("sign-with-stolen-key", Strength.SERVER, *GAMES, limit=Limit.UNSEEN_HEADS)
def for_those_who_have_not_heard_of_it(where: Scene) -> Evidence:
    """A theft that is in no list is nothing that a verifier could know: the thief is the server."""
    return Evidence(_other_history(where, SIGNER), "VALID", authenticated=True)


@story("sign-with-stolen-key", Strength.SERVER, *GAMES)
def beside_the_good_key(where: Scene) -> Evidence:
    """The honest ledger under the next key, with a head of the thief over an earlier record slipped in."""
    records = where.records()
    with editing(records[5]) as body:
        body.time_us += 1
    (thiefs,) = sign_heads(chain(records)[:6])
    heads = [thiefs, *sign_heads(where.records(), signer=NEXT)]
    data = ledger(where, where.records(), heads, [KEYS[0], NEXT.verifier_key])
    return Evidence(data, "BAD_SIGNATURE", HEADS, trusted=[stolen(where, _time(where, 2))])
