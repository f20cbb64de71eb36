"""What a record should have said: for people, who want to see the two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixledger.engine.errors import EngineError
from sixledger.engine.registry import Registry
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.verify.rerun import CONFUSED, Rerun
from sixledger.ledger.verify.subject import Subject, check_chain, check_seeds
from sixledger.v1 import record_pb2


def recompute(records: Sequence[record_pb2.Record], seq: int, registry: Registry | None = None) -> list[Any]:
    """The events that the act of record `seq` leads to by the rules, concrete messages of the game.

    None come back if they cannot be computed: an earlier record is wrong, the act itself is impossible, or
    something that it depends on is sealed. So what comes back is open to everybody who has these records.
    """
    subject = Subject(records)
    try:
        check_chain(subject)
    except LedgerFault as fault:
        if fault.seq is None or fault.seq <= seq:
            return []  # later records only lack their reveals
    try:
        check_seeds(subject)
        assert subject.seeds is not None, "the layer has made it"
        before = Subject(records[:seq], registry=registry, bodies=subject.bodies[:seq], parts=subject.parts[:seq])
        before.seeds, before.revealed = subject.seeds, subject.revealed
        rerun = Rerun.of(before)
        rerun.run()
        if rerun.folded or not rerun.complete:
            return []
        return [event for event, _ in rerun.decide(records[seq], subject.bodies[seq]).events]
    except (LedgerFault, EngineError, *CONFUSED):
        return []
