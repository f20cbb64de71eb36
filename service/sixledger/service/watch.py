"""Following a match: past records, then live ones, until it ends.

Correctness comes from reading, speed from hints: register, read to the end, wait for a hint or a tick,
read again. A watcher pulls: while it does not take the next item, nothing is made for it.

Items are made as bytes, ready for the wire, once for all who may see the same (`redaction.item_for`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from sixledger.ledger.clocks import reading
from sixledger.service.errors import bad_token, malformed, quota_exceeded, unavailable
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.hub import Waiter
from sixledger.service.redaction import item_for
from sixledger.v1 import match_service_pb2 as pb

#: Records read at a time.
_PAGE = 50


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """When a watch looks and speaks, in seconds."""

    #: At the latest after this time the store is read again: hints get lost, and other replicas send none.
    tick_s: float = 1.0
    #: After this time without an item a heartbeat is sent.
    heartbeat_s: float = 15.0
    #: Live records carry a signed head at most this often.
    head_s: float = 1.0


class Pulse:
    """Looks at the store, once a tick for all who follow the same match, and wakes whoever is due.

    Runs while somebody has joined.
    """

    def __init__(self, host: MatchHost, timing: WatchTiming, max_watchers: int = 10_000) -> None:
        """For those who follow matches of `host`."""
        self.timing = timing
        #: Of one match, at a time.
        self.max_watchers = max_watchers
        #: Whose matches are followed.
        self.host = host
        self._joined = 0
        self._task: asyncio.Task[None] | None = None

    def join(self) -> None:
        """Beat from now on."""
        self._joined += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self) -> None:
        """One who joined needs it no longer."""
        self._joined -= 1
        if not self._joined and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        hub, loop, tick_s = self.host.hub, asyncio.get_running_loop(), self.timing.tick_s
        while True:
            await asyncio.sleep(tick_s)
            hub.wake_due(loop.time())
            for match_id in hub.match_ids:
                try:
                    hosted = await self.host.fresh(match_id, tick_s / 2, news="look")
                except Exception:  # whoever follows the match meets it as well, and can say so
                    hub.sweep(match_id, 1 << 62)
                else:
                    hub.sweep(match_id, hosted.match.seq)


class Following:
    """One viewer on its way through one match. Its waiter is hinted when there is more."""

    __slots__ = (
        "_caught_up",
        "_last_head",
        "_match_id",
        "_pulse",
        "_seated",
        "_snapshot",
        "first_seq",
        "over",
        "viewer",
        "waiter",
    )  # fmt: skip

    def __init__(
        self, pulse: Pulse, match_id: bytes, viewer: int | None, first_seq: int, snapshot: bool, waiter: Waiter
    ) -> None:
        """From record `first_seq` on, or from a snapshot of now. `open` it, and `close` it in any case."""
        self.viewer = viewer
        self.waiter = waiter
        #: The first record that is shown.
        self.first_seq = first_seq
        #: True once the last item was taken.
        self.over = False
        self._pulse = pulse
        self._match_id = match_id
        self._snapshot = snapshot
        self._caught_up = False
        self._last_head = float("-inf")
        #: What holds as long as the viewer is who it was: see `_seat`.
        self._seated: tuple[int, int] | None = None

    async def open(self) -> None:
        """Register, and look where the match stands. Raises MALFORMED if it has not got that far."""
        host, waiter = self._pulse.host, self.waiter
        waiter.position = self.first_seq
        # Registered in any case: `close` undoes it.
        watchers = host.hub.count(self._match_id)
        host.hub.add(self._match_id, waiter)
        self._pulse.join()
        if watchers >= self._pulse.max_watchers:
            raise quota_exceeded("watchers_of_the_match", self._pulse.max_watchers)
        hosted = await host.fresh(self._match_id)
        hosted.check_viewer(self.viewer)
        self._seated = self._seat(hosted)
        count = hosted.match.seq + 1
        if self._snapshot:
            self.first_seq = waiter.position = count
        elif self.first_seq > count:
            raise malformed("first_seq", f"the match has {count} records")

    def close(self) -> None:
        """Be hinted no more."""
        self._pulse.host.hub.remove(self._match_id, self.waiter)
        self._pulse.leave()

    async def take(self, limit: int = _PAGE) -> list[bytes]:
        """The next items, serialised WatchMatchResponses, at most `limit`; none if there is nothing new."""
        host, waiter = self._pulse.host, self.waiter
        hosted = host.peek(self._match_id) or await host.hosted(self._match_id)
        if self._seat(hosted) != self._seated:
            raise bad_token("was revoked, or its seat was given up")
        items: list[bytes] = []
        if self._snapshot:
            # Of the position at which `open` stood: what has happened since comes as records.
            self._snapshot = False
            if hosted.match.seq + 1 != self.first_seq:
                self.first_seq = waiter.position = hosted.match.seq + 1
            items.append(pb.WatchMatchResponse(snapshot=take_snapshot(host, hosted, self.viewer)).SerializeToString())
        last = hosted.match.seq
        if waiter.position <= last:
            await self._records(hosted, min(waiter.position + limit, last + 1), items)
        if waiter.position <= hosted.match.seq:
            waiter.hint()  # to be asked again
        elif not self._caught_up:
            self._caught_up = True
            self._last_head = asyncio.get_running_loop().time()
            caught_up = pb.CaughtUp(head=host.head(hosted), time_us=host.clock())
            items.append(pb.WatchMatchResponse(caught_up=caught_up).SerializeToString())
            waiter.hint()  # sending takes time: look again before waiting
        elif hosted.match.over:
            self.over = True
            items.append(pb.WatchMatchResponse(ended=pb.WatchEnded(head=host.head(hosted))).SerializeToString())
        return items

    def _seat(self, hosted: Hosted) -> tuple[int, int] | None:
        """Since when the seat of the viewer is taken, and the generation of its tokens; both change with its holder."""
        viewer, seats = self.viewer, hosted.match.seats
        if viewer is None:
            return None
        since = seats[viewer].since if viewer < len(seats) and seats[viewer].joined else -1
        return since, self._pulse.host.store.token_floor(self._match_id, viewer)

    async def _records(self, hosted: Hosted, end: int, items: list[bytes]) -> None:
        host, waiter, viewer = self._pulse.host, self.waiter, self.viewer
        records = None
        first = waiter.position
        for seq in range(first, end):
            with_head = self._caught_up and seq == hosted.match.seq and self._head_is_due()
            item = hosted.shared(seq, viewer, with_head)
            if item is None:
                if records is None:
                    records = await host.records(hosted, seq, end)
                    first = seq
                item = await item_for(host, hosted, seq, records[seq - first], viewer, with_head=with_head)
            items.append(item)
            waiter.position = seq + 1

    def _head_is_due(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._last_head < self._pulse.timing.head_s:
            return False
        self._last_head = now
        return True


async def watch(
    pulse: Pulse, match_id: bytes, viewer: int | None, first_seq: int, *, snapshot: bool
) -> AsyncGenerator[bytes, None]:
    """The items of a match from record `first_seq` on, or from a snapshot of now: serialised WatchMatchResponses."""
    clock, heartbeat_s = asyncio.get_running_loop().time, pulse.timing.heartbeat_s
    waiter, hub = Waiter(), pulse.host.hub
    following = Following(pulse, match_id, viewer, first_seq, snapshot, waiter)
    try:
        await following.open()
        waiter.due = clock() + heartbeat_s
        while True:
            waiter.clear()
            if hub.closed:
                raise unavailable("the server stops; resume from the next record")
            items = await following.take()
            for item in items:
                yield item
            if following.over:
                return
            now = clock()
            if items:
                waiter.due = now + heartbeat_s
            elif waiter.due <= now:
                yield heartbeat(pulse.host)
                waiter.due = clock() + heartbeat_s
            await waiter.wait()
    finally:
        following.close()


def heartbeat(host: MatchHost) -> bytes:
    """Nothing happened for a while: a serialised WatchMatchResponse."""
    return pb.WatchMatchResponse(heartbeat=pb.Heartbeat(time_us=host.clock())).SerializeToString()


def take_snapshot(host: MatchHost, hosted: Hosted, viewer: int | None) -> pb.WatchSnapshot:
    """What `viewer` sees now."""
    match = hosted.match
    taken = pb.WatchSnapshot(seq=match.seq, head=host.head(hosted), clock=reading(match, host.clock()))
    if match.state is not None:
        taken.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
    return taken
