"""Verdicts about signatures: of heads, of acts, and with keys that were stolen or out of their time."""

from __future__ import annotations

from sixledger.cli.dispute.standing import Standing
from sixledger.cli.dispute.wording import FRESH, KEEP, KEY, Verdict


def unknown_signer() -> Verdict:
    """No trusted key signed it."""
    return Verdict(
        "unsure",
        "Nothing is wrong inside this ledger, but nobody you trust vouches for it.",
        "Every record was played again by the rules, and everything fits together. But it is signed with a key that "
        "you do not trust yet, and anybody can make a flawless ledger with a key of his own.",
        "Whether this is the ledger of the match that was played, or one that somebody made up, is open.",
        KEY,
    )


def stolen_later() -> Verdict:
    """It is signed with a key that was stolen afterwards, as the server says."""
    return Verdict(
        "unsure",
        "Nothing is wrong inside this ledger, but the key that vouches for it was stolen later, as the server says.",
        "Every record was played again by the rules, and everything fits together. It is signed for a time before the "
        "theft; but whoever has the key can sign with any time.",
        "Whether this is the ledger of the match that was played, or one that the thief made up, is open.",
        f"Find somebody who kept a signed head of this match before the theft, and give it with --receipt. {FRESH}",
    )


def stolen_key(standing: Standing) -> Verdict:
    """A head is of a time at which its key had been stolen, as the server says."""
    if standing.receipt_refused:
        title = "A signed head that was given proves nothing: its key had been stolen by then, as the server says."
    else:
        title = "This ledger is signed with a key that had been stolen by then, as the server says."
    return Verdict(
        "bad",
        title,
        "The server has published a list of its keys. It says since when this key counts as stolen, and the signature "
        "is for a later time. What the key signs from then on proves nothing, whoever used it.",
        "Whoever has the key: the thief, or the server itself if it only claims the theft. Nobody can tell the one "
        "from the other, so it is no proof against the server or a player.",
        "Ask the operator how and when the theft was found out, and for a fresh export, which another key signs. Hold "
        "it against every signed head from before the theft that somebody kept (--receipt): those keep their worth. "
        f"{KEEP}",
    )


def key_out_of_time(standing: Standing) -> Verdict:
    """A head is of a time at which its key was not valid."""
    what = "A signed head that was given" if standing.receipt_refused else "This ledger"
    return Verdict(
        "bad",
        f"{what} is signed with a key of the server for a time at which that key was not valid.",
        "The server has published a list of its keys, which says from when to when each of them may sign. The "
        "signature is for another time.",
        "Whoever has the key: the server, or somebody who came by it before or after its time. As it stands, nobody "
        "vouches for these records.",
        f"Check the key list with the operator of the server. {FRESH}",
    )


def head_signature() -> Verdict:
    """A head is not signed by a trusted key."""
    return Verdict(
        "bad",
        "This ledger is not signed by the server that you trust.",
        "The signature that should vouch for it is missing, does not fit, or was made with another key.",
        "Whoever made this file does not have the server's key; or the server has changed its key, or you were given a "
        "wrong one. As it stands, nobody vouches for these records.",
        f"Check the key with the operator of the server. {FRESH}",
    )


def act_signature(author: str) -> Verdict:
    """An act does not bear the signature of its seat."""
    return Verdict(
        "bad",
        "A move was put into a player's mouth: its signature is not the player's.",
        "Players sign what they do with keys of their own. The first bad record claims to be the act of a player and "
        "does not bear that player's signature.",
        f"The player did not make this move; nobody can be held to it. {author}",
        f"{KEEP} Do not count the match from this record on.",
    )


def stale_signature(author: str) -> Verdict:
    """An act was signed at another moment."""
    return Verdict(
        "bad",
        "A move stands where its player did not make it.",
        "The signature is the player's and fits the move. But with a move a player also signs the last record that he "
        "or she had seen, and here that is none that could be seen last when this move was due.",
        f"The player signed this move, but not for this moment: it is for the server to refuse it. {author}",
        f"{KEEP} Do not count the match from this record on.",
    )


def equivocation(author: str) -> Verdict:
    """One signer vouches for two histories."""
    return Verdict(
        "bad",
        "The server told two different stories about this match. That is proven.",
        "Two heads, signed with the same key, vouch for two histories that cannot both be true.",
        "Nobody without the server's private key can have made both signatures: whoever holds that key is answerable. "
        "No player and nobody who passed the file on can have caused this.",
        f"{KEEP} The two signed heads alone are proof, to anybody who knows the server's key.",
    )


def equivocation_or_theft() -> Verdict:
    """Keys of the server vouch for two histories, and one of them was stolen, as it says."""
    return Verdict(
        "bad",
        "Two different stories about this match are signed with keys of the server, one of them stolen, as it says.",
        "Two signed heads vouch for two histories that cannot both be true. The list of keys that the server has "
        "published says that one of the keys was stolen later; whoever has it can sign with any time.",
        "Nobody without a private key of the server can have made the signatures: it was the server itself or, for the "
        "stolen key, the thief. No player and nobody who passed the file on can have caused this.",
        "What somebody kept before the theft, no thief can have put there: ask who kept which head, and since when. "
        f"{KEEP}",
    )
