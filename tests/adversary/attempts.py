"""How attacks are tried: what the adversary holds, what it hands over, and what the verifier must answer.

`lie` is for an attack that changes the records; it is then tried by everybody who can: with the file alone, with a
chain made anew, with a key of the adversary's own, with the server's key, and against the signed head that an
honest player kept. `story` is for an attack that hands over something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from adversary.attacks import ATTACKS, Limit
from adversary.scenes import Scene, scene
from sixledger.ledger import viewers
from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import Trust
from sixledger.ledger.verify import verify
from sixledger.v1 import record_pb2
from sixledger.v1.replay_service_pb2 import Verdict, VerifyReport
from support.forging import chain, sign_heads, write
from support.ledgers import KEYS, OTHER_SIGNER

Records = list[record_pb2.Record]


class Strength(Enum):
    """What the adversary holds; the value is for people."""

    EDIT = "the file"
    CHAINED = "the file, re-chained"
    OWN_KEY = "a key of its own"
    SERVER = "the server's key"
    COLLUDING = "the server's and a seat's key"
    RECEIPT = "the server's key, but somebody kept a head"


@dataclass(frozen=True)
class Evidence:
    """What is handed to a verifier, and what it must say."""

    data: bytes = field(repr=False)
    verdict: str
    layer: str = ""
    #: The record that must be named; None: none is.
    seq: int | None = None
    receipts: Sequence[str] = ()
    trusted: Sequence[Trust] = KEYS
    #: Words of what the report names, where the ledger is good in spite of the attack.
    noted: str = ""
    #: True if what is shown is honest, and the attack is on its standing: it has won if it is refused.
    honest: bool = False
    #: True if the report must say that a trusted key vouches for all of it.
    authenticated: bool = False


@dataclass(frozen=True)
class Attempt:
    """One way to try an attack on one scene."""

    slug: str
    strength: Strength
    scene: str
    make: Callable[[], Evidence] = field(repr=False)
    #: Why the verifier cannot see it; then the verdict is VALID or INCOMPLETE.
    limit: Limit | None = None
    #: Tells attempts apart that are the same in all else: what exactly is done.
    name: str = ""
    #: The module that forges it.
    module: str = ""

    @property
    def id(self) -> str:
        """For pytest."""
        return f"{self.slug}-{self.strength.name.lower()}-{self.scene}-{self.name}"


ATTEMPTS: list[Attempt] = []


@dataclass(frozen=True)
class Told:
    """What a lie changed, and how a lying server is caught that re-chains and re-signs it."""

    #: The first record that differs.
    seq: int
    verdict: str = ""
    layer: str = ""
    #: The record that is named; None: `seq`.
    found: int | None = None


def judge(evidence: Evidence) -> VerifyReport:
    """The report on the evidence. Raises UnusableInput."""
    return verify(evidence.data, trusted=evidence.trusted, receipts=evidence.receipts)


def answer(evidence: Evidence) -> tuple[str, str, int | None]:
    """Verdict, layer and record that a verifier names."""
    try:
        report = judge(evidence)
    except UnusableInput:
        return "UNUSABLE", "parse", None
    seq = report.finding.seq if report.finding.HasField("seq") else None
    return Verdict.Name(report.verdict).removeprefix("VERDICT_"), report.finding.layer, seq


def ledger(where: Scene, records: Records, heads: Sequence[str], keys: Sequence[VerifierKey] = KEYS) -> bytes:
    """The file of records that may be anything, redacted for the viewer of the scene."""
    if where.viewer is not None:
        revealed = viewers.revealed_epoch(record_pb2.Body.FromString(record.body) for record in records)
        records = viewers.redact_all(records, where.viewer, revealed)
    return write(records, heads, keys, where.table.game, viewer=where.viewer)


def signed(where: Scene, records: Records, verdict: str, layer: str = "", seq: int | None = None) -> Evidence:
    """Records that the server signs as they are."""
    return Evidence(ledger(where, records, sign_heads(records)), verdict, layer, seq)


def story(
    slug: str, strength: Strength, *scenes: str, limit: Limit | None = None
) -> Callable[[Callable[[Scene], Evidence]], Callable[[Scene], Evidence]]:
    """Register a function that makes the evidence of an attack."""
    assert slug in ATTACKS, slug

    def register(make: Callable[[Scene], Evidence]) -> Callable[[Scene], Evidence]:
        ATTEMPTS.extend(
            Attempt(slug, strength, name, _lazily(make, name), limit, make.__name__, _module(make))
            for name in scenes or ("base",)
        )
        return make

    return register


def _module(function: Callable[..., Any]) -> str:
    return function.__module__.rpartition(".")[2]


def _lazily(make: Callable[[Scene], Evidence], name: str) -> Callable[[], Evidence]:
    return lambda: make(scene(name))


Change = Callable[[Scene, Records], "Told | int"]


def lie(
    slug: str,
    verdict: str,
    layer: str,
    *scenes: str,
    strength: Strength = Strength.SERVER,
    renumber: bool = True,
    commit: bool = True,
    edited: tuple[str, str] | None = None,
    early: bool = False,
) -> Callable[[Change], Change]:
    """Register a function that changes records in place, and returns the number of the first bad one.

    `verdict` and `layer` are those with which the server itself is caught. `renumber` and `commit`: as for
    `forging.chain`. `edited`: verdict and layer of the mere edit, where nothing differs that is hashed. `early`: the
    verifier sees it before it looks at heads.
    """
    assert slug in ATTACKS, slug

    def register(change: Change) -> Change:
        def told(where: Scene) -> tuple[Records, Told]:
            records = where.records()
            result = change(where, records)
            return records, result if isinstance(result, Told) else Told(result)

        def anew(records: Records) -> Records:
            return chain(records, renumber=renumber, commit=commit)

        def edit(where: Scene) -> Evidence:
            records, what = told(where)
            heads = where.table.heads()
            return Evidence(ledger(where, records, heads), *(edited or _edited(where, records, what.seq)), what.seq)

        def chained(where: Scene) -> Evidence:
            records, what = told(where)
            records = anew(records)
            heads = where.table.heads(*([what.seq] if what.seq else []))
            data = ledger(where, records, heads)
            if early:
                return Evidence(data, verdict, layer, what.seq)
            if len(records) < len(where.table.records):
                return Evidence(data, "TRUNCATED", "heads", len(records))
            return Evidence(data, "TAMPERED", "heads", what.seq)

        def own_key(where: Scene) -> Evidence:
            records, what = told(where)
            records = anew(records)
            data = ledger(where, records, sign_heads(records, signer=OTHER_SIGNER), [OTHER_SIGNER.verifier_key])
            return Evidence(data, verdict, layer, what.seq) if early else Evidence(data, "BAD_SIGNATURE", "heads")

        def server(where: Scene) -> Evidence:
            records, what = told(where)
            seq = what.seq if what.found is None else what.found
            records = anew(records)
            data = ledger(where, records, sign_heads(records))
            return Evidence(data, what.verdict or verdict, what.layer or layer, seq)

        def receipt(where: Scene) -> Evidence:
            records, what = told(where)
            records = anew(records)
            kept = sign_heads(where.table.records[: what.seq + 1])[-1]
            data = ledger(where, records, sign_heads(records, what.seq))
            if early:
                return Evidence(data, verdict, layer, what.seq, receipts=[kept])
            if what.seq >= len(records):
                return Evidence(data, "TRUNCATED", "heads", what.seq, receipts=[kept])
            return Evidence(data, "EQUIVOCATION", "heads", what.seq, receipts=[kept])

        def attempt(how: Strength, name: str, make: Callable[[Scene], Evidence]) -> Attempt:
            return Attempt(slug, how, name, _lazily(make, name), None, change.__name__, _module(change))

        names = scenes or ("base",)
        ATTEMPTS.extend(attempt(strength, name, server) for name in names)
        if strength is Strength.SERVER:
            ATTEMPTS.append(attempt(Strength.EDIT, names[0], edit))
        if strength is Strength.SERVER and edited is None:
            others = {Strength.CHAINED: chained, Strength.OWN_KEY: own_key, Strength.RECEIPT: receipt}
            ATTEMPTS.extend(attempt(how, names[0], make) for how, make in others.items())
        return change

    return register


def _edited(where: Scene, records: Records, seq: int) -> tuple[str, str]:
    """How a mere edit is caught: by the chain, or where only an opening differs, by its seal."""

    def hashed(record: Any) -> Any:
        return record.body, record.hash, [(seal.audience, seal.epoch, seal.commitment) for seal in record.seals]

    honest = where.table.records
    if len(records) == len(honest) and hashed(records[seq]) == hashed(honest[seq]):
        return "BAD_OPENING", "openings"
    return "TAMPERED", "chain"
