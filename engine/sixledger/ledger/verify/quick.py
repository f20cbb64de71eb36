"""The quick way through an ordinary command: replay it in place, and make the bytes of its record again.

Most records of a ledger are commands with every opening at hand and every seed revealed. For them the draft
of `decide` is more than is needed to accept: what the author made of the command can be made once more, all
but the salts, and held against the record byte by byte. That covers chain, seals, openings, events and the rest
of the body at once. Whatever is not exactly as it should be is left to the layers, which name it: what is accepted
here would be accepted there.
"""

from __future__ import annotations

from sixledger.engine.chance import Chance
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.schema import Malformed, Schema
from sixledger.ledger import keys
from sixledger.ledger.assembly import is_record
from sixledger.ledger.match import Match
from sixledger.ledger.ordinary import can_play, carry_out
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.v1 import record_pb2


class Untidy(Exception):
    """The record is not as it should be, or not spelled as the author spells it. The match may have changed."""


class Quick:
    """Accepts ordinary commands of one match."""

    def __init__(self, schema: Schema, seeds: SeedChain) -> None:
        """`schema` is that of the game, `seeds` knows every epoch that the ledger reveals."""
        self._spelling = spelling_of(schema)
        self._seeds, self._known = seeds, seeds.known
        self._chance: Chance | None = None
        #: Signatures of accepted records: many are verified together.
        self.claims = keys.Claims()

    def replay(
        self,
        match: Match,
        record: record_pb2.Record,
        body: record_pb2.Body,
        cause: record_pb2.Cause,
        seat: int,
        request_id: bytes,
    ) -> bool:
        """Move `match` over a record that a seat caused and return True; False if it is no ordinary command.

        `body` is that of the record, `cause` that of the body, with its `seat` and `request_id`. False leaves the match
        as it was. Raises Untidy, or what a game raises for an illegal command: then the match may have changed. The
        signature is only put among the `claims`; raises keys.Untrue if one of them is known to be false.
        """
        data, time_us, state, signature = body.command, body.time_us, match.state, cause.signature
        if not data or state is None:
            return False
        epoch, known = match.game.epoch(state), self._known
        if not 0 < epoch <= known or not can_play(match, seat, request_id, time_us):
            return False
        if epoch == known and len(record.openings) != len(record.seals):
            return False  # it may begin the next epoch
        value, observed, key_id, in_the_open = b"", b"", b"", signature
        try:
            spelled = self._spelling.command(data)
            if spelled.is_sealed:
                value = record.openings[0].value
                spelled, data, signature = self._spelling.unseal(value)
        except (Malformed, MalformedCommand) as error:
            raise Untidy from error
        key = match.seats[seat].public_key
        claim: keys.Claim | None = None
        if key or signature:
            if not (key and signature) or (value and in_the_open):
                raise Untidy
            # As `acts.act_fault` says, but for the signature itself.
            observed, key_id, kind = cause.observed_head, keys.key_id(key), keys.ActKind.COMMAND
            if observed not in match.recent:
                raise Untidy
            decision = match.open_decision.number
            message = keys.act_message(match.match_id, seat, kind, decision, observed, request_id, data)
            claim = keys.Claim(key, signature, message)
        elif in_the_open:
            raise Untidy
        chance = self._chance
        if chance is None:  # the entropy of a match that runs does not change
            chance = self._chance = self._seeds.chance(match.entropy)
        made, secrets, decision_after = carry_out(
            match, self._spelling, self._seeds, chance, spelled, value, seat=seat, request_id=request_id,
            time_us=time_us, observed_head=observed, key_id=key_id, signature=in_the_open,
        )  # fmt: skip
        for _, epoch, _ in secrets:
            if not 0 < epoch <= known:
                raise Untidy  # not everybody may open it
        if not is_record(record.SerializeToString(), match.match_id, match.seq + 1, made, secrets, match.hash):
            raise Untidy
        match.finish_record(record.hash, time_us, match.open_decision.number, seat, decision_after)
        if claim is not None:
            self.claims.add(claim)
        return True
