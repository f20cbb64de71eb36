"""The quick way through an ordinary command: replay it in place, and make the bytes of its record again.

Most records of a ledger are commands with every opening at hand and every seed revealed. For them the draft
of `decide` is more than is needed to accept. Whatever is not exactly as it should be is left to the thorough
way, which names it: what is accepted here would be accepted there.
"""

from __future__ import annotations

from sixledger.engine.errors import MalformedCommand
from sixledger.engine.schema import Malformed, Schema
from sixledger.ledger import keys, wire
from sixledger.ledger.match import Match
from sixledger.ledger.records import Parts
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.v1 import record_pb2

SEAT = record_pb2.CAUSE_KIND_SEAT


class Untidy(Exception):
    """The record needs the thorough way. The match may have changed."""


class Quick:
    """Accepts ordinary commands of one match."""

    def __init__(self, schema: Schema) -> None:
        """`schema` is that of the game."""
        self._spelling = spelling_of(schema)
        #: Signatures of accepted records, with the number of the record: still to be verified.
        self.claims: list[tuple[int, keys.Claim]] = []

    def replay(
        self, match: Match, body: record_pb2.Body, cause: record_pb2.Cause, raw: bytes, parts: Parts, seeds: SeedChain
    ) -> bool:
        """Move `match` over the record and return True; False if the record is of another kind.

        `cause` is that of the body, `raw` are the bytes of the body, `seeds` knows every epoch that the record deals
        or reveals. False leaves the match as it was. Raises Untidy, or what a game raises for an illegal command: then
        the match may have changed. The signature is only put among the `claims`, where many are verified at once.
        """
        data, time_us = body.command, body.time_us
        if not data or match.state is None or match.over or match.paused or time_us > match.first_deadline_us:
            return False
        seals, openings, hash_ = parts
        game, state = match.game, match.state
        seat, decision, epoch = cause.seat, match.open_decision.number, game.epoch(state)
        if cause.kind != SEAT or len(openings) != len(seals) or seat >= len(match.seats):
            return False
        try:
            spelled = self._spelling.command(data)
            signature, key_id, observed = cause.signature, cause.key_id, cause.observed_head
            used, shown = 0, spelled.public
            recorded_signature = signature
            if spelled.is_sealed:
                if signature or not seals or seals[0][0] != 1 << seat or seals[0][1] != epoch:
                    return False
                spelled, data, signature = self._spelling.unseal(openings[0][2])
                used, shown = 1, spelled.public
        except (Malformed, MalformedCommand):
            return False
        key, claim = match.seats[seat].public_key, None
        if key or signature or key_id or observed:
            # As `acts.act_fault` says, but for the signature itself. It covers the decision that the record names.
            if not (key and signature) or cause.decision != decision or observed not in match.recent:
                return False
            if key_id != keys.key_id(key):
                return False
            given = (match.match_id, seat, keys.ActKind.COMMAND, decision, observed, cause.request_id, data)
            claim = keys.Claim(key, signature, keys.act_message(*given))
        fields: list[bytes] = []
        spell, evolve = self._spelling.event, game.evolve
        for event in game.play(state, seat, spelled.message, seeds.chance(match.entropy)):
            field, value, audience = spell(event)
            fields.append(field)
            if value is not None:
                if used == len(seals):
                    raise Untidy
                seal = seals[used]
                if seal[0] != audience or seal[1] != game.epoch(state) or openings[used][2] != value:
                    raise Untidy
                used += 1
            evolve(state, event)
        if used != len(seals):
            raise Untidy
        match_id, seq, request_id = match.match_id, match.seq + 1, cause.request_id
        match.finish_record(hash_, time_us, decision, seat)
        due = match.epoch if match.over else match.epoch - 1
        reveals: list[record_pb2.Reveal] = []
        if due != match.revealed:
            reveals = [
                record_pb2.Reveal(epoch=at, chain=seeds.element(at)) for at in range(match.revealed + 1, due + 1)
            ]
            match.learn(record_pb2.Body(reveals=reveals))
        made = wire.command_cause(seat, request_id, decision, observed, key_id, recorded_signature)
        if wire.body(match_id, seq, time_us, made, shown, fields, (), reveals) != raw:
            raise Untidy
        if claim is not None:
            self.claims.append((seq, claim))
        return True
