"""What every verdict has, and the sentences that several of them share."""

from __future__ import annotations

from dataclasses import dataclass


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


FRESH = "Ask the server for a fresh export of the match and verify that one; then compare the two (sixledger compare)."
KEEP = "Keep this file and this report as they are: together they are the evidence."
KEY = "Get the server's verifier key from its operator by a way that you trust, and make this report again with --key."

SIGNED = (
    "These records are exactly the ones that the server signed, so whoever holds the server's key wrote them like this."
)
STOLEN = (
    "The records are signed with a key of the server that was stolen, as the server says: whoever has that key wrote "
    "them like this, be it the server or the thief."
)
SELF = (
    "The records are signed, but with a key that nobody you trust has vouched for: whoever made this file wrote them "
    "like this, be it the server or somebody else."
)
