"""Flows of the match service: opening, joining, watching, reading."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import Message
from sixledger.client.core import acts, ledgers, owner
from sixledger.client.core.flow import Backoff, Flow, Read
from sixledger.client.core.origin_keys import OriginKeys
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.session import MATCHES, Session
from sixledger.client.core.streams import PlayStream
from sixledger.client.core.table import SeatTable, Table, envelope
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.errors import (
    BadHead,
    BrokenStream,
    ClientError,
    ForgedAct,
    OriginChanged,
    RewrittenHistory,
    SeatTaken,
    ServerCheated,
    ServiceError,
    Tampered,
    TransportError,
    UnknownRuleset,
)
from sixledger.client.statuses import from_failure
from sixledger.engine.errors import EngineError
from sixledger.engine.registry import installed
from sixledger.engine.schema import Malformed
from sixledger.ledger.clocks import NO_POLICY, settled
from sixledger.ledger.hashing import sha256
from sixledger.ledger.match import Match
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2

Mode: TypeAlias = record_pb2.ContributionMode.ValueType
UNSPECIFIED = record_pb2.CONTRIBUTION_MODE_UNSPECIFIED
SERVER_ONLY = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
#: What the record of an act of the owner says.
_STEPS = {"AbortMatch": "aborted", "PauseMatch": "paused", "ResumeMatch": "resumed"}
#: Commands of one batch.
_BATCH = 100


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

    def __init__(
        self,
        session: Session,
        lock: Callable[[], Any],
        queue: Callable[[], Any] | None = None,
        stream: PlayStream | None = None,
    ) -> None:
        """`lock` and `queue` make those of the driver. With `stream` tables are followed and played over it."""
        self._session = session
        self._lock = lock
        self._queue = queue
        if stream is None and queue is not None and session.settings.play_stream:
            stream = PlayStream(session, queue)
        self.stream = stream

    def streaming(self) -> Hosting:
        """The same with a play stream of its own."""
        assert self._queue is not None
        return Hosting(self._session, self._lock, self._queue, PlayStream(self._session, self._queue))

    # -- playing several ---------------------------------------------------------------------------

    def play_all(self, moves: Sequence[tuple[SeatTable, Message]]) -> Flow[list[Recorded | ClientError]]:
        """Play commands at several tables at once; a result for each, in order."""
        if not moves:
            return []
        requests = []
        for table, command in moves:
            requests.append((yield from table.request(command)))
        played: Sequence[match_service_pb2.PlayedCommand | match_service_pb2.SubmitCommandResponse | ClientError]
        if self.stream is not None:
            played = yield from self.stream.submit(requests)
        else:
            played = yield from self._submit_all(requests)
        results: list[Recorded | ClientError] = []
        for (table, _), request, answer in zip(moves, requests, played, strict=True):
            try:
                results.append((yield from table.take_played(request, answer)))
            except ServerCheated:
                raise
            except ClientError as error:
                results.append(error)
        return results

    def _submit_all(
        self, requests: Sequence[match_service_pb2.SubmitCommandRequest]
    ) -> Flow[list[match_service_pb2.SubmitCommandResponse | ClientError]]:
        """The results of a batch; those that are unavailable are sent again while there is patience."""
        results: dict[int, match_service_pb2.SubmitCommandResponse | ClientError] = {}
        backoff = Backoff(self._session.settings)
        while True:
            left = [number for number in range(len(requests)) if number not in results][:_BATCH]
            batch = match_service_pb2.SubmitCommandsRequest(commands=[requests[number] for number in left])
            reply = yield from self._session.call(MATCHES, "SubmitCommands", batch)
            if len(reply.results) != len(left):
                raise BrokenStream(f"{len(left)} commands were answered with {len(reply.results)} results")
            errors: list[ServiceError] = []
            for number, result in zip(left, reply.results, strict=True):
                if result.WhichOneof("result") == "reply":
                    results[number] = result.reply
                    continue
                error = from_failure(result.failure)
                results[number] = error
                if error.retryable:
                    errors.append(error)
            if errors:
                try:
                    pause = backoff.after(errors[0])
                except ServiceError:
                    errors = []  # the patience is used up: their results are these errors
                else:
                    for number in left:
                        if results[number] in errors:
                            del results[number]
                    yield pause
            if len(results) == len(requests):
                return [results[number] for number in range(len(requests))]

    # -- opening -----------------------------------------------------------------------------------

    def create(
        self,
        game: str,
        seats: int,
        options: Message | None,
        mode: Mode,
        secret: bytes | None,
        ready_seats: int = 0,
        private: bool = False,
        spectators: bool = True,
        clock: record_pb2.Clock | None = None,
        on_timeout: record_pb2.TimeoutPolicy.ValueType = NO_POLICY,
    ) -> Flow[CreatedMatch]:
        """Open a match, and check that it is the one asked for."""
        keys = yield from self._session.origin_keys()
        secret = secrets.token_bytes(32) if secret is None else secret
        request = match_service_pb2.CreateMatchRequest(
            game=game,
            options=self._options(game, options),
            seats=seats,
            mode=mode,
            secret=secret,
            ready_seats=ready_seats,
            private=private,
            no_spectators=not spectators,
            clock=clock,
            timeout_policy=on_timeout,
        )
        reply = yield from self._session.call(MATCHES, "CreateMatch", request)
        if reply.match_id != sha256(b"sixledger/match/1\n", secret)[:16]:
            raise Tampered("the opened match has another id than the one asked for", layer="parse")
        if not reply.head:
            raise BadHead("the opened match comes without a signed head")
        yield from self._session.meet(reply.head)
        tracker = Tracker(reply.match_id, keys, registry=self._session.registry)
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
        self,
        match_id: bytes,
        seat: int | None,
        sign: bool,
        contribute: bool,
        display_name: str,
        save_to: str | Path | None,
        invitation: str = "",
    ) -> Flow[SeatTable]:
        """Take a seat with fresh credentials; without a number the first one that is free."""
        if seat is not None:
            return (yield from self._join(match_id, seat, sign, contribute, display_name, save_to, invitation))
        info = yield from self.get(match_id)
        for number, each in enumerate(info.match.seats):
            if each.joined:
                continue
            try:
                return (yield from self._join(match_id, number, sign, contribute, display_name, save_to, invitation))
            except SeatTaken:
                continue  # somebody was faster
        raise SeatTaken("no seat is free")

    def _join(
        self,
        match_id: bytes,
        seat: int,
        sign: bool,
        contribute: bool,
        display_name: str,
        save_to: str | Path | None,
        invitation: str,
    ) -> Flow[SeatTable]:
        keys = yield from self._session.origin_keys()
        opening = yield from self._opening(match_id, keys)
        wants = contribute and opening.opened.mode != SERVER_ONLY
        credentials = Credentials.new(
            match_id, seat, sign=sign, contribute=wants, display_name=display_name, invitation=invitation
        )
        if save_to is not None:
            credentials.save(save_to)  # before the call: its reply may get lost
        return (yield from self._take_seat(credentials, keys, opening.first_hash))

    def resume(self, credentials: Credentials) -> Flow[SeatTable]:
        """The seat of these credentials: joined now, or again if the reply got lost, or long ago."""
        keys = yield from self._session.origin_keys()
        if credentials.origin_key and not keys.continues(credentials.origin_key):
            raise OriginChanged(f"the match began with {credentials.origin_key}, here signs {keys}")
        if credentials.token:
            tracker = Tracker(credentials.match_id, keys, credentials, self._session.registry)
            return SeatTable(self._session, tracker, self._lock(), credentials, self.stream)
        opening = yield from self._opening(credentials.match_id, keys)
        return (yield from self._take_seat(credentials, keys, opening.first_hash))

    def _take_seat(self, credentials: Credentials, keys: OriginKeys, first_hash: bytes) -> Flow[SeatTable]:
        tracker = Tracker(credentials.match_id, keys, credentials, self._session.registry)
        table = SeatTable(self._session, tracker, self._lock(), credentials, self.stream)
        request = acts.join_request(credentials, first_hash)
        reply = yield from self._session.call(MATCHES, "JoinMatch", request)
        credentials.token, credentials.origin_key = reply.token, str(keys)
        if credentials.path is not None:
            credentials.save()
        yield from table.take_reply(credentials.request_id("join"), reply.record, (), reply.head)
        if tracker.match.first_hash != first_hash:
            tracker.refuse(RewrittenHistory("is another one than before joining", seq=0))
        return table

    def _opening(self, match_id: bytes, keys: OriginKeys) -> Flow[Match]:
        """The match as record 0 opens it: nobody takes a seat under rules unseen."""
        info = yield from self.get(match_id)
        request = match_service_pb2.ListRecordsRequest(match_id=match_id, page_size=1)
        page = yield from self._session.call(MATCHES, "ListRecords", request)
        if len(page.records) != 1:
            raise Tampered("the match has no record 0", layer="parse")
        tracker = Tracker(match_id, keys, registry=self._session.registry)
        tracker.receive(page.records[0])
        match = tracker.match
        if match.first_hash != info.match.first_hash:
            raise RewrittenHistory("the match names another hash of record 0 than the record has", seq=0)
        if match.opened != info.match.opened:
            raise Tampered("the match is shown as opened in another way than in record 0", layer="parse", seq=0)
        return match

    def watch_match(self, match_id: bytes) -> Flow[Table]:
        """The table of a spectator."""
        keys = yield from self._session.origin_keys()
        tracker = Tracker(match_id, keys, registry=self._session.registry)
        return Table(self._session, tracker, self._lock(), self.stream)

    def abort(self, match_id: bytes, owner_token: str, request_id: bytes | None) -> Flow[record_pb2.Record]:
        """Abort a match; the result is the record."""
        return (yield from self._owner_act("AbortMatch", match_id, owner_token, request_id))

    def pause(
        self, match_id: bytes, owner_token: str, request_id: bytes | None, *, resume: bool
    ) -> Flow[record_pb2.Record]:
        """Pause a match or let it go on; the result is the record."""
        method = "ResumeMatch" if resume else "PauseMatch"
        return (yield from self._owner_act(method, match_id, owner_token, request_id))

    def _owner_act(
        self, method: str, match_id: bytes, owner_token: str, request_id: bytes | None
    ) -> Flow[record_pb2.Record]:
        request_id = request_id or secrets.token_bytes(16)
        kind = getattr(match_service_pb2, f"{method}Request")
        request = kind(match_id=match_id, owner_token=owner_token, request_id=request_id)
        keys = yield from self._session.origin_keys()
        reply = yield from self._session.call(MATCHES, method, request)
        yield from self._session.meet(reply.head)
        return owner.answered(reply, match_id, keys, request_id, step=_STEPS[method])

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
        keys = yield from self._session.origin_keys()
        reply = yield from self._session.call(MATCHES, "SubmitTableCommand", request)
        yield from self._session.meet(reply.head)
        return owner.answered(reply, match_id, keys, request_id, command=data)

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
        self,
        status: match_service_pb2.MatchStatus.ValueType,
        game: str,
        limit: int,
        free_seats: bool = False,
        mine: bool = False,
    ) -> Flow[list[match_service_pb2.MatchSummary]]:
        """Matches, newest first, page by page."""
        found: list[match_service_pb2.MatchSummary] = []
        token = ""
        while len(found) < limit:
            request = match_service_pb2.ListMatchesRequest(
                page_size=min(100, limit - len(found)),
                page_token=token,
                status=status,
                game=game,
                free_seats=free_seats,
                mine=mine,
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
        """The service's own ledger file, gzipped if `path` ends with `.gz`; begun anew if the stream breaks."""
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
                return ledgers.save(Path(path), b"".join(pieces))
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
        and match.opened.ready_seats == request.ready_seats
        and settled(request.clock, request.timeout_policy)
        == (match.opened.clock if match.opened.HasField("clock") else None, match.opened.timeout_policy)
    )
    if not same:
        raise Tampered("the match was opened in another way than asked for", layer="rules", seq=0)
