"""What can be wrong with a ledger, and why an act is refused.

LedgerFault     a record is wrong; `verdict` and `layer` say how, in the verifier's terms
UnusableInput   the input is no ledger at all, so there is nothing to judge
Refused         an act is not accepted; nothing has changed
 ├── WrongPhase        the match is in another phase of its life
 │    ├── Paused       the match is paused
 │    └── TimerDue     a deadline has passed, and its timer has not fired
 ├── SeatTaken         the seat is taken
 ├── BadSignature      the seat signs its acts, and this one is not signed by its key
 ├── StaleDecision     the command answers another decision than the open one
 └── MalformedAct      a field of the act is out of its range
      └── ContributionMismatch   a contribution is not the one that its seat committed to
"""

from __future__ import annotations

from sixledger.v1 import replay_service_pb2

Verdict = replay_service_pb2.Verdict
BAD_OPENING = replay_service_pb2.VERDICT_BAD_OPENING
BAD_SIGNATURE = replay_service_pb2.VERDICT_BAD_SIGNATURE
EQUIVOCATION = replay_service_pb2.VERDICT_EQUIVOCATION
ILLEGAL_COMMAND = replay_service_pb2.VERDICT_ILLEGAL_COMMAND
RULES_DIVERGENCE = replay_service_pb2.VERDICT_RULES_DIVERGENCE
SEED_MISMATCH = replay_service_pb2.VERDICT_SEED_MISMATCH
TAMPERED = replay_service_pb2.VERDICT_TAMPERED
TRUNCATED = replay_service_pb2.VERDICT_TRUNCATED


class LedgerFault(Exception):
    """A record that must not be believed. The text holds no secret that is still sealed."""

    def __init__(self, verdict: Verdict.ValueType, layer: str, message: str) -> None:
        """`layer` is one of parse, chain, heads, openings, seeds, rules, clocks, result."""
        super().__init__(message)
        self.verdict = verdict
        self.layer = layer
        self.message = message
        #: Number of the record, if the fault is in one and the finder knows it.
        self.seq: int | None = None
        #: Line of the file, from 1; 0 if unknown.
        self.line = 0
        #: Differing fields: path, recorded, expected.
        self.differences: list[tuple[str, str, str]] = []


def tampered(layer: str, message: str) -> LedgerFault:
    """The commonest fault: bytes are not what they were."""
    return LedgerFault(TAMPERED, layer, message)


class UnusableInput(Exception):
    """The input is no ledger, or one of a format that this build does not read. The text says what to give instead."""


class Refused(Exception):
    """An act is not accepted. Nothing has changed."""


class WrongPhase(Refused):
    """The match is in another phase of its life: not started, already full, or over."""


class Paused(WrongPhase):
    """The match is paused: its owner can resume it."""


class TimerDue(WrongPhase):
    """A deadline has passed, and its timer has not fired: nothing else happens before it does."""


class SeatTaken(Refused):
    """The seat is taken."""


class BadSignature(Refused):
    """The seat signs its acts, and this act has no valid signature of it."""


class StaleDecision(Refused):
    """The command answers another decision than the open one. `current` is its number."""

    def __init__(self, given: int, current: int) -> None:
        """Name both decisions."""
        super().__init__(f"the command answers decision {given}, the open one is {current}")
        self.given = given
        self.current = current


class MalformedAct(Refused):
    """A field of the act is out of its range. `field` is its path."""

    def __init__(self, field: str, message: str) -> None:
        """Name the field and what is wrong with it."""
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class ContributionMismatch(MalformedAct):
    """A contribution is not the one that its seat committed to."""
