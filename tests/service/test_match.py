"""Whole matches over a socket."""

from __future__ import annotations

from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger.folding import fold
from sixledger.ledger.heads import SignedHead
from sixledger.ledger.verify import verify
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2, replay_service_pb2
from support.servers import TWO_ROUNDS, Player, serving, start

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")


async def test_a_match_of_signing_contributing_and_plain_seats_is_valid() -> None:
    """Three seats, one signs and contributes, one contributes, one does neither: the whole ledger verifies."""
    players = [
        Player(0, Ed25519PrivateKey.generate(), contributes=True),
        Player(1, contributes=True),
        Player(2),
    ]
    async with serving() as (server, client):
        mode = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
        table = await start(client, players, options=TWO_ROUNDS, mode=mode)
        await table.play(Random(1))
        assert (await table.info()).status == pb.MATCH_STATUS_ENDED
        for token in ("", *(player.token for player in players)):
            request = pb.ExportLedgerRequest(match_id=table.match_id, token=token)
            data = b"".join([reply.chunk async for reply in client.match.ExportLedger(request)])
            report = verify(data, trusted=[server.host.signer.verifier_key])
            assert report.verdict == replay_service_pb2.VERDICT_VALID, report.summary
            assert report.signer_authenticated


async def test_every_reply_carries_a_head_of_its_record() -> None:
    """The head in a reply vouches for the record in the reply."""
    async with serving() as (server, client):
        table = await start(client)
        reply = await table.submit(await table.next_request(Random(2)))
        head = SignedHead.parse(reply.head)
        assert head.signed_by(server.host.signer.verifier_key)
        assert head.head.hash == reply.record.hash
        assert head.head.count == record_pb2.Body.FromString(reply.record.body).seq + 1


async def test_a_seat_sees_its_own_hand_alone() -> None:
    """Records for a seat open the seat's seals; for a spectator none, while the round runs."""
    async with serving() as (_, client):
        table = await start(client)
        own = fold(await table.records(table.players[1].token))
        assert [len(hand) for hand in own.state.hands] == [0, 10]
        assert not any(record.openings for record in await table.records())
