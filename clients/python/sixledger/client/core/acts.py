"""Acts of a seat: signing them, and recognising in the ledger what no seat did."""

from __future__ import annotations

from sixledger.client.credentials import Credentials
from sixledger.client.errors import ContributionIgnored, ForgedAct
from sixledger.ledger import hashing, keys
from sixledger.ledger.clocks import CONTRIBUTE, missing
from sixledger.ledger.match import Match
from sixledger.v1 import match_service_pb2, record_pb2

COMMIT_REVEAL = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL


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
        invitation=credentials.invitation,
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
    if credentials.seat >= len(match.seats):
        return None
    own = match.seats[credentials.seat]
    if own.withheld:
        return None
    if match.opened.mode == COMMIT_REVEAL:
        if not own.commitment:
            return keys.ActKind.COMMITMENT
        if missing(match, CONTRIBUTE):
            return None
    return None if own.contribution else keys.ActKind.CONTRIBUTION


def own_step(body: record_pb2.Body, credentials: Credentials) -> str:
    """The step that the own seat made with a record: `joined` by its holder and nobody before, `left`, …; or none."""
    if not body.lifecycle or body.cause.kind != record_pb2.CAUSE_KIND_SEAT or body.cause.seat != credentials.seat:
        return ""
    step = body.lifecycle[0].WhichOneof("step") or ""
    if step == "joined" and body.cause.request_id != credentials.request_id("join"):
        return ""  # somebody had the seat before, or has it since
    return step


def check_sealing(match: Match, body: record_pb2.Body, credentials: Credentials, since: int) -> None:
    """A seat must not seal the entropy without the own contribution. `match` stands before. Raises ContributionIgnored.

    What a timer does without it, `check_own_seat` sees.
    """
    if (
        match.state is not None
        or not match.closed
        or not credentials.contributes
        or credentials.seat >= len(match.seats)
    ):
        return
    own = match.seats[credentials.seat]
    if own.since != since or own.contribution or body.cause.kind == record_pb2.CAUSE_KIND_TIMER:
        return
    given = any(step.contributed.seat == credentials.seat for step in body.lifecycle if step.HasField("contributed"))
    if not given and any(step.HasField("sealed") for step in body.lifecycle):
        raise ContributionIgnored("starts the game without the own contribution", seq=body.seq)


def check_own_seat(match: Match, body: record_pb2.Body, credentials: Credentials, since: int) -> None:
    """The own seat must stand in the ledger as its owner made it. Raises ForgedAct or ContributionIgnored.

    `since` is the record of the own join. Others may have had the seat before.
    """
    if not body.lifecycle:
        return
    seat = match.seats[credentials.seat] if credentials.seat < len(match.seats) else None
    if seat is None or not seat.joined or seat.since != since:
        if match.closed and not match.over:
            raise ForgedAct("the seats were closed without the own one", seq=body.seq)
        return
    if (seat.public_key, seat.contributes) != (credentials.public_key, credentials.contributes):
        raise ForgedAct("the own seat was taken with another key or choice", seq=body.seq)
    if match.opened.mode == COMMIT_REVEAL and seat.commitment not in (b"", contribution_commitment(credentials)):
        raise ContributionIgnored("holds another commitment than the own one", seq=body.seq)
    if seat.contribution not in (b"", credentials.contribution):
        raise ContributionIgnored("holds another contribution than the own one", seq=body.seq)
    if seat.withheld:
        raise ContributionIgnored("goes on without the own contribution, and says that it was late", seq=body.seq)
