"""Following a match: past records, then live ones, until it ends.

Correctness comes from reading, speed from hints: register, read to the end, wait for a hint or a tick,
read again. A watcher pulls: while it does not take the next item, nothing is made for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from sixledger.service.errors import malformed, unavailable
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.redaction import record_for
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


async def watch(
    host: MatchHost, match_id: bytes, viewer: int | None, first_seq: int, *, snapshot: bool, timing: WatchTiming
) -> AsyncGenerator[pb.WatchMatchResponse, None]:
    """The items of a match from record `first_seq` on, or from a snapshot of now."""
    loop = asyncio.get_running_loop()
    with host.hub.register(match_id) as hint:
        hosted = await host.fresh(match_id)
        position = first_seq
        if snapshot:
            position = hosted.match.seq + 1
            yield pb.WatchMatchResponse(snapshot=take_snapshot(host, hosted, viewer))
        elif position > hosted.match.seq + 1:
            raise malformed("first_seq", f"the match has {hosted.match.seq + 1} records")
        caught_up = False
        last_item, last_head = loop.time(), float("-inf")
        while True:
            hint.clear()
            if host.hub.closed:
                raise unavailable("the server stops; resume from the next record")
            while position <= hosted.match.seq:
                end = min(position + _PAGE, hosted.match.seq + 1)
                for record in await host.records(hosted, position, end):
                    shown, late = await record_for(host, hosted, position, record, viewer)
                    item = pb.WatchRecord(record=shown, late_openings=late)
                    if caught_up and position == hosted.match.seq and loop.time() - last_head >= timing.head_s:
                        item.head = host.head(hosted)
                        last_head = loop.time()
                    yield pb.WatchMatchResponse(record=item)
                    position += 1
                if host.hub.closed:
                    raise unavailable("the server stops; resume from the next record")
                last_item = loop.time()
            if not caught_up:
                caught_up = True
                last_item = last_head = loop.time()
                yield pb.WatchMatchResponse(caught_up=pb.CaughtUp(head=host.head(hosted)))
                continue  # sending took time: look again before waiting
            if hosted.match.over:
                yield pb.WatchMatchResponse(ended=pb.WatchEnded(head=host.head(hosted)))
                return
            if loop.time() - last_item >= timing.heartbeat_s:
                last_item = loop.time()
                yield pb.WatchMatchResponse(heartbeat=pb.Heartbeat(time_us=host.clock()))
                continue
            if await _hinted(hint, min(timing.tick_s, last_item + timing.heartbeat_s - loop.time())):
                hosted = await host.hosted(match_id)
            else:
                hosted = await host.fresh(match_id, timing.tick_s / 2)


def take_snapshot(host: MatchHost, hosted: Hosted, viewer: int | None) -> pb.WatchSnapshot:
    """What `viewer` sees now."""
    match = hosted.match
    taken = pb.WatchSnapshot(seq=match.seq, head=host.head(hosted))
    if match.state is not None:
        taken.view.CopyFrom(match.game.schema.view.pack(match.game.view(match.state, viewer)))
    return taken


async def _hinted(hint: asyncio.Event, timeout_s: float) -> bool:
    """Wait for a hint; False if none came in time."""
    try:
        async with asyncio.timeout(timeout_s):
            await hint.wait()
    except TimeoutError:
        return False
    return True
