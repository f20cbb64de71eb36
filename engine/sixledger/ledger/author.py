"""Writing the ledger of a match: whoever holds its root secret makes its records."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from sixledger.engine.errors import EngineError
from sixledger.engine.game import Game
from sixledger.engine.registry import Registry
from sixledger.ledger import hashing, keys, wire
from sixledger.ledger.assembly import seal
from sixledger.ledger.decide import decide
from sixledger.ledger.faults import MalformedAct
from sixledger.ledger.folding import begin_opened
from sixledger.ledger.match import Match
from sixledger.ledger.opening import SERVER_ONLY, open_match, opening
from sixledger.ledger.ordinary import can_play, carry_out
from sixledger.ledger.seeds import SeedChain
from sixledger.ledger.spelling import spelling_of
from sixledger.ledger.whole import WholeRecord
from sixledger.v1 import engine_service_pb2, record_pb2

SEAT = record_pb2.CAUSE_KIND_SEAT


class Author:
    """Makes the records of one match. Holds its root secret."""

    def __init__(self, root_secret: bytes, match_id: bytes, epochs: int) -> None:
        """`root_secret` is 32 bytes, `epochs` as in record 0."""
        self.seeds = SeedChain.from_secret(root_secret, match_id, epochs)
        self._salt_key = hashing.salt_key(root_secret, match_id)

    @classmethod
    def open(
        cls,
        game: Game[Any],
        seats: int,
        options: Message,
        *,
        root_secret: bytes,
        match_id: bytes,
        request_id: bytes,
        time_us: int,
        mode: record_pb2.ContributionMode.ValueType = record_pb2.CONTRIBUTION_MODE_UNSPECIFIED,
        immediate: bool = False,
        ready_seats: int = 0,
        clock: record_pb2.Clock | None = None,
        timeout_policy: record_pb2.TimeoutPolicy.ValueType = record_pb2.TIMEOUT_POLICY_UNSPECIFIED,
    ) -> tuple[Author, Match, record_pb2.Record]:
        """A new match: its author, where it stands after record 0, and record 0.

        `ready_seats`: the table asks for readiness, from so many seats on; 0: it does not. `clock`: its time limits;
        `timeout_policy`: what happens when a seat runs out of time.

        Raises IllegalOptions or MalformedAct.
        """
        if len(root_secret) != 32:
            raise MalformedAct("root_secret", "must be 32 bytes")
        if immediate and not mode:
            mode = SERVER_ONLY
        epochs = game.epochs(game.complete(seats, options))
        author = cls(root_secret, match_id, epochs)
        opened = opening(game, seats, options, mode, author.seeds, ready_seats, clock, timeout_policy)
        match = begin_opened(match_id, opened, Registry([game]))
        draft = open_match(match, request_id, time_us, author.seeds, immediate=immediate)
        record = draft.seal(author._salt_key)
        return author, draft.after, record.message

    def act(self, match: Match, action: engine_service_pb2.Action) -> tuple[Match, record_pb2.Record]:
        """Where `match` stands after `action`, and its record as a message. Raises what `decide` raises."""
        after, record = self.make(match, action)
        return after, record.message

    def make(self, match: Match, action: engine_service_pb2.Action) -> tuple[Match, WholeRecord]:
        """Where `match` stands after `action`, and its record. Raises what `decide` raises."""
        if (made := self._play(match, action)) is not None:
            return made
        draft = decide(match, action, self.seeds)
        record = draft.seal(self._salt_key)
        return draft.after, record

    def _play(self, match: Match, action: engine_service_pb2.Action) -> tuple[Match, WholeRecord] | None:
        """As `make`, for an ordinary command with which nothing is wrong. None for any other: `decide` says why."""
        cause, data = action.cause, action.command
        seat, request_id, decision = cause.seat, cause.request_id, match.open_decision.number
        time_us = max(action.time_us, match.time_us)
        if not data or cause.kind != SEAT or cause.decision != decision:
            return None
        if not can_play(match, seat, request_id, time_us):
            return None
        observed, signature, key = cause.observed_head, cause.signature, match.seats[seat].public_key
        key_id = keys.key_id(key) if key else b""
        if bool(key) != bool(signature) or (key and observed not in match.recent) or (observed and not key):
            return None
        if cause.key_id not in (b"", key_id):
            return None
        after, spelling = match.copy(), spelling_of(match.game.schema)
        try:
            command = spelling.command(data)
            sealed = wire.sealed_command(data, signature) if command.is_sealed else b""
            body, secrets, opened = carry_out(
                after, spelling, self.seeds, self.seeds.chance(match.entropy), command, sealed, seat=seat,
                request_id=request_id, time_us=time_us, observed_head=observed, key_id=key_id,
                signature=b"" if sealed else signature,
            )  # fmt: skip
        except EngineError:
            return None
        if key:  # last, because it costs most
            message = keys.act_message(match.match_id, seat, keys.ActKind.COMMAND, decision, observed, request_id, data)
            if not keys.verify(key, signature, message):
                return None
        record = seal(match.match_id, match.seq + 1, body, secrets, match.hash, self._salt_key)
        after.finish_record(record.hash, time_us, decision, seat, opened)
        return after, record
