"""What an honest service never does, whatever is still sealed: told from a record and the match before it."""

from __future__ import annotations

from sixledger.engine.errors import EpochSealed
from sixledger.ledger.decide import carry_out, prepare
from sixledger.ledger.draft import Draft
from sixledger.ledger.faults import (
    ILLEGAL_COMMAND,
    SEED_MISMATCH,
    ContributionMismatch,
    LedgerFault,
    Refused,
    tampered,
)
from sixledger.ledger.match import Match
from sixledger.ledger.opening import carry_out_opening, prepare_opening
from sixledger.ledger.records import Facts
from sixledger.ledger.verify.compare import compare_lifecycle
from sixledger.ledger.verify.rerun import CONFUSED, take_step
from sixledger.v1 import engine_service_pb2, record_pb2

SEAT, TIMER = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TIMER


def check(match: Match, facts: Facts) -> None:
    """A record is what somebody can have done, as far as that can be told. `match` stands before it.

    Raises LedgerFault.
    """
    if facts.body.command:
        _check_command(match, facts)
    elif match.state is None and facts.body.cause.kind != TIMER:
        _check_steps(match, facts.body)


def _check_command(match: Match, facts: Facts) -> None:
    """A command answers the open decision, for a seat that may act, and is legal if that is known here."""
    cause, decision = facts.body.cause, match.open_decision
    if match.state is None or match.over:
        raise LedgerFault(ILLEGAL_COMMAND, "rules", "a command where nobody can give one")
    if cause.kind == TIMER:
        return  # the fold does it
    if cause.kind == SEAT and (cause.decision != decision.number or cause.seat not in decision.seats):
        raise LedgerFault(ILLEGAL_COMMAND, "rules", "the command answers no open decision of the seat")
    if facts.command_bytes is None:
        return
    game = match.game
    try:
        legal = game.legal(match.state, cause.seat) if cause.kind == SEAT else game.table_legal(match.state)
    except ValueError:
        return  # the hand of the seat is sealed
    except CONFUSED as error:
        raise tampered("rules", "the command cannot be given here") from error
    if facts.command not in legal:
        raise LedgerFault(ILLEGAL_COMMAND, "rules", "the command is not legal")


def _check_steps(match: Match, body: record_pb2.Body) -> None:
    """A step before the game leads to what the record says, and could be accepted."""
    draft: Draft | None = None
    try:
        if match.seq < 0:
            draft = prepare_opening(match, body.cause.request_id, body.time_us)
            carry_out_opening(draft, match.seeds, immediate=len(body.lifecycle) > 1)
        else:
            action = engine_service_pb2.Action(cause=body.cause, time_us=body.time_us)
            take_step(action, body)
            draft = prepare(match, action)
            carry_out(draft, match, action, match.seeds, check_signatures=False)
    except EpochSealed:
        pass  # the deal cannot be made here; the steps before it are in the draft
    except ContributionMismatch as error:
        raise LedgerFault(SEED_MISMATCH, "seeds", f"the contribution does not fit its commitment: {error}") from error
    except Refused as error:
        raise LedgerFault(ILLEGAL_COMMAND, "rules", f"the act cannot be accepted: {error}") from error
    if draft is not None:
        compare_lifecycle(body, draft)
