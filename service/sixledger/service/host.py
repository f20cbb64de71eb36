"""The match host: opens matches, takes acts, and makes their records durable.

Any replica may host any match. How it finds and reads them is in `matches`, how it takes acts in `acting`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sixledger.engine.errors import EngineError
from sixledger.engine.registry import Registry
from sixledger.engine.schema import Malformed
from sixledger.ledger.author import Author
from sixledger.ledger.faults import Refused
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.whole import WholeRecord
from sixledger.service.acting import Acting, kept_deadline, translated
from sixledger.service.errors import ServiceError, malformed, request_id_reused, unavailable
from sixledger.service.hosted import Hosted
from sixledger.service.idempotency import create_request_id, created_match_id, is_same_creation
from sixledger.service.logs import Log
from sixledger.service.matches import Posted, wall_clock
from sixledger.service.rendezvous import Rendezvous
from sixledger.service.store import Entry, MatchRow, Store
from sixledger.v1 import error_pb2, match_service_pb2, record_pb2

if TYPE_CHECKING:
    from sixledger.service.metrics import Metrics
    from sixledger.service.tracing import Tracing

_TABLE = record_pb2.CAUSE_KIND_TABLE


class MatchHost(Acting):
    """Hosts the matches of one store."""

    def __init__(
        self,
        store: Store,
        signer: HeadSigner,
        *,
        clock: Callable[[], int] = wall_clock,
        root_secret: Callable[[], bytes] | None = None,
        cached_matches: int = 1024,
        registry: Registry | None = None,
        token_lifetime_s: int = 90 * 24 * 3600,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        archive: Path | None = None,
    ) -> None:
        """`clock` gives microseconds since 1970-01-01 UTC, `root_secret` (for tests) 32 random bytes for a match.

        `archive` is the folder with the ledgers that have left the store.
        No token that was made until now is valid for longer than `token_lifetime_s` seconds. `metrics` and `tracing`
        are told what happens.
        """
        super().__init__(
            store,
            signer,
            clock=clock,
            cached_matches=cached_matches,
            registry=registry,
            metrics=metrics,
            tracing=tracing,
            archive=archive,
        )
        self._token_lifetime_us = token_lifetime_s * 1_000_000
        self._rendezvous = Rendezvous()
        self._log = Log("host")
        self._root_secret = root_secret or partial(secrets.token_bytes, 32)

    async def create(
        self,
        request: match_service_pb2.CreateMatchRequest,
        *,
        owner: str = "",
        rematch_of: bytes = b"",
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> Posted:
        """Open the match that `request` asks for, or find it if the same request has opened it before.

        `owner` is who opens it, `rematch_of` the match before it. `admit` may refuse to open a new one.
        """
        if request.secret and len(request.secret) != 32:
            raise malformed("secret", "must be 32 bytes, or absent")
        if request.mode not in record_pb2.ContributionMode.values():
            raise malformed("mode", "is not a mode of this release")
        secret = request.secret or secrets.token_bytes(32)
        match_id = created_match_id(secret)
        if request.secret and (found := await self._created_before(match_id, request)):
            return found
        if admit is not None:
            await admit()
        await self._rendezvous.meet()
        try:
            game = self.registry.latest(request.game)
            options = game.schema.options.unpack(request.options)
            root_secret = self._root_secret()
            author, match, record = Author.open(
                game,
                request.seats,
                options,
                root_secret=root_secret,
                match_id=match_id,
                request_id=create_request_id(secret),
                time_us=self.clock(),
                mode=request.mode,
                ready_seats=request.ready_seats,
                clock=request.clock if request.HasField("clock") else None,
                timeout_policy=request.timeout_policy,
            )
        except (EngineError, Malformed, Refused) as error:
            raise translated(error, "options" if isinstance(error, Malformed) else "") from error
        row = MatchRow(
            match_id,
            game.id,
            len(match.seats),
            match.time_us,
            root_secret,
            match.status,
            0,
            owner,
            request.private,
            request.no_spectators,
            rematch_of,
            kept_deadline(match.first_deadline_us),
        )
        whole = WholeRecord.of(record)
        first = Entry(match_id, 0, whole.data, _TABLE, 0, create_request_id(secret))
        if not await self.store.create(row, first):
            found = await self._created_before(match_id, request)
            if found is None:
                raise unavailable("the match was created at the same time; try again")
            return found
        hosted = Hosted(row, author, match, whole)
        self._cache.put(hosted)
        self._expect(match)
        if self.metrics is not None:
            self.metrics.changed(match.status)
        self._log.info("match_created", match=match_id.hex(), game=game.id, seats=len(match.seats))
        return Posted(hosted, 0, whole, match.time_us)

    async def _created_before(self, match_id: bytes, request: match_service_pb2.CreateMatchRequest) -> Posted | None:
        try:
            hosted = await self.hosted(match_id)
        except ServiceError as error:
            if error.reason == error_pb2.REASON_UNKNOWN_MATCH:
                return None
            raise
        try:
            same = is_same_creation(request, hosted.match.opened, hosted.match.game)
        except (EngineError, Malformed) as error:
            raise request_id_reused() from error
        row = hosted.row
        if not same or (row.private, row.no_spectators) != (request.private, request.no_spectators):
            raise request_id_reused()
        return await self.posted(hosted, 0)
