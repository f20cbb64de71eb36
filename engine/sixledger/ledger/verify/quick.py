"""The quick way through an ordinary command: replay it in place, and make the bytes of its record again.

Most records of a ledger are commands with every opening at hand and every seed revealed. For them the draft
of `decide` is more than is needed to accept: what the author made of the command can be made once more, all
but the salts, and held against the record byte by byte. That covers chain, seals, openings, events and the rest
of the body at once. Whatever is not exactly as it should be is left to the layers, which name it: what is accepted
here would be accepted there.
"""

from __future__ import annotations

from sixledger.engine.errors import MalformedCommand
from sixledger.engine.schema import Malformed, Schema
from sixledger.ledger import keys, wire
from sixledger.ledger.assembly import Secret, assemble, places, salts_in
from sixledger.ledger.heads import MAX_TIME_US
from sixledger.ledger.match import Match
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.v1 import record_pb2

SEAT = record_pb2.CAUSE_KIND_SEAT


class Untidy(Exception):
    """The record is not as it should be, or not spelled as the author spells it. The match may have changed."""


class Quick:
    """Accepts ordinary commands of one match."""

    def __init__(self, schema: Schema, seeds: SeedChain) -> None:
        """`schema` is that of the game, `seeds` knows every epoch that the ledger reveals."""
        self._spelling = spelling_of(schema)
        self._seeds = seeds
        #: Signatures of accepted records: still to be verified.
        self.claims: list[keys.Claim] = []

    def replay(self, match: Match, record: record_pb2.Record, body: record_pb2.Body, cause: record_pb2.Cause) -> bool:
        """Move `match` over the record and return True; False if the record is of another kind.

        `body` is that of the record, `cause` that of the body. False leaves the match as it was. Raises Untidy, or
        what a game raises for an illegal command: then the match may have changed. The signature is only put among
        the `claims`, where many are verified at once.
        """
        data, time_us, state = body.command, body.time_us, match.state
        if not data or state is None or match.over or match.paused or time_us > match.first_deadline_us:
            return False
        spelling, game = self._spelling, match.game
        seat, request_id, signature = cause.seat, cause.request_id, cause.signature
        decision, epoch, known = match.open_decision.number, game.epoch(state), self._seeds.known
        if cause.kind != SEAT or seat >= len(match.seats) or not 0 < epoch <= known:
            return False
        if epoch == known and len(record.openings) != len(record.seals):
            return False  # it may begin the next epoch
        if len(request_id) != 16 or not match.time_us <= time_us <= MAX_TIME_US:
            raise Untidy
        secrets: list[Secret] = []
        in_the_open = signature
        try:
            spelled = spelling.command(data)
            if spelled.is_sealed:
                if signature:
                    raise Untidy
                value = record.openings[0].value
                secrets.append((1 << seat, epoch, value))
                spelled, data, signature = spelling.unseal(value)
        except (Malformed, MalformedCommand) as error:
            raise Untidy from error
        claim, key_id, observed = None, b"", b""
        if key := match.seats[seat].public_key:
            # As `acts.act_fault` says, but for the signature itself.
            observed, key_id = cause.observed_head, keys.key_id(key)
            if not signature or observed not in match.recent:
                raise Untidy
            given = (match.match_id, seat, keys.ActKind.COMMAND, decision, observed, request_id, data)
            claim = keys.Claim(key, signature, keys.act_message(*given))
        elif signature:
            raise Untidy
        fields: list[bytes] = []
        spell, evolve = spelling.event, game.evolve
        for event in game.play(state, seat, spelled.message, self._seeds.chance(match.entropy)):
            field, sealed_value, audience = spell(event)
            fields.append(field)
            if sealed_value is not None:
                epoch = game.epoch(state)
                if not 0 < epoch <= known:
                    raise Untidy  # not everybody may open it
                secrets.append((audience, epoch, sealed_value))
            evolve(state, event)
        match_id, previous, seq = match.match_id, match.hash, match.seq + 1
        match.finish_record(record.hash, time_us, decision, seat)
        due = game.epoch(state) if match.over else game.epoch(state) - 1
        reveals = _reveal(match, due, self._seeds) if due != match.seeds.known else ()
        made = wire.command_cause(seat, request_id, decision, observed, key_id, in_the_open)
        made = wire.body(match_id, seq, time_us, made, spelled.public, fields, (), reveals)
        raw, placed = record.SerializeToString(), places(secrets)
        whole, _ = assemble(match_id, seq, made, secrets, placed, salts_in(raw, made, placed), previous)
        if whole != raw:
            raise Untidy
        if claim is not None:
            self.claims.append(claim)
        return True


def _reveal(match: Match, due: int, seeds: SeedChain) -> list[record_pb2.Reveal]:
    """What the record just replayed has to reveal, up to an epoch; the match learns it."""
    reveals = [record_pb2.Reveal(epoch=at, chain=seeds.element(at)) for at in range(match.revealed + 1, due + 1)]
    match.learn(record_pb2.Body(reveals=reveals))
    return reveals
