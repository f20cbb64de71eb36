"""All attempts with what came of them, and the table that is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from adversary import (
    contributions,
    deals,
    files,
    heads,
    records,
    results,
    rulesets,
    seals,
    signatures,
    tables,
    thefts,
    timers,
)
from adversary.attacks import ATTACKS, Attack, Limit
from adversary.attempts import ATTEMPTS, Attempt, Evidence, Strength, answer, judge
from adversary.live import LIVE
from adversary.scenes import scene, scenes

ROOT = Path(__file__).resolve().parents[2]
TRUST = ROOT / "docs" / "explanation" / "trust.md"
PAGE = ROOT / "docs" / "explanation" / "adversaries.md"
MODULES = (
    records,
    deals,
    contributions,
    signatures,
    seals,
    rulesets,
    timers,
    results,
    tables,
    heads,
    thefts,
    files,
)
#: Verdicts with which a ledger that is not complete, or not known to be forged, gets through.
GOOD = ("VALID", "INCOMPLETE")
_TOPICS = {
    "records": "Records",
    "deals": "Deals and seeds",
    "contributions": "Contributions",
    "signatures": "Signatures and keys",
    "seals": "Seals and openings",
    "rulesets": "Rules and options",
    "timers": "Timers, clocks and the table",
    "results": "Results",
    "tables": "Who sits where",
    "heads": "Signed heads",
    "thefts": "Stolen keys, and thefts that are claimed",
    "files": "The file",
    "beyond": "What nobody can see in a ledger",
}


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt: what the verifier must say, and what it says."""

    attempt: Attempt
    evidence: Evidence
    found: tuple[str, str, int | None]

    @property
    def expected(self) -> tuple[str, str, int | None]:
        """Verdict, layer and record that must be named."""
        return self.evidence.verdict, self.evidence.layer, self.evidence.seq

    @property
    def gap(self) -> str:
        """Why the attempt must not be shrugged off; empty: it is caught, named, or beyond any proof."""
        verdict = self.found[0]
        if self.found != self.expected:
            return f"expected {self.expected}, found {self.found}"
        if self.evidence.authenticated and not judge(self.evidence).signer_authenticated:
            return "no trusted key vouches for it"
        fails = (verdict in GOOD) == self.evidence.honest
        if self.attempt.limit is not None:
            if fails:
                return f"it fails ({verdict}), though it is said to be beyond proof"
            named = self.attempt.limit in known_limits()
            return "" if named else f"the threat model does not name {self.attempt.limit}"
        if self.evidence.noted:
            said = any(self.evidence.noted in words for words in judge(self.evidence).unchecked)
            return "" if said else "the report does not name it"
        return "" if fails else f"{verdict}: {'honest, and refused' if self.evidence.honest else 'nothing notices it'}"


@cache
def outcome(attempt: Attempt) -> Outcome:
    """Try an attempt. Once: the tests and the table share what came of it."""
    evidence = attempt.make()
    return Outcome(attempt, evidence, answer(evidence))


@cache
def known_limits() -> frozenset[str]:
    """The limits that the threat model has a heading for, with the anchor `limit-<name>`."""
    text = TRUST.read_text() if TRUST.exists() else ""
    return frozenset(re.findall(r"^#+ .*\{#limit-([a-z-]+)\}$", text, re.MULTILINE))


def gaps() -> Iterator[str]:
    """Everything that is not as it should be, in words."""
    for slug in ATTACKS:
        if not any(attempt.slug == slug for attempt in ATTEMPTS):
            yield f"{slug}: nobody forges it"
        if slug not in LIVE:
            yield f"{slug}: live.py does not say what a client does"
    for attempt in ATTEMPTS:
        if gap := outcome(attempt).gap:
            yield f"{attempt.id}: {gap}"


# -- the table -------------------------------------------------------------------------------------

#: Columns: what the adversary holds, and the strengths that are shown there.
COLUMNS: dict[str, tuple[Strength, ...]] = {
    "edited, re-chained": (Strength.EDIT, Strength.CHAINED),
    "signed with a key of its own": (Strength.OWN_KEY,),
    "signed by a lying server": (Strength.SERVER,),
    "a seat in league with it": (Strength.COLLUDING,),
    "somebody kept a head": (Strength.RECEIPT,),
}
Words = Callable[[str, str], str]


def _plain(words: str, limit: str) -> str:
    return f"not seen: {limit}" if limit else words


def cell(attack: Attack, strengths: Sequence[Strength], words: Words = _plain) -> str:
    """What the verifier finds, or why it cannot; empty: nobody tries it so."""
    mine = (attempt for attempt in ATTEMPTS if attempt.slug == attack.slug and attempt.strength in strengths)
    said: dict[str, None] = {}
    for attempt in mine:
        verdict, layer, _ = outcome(attempt).expected
        if attempt.limit is not None:
            said[words("", attempt.limit)] = None
        elif verdict not in GOOD:
            said[words("no ledger" if verdict == "UNUSABLE" else f"{layer}: {verdict}", "")] = None
        elif outcome(attempt).evidence.noted:
            said[words("valid, but named in the report", "")] = None
        else:
            said[words("still valid", "")] = None
    return "; ".join(said)


def rows(topic: str, words: Words = _plain) -> Iterator[list[str]]:
    """The rows of a topic: the attack, a cell per column, and what an honest client does."""
    for attack in ATTACKS.values():
        if attack.topic == topic:
            cells = [cell(attack, strengths, words) for strengths in COLUMNS.values()]
            yield [attack.title, *cells, LIVE.get(attack.slug, "")]


def topics() -> dict[str, str]:
    """Topics with their titles."""
    return _TOPICS


def _link(words: str, limit: str) -> str:
    return f"[not seen: {limit}](trust.md#limit-{limit})" if limit else words.replace("_", " ")


_PAGE = """# Adversaries

<!-- Generated: `make adversary ARGS=--update` writes it anew. -->

Every attack that the tests try, and who notices. The forgeries are real: chains are made anew, heads are signed with
the key that the adversary has, deals are dealt from the other seed, and a seat in league with the server signs what it
is asked to. There are {attacks} attacks in {variations} variations, on these matches:

{matches}

A cell says at which layer the [verifier](../spec/ledger.md#10-verifying) stops, and with which verdict; the tests also
pin the record that it names. An empty cell: nobody gains anything by trying it so. *Not seen* names the limit of the
[threat model](trust.md) under which the attack goes through. *Still valid*: the attack is on the standing of an honest
ledger, and fails. The last column is an honest client of ours in a seat, or
watching, while the match is played.

A second verifier in JavaScript, written from the specification alone, refuses the same files, but for those in which
only the rules or the readable copy tell: it runs and compares neither.

`make adversary` prints the same table from a fresh run. It fails if an attack goes through that the threat model does
not name.
"""


def _line(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in (each.replace("|", "\\|") for each in cells))


def page() -> str:
    """The page of the documentation."""
    matches = "\n".join(f"- {scene(name).title}" for name in scenes())
    lines = [_PAGE.format(attacks=len(ATTACKS), variations=len(ATTEMPTS), matches=matches)]
    for topic, title in topics().items():
        heading = ["Attack", *COLUMNS, "a client during play"]
        lines += [f"## {title}", "", _line(heading), "|" + "---|" * len(heading)]
        lines += [*map(_line, rows(topic, _link)), ""]
    lines += ["## Limits", "", "What no proof reaches, and what goes through under each:", ""]
    lines += ["| Limit | Attacks |", "|---|---|"]
    for limit in Limit:
        slugs = {attempt.slug for attempt in ATTEMPTS if attempt.limit is limit}
        under = [attack.title for slug, attack in ATTACKS.items() if slug in slugs]
        lines.append(_line([f"[{limit}](trust.md#limit-{limit})", "; ".join(under)]))
    return "\n".join(lines) + "\n"
