"""Ordinary commands: a seat plays, in time, in a match that goes on. Nearly every record is one of these.

For them a draft is more than is needed, where nothing is wrong. Author and verifier both go this way first, and
both leave whatever is out of the ordinary to `decide`, which says what is wrong with it and knows every kind of act.
What is made here is what a draft makes. Whoever folds the records of others goes this way, too: most come to a viewer
with nothing open but what everybody may know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sixledger.engine.chance import Chance
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.game import Decision
from sixledger.engine.schema import Malformed
from sixledger.ledger import hashing, wire
from sixledger.ledger.assembly import Secret
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.records import Facts, has_shape, own, public_events
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import Command, Spelling, spelling_of
from sixledger.v1 import record_pb2

if TYPE_CHECKING:
    from sixledger.ledger.match import Match

SEAT = record_pb2.CAUSE_KIND_SEAT


def can_play(match: Match, seat: int, request_id: bytes, time_us: int) -> bool:
    """True if a command of `seat` can be the next record, as far as the rules of the game allow it."""
    return (
        match.state is not None
        and not (match.over or match.paused)
        and seat < len(match.seats)
        and len(request_id) == 16
        and match.time_us <= time_us <= MAX_TIME_US
        and (match.clocks is None or time_us <= match.clocks.first_us)
    )


def carry_out(
    match: Match,
    spelling: Spelling,
    seeds: SeedChain,
    chance: Chance,
    command: Command,
    sealed: bytes,
    *,
    seat: int,
    request_id: bytes,
    time_us: int,
    observed_head: bytes,
    key_id: bytes,
    signature: bytes,
) -> tuple[bytes, list[Secret], Decision]:
    """Play a command on `match`, in place: body and secrets of its record, and the decision that is open then.

    To be called where `can_play`; the match is then to finish its record. `sealed` is the `SealedCommand` with the
    command, empty for a command without secrets, whose `signature` is in the open. `seeds` and `chance` know what the
    command deals and reveals. Raises what a game raises: then the match may have changed.
    """
    game, state = match.game, match.state
    epoch_of, spell, evolve = game.epoch, spelling.event, game.evolve
    secrets: list[Secret] = [(1 << seat, epoch_of(state), sealed)] if sealed else []
    fields: list[bytes] = []
    for event in game.play(state, seat, command.message, chance):
        field, value, audience, _ = spell(event)
        fields.append(field)
        if value is not None:
            secrets.append((audience, epoch_of(state), value))
        evolve(state, event)
    epoch = epoch_of(state)
    due = epoch if game.outcome(state) is not None else epoch - 1
    reveals = _reveal(match, due, seeds) if due > match.seeds.known else ()
    cause = wire.command_cause(seat, request_id, match.open_decision.number, observed_head, key_id, signature)
    body = wire.body(match.match_id, match.seq + 1, time_us, cause, command.public, fields, (), reveals)
    return body, secrets, game.decision(state)


def read_shut(match: Match, record: record_pb2.Record, body: record_pb2.Body) -> Facts | None:
    """What the next record of `match` says, if it is an ordinary command of which nothing is open to this viewer.

    None if it is anything else, or if anything is wrong with it that can be told before its events are applied, but for
    its signature: whoever asks then finds out what it is. `body` is that of the record, of `read_body`.
    """
    cause, data, open_decision, game = body.cause, body.command, match.open_decision, match.game
    seat = cause.seat
    if (
        not data
        or record.openings
        or cause.kind != SEAT
        or cause.decision != open_decision.number
        or seat not in open_decision.seats
        or not can_play(match, seat, cause.request_id, body.time_us)
        or body.seq != match.seq + 1
        or body.match_id != match.match_id
        or body.lifecycle
        or body.reveals
        or cause.HasField("timer")
        or cause.HasField("armed_seq")
    ):
        return None
    try:
        command = spelling_of(game.schema).command(data)
        events, owners, holds_secrets = public_events(game.schema, body.events)
    except (Malformed, MalformedCommand):
        return None
    seals = [(seal.audience, seal.epoch, seal.commitment) for seal in record.seals]
    if command.is_sealed:
        if cause.signature or command.public != data:
            return None
        owners.insert(0, -1)
    if holds_secrets or len(owners) != len(seals) or not has_shape(seals):
        return None
    if record.hash != hashing.chain_hash(match.match_id, body.seq, match.hash, record.body, seals):
        return None
    known = None if command.is_sealed else data
    return Facts(body, own(command.message), known, cause.signature, events, owners, list(range(len(seals))), seals)


def _reveal(match: Match, last: int, seeds: SeedChain) -> list[record_pb2.Reveal]:
    """What the record just replayed has to reveal, up to an epoch; the match learns it."""
    reveals = [record_pb2.Reveal(epoch=at, chain=seeds.element(at)) for at in range(match.revealed + 1, last + 1)]
    match.learn(record_pb2.Body(reveals=reveals))
    return reveals
