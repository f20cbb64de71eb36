"""From records to the match: beginning one with its opening, and folding a ledger."""

from __future__ import annotations

from sixledger.engine.errors import EngineError
from sixledger.engine.registry import Registry, installed
from sixledger.engine.schema import Malformed
from sixledger.ledger import clocks as clocks_
from sixledger.ledger.clocks import Clocks
from sixledger.ledger.faults import LedgerFault, tampered
from sixledger.ledger.match import Match, Seat
from sixledger.ledger.records import read_body
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import record_pb2, replay_service_pb2

#: Where to look for what can be replayed.
_SEE = " (see: sixledger rulesets)"


def begin(record: record_pb2.Record, registry: Registry | None = None) -> Match:
    """The match that record 0 opens, before that record is applied. Raises LedgerFault."""
    body = read_body(record)
    steps = [step for step in body.lifecycle if step.WhichOneof("step") == "opened"]
    if len(steps) != 1 or body.lifecycle[0] != steps[0]:
        raise tampered("parse", "record 0 does not open a match")
    return begin_opened(body.match_id, steps[0].opened, registry)


def begin_opened(match_id: bytes, opened: record_pb2.MatchOpened, registry: Registry | None = None) -> Match:
    """The match with this opening, before its first record. Raises LedgerFault."""
    unknown = replay_service_pb2.VERDICT_UNKNOWN_RULESET
    rules = opened.ruleset
    try:
        game = (registry or installed()).get(rules.id, rules.version)
    except EngineError as error:
        raise LedgerFault(unknown, "rules", f"{error}{_SEE}") from error
    if rules.digest != game.digest:
        raise LedgerFault(unknown, "rules", f"{rules.id}@{rules.version} has another digest in this build{_SEE}")
    try:
        setup = game.complete(opened.seats, game.schema.options.unpack(opened.options))
    except (EngineError, Malformed) as error:
        raise tampered("rules", f"the options of record 0 are not allowed: {error}") from error
    if game.schema.options.pack(setup.options) != opened.options or opened.epochs != game.epochs(setup):
        raise tampered("rules", "record 0 does not state the complete options and their epochs")
    if len(opened.commitment) != 32:
        raise tampered("seeds", "the commitment is not 32 bytes")
    if opened.mode not in record_pb2.ContributionMode.values() or not opened.mode:
        raise tampered("rules", "record 0 names no mode of contributing")
    if opened.HasField("ready_seats") and not 1 <= opened.ready_seats <= opened.seats:
        raise tampered("rules", "record 0 asks for readiness from a number of seats that the match does not have")
    clock = opened.clock if opened.HasField("clock") else None
    policy = opened.timeout_policy
    fault = clocks_.clock_fault(opened.clock, policy)
    stated = clocks_.settled(clock, policy) == (clock, policy) and opened.HasField("timeout_policy") == bool(policy)
    if fault or not stated:
        why = " ".join(fault) if fault else "they are not stated in full"
        raise tampered("clocks", f"the time limits of record 0 are not allowed: {why}")
    seats = [Seat() for _ in range(opened.seats)]
    match = Match(match_id, game, setup, opened, seats, SeedChain(match_id, opened.commitment))
    match.clocks = Clocks() if clock is not None else None
    return match


def fold(records: list[record_pb2.Record], registry: Registry | None = None) -> Match:
    """The match after `records` (from 0 on), which the caller trusts or will verify. Raises LedgerFault."""
    if not records:
        raise tampered("parse", "the ledger has no records")
    match = begin(records[0], registry)
    for record in records:
        match.apply(record, check_signatures=False)
    return match
