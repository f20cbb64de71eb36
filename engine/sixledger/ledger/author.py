"""Writing the ledger of a match: whoever holds its root secret makes its records."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from sixledger.engine.game import Game
from sixledger.engine.registry import Registry
from sixledger.ledger import hashing
from sixledger.ledger.decide import decide
from sixledger.ledger.faults import MalformedAct
from sixledger.ledger.folding import begin_opened
from sixledger.ledger.match import Match
from sixledger.ledger.opening import SERVER_ONLY, open_match, opening
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, record_pb2


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
        return author, draft.after, record

    def act(self, match: Match, action: engine_service_pb2.Action) -> tuple[Match, record_pb2.Record]:
        """Where `match` stands after `action`, and its record. Raises what `decide` raises."""
        draft = decide(match, action, self.seeds)
        record = draft.seal(self._salt_key)
        return draft.after, record
