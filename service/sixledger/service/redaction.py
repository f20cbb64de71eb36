"""What a viewer gets of a record: a deterministic function of the ledger and the viewer (RULES 0.6).

A viewer is a seat, or None for a spectator.
"""

from __future__ import annotations

from sixledger.ledger.records import late_openings, redact
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.service.matches import Posted
from sixledger.v1 import match_service_pb2, record_pb2


async def record_for(
    host: MatchHost, hosted: Hosted, seq: int, record: record_pb2.Record, viewer: int | None
) -> tuple[record_pb2.Record, list[record_pb2.LateOpenings]]:
    """Record `seq` with the openings that `viewer` may have at it, and the older openings that it frees.

    `record` is whole. A record that reveals an epoch opens every seal of that epoch, also in the records
    before it; those come as late openings, in the same reply.
    """
    before, after = hosted.revealed_around(seq)
    shown = redact(record, viewer, after)
    if after == before:
        return shown, []
    first = hosted.sealed_since(seq)
    late = []
    for number, earlier in enumerate(await host.records(hosted, first, seq), first):
        if openings := late_openings(earlier, viewer, before, after):
            late.append(record_pb2.LateOpenings(seq=number, openings=openings))
    return shown, late


async def posted_for(
    host: MatchHost, posted: Posted, viewer: int | None
) -> tuple[bytes, list[record_pb2.LateOpenings]]:
    """As `record_for` for a record that was posted, the record serialised: as it was stored if nothing is withheld."""
    record = posted.record
    shown, late = await record_for(host, posted.hosted, posted.seq, record, viewer)
    return posted.data if shown is record and posted.data else shown.SerializeToString(), late


async def item_for(
    host: MatchHost, hosted: Hosted, seq: int, record: record_pb2.Record, viewer: int | None, *, with_head: bool
) -> bytes:
    """Record `seq` as an item for whoever follows the match: a serialised WatchMatchResponse.

    Made once and shared by all who may see the same. `with_head`: with the signed head, if it is the last record.
    """
    shown, late = await record_for(host, hosted, seq, record, viewer)
    item = match_service_pb2.WatchRecord(record=shown, late_openings=late)
    if with_head and seq == hosted.match.seq:
        item.head = host.head(hosted)
    data = match_service_pb2.WatchMatchResponse(record=item).SerializeToString()
    hosted.share(seq, viewer, with_head, data)
    return data
