"""What a viewer gets of a record: a deterministic function of the ledger and the viewer (RULES 0.6).

A viewer is a seat, or None for a spectator. Everything is made as bytes, ready for the wire.
"""

from __future__ import annotations

from sixledger.ledger import wire
from sixledger.ledger.whole import WholeRecord
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted
from sixledger.v1 import match_service_pb2 as pb

_RECORD, _LATE = pb.WatchRecord.RECORD_FIELD_NUMBER, pb.WatchRecord.LATE_OPENINGS_FIELD_NUMBER


async def record_for(
    host: MatchHost, hosted: Hosted, seq: int, record: WholeRecord, viewer: int | None
) -> tuple[bytes, list[bytes]]:
    """Record `seq` with the openings that `viewer` may have at it, and the older openings that it frees.

    They are a serialised Record and serialised LateOpenings. A record that reveals an epoch opens every seal of that
    epoch, also in the records before it; those come as late openings, in the same reply.
    """
    before, after = hosted.revealed_around(seq)
    shown = record.shown(viewer, after)
    if after == before:
        return shown, []
    first = hosted.sealed_since(seq)
    earlier = await host.records(hosted, first, seq)
    freed = [each.freed(number, viewer, before, after) for number, each in enumerate(earlier, first)]
    return shown, [each for each in freed if each]


async def item_for(
    host: MatchHost, hosted: Hosted, seq: int, record: WholeRecord, viewer: int | None, *, with_head: bool
) -> bytes:
    """Record `seq` as an item for whoever follows the match: a serialised WatchMatchResponse.

    Made once and shared by all who may see the same. `with_head`: with the signed head, if it is the last record.
    """
    shown, late = await record_for(host, hosted, seq, record, viewer)
    item = wire.field(_RECORD, shown) + wire.repeated(_LATE, late)
    if with_head and seq == hosted.match.seq:
        item += wire.field(pb.WatchRecord.HEAD_FIELD_NUMBER, host.head(hosted).encode())
    data = wire.field(pb.WatchMatchResponse.RECORD_FIELD_NUMBER, item)
    hosted.share(seq, viewer, with_head, data)
    return data
