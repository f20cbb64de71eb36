"""Flows of the match service: opening, joining, watching, reading."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import Message
from sixledger.client.core import acts, ledgers
from sixledger.client.core.flow import Backoff, Flow, Read
from sixledger.client.core.receipts import Receipts
from sixledger.client.core.session import MATCHES, Session
from sixledger.client.core.table import SeatTable, Table, envelope
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.errors import (
    BadHead,
    ForgedAct,
    OriginChanged,
    RewrittenHistory,
    ServiceError,
    Tampered,
    TransportError,
    UnknownRuleset,
)
from sixledger.engine.errors import EngineError
from sixledger.engine.registry import installed
from sixledger.engine.schema import Malformed
from sixledger.ledger.hashing import sha256
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.match import Match
from sixledger.ledger.records import read_body
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2

Mode: TypeAlias = record_pb2.ContributionMode.ValueType
UNSPECIFIED = record_pb2.CONTRIBUTION_MODE_UNSPECIFIED
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY


@dataclass(frozen=True, slots=True)
class CreatedMatch:
    """A match that was opened, with what lets its owner abort it."""

    match_id: bytes
    #: Keep it secret.
    owner_token: str = field(repr=False)
    #: 32 bytes: creating with them again gives the same match and token. Keep them secret.
    secret: bytes = field(repr=False)
    record: record_pb2.Record = field(repr=False)
    #: Signed head of record 0.
    head: str = field(repr=False)


class Hosting:
    """Matches on a service."""

    def __init__(self, session: Session, lock: Callable[[], Any]) -> None:
        """`lock` makes a lock of the driver."""
        self._session = session
        self._lock = lock

    # -- opening -----------------------------------------------------------------------------------

    def create(
        self, game: str, seats: int, options: Message | None, mode: Mode, secret: bytes | None
    ) -> Flow[CreatedMatch]:
        """Open a match, and check that it is the one asked for."""
        key = yield from self._session.origin_key()
        secret = secrets.token_bytes(32) if secret is None else secret
        request = match_service_pb2.CreateMatchRequest(
            game=game, options=self._options(game, options), seats=seats, mode=mode, secret=secret
        )
        reply = yield from self._session.call(MATCHES, "CreateMatch", request)
        if reply.match_id != sha256(b"sixledger/match/1\n", secret)[:16]:
            raise Tampered("the opened match has another id than the one asked for", layer="parse")
        if not reply.head:
            raise BadHead("the opened match comes without a signed head")
        tracker = Tracker(reply.match_id, key, registry=self._session.registry)
        first = tracker.receive(reply.record, head=reply.head)
        if first.body.cause.request_id != sha256(b"sixledger/create/1\n", secret)[:16]:
            raise ForgedAct("record 0 was made for another request", seq=0)
        _check_opened(tracker.match, request)
        return CreatedMatch(reply.match_id, reply.owner_token, secret, reply.record, reply.head)

    def _options(self, game: str, options: Message | None) -> game_pb2.Options | None:
        if options is None or isinstance(options, game_pb2.Options):
            return options
        registry = self._session.registry or installed()
        try:
            schema = registry.latest(game).schema
        except EngineError as error:
            raise UnknownRuleset(f"{error}; give the options as a sixledger.v1.Options") from error
        if not isinstance(options, schema.options.kind):
            kind = schema.options.kind.DESCRIPTOR.full_name
            raise ValueError(f"the options of {game} are a {kind}, not a {options.DESCRIPTOR.full_name}")
        packed: game_pb2.Options = schema.options.pack(options)
        return packed

    # -- joining -----------------------------------------------------------------------------------

    def join(
        self, match_id: bytes, seat: int, sign: bool, contribute: bool, display_name: str, save_to: str | Path | None
    ) -> Flow[SeatTable]:
        """Take a seat with fresh credentials."""
        key = yield from self._session.origin_key()
        opening = yield from self._opening(match_id, key)
        wants = contribute and opening.opened.mode != SERVER_ONLY
        credentials = Credentials.new(match_id, seat, sign=sign, contribute=wants, display_name=display_name)
        if save_to is not None:
            credentials.save(save_to)  # before the call: its reply may get lost
        return (yield from self._take_seat(credentials, key, opening.first_hash))

    def resume(self, credentials: Credentials) -> Flow[SeatTable]:
        """The seat of these credentials: joined now, or again if the reply got lost, or long ago."""
        key = yield from self._session.origin_key()
        if credentials.origin_key not in ("", str(key)):
            raise OriginChanged(f"the match began with {credentials.origin_key}, here signs {key}")
        if credentials.token:
            tracker = Tracker(credentials.match_id, key, credentials, self._session.registry)
            return SeatTable(self._session, tracker, self._lock(), credentials)
        opening = yield from self._opening(credentials.match_id, key)
        return (yield from self._take_seat(credentials, key, opening.first_hash))

    def _take_seat(self, credentials: Credentials, key: VerifierKey, first_hash: bytes) -> Flow[SeatTable]:
        tracker = Tracker(credentials.match_id, key, credentials, self._session.registry)
        table = SeatTable(self._session, tracker, self._lock(), credentials)
        request = acts.join_request(credentials, first_hash)
        reply = yield from self._session.call(MATCHES, "JoinMatch", request)
        credentials.token, credentials.origin_key = reply.token, str(key)
        if credentials.path is not None:
            credentials.save()
        yield from table.take_reply(credentials.request_id("join"), reply.record, (), reply.head)
        if tracker.match.first_hash != first_hash:
            tracker.refuse(RewrittenHistory("is another one than before joining", seq=0))
        return table

    def _opening(self, match_id: bytes, key: VerifierKey) -> Flow[Match]:
        """The match as record 0 opens it: nobody takes a seat under rules unseen."""
        info = yield from self.get(match_id)
        request = match_service_pb2.ListRecordsRequest(match_id=match_id, page_size=1)
        page = yield from self._session.call(MATCHES, "ListRecords", request)
        if len(page.records) != 1:
            raise Tampered("the match has no record 0", layer="parse")
        tracker = Tracker(match_id, key, registry=self._session.registry)
        tracker.receive(page.records[0])
        match = tracker.match
        if match.first_hash != info.match.first_hash:
            raise RewrittenHistory("the match names another hash of record 0 than the record has", seq=0)
        if match.opened != info.match.opened:
            raise Tampered("the match is shown as opened in another way than in record 0", layer="parse", seq=0)
        return match

    def watch_match(self, match_id: bytes) -> Flow[Table]:
        """The table of a spectator."""
        key = yield from self._session.origin_key()
        tracker = Tracker(match_id, key, registry=self._session.registry)
        return Table(self._session, tracker, self._lock())

    def abort(self, match_id: bytes, owner_token: str, request_id: bytes | None) -> Flow[record_pb2.Record]:
        """Abort a match; the result is the record."""
        request_id = request_id or secrets.token_bytes(16)
        request = match_service_pb2.AbortMatchRequest(match_id=match_id, owner_token=owner_token, request_id=request_id)
        key = yield from self._session.origin_key()
        reply = yield from self._session.call(MATCHES, "AbortMatch", request)
        body = read_body(reply.record)
        count = Receipts(match_id, key).take(reply.head)
        if (body.match_id, body.cause.request_id, body.seq + 1) != (match_id, request_id, count):
            raise ForgedAct("the reply to the abort is the record of another act", seq=body.seq)
        record: record_pb2.Record = reply.record
        return record

    def table_command(
        self, match_id: bytes, owner_token: str, command: Message, request_id: bytes | None
    ) -> Flow[record_pb2.Record]:
        """Give a command of the table; the result is the record."""
        request_id = request_id or secrets.token_bytes(16)
        packed = yield from self._command(match_id, command)
        data = packed.SerializeToString(deterministic=True)
        request = match_service_pb2.SubmitTableCommandRequest(
            match_id=match_id, owner_token=owner_token, request_id=request_id, command=data
        )
        key = yield from self._session.origin_key()
        reply = yield from self._session.call(MATCHES, "SubmitTableCommand", request)
        body = read_body(reply.record)
        count = Receipts(match_id, key).take(reply.head)
        recorded = (body.match_id, body.cause.kind, body.cause.request_id, body.command, body.seq + 1)
        if recorded != (match_id, acts.TABLE, request_id, data, count):
            raise ForgedAct("the reply to the command of the table is the record of another act", seq=body.seq)
        record: record_pb2.Record = reply.record
        return record

    def _command(self, match_id: bytes, command: Message) -> Flow[game_pb2.Command]:
        """The envelope of a command; what is none yet is packed by the rules of the match."""
        if isinstance(command, game_pb2.Command):
            return command
        info = yield from self.get(match_id)
        ruleset = info.match.opened.ruleset
        try:
            game = (self._session.registry or installed()).get(ruleset.id, ruleset.version)
        except EngineError as error:
            raise UnknownRuleset(f"{error}; give the command as a sixledger.v1.Command") from error
        return envelope(game.schema, command)

    # -- reading -----------------------------------------------------------------------------------

    def get(self, match_id: bytes) -> Flow[match_service_pb2.GetMatchResponse]:
        """What stands in public about a match."""
        return self._session.call(MATCHES, "GetMatch", match_service_pb2.GetMatchRequest(match_id=match_id))

    def list(
        self, status: match_service_pb2.MatchStatus.ValueType, game: str, limit: int
    ) -> Flow[list[match_service_pb2.MatchSummary]]:
        """Matches, newest first, page by page."""
        found: list[match_service_pb2.MatchSummary] = []
        token = ""
        while len(found) < limit:
            request = match_service_pb2.ListMatchesRequest(
                page_size=min(100, limit - len(found)), page_token=token, status=status, game=game
            )
            reply = yield from self._session.call(MATCHES, "ListMatches", request)
            found += reply.matches
            token = reply.next_page_token
            if not token:
                break
        return found[:limit]

    def view(self, match_id: bytes, token: str) -> Flow[match_service_pb2.GetViewResponse]:
        """What the service shows to a seat or a spectator."""
        request = match_service_pb2.GetViewRequest(match_id=match_id, token=token)
        return self._session.call(MATCHES, "GetView", request)

    def legal(self, match_id: bytes, token: str) -> Flow[match_service_pb2.ListLegalCommandsResponse]:
        """What the service thinks a seat may do."""
        request = match_service_pb2.ListLegalCommandsRequest(match_id=match_id, token=token)
        return self._session.call(MATCHES, "ListLegalCommands", request)

    def records(
        self, match_id: bytes, token: str, first_seq: int, page_size: int
    ) -> Flow[match_service_pb2.ListRecordsResponse]:
        """A page of records."""
        request = match_service_pb2.ListRecordsRequest(
            match_id=match_id, token=token, first_seq=first_seq, page_size=page_size
        )
        return self._session.call(MATCHES, "ListRecords", request)

    def export(self, match_id: bytes, path: str | Path, token: str) -> Flow[Path]:
        """The service's own ledger file; begun anew if the stream breaks."""
        request = match_service_pb2.ExportLedgerRequest(match_id=match_id, token=token)
        backoff = Backoff(self._session.settings)
        while True:
            pieces: list[bytes] = []
            try:
                handle = yield self._session.download(request)
                while (message := (yield Read(handle))) is not None:
                    pieces.append(message.chunk)
            except (ServiceError, TransportError) as error:
                pause = backoff.after(error)
            else:
                return ledgers.replace(Path(path), b"".join(pieces))
            yield pause


def _check_opened(match: Match, request: match_service_pb2.CreateMatchRequest) -> None:
    """The opened match must be the one asked for. Raises Tampered."""
    try:
        asked = match.game.complete(request.seats, match.game.schema.options.unpack(request.options)).options
    except (EngineError, Malformed) as error:
        raise Tampered("the match was opened with options that the rules do not allow", layer="rules", seq=0) from error
    same = (
        match.game.id == request.game
        and len(match.seats) == request.seats
        and match.setup.options == asked
        and match.opened.mode == (request.mode or acts.COMMIT_REVEAL)
    )
    if not same:
        raise Tampered("the match was opened in another way than asked for", layer="rules", seq=0)
