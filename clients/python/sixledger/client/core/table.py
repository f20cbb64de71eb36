"""A table as one viewer follows it: a spectator's (`Table`) or a seat's (`SeatTable`), as flows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from sixledger.client.core import acts, ledgers
from sixledger.client.core.evidence import Told
from sixledger.client.core.feed import Feed, WatchItem
from sixledger.client.core.flow import Flow, Locked, Unary
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.session import MATCHES, Session
from sixledger.client.core.streams import PlayStream, StreamFeed
from sixledger.client.core.tracker import Tracker
from sixledger.client.credentials import Credentials
from sixledger.client.errors import (
    BadHead,
    ClientError,
    ForgedAct,
    RewrittenHistory,
    ServerCheated,
    TruncatedHistory,
    WrongPhase,
    cheated,
)
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.keys import ActKind
from sixledger.ledger.records import read_body
from sixledger.v1 import game_pb2, match_service_pb2, record_pb2, replay_service_pb2


class Table:
    """A match that is followed. Flows with a leading underscore need the lock of the feed."""

    def __init__(self, session: Session, tracker: Tracker, lock: Any, stream: PlayStream | None = None) -> None:
        """`lock` is the driver's, for its `Locked`. The match is followed over `stream`, if there is one."""
        self.session = session
        self.tracker = tracker
        self.stream = stream
        self.feed = Feed(session, tracker) if stream is None else StreamFeed(session, tracker, stream)
        self.lock = lock

    def pull(self, behind: int) -> Flow[WatchItem | None]:
        """The next item of the stream; None if more than `behind` records came in the meantime."""
        item: WatchItem | None = yield Locked(self.lock, self._pull_beyond(behind))
        return item

    def _pull_beyond(self, behind: int) -> Flow[WatchItem | None]:
        if self.tracker.count > behind:
            return None
        return (yield from self._follow())

    def _follow(self) -> Flow[WatchItem]:
        """The next item of the stream."""
        return (yield from self.feed.pull())

    def _reach(self, count: int) -> Flow[None]:
        """Read on until `count` records are here."""
        while self.tracker.count < count:
            yield from self._follow()

    def ending(self) -> match_service_pb2.WatchEnded | None:
        """How a watch ends: the head of the last record, once it is here and the match is over."""
        with self.tracker.lock:
            head = self.tracker.receipts.note(self.tracker.count) if self.tracker.over else ""
        return match_service_pb2.WatchEnded(head=head) if head else None

    def refresh(self) -> Flow[None]:
        """Read on until every record that exists now is here, with the signed head of the last."""
        if self.ending() is not None:
            return
        request = match_service_pb2.GetMatchRequest(match_id=self.tracker.match_id)
        known = max(self.tracker.count, self.tracker.receipts.highest)  # before it is asked: afterwards it may be more
        reply = yield from self.session.call(MATCHES, "GetMatch", request)
        if reply.match.match_id != self.tracker.match_id or not reply.head:
            self.tracker.refuse(BadHead("the match is shown without its signed head"))
        yield from self._meet(reply.head)
        self.tracker.head(reply.head, exactly=reply.match.record_count)
        self.tracker.check_kept(reply.match.record_count)
        if reply.match.record_count < known:
            message = f"the service shows {reply.match.record_count} records, before it had {known}"
            self.tracker.refuse(TruncatedHistory(message, seq=reply.match.record_count), Told(head=reply.head))
        yield Locked(self.lock, self._reach(reply.match.record_count))

    def _meet(self, head: str) -> Flow[None]:
        """Learn of new keys before a head is checked. Raises what ends the trust."""
        try:
            yield from self.session.meet(head)
        except ServerCheated as error:
            self.tracker.refuse(error, Told(head=head))

    def export(self, path: str | Path) -> Flow[Path]:
        """Write what was received, with the receipts, as a ledger file."""
        yield from self.refresh()
        return ledgers.write(self.tracker, Path(path))

    def verify(self) -> Flow[replay_service_pb2.VerifyReport]:
        """Replay everything received, and raise what is wrong."""
        yield from self.refresh()
        return ledgers.verify(self.tracker)


class SeatTable(Table):
    """The table of a player, who holds the credentials of a seat."""

    def __init__(
        self, session: Session, tracker: Tracker, lock: Any, credentials: Credentials, stream: PlayStream | None = None
    ) -> None:
        """`tracker` is that of the same credentials. Commands go over `stream`, if there is one."""
        super().__init__(session, tracker, lock, stream)
        self.credentials = credentials

    # -- waiting -----------------------------------------------------------------------------------

    def refresh(self) -> Flow[None]:
        """Read on until every record that exists now is here, and contribute if that is due by then."""
        yield from super().refresh()
        yield Locked(self.lock, self._contribute())

    def turn(self) -> Flow[bool]:
        """Wait until the seat may act (True) or the match is over (False), contributing on the way."""
        may_act: bool = yield Locked(self.lock, self._turn())
        return may_act

    def _turn(self) -> Flow[bool]:
        while True:
            if self.tracker.over or self.tracker.left:
                return False
            if self.feed.caught_up and self.tracker.may_act:
                return True
            yield from self._follow()

    def _follow(self) -> Flow[WatchItem]:
        item = yield from self.feed.pull()
        if self.feed.caught_up:  # before, what looks due may have been done long ago
            yield from self._contribute()
        return item

    def _contribute(self) -> Flow[None]:
        """Do what the seat owes to the randomness."""
        credentials = self.credentials
        while self.tracker.count and not self.tracker.left and (kind := acts.due(self.tracker.match, credentials)):
            request: Message
            if kind is ActKind.COMMITMENT:
                payload = acts.contribution_commitment(credentials)
                act = self._act(kind, credentials.request_id("commitment"), payload)
                request = match_service_pb2.CommitContributionRequest(act=act, commitment=payload)
                method = "CommitContribution"
            else:
                payload = credentials.contribution
                act = self._act(kind, credentials.request_id("contribution"), payload)
                request = match_service_pb2.RevealContributionRequest(act=act, contribution=payload)
                method = "RevealContribution"
            try:
                reply = yield from self.session.call(MATCHES, method, request)
            except WrongPhase:  # the match was aborted meanwhile, or the seat did it through another client
                behind = self.tracker.count
                while self.tracker.count == behind:
                    yield from self.feed.pull()
                continue
            if not reply.head:
                self.tracker.refuse(BadHead("the reply to an act comes without a signed head"), Told(reply.record))
            yield from self._meet(reply.head)
            yield from self._take_reply(act.request_id, reply.record, (), reply.head)

    # -- acting ------------------------------------------------------------------------------------

    def play(self, command: Message, decision: int | None = None) -> Flow[Recorded]:
        """Play a command; the result is its record."""
        request = yield from self.request(command, decision)
        if self.stream is None:
            reply = yield from self.session.call(MATCHES, "SubmitCommand", request)
            return (yield from self.take_reply(request.act.request_id, reply.record, reply.late_openings, reply.head))
        (played,) = yield from self.stream.submit([request])
        return (yield from self.take_played(request, played))

    def request(self, command: Message, decision: int | None = None) -> Flow[match_service_pb2.SubmitCommandRequest]:
        """The request that plays a command, signed if the seat signs."""
        if not self.tracker.started:
            yield Locked(self.lock, self._until_started())
        with self.tracker.lock:
            match = self.tracker.match
            answered = match.decision if decision is None else decision
            data = envelope(match.game.schema, command).SerializeToString(deterministic=True)
            request_id = uuid.uuid4().bytes
            self.tracker.sent(request_id, data)
            act = acts.act(self.credentials, ActKind.COMMAND, request_id, match.hash, data, answered)
        return match_service_pb2.SubmitCommandRequest(act=act, decision=answered, command=data)

    def take_played(
        self,
        request: match_service_pb2.SubmitCommandRequest,
        played: match_service_pb2.PlayedCommand | match_service_pb2.SubmitCommandResponse | ClientError,
    ) -> Flow[Recorded]:
        """Take what came of a command on a stream or in a batch. Raises what it was refused with."""
        if isinstance(played, ClientError):
            raise played
        on_stream = isinstance(played, match_service_pb2.PlayedCommand)
        return (
            yield from self.take_reply(
                request.act.request_id, played.record, played.late_openings, played.head, needs_head=not on_stream
            )
        )

    def _until_started(self) -> Flow[None]:
        while not self.tracker.started:
            if self.tracker.over:
                raise WrongPhase("the match ended before the game started")
            yield from self._follow()

    def resign(self) -> Flow[Recorded]:
        """Resign; the result is the record."""
        request_id, act = yield from self._lasting_act(ActKind.RESIGN, "resign")
        request = match_service_pb2.ResignMatchRequest(act=act)
        reply = yield from self.session.call(MATCHES, "ResignMatch", request)
        return (yield from self.take_reply(request_id, reply.record, reply.late_openings, reply.head))

    def ready(self) -> Flow[Recorded]:
        """Say that the seat is ready; the result is the record."""
        request_id, act = yield from self._lasting_act(ActKind.READY, "ready")
        request = match_service_pb2.DeclareReadyRequest(act=act)
        reply = yield from self.session.call(MATCHES, "DeclareReady", request)
        return (yield from self.take_reply(request_id, reply.record, (), reply.head))

    def leave(self) -> Flow[record_pb2.Record]:
        """Give the seat up before the seats are closed; the result is the record."""
        request_id, act = yield from self._lasting_act(ActKind.LEAVE, "leave")
        reply = yield from self.session.call(MATCHES, "LeaveMatch", match_service_pb2.LeaveMatchRequest(act=act))
        yield from self._meet(reply.head)
        # Records before it that are not here stay away: the token is worth nothing any more.
        if self._take_now(request_id, reply.record, (), reply.head) is None:
            self.tracker.head(reply.head, least=self._body(reply.record).seq + 1)
        self.tracker.left = True
        self.feed.close()
        record: record_pb2.Record = reply.record
        return record

    def refresh_token(self) -> Flow[None]:
        """Take a fresh token in place of the one that will expire."""
        request = match_service_pb2.RefreshTokenRequest(match_id=self.tracker.match_id, token=self.credentials.token)
        reply = yield from self.session.call(MATCHES, "RefreshToken", request)
        self._take_token(reply.token)

    def revoke_tokens(self) -> Flow[None]:
        """Make all tokens of the seat worthless, and take a fresh one."""
        request = match_service_pb2.RevokeTokensRequest(
            match_id=self.tracker.match_id, token=self.credentials.token, own=match_service_pb2.OwnTokens()
        )
        # Not repeated: after the first time the old token is worth nothing.
        self.tracker.renewing = True
        try:
            reply = yield Unary(MATCHES, "RevokeTokens", request, self.session.settings.timeout)
            self._take_token(reply.token)
        finally:
            self.tracker.renewing = False

    def _take_token(self, token: str) -> None:
        self.credentials.token = token
        if self.credentials.path is not None:
            self.credentials.save()

    def _lasting_act(self, kind: ActKind, purpose: str) -> Flow[tuple[bytes, match_service_pb2.Act]]:
        """An act that happens once, and its request id."""
        if not self.tracker.count:
            yield from self.refresh()
        request_id = self.credentials.request_id(purpose)
        # Record 0 may be observed at any time: nobody's move in between can make the signature out of date.
        return request_id, acts.act(self.credentials, kind, request_id, self.tracker.match.first_hash)

    def _act(self, kind: ActKind, request_id: bytes, payload: bytes) -> match_service_pb2.Act:
        return acts.act(self.credentials, kind, request_id, self.tracker.match.hash, payload)

    # -- replies -----------------------------------------------------------------------------------

    def take_reply(
        self,
        request_id: bytes,
        record: record_pb2.Record,
        late: Sequence[record_pb2.LateOpenings],
        head: str,
        *,
        needs_head: bool = True,
    ) -> Flow[Recorded]:
        """Take the record of an own act; records before it that are not here yet are read first.

        Without `needs_head` it may come without a signed head: on streams heads come now and then.
        """
        if needs_head and not head:
            fault = BadHead("the reply to an act comes without a signed head", seq=self._body(record).seq)
            self.tracker.refuse(fault, Told(record, tuple(late)))
        yield from self._meet(head)
        taken = self._take_now(request_id, record, late, head)
        if taken is None:
            taken = yield Locked(self.lock, self._take_reply(request_id, record, late, head))
        return taken

    def _take_reply(
        self, request_id: bytes, record: record_pb2.Record, late: Sequence[record_pb2.LateOpenings], head: str
    ) -> Flow[Recorded]:
        while (taken := self._take_now(request_id, record, late, head)) is None:
            yield from self.feed.pull()
        return taken

    def _take_now(
        self, request_id: bytes, record: record_pb2.Record, late: Sequence[record_pb2.LateOpenings], head: str
    ) -> Recorded | None:
        """Take the record if nothing is missing before it; else None."""
        tracker = self.tracker
        body, told = self._body(record), Told(record, tuple(late), head)
        if (body.cause.request_id, body.cause.seat) != (request_id, self.credentials.seat):
            tracker.refuse(ForgedAct("the reply to an act is the record of another one", seq=body.seq), told)
        with tracker.lock:
            if body.seq > tracker.count:
                return None
            if body.seq == tracker.count:
                return tracker.receive(record, late, head)
            if body.match_id != tracker.match_id:
                tracker.refuse(RewrittenHistory("the reply is of another match", seq=body.seq), told)
            taken = tracker.confirm(body.seq, record)
            if head:
                tracker.head(head, exactly=body.seq + 1)
            return taken

    def _body(self, record: record_pb2.Record) -> record_pb2.Body:
        """The body of the record of a reply. Raises ServerCheated."""
        try:
            return read_body(record)
        except LedgerFault as fault:
            error = cheated(fault, None)
            self.tracker.doubt(error, Told(record))
            raise error from fault


def envelope(schema: Any, command: Message) -> game_pb2.Command:
    """The envelope of a command: given as such, as the game's `Command`, or as its concrete message."""
    if isinstance(command, game_pb2.Command):
        return command
    inner: Any = command
    if inner.DESCRIPTOR.name == "Command" and "command" in inner.DESCRIPTOR.oneofs_by_name:
        case = inner.WhichOneof("command")
        if case is None:
            raise ValueError("the command is empty")
        inner = getattr(inner, case)
    if type(inner) not in schema.commands.cases:
        known = ", ".join(sorted(kind.DESCRIPTOR.name for kind in schema.commands.cases))
        raise ValueError(f"{inner.DESCRIPTOR.name} is no command of this game; its commands are {known}")
    packed: game_pb2.Command = schema.commands.pack(inner)
    return packed
