r"""What makes an act the same act: request ids, and comparing an act with its record.

join:   request id = first 16 bytes of SHA-256("sixledger/join/1\n" || match || secret)
create: match id   = first 16 bytes of SHA-256("sixledger/match/1\n" || secret)
request id = first 16 bytes of SHA-256("sixledger/create/1\n" || secret)
"""

from __future__ import annotations

from sixledger.engine.game import Game
from sixledger.ledger.clocks import settled
from sixledger.ledger.hashing import sha256
from sixledger.ledger.records import read
from sixledger.v1 import engine_service_pb2, match_service_pb2, record_pb2


def join_request_id(match_id: bytes, secret: bytes) -> bytes:
    """Request id of a join, 16 bytes."""
    return sha256(b"sixledger/join/1\n", match_id, secret)[:16]


def created_match_id(secret: bytes) -> bytes:
    """Id of the match that is created with `secret`, 16 bytes."""
    return sha256(b"sixledger/match/1\n", secret)[:16]


def create_request_id(secret: bytes) -> bytes:
    """Request id of record 0, 16 bytes."""
    return sha256(b"sixledger/create/1\n", secret)[:16]


def is_same_act(action: engine_service_pb2.Action, record: record_pb2.Record, game: Game[object]) -> bool:
    """True if the stored `record`, whole, came from an act like `action`.

    Request id, kind and seat are known to be equal. A signature is not compared: it was checked when the
    record was made, and the same act may be signed by hand of another head.
    """
    facts = read(record, game.schema)
    kind = action.WhichOneof("action")
    if kind == "command":
        return facts.command_bytes == action.command and facts.body.cause.decision == action.cause.decision
    if facts.command_bytes is not None or not facts.body.lifecycle:
        return False
    step = facts.body.lifecycle[0]
    match step.WhichOneof("step"):
        case "joined":
            joined = engine_service_pb2.JoinAction(
                public_key=step.joined.public_key,
                contributes=step.joined.contributes,
                hosted=step.joined.hosted,
            )
            return kind == "join" and joined == action.join
        case "committed":
            return kind == "commitment" and step.committed.commitment == action.commitment
        case "contributed":
            return kind == "contribution" and step.contributed.contribution == action.contribution
        case "resigned":
            return kind == "resign"
        case "aborted":
            return kind == "abort"
        case "left":
            return kind == "leave"
        case "ready":
            return kind == "ready"
        case "closed":
            return kind == "close"
        case "paused":
            return kind == "pause"
        case "resumed":
            return kind == "resume"
    return False


def is_same_creation(
    request: match_service_pb2.CreateMatchRequest, opened: record_pb2.MatchOpened, game: Game[object]
) -> bool:
    """True if `request` asks for a match like the one that was `opened` under the rules `game`.

    Raises IllegalOptions or Malformed if it asks for none that could be.
    """
    mode = request.mode or record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
    asked = (request.game, request.seats, mode, request.ready_seats)
    if asked != (opened.ruleset.id, opened.seats, opened.mode, opened.ready_seats):
        return False
    clock = request.clock if request.HasField("clock") else None
    stated = opened.clock if opened.HasField("clock") else None
    if settled(clock, request.timeout_policy) != (stated, opened.timeout_policy):
        return False
    setup = game.complete(request.seats, game.schema.options.unpack(request.options))
    packed: bool = game.schema.options.pack(setup.options) == opened.options
    return packed
