"""Acts of a seat: signing them, and recognising in the ledger what no seat did."""

from __future__ import annotations

from typing import Any

from sixledger.client.credentials import Credentials
from sixledger.client.errors import ContributionIgnored, ForgedAct, Tampered
from sixledger.engine.game import Game
from sixledger.ledger import hashing, keys
from sixledger.ledger.match import Match
from sixledger.ledger.records import Facts
from sixledger.v1 import match_service_pb2, record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
SEAT, TABLE = record_pb2.CAUSE_KIND_SEAT, record_pb2.CAUSE_KIND_TABLE
#: Steps of a seat's own making: where such a step stands, that seat must be the cause of the record.
_OF_SEAT = ("joined", "committed", "contributed", "resigned")
#: Steps that may follow another one in a record, in this order.
_FOLLOWING = (["closed"], ["sealed"], ["closed", "sealed"])


def act(
    credentials: Credentials,
    kind: keys.ActKind,
    request_id: bytes,
    observed_head: bytes,
    payload: bytes = b"",
    decision: int = 0,
) -> match_service_pb2.Act:
    """Who acts, and the proof of it: signed if the seat signs."""
    signature = credentials.sign(kind, decision, observed_head, request_id, payload)
    return match_service_pb2.Act(
        match_id=credentials.match_id,
        token=credentials.token,
        request_id=request_id,
        observed_head=observed_head if signature else b"",
        signature=signature,
    )


def join_request(credentials: Credentials, first_hash: bytes) -> match_service_pb2.JoinMatchRequest:
    """The request to take the seat; the same credentials make the same request."""
    public_key = credentials.public_key
    request_id = credentials.request_id("join")
    return match_service_pb2.JoinMatchRequest(
        match_id=credentials.match_id,
        seat=credentials.seat,
        secret=credentials.secret,
        public_key=public_key,
        contributes=credentials.contributes,
        observed_head=first_hash if public_key else b"",
        signature=credentials.sign(keys.ActKind.JOIN, 0, first_hash, request_id, public_key),
        display_name=credentials.display_name,
    )


def contribution_commitment(credentials: Credentials) -> bytes:
    """K of the own contribution, 32 bytes."""
    return hashing.contribution_commitment(credentials.match_id, credentials.seat, credentials.contribution)


def due(match: Match, credentials: Credentials) -> keys.ActKind | None:
    """What the seat owes to the randomness now: COMMITMENT, CONTRIBUTION or nothing.

    A contribution is never due before every commitment is in: whoever knew it could choose its own after it.
    """
    if not credentials.contributes or not match.closed or match.entropy or match.over:
        return None
    own = match.seats[credentials.seat]
    if match.opened.mode == COMMIT_REVEAL:
        if not own.commitment:
            return keys.ActKind.COMMITMENT
        if any(seat.contributes and not seat.commitment for seat in match.seats):
            return None
    return None if own.contribution else keys.ActKind.CONTRIBUTION


def check_cause(facts: Facts, game: Game[Any]) -> None:
    """Whoever is named as the cause must be the one who can have done this. Raises ForgedAct or Tampered.

    The fold checks the signature of the seat that the cause names; this makes sure that it is the right one.
    """
    body = facts.body
    steps: list[str] = [step.WhichOneof("step") or "" for step in body.lifecycle]
    cause = body.cause
    if body.seq == 0:
        fits = cause.kind == TABLE and not body.command and steps[1:] in ([], ["closed", "sealed"])
    elif body.command:
        of_table = cause.kind == TABLE and type(facts.command) in game.table_commands
        fits = (cause.kind == SEAT or of_table) and not steps
    elif steps and steps[0] in _OF_SEAT:
        fits = cause.kind == SEAT and _seat_of(body.lifecycle[0]) == cause.seat and _follows(steps)
    else:
        fits = cause.kind == TABLE and steps == ["aborted"]
    if not fits:
        if any(step in _OF_SEAT for step in steps) or body.command:
            raise ForgedAct("the named cause cannot have done this", seq=body.seq)
        raise Tampered("the record does not say what happened", layer="rules", seq=body.seq)


def _follows(steps: list[str]) -> bool:
    return len(steps) == 1 or (steps[0] in ("joined", "contributed") and steps[1:] in _FOLLOWING)


def _seat_of(step: record_pb2.Lifecycle) -> int:
    seat: int = getattr(step, step.WhichOneof("step") or "").seat
    return seat


def check_own_seat(match: Match, body: record_pb2.Body, credentials: Credentials) -> None:
    """The own seat must stand in the ledger as its owner made it. Raises ForgedAct or ContributionIgnored."""
    if not body.lifecycle:
        return
    seat = match.seats[credentials.seat]
    if seat.joined and (seat.public_key, seat.contributes) != (credentials.public_key, credentials.contributes):
        raise ForgedAct("the own seat was taken with another key or choice", seq=body.seq)
    if match.opened.mode == COMMIT_REVEAL and seat.commitment not in (b"", contribution_commitment(credentials)):
        raise ContributionIgnored("holds another commitment than the own one", seq=body.seq)
    if seat.contribution not in (b"", credentials.contribution):
        raise ContributionIgnored("holds another contribution than the own one", seq=body.seq)
    if match.entropy and credentials.contributes and not seat.contribution:
        raise ContributionIgnored("starts the game without the own contribution", seq=body.seq)
