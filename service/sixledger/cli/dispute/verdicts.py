"""What a verdict means, for somebody who has never seen a ledger."""

from __future__ import annotations

from sixledger.cli.dispute import signature_verdicts as signatures
from sixledger.cli.dispute.standing import Author, Standing
from sixledger.cli.dispute.wording import FRESH, KEEP, KEY, SELF, SIGNED, STOLEN, Verdict
from sixledger.ledger.acts import STALE
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


_AUTHORS = {Author.SERVER: SIGNED, Author.STOLEN: STOLEN}


def verdict(report: pb.VerifyReport, standing: Standing) -> Verdict:
    """The verdict of a report in plain words; `standing` is what the signatures say about it."""
    layer, kind = report.finding.layer, report.verdict
    author = _AUTHORS.get(standing.author, SELF)
    if kind == pb.VERDICT_VALID:
        if report.signer_authenticated:
            return _valid()
        return signatures.stolen_later() if standing.doubted else signatures.unknown_signer()
    if kind == pb.VERDICT_INCOMPLETE:
        return _incomplete(report, standing)
    if kind == pb.VERDICT_TAMPERED:
        if standing.malformed and standing.author is not Author.ANYBODY:
            return _malformed(author)
        return _tampered(layer, author)
    if kind == pb.VERDICT_BAD_SIGNATURE:
        if report.finding.message == STALE:
            return signatures.stale_signature(author)
        if standing.refused is not None:
            return (
                signatures.stolen_key(standing)
                if standing.refused.is_compromised
                else signatures.key_out_of_time(standing)
            )
        return signatures.head_signature() if layer == "heads" else signatures.act_signature(author)
    if kind == pb.VERDICT_TRUNCATED:
        return _truncated(layer)
    if kind == pb.VERDICT_EQUIVOCATION and standing.doubted:
        return signatures.equivocation_or_theft()
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


def _incomplete(report: pb.VerifyReport, standing: Standing) -> Verdict:
    vouched = "" if report.signer_authenticated else " And the key that signed it is not one that you trust yet."
    if vouched and standing.doubted:
        vouched = " And the key that signed it was stolen later, as the server says: the thief can have made this."
    return Verdict(
        "unsure",
        "Nothing is wrong so far, but not everything can be checked yet.",
        "What is open was checked and fits. Some of it is still sealed, or the match has not ended: while it runs, the "
        f"hands of others stay hidden even from whoever holds this file.{vouched}",
        "There is no sign that anybody has changed anything.",
        "Export the ledger again when the match, or the round in question, is over, and make this report again."
        + ("" if report.signer_authenticated or standing.doubted else f" {KEY}"),
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
            f"{FRESH} {KEEP}",
        )
    if layer not in ("chain", "parse"):  # the fingerprints fit: it was written like this
        return Verdict(
            "bad",
            "This ledger records something that cannot have happened.",
            "A record tells of an act that the match could not have led to, or hides its parts from other seats than "
            "the rules say.",
            author,
            f"{KEEP} Confront whoever signed it.",
        )
    if layer == "parse":
        return Verdict(
            "bad",
            "This file was changed: its readable part does not say what its records say.",
            "A ledger file has, beside the records that count, a part for people to read. Here the two differ, or the "
            "form of the file is not the only one that a ledger can have.",
            "Anybody who had the file can have changed it. It is no proof against the server or a player.",
            f"{FRESH} {KEEP}",
        )
    return Verdict(
        "bad",
        "This ledger was changed after the match was played.",
        "Every record carries a fingerprint of itself and of the record before. At one record it does not fit: bytes "
        "were changed, or records were removed, added or put in another order.",
        "Anybody who had the file can have changed it, on purpose or by accident (a damaged copy looks the same). It "
        "is no proof against the server or a player.",
        f"{FRESH} {KEEP}",
    )


def _malformed(author: str) -> Verdict:
    return Verdict(
        "bad",
        "This ledger was signed with a record in it that is none.",
        "A record does not have the form that every record must have, so that nothing after it can be followed. It was "
        "not changed afterwards: a signed head vouches for exactly these bytes.",
        author,
        f"{KEEP} Confront whoever signed it.",
    )


def _truncated(layer: str) -> Verdict:
    if layer == "parse":
        return Verdict(
            "bad",
            "This file is not whole: its end is missing.",
            "It breaks off in the middle of a line. What is there was not judged as a whole.",
            "An interrupted download looks like this, and so does a file that somebody cut off.",
            FRESH,
        )
    return Verdict(
        "bad",
        "The end of this ledger is missing.",
        "A signed head shows that the match went on beyond the last record in this file: the server vouched for more "
        "records than are here.",
        "Somebody has cut records off, or the file is simply an older export of a match that went on. If the server "
        "itself shows no more than this, it has gone back on what it signed.",
        f"{FRESH} {KEEP}",
    )


def _bad_opening(author: str) -> Verdict:
    return Verdict(
        "bad",
        "Hidden cards are not shown as they were sealed.",
        "Hands and hidden choices are sealed when they are made, so that nobody can change them later. In this file "
        "something that should open such a seal does not fit it, is missing, or should not be there.",
        "The seals themselves are signed and fit. Whoever had the file can have changed or removed what opens them; if "
        "a fresh export shows the same, it is the server.",
        f"{FRESH} {KEEP}",
    )


def _seed_mismatch(author: str) -> Verdict:
    return Verdict(
        "bad",
        "The cards were not dealt as promised.",
        "The server committed to the randomness before the match. The recorded deal, or the secret that was revealed "
        "later, does not follow from that commitment and the players' contributions.",
        f"No player can cause this. {author}",
        f"{KEEP} The deal from this record on does not count.",
    )


def _illegal_command(author: str) -> Verdict:
    return Verdict(
        "bad",
        "A move that the rules do not allow was accepted.",
        "The first bad record holds an act that was not possible at that moment: against the rules, out of turn, after "
        "its time, or given twice.",
        f"It is for the server to refuse such a move. {author}",
        f"{KEEP} Do not count the match from this record on.",
    )


def _divergence(author: str) -> Verdict:
    return Verdict(
        "bad",
        "The recorded outcome of a move is not what the rules give.",
        "The move itself is in order, but what the record says came of it (cards, points, whose turn it is) is not "
        "what the rules give when the move is made again.",
        f"No player can cause this. {author}",
        f"{KEEP} Do not count the match from this record on.",
    )


def _unknown_ruleset(author: str) -> Verdict:
    return Verdict(
        "unsure",
        "This program does not know the rules of this match.",
        "Fingerprints and signatures were checked as far as possible; the moves could not be made again.",
        "Nothing is said about anybody.",
        "Use a version of Sixledger that has these rules (sixledger rulesets lists those of this one).",
    )


def _other(report: pb.VerifyReport) -> Verdict:
    return Verdict("bad", "Something is wrong with this ledger.", report.summary, "Who did it is open.", FRESH)


_BY_KIND = {
    pb.VERDICT_EQUIVOCATION: signatures.equivocation,
    pb.VERDICT_BAD_OPENING: _bad_opening,
    pb.VERDICT_SEED_MISMATCH: _seed_mismatch,
    pb.VERDICT_ILLEGAL_COMMAND: _illegal_command,
    pb.VERDICT_RULES_DIVERGENCE: _divergence,
    pb.VERDICT_UNKNOWN_RULESET: _unknown_ruleset,
}
