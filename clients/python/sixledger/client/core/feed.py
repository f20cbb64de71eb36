"""The one stream through which a table follows its match: it breaks and resumes, without gap or repeat."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sixledger.client.core.evidence import Told
from sixledger.client.core.flow import Backoff, Flow, Handle, Read, Sleep
from sixledger.client.core.recorded import Recorded
from sixledger.client.core.session import Session
from sixledger.client.core.tracker import Tracker
from sixledger.client.errors import (
    BadHead,
    BadToken,
    BrokenStream,
    ClientError,
    Closed,
    RewrittenHistory,
    ServerCheated,
    ServiceError,
    Tampered,
    TransportError,
)
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.records import read_body
from sixledger.v1 import match_service_pb2

#: What a watch yields: a record, or that all are here, that nothing happened, that the match is over.
WatchItem: TypeAlias = (
    Recorded | match_service_pb2.CaughtUp | match_service_pb2.Heartbeat | match_service_pb2.WatchEnded
)


#: Messages that are read before the first of them is looked at, while the past of the match comes. Reading and checking
#: by turns costs a fifth more than each in one go: the one drives the code of the other out of the processor's caches.
_AHEAD = 16


@dataclass(slots=True)
class _Opened:
    """An open stream, and what was read of it but not looked at: given up, it takes that with it."""

    handle: Handle
    ahead: deque[match_service_pb2.WatchMatchResponse | None] = field(default_factory=deque, repr=False)
    #: What ended the reading, to be told once everything before was looked at.
    error: ServiceError | TransportError | None = None


class Feed:
    """The watch stream of a tracker. One flow at a time may use it."""

    def __init__(self, session: Session, tracker: Tracker) -> None:
        """Opens nothing yet."""
        self._session = session
        self._tracker = tracker
        self._opened: _Opened | None = None
        #: The record that must come next on the open stream.
        self._expected = 0
        self._first = True
        #: True while the open stream has sent every record that existed.
        self.caught_up = False
        self._closed = False
        #: The token with which the stream was opened.
        self._token = ""

    def close(self) -> None:
        """Give the stream up for good; whoever waits for it gets Closed."""
        self._closed = True
        self.drop()

    def drop(self) -> None:
        """Give the stream up; the next pull resumes. Safe at any time."""
        opened, self._opened = self._opened, None
        self.caught_up = False
        if opened is not None:
            opened.handle.cancel()

    def pull(self) -> Flow[WatchItem]:
        """The next item. Raises what ends the trust, or the last error once the patience is used up."""
        backoff: Backoff | None = None  # made when it is needed, which is hardly ever: its own randomness costs more
        while True:
            if self._closed:
                raise Closed("the table was closed")
            if self._tracker.fault is not None:
                raise self._tracker.fault
            try:
                message = yield from self._next()
            except (ServiceError, TransportError) as error:
                self.drop()
                backoff = backoff or Backoff(self._session.settings)
                if isinstance(error, BadToken) and (self._tracker.renewing or self._token != self._current_token()):
                    pause = Sleep(self._session.settings.first_pause)  # the seat is about to have, or has, a fresh one
                else:
                    pause = backoff.after(error)
            except BaseException:  # a read that was given up half-way: the stream cannot be read on
                self.drop()
                raise
            else:
                if message is not None:
                    yield from self._meet(message)
                    return self._take(message)
                self.drop()
                backoff = backoff or Backoff(self._session.settings)
                pause = backoff.after(TransportError("UNAVAILABLE", "the stream ended before the match"))
            yield pause

    def _meet(self, message: match_service_pb2.WatchMatchResponse) -> Flow[None]:
        """Learn of new keys before the head of a message is checked. Raises what ends the trust."""
        head = message.record.head or message.caught_up.head or message.ended.head
        if not head:
            return
        try:
            yield from self._session.meet(head)
        except BaseException as error:  # the message is lost: the stream cannot be read on
            self.drop()
            if isinstance(error, ServerCheated):
                self._tracker.doubt(error, _told(message))
            raise

    def _current_token(self) -> str:
        credentials = self._tracker.credentials
        return credentials.token if credentials is not None else ""

    def _next(self) -> Flow[match_service_pb2.WatchMatchResponse | None]:
        """The next message of the stream, None at its end. Opens it if need be. Raises what ended it."""
        opened = self._opened
        if opened is None:
            self._token = self._current_token()
            self._expected, self._first = self._tracker.count, True
            handle = yield from self._open(self._tracker.match_id, self._token, self._expected)
            opened = self._opened = _Opened(handle)
        if not opened.ahead:
            yield from self._read_ahead(opened)
        return opened.ahead.popleft()

    def _open(self, match_id: bytes, token: str, first: int) -> Flow[Handle]:
        """Open a stream of the records from `first` on."""
        request = match_service_pb2.WatchMatchRequest(match_id=match_id, token=token, first_seq=first)
        handle: Handle = yield self._session.watch(request)
        return handle

    def _read(self, handle: Handle) -> Flow[match_service_pb2.WatchMatchResponse | None]:
        """The next message of an open stream, None at its end. Raises what ended it."""
        message: match_service_pb2.WatchMatchResponse | None = yield Read(handle)
        return message

    def _read_ahead(self, stream: _Opened) -> Flow[None]:
        """Read the next message; while the past comes, as many as may come at once."""
        if stream.error is not None:
            raise stream.error
        ahead, most = stream.ahead, 1 if self.caught_up else _AHEAD
        try:
            while len(ahead) < most:
                message = yield from self._read(stream.handle)
                ahead.append(message)
                if message is None or not message.HasField("record"):
                    return  # whatever is no record comes after the past
        except (ServiceError, TransportError) as error:
            if not ahead:
                raise
            stream.error = error

    def _take(self, message: match_service_pb2.WatchMatchResponse) -> WatchItem:
        """Check one message against what must come here."""
        try:
            kind = message.WhichOneof("item")
            if kind == "record":
                return self._record(message.record)
            if kind == "heartbeat":
                self._tracker.time.learn(message.heartbeat.time_us)
                return message.heartbeat
            if kind == "caught_up":
                self._tracker.head(message.caught_up.head, exactly=self._expected)
                self._tracker.check_kept(self._expected)
                self._tracker.time.learn(message.caught_up.time_us)
                self.caught_up = True
                return message.caught_up
            if kind == "ended":
                return self._ended(message.ended)
            raise BrokenStream("the stream holds an item that was not asked for")
        except ClientError as error:
            self.drop()
            self._tracker.doubt(error, _told(message))
            raise

    def _record(self, item: match_service_pb2.WatchRecord) -> Recorded:
        try:
            body = read_body(item.record)
        except LedgerFault as fault:
            raise Tampered(fault.message, layer=fault.layer, seq=self._expected) from fault
        seq = body.seq
        if seq != self._expected:
            what = "repeats" if seq < self._expected else "skips"
            raise BrokenStream(f"the stream {what} records: {seq} stands where {self._expected} must", seq=seq)
        resumed, self._first = self._first and seq > 0, False
        self._expected += 1
        try:
            with self._tracker.lock:
                if seq < self._tracker.count:  # came with a reply already
                    recorded = self._tracker.confirm(seq, item.record)
                    if item.head:
                        self._tracker.head(item.head, exactly=seq + 1)
                    return recorded
                return self._tracker.receive(item.record, item.late_openings, item.head, body)
        except Tampered as error:
            if resumed and error.layer == "chain":
                message = "does not follow the records received before the stream broke"
                self._tracker.fault = rewritten = RewrittenHistory(message, seq=seq)
                if error.evidence is not None:
                    rewritten.evidence = replace(error.evidence, error=type(rewritten).__name__, message=message)
                raise rewritten from error
            raise

    def _ended(self, item: match_service_pb2.WatchEnded) -> match_service_pb2.WatchEnded:
        if not self._tracker.over or self._expected != self._tracker.count:
            raise BrokenStream("the stream says that the match is over, its records do not")
        if not item.head:
            raise BadHead("the end of the match comes without a signed head")
        self._tracker.head(item.head, exactly=self._expected)
        self.drop()
        self.caught_up = True
        return item


def _told(message: match_service_pb2.WatchMatchResponse) -> Told:
    """What a message of the stream says, as evidence."""
    kind = message.WhichOneof("item")
    if kind == "record":
        return Told(message.record.record, tuple(message.record.late_openings), message.record.head)
    return Told(head=message.caught_up.head or message.ended.head)
