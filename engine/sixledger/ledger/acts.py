"""Who can have caused a record: the cause that fits what happened, and the signature of the seat that acted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sixledger.engine.game import Game
from sixledger.ledger import keys
from sixledger.ledger.faults import BAD_SIGNATURE, LedgerFault, tampered
from sixledger.ledger.records import Facts
from sixledger.v1 import record_pb2

if TYPE_CHECKING:
    from sixledger.ledger.match import Match

#: What is wrong with an act that is properly signed, but by someone who had not seen enough.
STALE = "the signer observed another record than it may"

#: How the seats may be closed after a step in the same record.
_CLOSING: tuple[list[str], ...] = ([], ["closed"], ["closed", "sealed"])
#: Steps that a seat causes, and what may follow each of them in the same record.
_FOLLOWING: dict[str, tuple[list[str], ...]] = {
    "joined": _CLOSING,
    "left": _CLOSING,
    "ready": _CLOSING,
    "committed": ([],),
    "contributed": ([], ["sealed"]),
    "resigned": ([],),
}


#: Steps that the owner of the table causes alone.
_OF_OWNER = frozenset({"aborted", "paused", "resumed"})


def check_cause(facts: Facts, game: Game[Any]) -> None:
    """A record is caused by whoever can have done what it says. Raises LedgerFault.

    The signature is that of the seat which the cause names; this makes sure that it is the right seat.
    """
    body = facts.body
    cause = body.cause
    named = cause.HasField("timer") or cause.HasField("armed_seq")
    if cause.kind == record_pb2.CAUSE_KIND_SEAT and body.command and not named and not body.lifecycle:
        return  # most records: a command of a seat, and nothing else
    first, *rest = [step.WhichOneof("step") or "" for step in body.lifecycle] or [""]
    if cause.kind == record_pb2.CAUSE_KIND_TIMER:
        # What exactly the timer may do follows from the match: see `applying.check_time`.
        unsigned = not (cause.observed_head or cause.key_id or cause.signature)
        follows: tuple[list[str], ...] = ([], ["sealed"]) if first == "withheld" else ([],)
        fits = unsigned and (bool(body.command) != bool(first)) and rest in follows
    elif named:
        fits = False
    elif body.command:
        of_table = cause.kind == record_pb2.CAUSE_KIND_TABLE and type(facts.command) in game.table_commands
        fits = (cause.kind == record_pb2.CAUSE_KIND_SEAT or of_table) and not first
    elif first in _FOLLOWING:
        seat = getattr(body.lifecycle[0], first).seat
        fits = cause.kind == record_pb2.CAUSE_KIND_SEAT and cause.seat == seat and rest in _FOLLOWING[first]
    elif first == "opened":
        fits = cause.kind == record_pb2.CAUSE_KIND_TABLE and body.seq == 0 and rest in ([], ["closed", "sealed"])
    elif first == "closed":
        fits = cause.kind == record_pb2.CAUSE_KIND_TABLE and rest in ([], ["sealed"])
    else:
        fits = cause.kind == record_pb2.CAUSE_KIND_TABLE and first in _OF_OWNER and not rest
        if first == "aborted":
            fits = fits and body.lifecycle[0].aborted == record_pb2.Aborted()
    if not fits:
        message = "the named cause cannot have done what the record says"
        raise LedgerFault(BAD_SIGNATURE, "rules", message)


_STEP_KINDS = {
    "joined": keys.ActKind.JOIN,
    "committed": keys.ActKind.COMMITMENT,
    "contributed": keys.ActKind.CONTRIBUTION,
    "left": keys.ActKind.LEAVE,
    "resigned": keys.ActKind.RESIGN,
    "ready": keys.ActKind.READY,
}


def signed_act(match: Match, facts: Facts) -> tuple[keys.ActKind, bytes, bytes]:
    """What the seat of a record signed: kind, payload, and the key it should have signed with."""
    body = facts.body
    if facts.command_bytes is not None:
        return keys.ActKind.COMMAND, facts.command_bytes, match.seats[body.cause.seat].public_key
    step = body.lifecycle[0]
    name = step.WhichOneof("step") or ""
    if name not in _STEP_KINDS:
        raise tampered("rules", "a seat cannot cause this record")
    payload = {
        "joined": step.joined.public_key,
        "committed": step.committed.commitment,
        "contributed": step.contributed.contribution,
    }.get(name, b"")
    key = step.joined.public_key if name == "joined" else match.seats[body.cause.seat].public_key
    return _STEP_KINDS[name], payload, key


def signature_fault(match: Match, facts: Facts) -> str:
    """What is wrong with the signature of a seat's record, in words; empty if nothing is."""
    body, cause = facts.body, facts.body.cause
    if cause.seat >= len(match.seats) or (facts.command_bytes is None and not body.lifecycle):
        return "the record names no act of a seat"
    kind, payload, key = signed_act(match, facts)
    return act_fault(match, cause, kind, payload, key, facts.signature)


def act_fault(
    match: Match,
    cause: record_pb2.Cause,
    kind: keys.ActKind,
    payload: bytes,
    key: bytes,
    signature: bytes,
    verify: keys.Verify | None = None,
) -> str:
    """What is wrong with the signature of an act that is to be the next record; empty if nothing is.

    `verify` may put off what `keys.verify` does at once.
    """
    observed = cause.observed_head
    if not key:
        return "" if not (signature or observed or cause.key_id) else "the seat has no key, but signs"
    if not signature:
        return "the seat signs its acts, and this one is not signed"
    if cause.key_id != keys.key_id(key):
        return "the act names another key than the seat's"
    if kind is keys.ActKind.JOIN:
        seen = observed == match.first_hash
    else:
        seen = observed in match.recent or (kind is not keys.ActKind.COMMAND and observed == match.first_hash)
    message = keys.act_message(match.match_id, cause.seat, kind, cause.decision, observed, cause.request_id, payload)
    if not (verify or keys.verify)(key, signature, message):
        return "the signature does not fit the act and the seat's key"
    return "" if seen else STALE
