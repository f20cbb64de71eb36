"""One play stream: orders of any matches in, their answers and the items of followed matches out.

The orders of one match form a line, and one task works on each line, so that a match keeps its order and no match
waits for another. The client pulls: what is in flight is bounded, and nothing more is read while its answers
have not been taken. So a client that never reads, or that floods, costs a bounded amount of memory and stops itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from sixledger.ledger import wire
from sixledger.service.errors import ServiceError, malformed, unavailable
from sixledger.service.failures import CallLog, failure, report
from sixledger.service.hub import NO_MATCH, Waiter
from sixledger.service.matches import Posted
from sixledger.service.redaction import record_for
from sixledger.service.watch import Following, Pulse
from sixledger.v1 import error_pb2
from sixledger.v1 import match_service_pb2 as pb

_METHOD = "/sixledger.v1.MatchService/Play"
#: Items and, roughly, bytes of one message to the client.
_MAX_ITEMS, _MAX_BYTES = 128, 256 * 1024
#: Records of one followed match before others get their turn.
_TURN = 16
#: Matches whose last signed head is remembered.
_MAX_HEADS = 1024

#: Keys of the fields of a PlayedCommand, as they stand before its values.
_SEQ = wire.varint(pb.PlayedCommand.SEQ_FIELD_NUMBER << 3)
_RECORD = wire.varint(pb.PlayedCommand.RECORD_FIELD_NUMBER << 3 | 2)

#: Plays a command, or says why not: the seat, and its record.
Submit = Callable[[pb.SubmitCommandRequest], Awaitable[tuple[int, Posted]]]
#: The viewer that a token speaks for in a match. Raises BAD_TOKEN or FOREIGN_SEAT.
Viewer = Callable[[bytes, str], int | None]
#: What is followed: a match, as a seat or a spectator sees it.
Sight = tuple[bytes, int | None]


@dataclass(frozen=True, slots=True)
class PlayLimits:
    """What one play stream may take."""

    #: Orders in flight: taken, and their answer not yet handed to the transport.
    orders: int = 128
    #: Matches followed at once.
    followed: int = 256


class _News(Waiter):
    """Hinted, it puts its followed match among those that have news."""

    __slots__ = ("_sight", "_stream")

    def __init__(self, stream: PlayStream, sight: Sight) -> None:
        super().__init__()
        self._stream = stream
        self._sight = sight

    def hint(self) -> None:
        self.hinted = True
        self._stream.has_news(self._sight)


class PlayStream:
    """The state of one stream. `run` it once."""

    def __init__(self, pulse: Pulse, submit: Submit, viewer: Viewer, limits: PlayLimits, log: CallLog) -> None:
        """`submit` and `viewer` check tokens and fields as the unary calls do."""
        self._pulse = pulse
        self._host = pulse.host
        self._submit = submit
        self._viewer = viewer
        self._limits = limits
        self._log = log
        self._loop = asyncio.get_running_loop()
        #: Orders by match, the one in work first; and the tasks that work on the lines.
        self._lines: dict[bytes, deque[pb.PlayOrder]] = {}
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._in_flight = 0
        self._room = Waiter()
        #: Answers that wait to be taken.
        self._answers: deque[bytes] = deque()
        #: Followed matches with the tag of their order; and those with news, in the order of the news.
        self._followed: dict[Sight, tuple[int, Following]] = {}
        self._news: OrderedDict[Sight, None] = OrderedDict()
        self._heads: OrderedDict[bytes, float] = OrderedDict()
        #: Hinted when there is something to send; also when the server stops, and when a heartbeat is due.
        self._out = Waiter()
        self._error: Exception | None = None

    def has_news(self, sight: Sight) -> None:
        """A followed match may have more to show."""
        self._news[sight] = None
        self._out.hint()

    # -- sending -----------------------------------------------------------------------------------

    async def run(self, requests: AsyncIterator[pb.PlayRequest]) -> AsyncGenerator[bytes, None]:
        """Serialised PlayResponses, until the client has half-closed and has got everything, or the server stops.

        Raises MALFORMED for a request that cannot be read.
        """
        hub, out = self._host.hub, self._out
        clock, heartbeat_s = self._loop.time, self._pulse.timing.heartbeat_s
        reader = asyncio.create_task(self._read(requests))
        reader.add_done_callback(lambda _: out.hint())
        hub.add(NO_MATCH, out)
        self._pulse.join()
        try:
            out.due = clock() + heartbeat_s
            while True:
                out.clear()
                items, answers = await self._gather()
                if items:
                    yield wire.repeated(1, items)
                    out.due = clock() + heartbeat_s
                    self._delivered(answers)
                    continue
                if hub.closed:
                    reader.cancel()
                    if not self._in_flight:
                        stopping = failure(unavailable("the server stops; send again what was not answered"))
                        yield pb.PlayResponse(items=[pb.PlayItem(failure=stopping)]).SerializeToString()
                        return
                elif reader.done() and not self._in_flight and not out.hinted:
                    error, self._error = self._error, None
                    try:
                        if error is not None:
                            raise error
                    finally:
                        del error  # its traceback leads here: a ring
                    return
                elif out.due <= clock():
                    beat = pb.PlayItem(heartbeat=pb.Heartbeat(time_us=self._host.clock()))
                    yield pb.PlayResponse(items=[beat]).SerializeToString()
                    out.due = clock() + heartbeat_s
                await out.wait()
        finally:
            hub.remove(NO_MATCH, out)
            self._pulse.leave()
            for _, following in self._followed.values():
                following.close()
            left = [reader, *self._tasks.values()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _gather(self) -> tuple[list[bytes], int]:
        """Items that are ready, as many as fit a message, and how many of them are answers.

        Records go first: so the record of an act is there when its answer comes.
        """
        items: list[bytes] = []
        size = 0
        for _ in range(len(self._news)):
            if len(items) >= _MAX_ITEMS // 2 or size >= _MAX_BYTES // 2:
                break
            sight, _ = self._news.popitem(last=False)
            for item in await self._take(sight):
                items.append(item)
                size += len(item)
        answers, count = self._answers, 0
        while answers and len(items) < _MAX_ITEMS and (size < _MAX_BYTES or not items):
            items.append(answers.popleft())
            size += len(items[-1])
            count += 1
        if self._news or answers:
            self._out.hint()
        return items, count

    async def _take(self, sight: Sight) -> list[bytes]:
        """The next items of a followed match."""
        followed = self._followed.get(sight)
        if followed is None:
            return []
        tag, following = followed
        match_id = sight[0]
        following.waiter.clear()
        try:
            taken = await following.take(_TURN)
        except Exception as error:
            self._unfollow(sight)
            return [self._failed(tag, match_id, error, time.perf_counter())]
        if self._followed.get(sight) is not followed:
            return []  # it was followed anew, or no longer, in the meantime
        if following.over:
            self._unfollow(sight)
        return [play_item(tag, match_id, pb.PlayItem.FOLLOWED_FIELD_NUMBER, item) for item in taken]

    def _delivered(self, answers: int) -> None:
        self._in_flight -= answers
        self._room.hint()

    # -- reading -----------------------------------------------------------------------------------

    async def _read(self, requests: AsyncIterator[pb.PlayRequest]) -> None:
        """Take orders as long as there is room for them."""
        room, limit = self._room, self._limits.orders
        try:
            async for request in requests:
                for order in request.orders:
                    while self._in_flight >= limit:
                        room.clear()
                        await room.wait()
                    self._in_flight += 1
                    self._line_up(order)
        except Exception as error:
            self._error = error

    def _line_up(self, order: pb.PlayOrder) -> None:
        match_id = _match_of(order)
        line = self._lines.get(match_id)
        if line is not None:
            line.append(order)
            return
        self._lines[match_id] = line = deque((order,))
        self._tasks[match_id] = self._loop.create_task(self._work(match_id, line))

    async def _work(self, match_id: bytes, line: deque[pb.PlayOrder]) -> None:
        """Answer the orders of one match, one after the other."""
        while line:
            order, started = line[0], time.perf_counter()
            try:
                answer = await self._answer(match_id, order)
            except Exception as error:
                answer = self._failed(order.tag, match_id, error, started)
            if answer is None:
                self._delivered(1)  # to follow a match is answered by its items
            else:
                self._answers.append(answer)
                self._out.hint()
            line.popleft()
        del self._lines[match_id], self._tasks[match_id]

    # -- answering ---------------------------------------------------------------------------------

    async def _answer(self, match_id: bytes, order: pb.PlayOrder) -> bytes | None:
        if order.HasField("command"):
            return await self._played(match_id, order)
        kind = order.WhichOneof("order")
        if kind == "follow":
            await self._follow(order.tag, order.follow)
            return None
        item = pb.PlayItem(tag=order.tag, match_id=match_id)
        if kind == "unfollow":
            self._unfollow((match_id, self._viewer(match_id, order.unfollow.token)))
            item.unfollowed.SetInParent()
        elif kind == "head":
            if len(match_id) != 16:
                raise malformed("head.match_id", "must be 16 bytes")
            item.head = self._host.head(await self._host.fresh(match_id))
        else:
            raise malformed("order", "is empty, or of a later release")
        return item.SerializeToString()

    async def _played(self, match_id: bytes, order: pb.PlayOrder) -> bytes:
        seat, posted = await self._submit(order.command)
        seq = posted.seq
        parts = [_SEQ, wire.varint(seq)]
        _, following = self._followed.get((match_id, seat), (0, None)) if self._followed else (0, None)
        if following is None or order.with_record or seq < following.first_seq:
            # Put together from bytes: by far the most frequent answer.
            record, late = await record_for(self._host, posted.hosted, seq, posted.record, seat)
            parts += (_RECORD, wire.varint(len(record)), record)
            if late:
                parts.append(wire.repeated(pb.PlayedCommand.LATE_OPENINGS_FIELD_NUMBER, late))
        if order.with_head or self._head_is_due(match_id, posted):
            head = self._host.head(posted.hosted, posted).encode()
            parts.append(wire.field(pb.PlayedCommand.HEAD_FIELD_NUMBER, head))
        return play_item(order.tag, match_id, pb.PlayItem.PLAYED_FIELD_NUMBER, b"".join(parts))

    def _head_is_due(self, match_id: bytes, posted: Posted) -> bool:
        match = posted.hosted.match
        now, heads = self._loop.time(), self._heads
        last = heads.get(match_id)
        if last is not None and now - last < self._pulse.timing.head_s:
            return match.over and posted.seq == match.seq
        heads[match_id] = now
        if last is None and len(heads) > _MAX_HEADS:
            heads.popitem(last=False)
        return last is not None or (match.over and posted.seq == match.seq)

    async def _follow(self, tag: int, request: pb.WatchMatchRequest) -> None:
        match_id = request.match_id
        if request.snapshot and request.first_seq:
            raise malformed("follow.first_seq", "must be 0 with snapshot: the snapshot says where it starts")
        sight = (match_id, self._viewer(match_id, request.token))
        self._unfollow(sight)
        if len(self._followed) >= self._limits.followed:
            message = f"a stream follows at most {self._limits.followed} matches"
            raise ServiceError(error_pb2.REASON_TOO_LARGE, message, metadata={"limit": str(self._limits.followed)})
        news = _News(self, sight)
        following = Following(self._pulse, match_id, sight[1], request.first_seq, request.snapshot, news)
        try:
            await following.open()
        except BaseException:
            following.close()
            raise
        self._followed[sight] = (tag, following)
        news.hint()

    def _unfollow(self, sight: Sight) -> None:
        followed = self._followed.pop(sight, None)
        self._news.pop(sight, None)
        if followed is not None:
            followed[1].close()

    def _failed(self, tag: int, match_id: bytes, error: Exception, started: float) -> bytes:
        found: ServiceError = report(self._log, _METHOD, error, started)
        return pb.PlayItem(tag=tag, match_id=match_id, failure=failure(found)).SerializeToString()


def _match_of(order: pb.PlayOrder) -> bytes:
    """The match that an order is about; whatever the client wrote there."""
    if order.HasField("command"):
        return order.command.act.match_id
    kind = order.WhichOneof("order")
    if kind is None:
        return b""
    match_id: bytes = getattr(order, kind).match_id
    return match_id


def play_item(tag: int, match_id: bytes, number: int, content: bytes) -> bytes:
    """A PlayItem whose field `number` is the message `content`."""
    tagged = b"\x08" + wire.varint(tag) if tag else b""
    named = wire.field(2, match_id) if match_id else b""
    return b"".join((tagged, named, wire.key(number), wire.varint(len(content)), content))
