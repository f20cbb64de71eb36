"""Ledger files for whoever asks, in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from sixledger.ledger import file, viewers
from sixledger.service.host import MatchHost
from sixledger.service.hosted import Hosted

#: Bytes of a piece, roughly.
CHUNK_BYTES = 64 * 1024


async def export(host: MatchHost, hosted: Hosted, viewer: int | None) -> AsyncIterator[bytes]:
    """The file of the match for a seat, or a spectator (None), as the match stands now.

    The lines are made in a thread, a piece at a time: nothing is made for a reader who does not take it.
    """
    count, head = hosted.match.seq + 1, host.head(hosted)
    records = await host.records(hosted, 0, count)
    name = viewers.SPECTATOR if viewer is None else viewers.seat_name(viewer)

    def lines() -> Iterator[str]:
        messages = [record.message for record in records]
        yield from file.lines(messages, [head], host.signer.verifier_keys, viewer=name, registry=host.registry)

    made = lines()
    while piece := await asyncio.to_thread(_piece, made):
        yield piece


def _piece(lines: Iterator[str]) -> bytes:
    piece = bytearray()
    for line in lines:
        piece += line.encode()
        piece += b"\n"
        if len(piece) >= CHUNK_BYTES:
            break
    return bytes(piece)
