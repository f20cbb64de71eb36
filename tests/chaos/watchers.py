"""Those who look on, and write down every record that they are shown."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from chaos import history as told
from chaos.clients import Clients
from sixledger.client import Recorded
from sixledger.client.errors import ServerCheated, ServiceError, TransportError
from sixledger.client.statuses import from_rpc_error
from sixledger.v1 import match_service_pb2, record_pb2


async def watch(clients: Clients, match_id: bytes, by: str) -> None:
    """Follow a match to its end with the client, which checks every record."""
    match, history = match_id.hex(), clients.history
    table = await clients.insist(lambda: clients.any().matches.watch_match(match_id))
    position = 0
    async with table:
        while True:
            try:
                async for item in table.watch(position):
                    if isinstance(item, Recorded):
                        history.add(told.SEEN, by, match=match, seq=item.seq, hash=item.record.hash.hex())
                        position = item.seq + 1
                break
            except ServerCheated as error:
                clients.broken(by, match, error)
                return
            except (ServiceError, TransportError) as error:
                if not error.retryable:
                    raise
            await asyncio.sleep(0.2)
        history.add(told.ENDED, by, match=match)
        for head in table.receipts.values():
            history.add(told.HEAD, by, match=match, detail=head)


async def watch_bare(clients: Clients, match_id: bytes, by: str) -> None:
    """Follow without the client, through any replica: what is on the wire is what is noted."""
    match, history, position = match_id.hex(), clients.history, 0
    while True:
        request = match_service_pb2.WatchMatchRequest(match_id=match_id, first_seq=position)
        try:
            async for item in clients.random.choice(clients.stubs).WatchMatch(request, timeout=20):
                if item.HasField("record"):
                    seq = record_pb2.Body.FromString(item.record.record.body).seq
                    history.add(told.SEEN, by, match=match, seq=seq, hash=item.record.record.hash.hex())
                    position = seq + 1
                elif item.HasField("ended"):
                    history.add(told.ENDED, by, match=match)
                    history.add(told.HEAD, by, match=match, detail=item.ended.head)
                    return
        except grpc.RpcError as error:
            found: Any = from_rpc_error(error)
            if not found.retryable:
                raise found from error
        await asyncio.sleep(0.2)
