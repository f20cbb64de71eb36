"""One play stream for any number of matches: commands and follow orders up; records, answers and heads down.

One flow reads the stream for everybody (`_pump`) and hands each item to the queue of whoever waits for it. When the
stream breaks, everybody who waits hears of it and goes on by itself: a command is sent again with its request id,
a followed match is followed again from the next record. So nothing gets lost and nothing is played twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any

from sixledger.client.core.feed import Feed
from sixledger.client.core.flow import Backoff, Duplex, Flow, Handle, Read, Spawn, Take
from sixledger.client.core.session import MATCHES, Session
from sixledger.client.core.tracker import Tracker
from sixledger.client.errors import BrokenStream, ClientError, Closed, ServiceError, TransportError
from sixledger.client.statuses import from_failure
from sixledger.v1 import match_service_pb2 as pb

#: Orders of one message.
_MOST = 64
#: Items that wait for a table that does not read; beyond that it is followed again when it does.
_MAX_UNREAD = 1000


@dataclass(slots=True)
class Subscription:
    """A followed match on an open stream."""

    stream: PlayStream = field(repr=False)
    tag: int
    match_id: bytes
    token: str = field(repr=False)
    #: Holds WatchMatchResponses, and at last a ClientError.
    queue: Any = field(repr=False)

    def cancel(self) -> bool:
        """Follow the match no longer. Whoever waits for it gets an error."""
        return self.stream._unfollow(self)


class PlayStream:
    """A stream that opens with the first order, and again after it broke. Any number of flows may use it."""

    def __init__(self, session: Session, queue: Callable[[], Any]) -> None:
        """`queue` makes a queue of the driver."""
        self._session = session
        self._queue = queue
        self._tags = count(1)
        #: Held for moments only, never while waiting.
        self._lock = Lock()
        self._closed = False
        self._handle: Handle | None = None
        #: Of the open stream: its outbox, who waits for an answer, and what is followed, both by tag.
        self._outbox: Any = None
        self._waiting: dict[int, Any] = {}
        self._followed: dict[int, Subscription] = {}

    # -- commands ----------------------------------------------------------------------------------

    def submit(self, requests: Sequence[pb.SubmitCommandRequest]) -> Flow[list[pb.PlayedCommand | ClientError]]:
        """Play commands; the results are in order. Those without an answer are sent again while there is patience."""
        results: dict[int, pb.PlayedCommand | ClientError] = {}
        backoff = Backoff(self._session.settings)
        while True:
            left = [number for number in range(len(requests)) if number not in results]
            found = yield from self._ask({number: requests[number] for number in left})
            errors: list[ServiceError | TransportError] = []
            for number, result in found.items():
                if isinstance(result, (ServiceError, TransportError)) and result.retryable:
                    errors.append(result)
                else:
                    results[number] = result
            if not errors:
                return [results[number] for number in range(len(requests))]
            try:
                pause = backoff.after(errors[0])
            except ClientError:
                return [results.get(number) or found[number] for number in range(len(requests))]
            yield pause

    def _ask(self, requests: dict[int, pb.SubmitCommandRequest]) -> Flow[dict[int, pb.PlayedCommand | ClientError]]:
        """One attempt: an answer or an error for each request."""
        queue, tags = self._queue(), {next(self._tags): number for number in requests}
        orders = [pb.PlayOrder(tag=tag, command=requests[number], with_record=True) for tag, number in tags.items()]
        found: dict[int, pb.PlayedCommand | ClientError] = {}
        try:
            yield from self._send(orders, waiting=dict.fromkeys(tags, queue))
            while len(found) < len(tags):
                tag, answer = yield Take(queue, self._session.settings.timeout)
                found[tags[tag]] = answer
        except TransportError as error:  # no answer in time
            for number in tags.values():
                found.setdefault(number, error)
            self.drop()
        finally:
            with self._lock:
                for tag in tags:
                    self._waiting.pop(tag, None)
        return found

    # -- followed matches --------------------------------------------------------------------------

    def follow(self, match_id: bytes, token: str, first_seq: int) -> Flow[Subscription]:
        """Follow a match from record `first_seq` on."""
        tag = next(self._tags)
        subscription = Subscription(self, tag, match_id, token, self._queue())
        request = pb.WatchMatchRequest(match_id=match_id, token=token, first_seq=first_seq)
        yield from self._send([pb.PlayOrder(tag=tag, follow=request)], followed={tag: subscription})
        return subscription

    def _unfollow(self, subscription: Subscription) -> bool:
        with self._lock:
            open_ = self._followed.pop(subscription.tag, None) is not None
            if open_ and self._outbox is not None:
                order = pb.UnfollowOrder(match_id=subscription.match_id, token=subscription.token)
                self._outbox.put_nowait(pb.PlayOrder(unfollow=order))
        subscription.queue.put_nowait(TransportError("CANCELLED", "the match is followed no longer"))
        return open_

    # -- the stream --------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the stream up for good."""
        self._closed = True
        self.drop()

    def drop(self) -> None:
        """Give the open stream up; the next order opens another one. Harmless when repeated."""
        with self._lock:
            outbox, handle, self._handle = self._outbox, self._handle, None
        if handle is not None:
            handle.cancel()
        if outbox is not None:
            self._end(outbox, TransportError("CANCELLED", "the stream was given up"))

    def _send(
        self,
        orders: list[pb.PlayOrder],
        waiting: dict[int, Any] | None = None,
        followed: dict[int, Subscription] | None = None,
    ) -> Flow[None]:
        with self._lock:
            if self._closed:
                raise Closed("the stream was closed")
            opens = self._outbox is None
            if opens:
                self._outbox = self._queue()
            outbox = self._outbox
            self._waiting.update(waiting or {})
            self._followed.update(followed or {})
            for order in orders:
                outbox.put_nowait(order)
        if opens:
            yield Spawn(self._pump(outbox))

    def _pump(self, outbox: Any) -> Flow[None]:
        """Open the stream and hand out what comes, until it ends."""
        error: ClientError = TransportError("UNAVAILABLE", "the stream ended")
        settings = self._session.settings
        try:
            handle = yield Duplex(MATCHES, "Play", outbox, _request, _MOST, settings.watch_timeout)
            with self._lock:
                current = self._outbox is outbox
                if current:
                    self._handle = handle
            if not current:  # given up before it was open
                handle.cancel()
                return
            while (response := (yield Read(handle))) is not None:
                for item in response.items:
                    self._hand_out(item)
        except ClientError as broken:
            error = broken
        finally:
            self._end(outbox, error)

    def _hand_out(self, item: pb.PlayItem) -> None:
        kind = item.WhichOneof("item")
        if kind == "heartbeat":
            beat = pb.WatchMatchResponse(heartbeat=item.heartbeat)
            for subscription in list(self._followed.values()):
                subscription.queue.put_nowait(beat)
            return
        result: Any = from_failure(item.failure) if kind == "failure" else None
        if not item.tag:
            if isinstance(result, ServiceError) and not item.match_id:
                raise result  # of the whole stream
            return  # answers an order for which nobody waits
        with self._lock:
            subscription_ = self._followed.get(item.tag)
            waiting = self._waiting.pop(item.tag, None) if subscription_ is None else None
            if subscription_ is not None and (result is not None or item.followed.WhichOneof("item") == "ended"):
                del self._followed[item.tag]
        if subscription_ is not None:
            subscription_.queue.put_nowait(item.followed if result is None else result)
            if subscription_.queue.qsize() > _MAX_UNREAD:
                subscription_.cancel()
        elif waiting is not None:
            if result is None and kind != "played":
                result = BrokenStream(f"a command was answered with {kind}")
            waiting.put_nowait((item.tag, item.played if result is None else result))

    def _end(self, outbox: Any, error: ClientError) -> None:
        """Tell everybody who waits on the stream of this outbox that it broke."""
        with self._lock:
            if self._outbox is not outbox:
                return
            waiting, self._waiting = self._waiting, {}
            followed, self._followed = self._followed, {}
            self._outbox = self._handle = None
        outbox.put_nowait(None)
        for tag, queue in waiting.items():
            queue.put_nowait((tag, error))
        for subscription in followed.values():
            subscription.queue.put_nowait(error)


def _request(orders: list[Any]) -> pb.PlayRequest:
    return pb.PlayRequest(orders=orders)


class StreamFeed(Feed):
    """The watch of a tracker over a play stream."""

    def __init__(self, session: Session, tracker: Tracker, stream: PlayStream) -> None:
        """Follows nothing yet."""
        super().__init__(session, tracker)
        self._stream = stream

    def _open(self, match_id: bytes, token: str, first: int) -> Flow[Handle]:
        """Follow the match from record `first` on."""
        return (yield from self._stream.follow(match_id, token, first))

    def _read(self, handle: Handle) -> Flow[pb.WatchMatchResponse | None]:
        """The next message about the match. Raises what ended it."""
        assert isinstance(handle, Subscription), "opened by this feed"
        item: Any = yield Take(handle.queue)
        if isinstance(item, ClientError):
            raise item
        message: pb.WatchMatchResponse = item
        return message
