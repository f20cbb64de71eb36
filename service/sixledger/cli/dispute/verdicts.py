"""What a verdict means, for somebody who has never seen a ledger."""

from __future__ import annotations

from dataclasses import dataclass

from sixledger.v1 import replay_service_pb2 as pb

#: What each layer looks at, to say where a fault was found.
LAYERS = {
    "parse": "the form of the file",
    "chain": "the chain of fingerprints, which ties every record to the one before",
    "heads": "the signed heads, short statements with which the server vouches for the match so far",
    "openings": "the sealed parts (hands, hidden choices) and what opens them",
    "seeds": "the randomness of the deal, which was fixed before the first card was dealt",
    "rules": "the rules of the game, by making every move again",
    "clocks": "the times and time limits",
    "result": "the result",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict in words."""

    #: `good`, `unsure` or `bad`.
    tone: str
    #: One sentence, the first that is read.
    title: str
    #: What it means, a paragraph.
    meaning: str
    #: Who can have done it, and who cannot.
    answerable: str
    #: What to do now.
    advice: str


_FRESH = "Ask the server for a fresh export of the match and verify that one; then compare the two (sixledger compare)."
_KEEP = "Keep this file and this report as they are: together they are the evidence."
_KEY = "Get the server's verifier key from its operator by a way that you trust, and make this report again with --key."

_SIGNED = (
    "These records are exactly the ones that the server signed, so whoever holds the server's key wrote them like this."
)
_SELF = (
    "The records are signed, but with a key that nobody you trust has vouched for: whoever made this file wrote them "
    "like this, be it the server or somebody else."
)


def verdict(report: pb.VerifyReport) -> Verdict:
    """The verdict of a report in plain words."""
    layer, kind = report.finding.layer, report.verdict
    author = _SIGNED if report.signer_authenticated else _SELF
    if kind == pb.VERDICT_VALID:
        return _valid() if report.signer_authenticated else _unknown_signer()
    if kind == pb.VERDICT_INCOMPLETE:
        return _incomplete(report)
    if kind == pb.VERDICT_TAMPERED:
        return _tampered(layer, author)
    if kind == pb.VERDICT_BAD_SIGNATURE:
        return _head_signature() if layer == "heads" else _act_signature(author)
    if kind == pb.VERDICT_TRUNCATED:
        return _truncated(layer)
    return _BY_KIND[kind](author) if kind in _BY_KIND else _other(report)


def _valid() -> Verdict:
    return Verdict(
        "good",
        "Nothing is wrong: the match was played exactly as recorded.",
        "Every record was played again by the rules of the game. Every fingerprint, signature, sealed card and shuffle "
        "fits, and a key of the server that you trust vouches for all of it.",
        "Nobody has changed the record afterwards: that would have been found out here. What a player signed, that "
        "player did; where nobody signed you rely on the server (see who signed what).",
        "The recorded result stands. What a ledger cannot show is listed below.",
    )


def _unknown_signer() -> Verdict:
    return Verdict(
        "unsure",
        "Nothing is wrong inside this ledger, but nobody you trust vouches for it.",
        "Every record was played again by the rules, and everything fits together. But it is signed with a key that "
        "you do not trust yet, and anybody can make a flawless ledger with a key of his own.",
        "Whether this is the ledger of the match that was played, or one that somebody made up, is open.",
        _KEY,
    )


def _incomplete(report: pb.VerifyReport) -> Verdict:
    vouched = "" if report.signer_authenticated else " And the key that signed it is not one that you trust yet."
    return Verdict(
        "unsure",
        "Nothing is wrong so far, but not everything can be checked yet.",
        "What is open was checked and fits. Some of it is still sealed, or the match has not ended: while it runs, the "
        f"hands of others stay hidden even from whoever holds this file.{vouched}",
        "There is no sign that anybody has changed anything.",
        "Export the ledger again when the match, or the round in question, is over, and make this report again."
        + ("" if report.signer_authenticated else f" {_KEY}"),
    )


def _tampered(layer: str, author: str) -> Verdict:
    if layer == "heads":
        return Verdict(
            "bad",
            "This ledger is not the one that was signed: records were changed or replaced.",
            "The server vouched for the match as it went on, with signed heads. The records in this file are not the "
            "ones that a signed head vouches for. Somebody has rewritten them.",
            "Anybody who had the file can have rewritten it; no key is needed for that. It is no proof against the "
            "server.",
            f"{_FRESH} {_KEEP}",
        )
    if layer in ("rules", "openings"):
        return Verdict(
            "bad",
            "This ledger records something that cannot have happened.",
            "A record tells of an act that the match could not have led to, or hides its parts from other seats than "
            "the rules say.",
            author,
            f"{_KEEP} Confront whoever signed it.",
        )
    if layer == "parse":
        return Verdict(
            "bad",
            "This file was changed: its readable part does not say what its records say.",
            "A ledger file has, beside the records that count, a part for people to read. Here the two differ, or the "
            "form of the file is not the only one that a ledger can have.",
            "Anybody who had the file can have changed it. It is no proof against the server or a player.",
            f"{_FRESH} {_KEEP}",
        )
    return Verdict(
        "bad",
        "This ledger was changed after the match was played.",
        "Every record carries a fingerprint of itself and of the record before. At one record it does not fit: bytes "
        "were changed, or records were removed, added or put in another order.",
        "Anybody who had the file can have changed it, on purpose or by accident (a damaged copy looks the same). It "
        "is no proof against the server or a player.",
        f"{_FRESH} {_KEEP}",
    )


def _head_signature() -> Verdict:
    return Verdict(
        "bad",
        "This ledger is not signed by the server that you trust.",
        "The signature that should vouch for it is missing, does not fit, or was made with another key.",
        "Whoever made this file does not have the server's key; or the server has changed its key, or you were given a "
        "wrong one. As it stands, nobody vouches for these records.",
        f"Check the key with the operator of the server. {_FRESH}",
    )


def _act_signature(author: str) -> Verdict:
    return Verdict(
        "bad",
        "A move was put into a player's mouth: its signature is not the player's.",
        "Players sign what they do with keys of their own. The first bad record claims to be the act of a player and "
        "does not bear that player's signature.",
        f"The player did not make this move; nobody can be held to it. {author}",
        f"{_KEEP} Do not count the match from this record on.",
    )


def _truncated(layer: str) -> Verdict:
    if layer == "parse":
        return Verdict(
            "bad",
            "This file is not whole: its end is missing.",
            "It breaks off in the middle of a line. What is there was not judged as a whole.",
            "An interrupted download looks like this, and so does a file that somebody cut off.",
            _FRESH,
        )
    return Verdict(
        "bad",
        "The end of this ledger is missing.",
        "A signed head shows that the match went on beyond the last record in this file: the server vouched for more "
        "records than are here.",
        "Somebody has cut records off, or the file is simply an older export of a match that went on. If the server "
        "itself shows no more than this, it has gone back on what it signed.",
        f"{_FRESH} {_KEEP}",
    )


def _equivocation(author: str) -> Verdict:
    return Verdict(
        "bad",
        "The server told two different stories about this match. That is proven.",
        "Two heads, signed with the same key, vouch for two histories that cannot both be true.",
        "Nobody without the server's private key can have made both signatures: whoever holds that key is answerable. "
        "No player and nobody who passed the file on can have caused this.",
        f"{_KEEP} The two signed heads alone are proof, to anybody who knows the server's key.",
    )


def _bad_opening(author: str) -> Verdict:
    return Verdict(
        "bad",
        "Hidden cards are not shown as they were sealed.",
        "Hands and hidden choices are sealed when they are made, so that nobody can change them later. In this file "
        "something that should open such a seal does not fit it, is missing, or should not be there.",
        "The seals themselves are signed and fit. Whoever had the file can have changed or removed what opens them; if "
        "a fresh export shows the same, it is the server.",
        f"{_FRESH} {_KEEP}",
    )


def _seed_mismatch(author: str) -> Verdict:
    return Verdict(
        "bad",
        "The cards were not dealt as promised.",
        "The server committed to the randomness before the match. The recorded deal, or the secret that was revealed "
        "later, does not follow from that commitment and the players' contributions.",
        f"No player can cause this. {author}",
        f"{_KEEP} The deal from this record on does not count.",
    )


def _illegal_command(author: str) -> Verdict:
    return Verdict(
        "bad",
        "A move that the rules do not allow was accepted.",
        "The first bad record holds an act that was not possible at that moment: against the rules, out of turn, after "
        "its time, or given twice.",
        f"It is for the server to refuse such a move. {author}",
        f"{_KEEP} Do not count the match from this record on.",
    )


def _divergence(author: str) -> Verdict:
    return Verdict(
        "bad",
        "The recorded outcome of a move is not what the rules give.",
        "The move itself is in order, but what the record says came of it (cards, points, whose turn it is) is not "
        "what the rules give when the move is made again.",
        f"No player can cause this. {author}",
        f"{_KEEP} Do not count the match from this record on.",
    )


def _unknown_ruleset(author: str) -> Verdict:
    return Verdict(
        "unsure",
        "This program does not know the rules of this match.",
        "Fingerprints and signatures were checked as far as possible; the moves could not be made again.",
        "Nothing is said about anybody.",
        "Use a version of Sixledger that has these rules (`sixledger games` lists those of this one).",
    )


def _other(report: pb.VerifyReport) -> Verdict:
    return Verdict("bad", "Something is wrong with this ledger.", report.summary, "Who did it is open.", _FRESH)


_BY_KIND = {
    pb.VERDICT_EQUIVOCATION: _equivocation,
    pb.VERDICT_BAD_OPENING: _bad_opening,
    pb.VERDICT_SEED_MISMATCH: _seed_mismatch,
    pb.VERDICT_ILLEGAL_COMMAND: _illegal_command,
    pb.VERDICT_RULES_DIVERGENCE: _divergence,
    pb.VERDICT_UNKNOWN_RULESET: _unknown_ruleset,
}
