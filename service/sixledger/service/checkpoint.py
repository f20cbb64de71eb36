"""Checkpoints: a match as a message, for callers of EngineService who do not want to send the whole ledger.

A checkpoint comes from the caller and is believed as far as it can be read: the caller owns the match.
"""

from __future__ import annotations

from typing import Any

from sixledger.engine.registry import Registry
from sixledger.engine.schema import Malformed
from sixledger.ledger.clocks import NEVER, Clocks, phase
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.folding import begin_opened
from sixledger.ledger.match import Match, Seat
from sixledger.ledger.seeds import SeedChain
from sixledger.service.errors import malformed
from sixledger.v1 import engine_service_pb2 as pb


def to_checkpoint(match: Match) -> pb.Checkpoint:
    """The match as it stands. Holds secrets, but not the root secret."""
    checkpoint = pb.Checkpoint(
        match_id=match.match_id,
        opened=match.opened,
        closed=match.closed,
        entropy=match.entropy,
        revealed=match.revealed,
        seq=match.seq,
        hash=match.hash,
        time_us=match.time_us,
        decision_seq=match.decision_seq,
        decision_hash=match.recent[0],
        first_hash=match.first_hash,
        recent_hashes=match.recent[1:],
        ended=match.over,
        paused=match.paused,
    )
    for seat in match.seats:
        checkpoint.seats.add(
            joined=seat.joined,
            public_key=seat.public_key,
            contributes=seat.contributes,
            commitment=seat.commitment,
            contribution=seat.contribution,
            hosted=seat.hosted,
            ready=seat.ready,
            since=seat.since,
            withheld=seat.withheld,
        )
    if match.clocks is not None:
        checkpoint.clocks.CopyFrom(_clocks_message(match.clocks))
    if match.state is not None:
        checkpoint.position.CopyFrom(match.game.schema.position.pack(match.game.position(match.state)))
    return checkpoint


def from_checkpoint(
    checkpoint: pb.Checkpoint, field: str, registry: Registry | None = None, seeds: SeedChain | None = None
) -> Match:
    """The match that a checkpoint describes. Raises MALFORMED, with paths below `field`.

    `seeds` are all seeds of the match, if the caller gave its secret.
    """
    try:
        match = begin_opened(checkpoint.match_id, checkpoint.opened, registry)
    except LedgerFault as fault:
        raise malformed(f"{field}.opened", fault.message) from fault
    _check_lengths(checkpoint, field)
    if len(checkpoint.seats) != len(match.seats):
        if not checkpoint.closed or not 0 < len(checkpoint.seats) < len(match.seats):
            raise malformed(f"{field}.seats", f"must be {len(match.seats)}, or fewer once they are closed")
        try:
            match.setup = match.setup_for(len(checkpoint.seats))
        except LedgerFault as fault:
            raise malformed(f"{field}.seats", fault.message) from fault
    match.seats = [
        Seat(
            seat.joined,
            seat.public_key,
            seat.contributes,
            seat.commitment,
            seat.contribution,
            seat.hosted,
            seat.ready,
            seat.since,
            seat.withheld,
        )
        for seat in checkpoint.seats
    ]
    match.closed, match.over, match.entropy = checkpoint.closed, checkpoint.ended, checkpoint.entropy
    match.seq, match.hash, match.time_us = checkpoint.seq, checkpoint.hash, checkpoint.time_us
    match.first_hash, match.decision_seq = checkpoint.first_hash, checkpoint.decision_seq
    match.recent = [checkpoint.decision_hash, *checkpoint.recent_hashes]
    match.state = _state(match, checkpoint, field)
    if match.state is not None:
        match.open_decision = match.game.decision(match.state)
    match.paused = checkpoint.paused
    if checkpoint.HasField("clocks") != (match.clocks is not None):
        raise malformed(f"{field}.clocks", "must be there if, and only if, the opening has a clock")
    if match.clocks is not None:
        _read_clocks(match, checkpoint.clocks, f"{field}.clocks")
    if checkpoint.revealed > match.opened.epochs:
        raise malformed(f"{field}.revealed", f"the match has {match.opened.epochs} epochs")
    if seeds is not None:
        match.seeds.reveal(checkpoint.revealed, seeds.element(checkpoint.revealed))
    return match


def _clocks_message(clocks: Clocks) -> pb.CheckpointClocks:
    message = pb.CheckpointClocks()
    for seat, bank in enumerate(clocks.banks):
        armed_seq, since_us = clocks.running.get(seat, (0, 0))
        message.seats.add(bank_us=bank, running=seat in clocks.running, armed_seq=armed_seq, since_us=since_us)
    if clocks.phase is not None:
        _, message.phase_seq, message.phase_us = clocks.phase
    if clocks.paused is not None:
        message.paused_seq, message.paused_us = clocks.paused
    return message


def _read_clocks(match: Match, message: pb.CheckpointClocks, field: str) -> None:
    """Put the clocks as they stood into a match that otherwise stands. Raises MALFORMED."""
    clocks = Clocks()
    for name in ("phase_us", "paused_us"):
        if getattr(message, name) > match.time_us:
            raise malformed(f"{field}.{name}", "lies after the last record")
    if match.state is not None:
        if len(message.seats) != len(match.seats):
            raise malformed(f"{field}.seats", f"must be {len(match.seats)}")
        for number, seat in enumerate(message.seats):
            if seat.running != (number in match.to_act) or seat.since_us > match.time_us or seat.bank_us >= NEVER:
                raise malformed(f"{field}.seats[{number}]", "does not fit the position and the time")
            clocks.banks.append(seat.bank_us)
            if seat.running:
                clocks.running[number] = (seat.armed_seq, seat.since_us)
        if match.paused and not match.over:
            clocks.paused = (message.paused_seq, message.paused_us)
    elif not match.over:
        clocks.phase = (phase(match), message.phase_seq, message.phase_us)
    clocks.settle(match)
    match.clocks = clocks


def _state(match: Match, checkpoint: pb.Checkpoint, field: str) -> Any:
    if not checkpoint.HasField("position"):
        return None
    if not (checkpoint.closed and checkpoint.entropy):
        raise malformed(f"{field}.position", "needs closed seats and the entropy")
    try:
        return match.game.from_position(match.game.schema.position.unpack(checkpoint.position))
    except (Malformed, ValueError) as error:
        # Without the error's text: it may repeat parts of the position.
        raise malformed(f"{field}.position", "is no position of this game") from error


def _check_lengths(checkpoint: pb.Checkpoint, field: str) -> None:
    lengths = (("match_id", 16), ("hash", 32), ("decision_hash", 32), ("first_hash", 32))
    for name, length in lengths:
        if len(getattr(checkpoint, name)) != length:
            raise malformed(f"{field}.{name}", f"must be {length} bytes")
    if len(checkpoint.entropy) not in {0, 32}:
        raise malformed(f"{field}.entropy", "must be 32 bytes, or absent")
    if any(len(seen) != 32 for seen in checkpoint.recent_hashes):
        raise malformed(f"{field}.recent_hashes", "must be 32 bytes each")
    if checkpoint.seq != checkpoint.decision_seq + len(checkpoint.recent_hashes) or checkpoint.seq > 2**53:
        raise malformed(f"{field}.recent_hashes", "must be those of the records after decision_seq")
    for number, seat in enumerate(checkpoint.seats):
        for name in ("public_key", "commitment", "contribution"):
            if len(getattr(seat, name)) not in {0, 32}:
                raise malformed(f"{field}.seats[{number}].{name}", "must be 32 bytes, or absent")
