"""Nothing secret leaves the server where it should not: not in a log, an error, a repr or a foreign stream."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import grpc.aio
import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.service import logs
from sixledger.service.keyring import Keyring
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore, StoreError
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2
from support.hosts import Clock, StoreAround, hosting, root_secrets
from support.servers import TWO_ROUNDS, Player, client_of, memory_settings, serving, start
from support.spelling import spellings

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")


@pytest.fixture
def log() -> Any:
    """Everything that is logged, at the finest level."""
    written = io.BytesIO()
    logs.configure("debug", written)
    yield written
    structlog.reset_defaults()


async def test_logs_and_errors_of_a_match_hold_no_secret(log: io.BytesIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """A match with every kind of failure in it: no root secret, seed, salt, hand, token or key in any text."""
    keyring = Keyring.generate()
    players = [Player(0, Ed25519PrivateKey.generate(), contributes=True), Player(1, contributes=True)]
    errors: list[str] = []
    async with (
        StoreAround(MemoryStore()) as store,
        Server(
            memory_settings(slow_call_s=0.000001), store=store, keyring=keyring, root_secret=root_secrets()
        ) as server,
        client_of(server) as client,
    ):
        mode = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
        table = await start(client, players, options=TWO_ROUNDS, mode=mode)

        async def must_fail(call: Any) -> None:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            # Details are for the caller's own eyes; the text and the rest of the error are not.
            errors.append(f"{caught.value.details()} {caught.value.debug_error_string()}")

        for step in range(30):
            request = await table.next_request(Random(step))
            for field, value in (("command", b"\xff\x01"), ("decision", 99), ("command", request.command + b"\x00")):
                wrong = pb.SubmitCommandRequest()
                wrong.CopyFrom(request)
                setattr(wrong, field, value)
                await must_fail(client.match.SubmitCommand(wrong))
            wrong.act.token = wrong.act.token[:-2]
            await must_fail(client.match.SubmitCommand(wrong))

            async def broken(entry: object) -> None:
                raise StoreError("the disk is full")

            async def defect(entry: object) -> None:
                raise KeyError(entry, table.players[0].token)

            for failing_append in (broken, defect):
                store.before_append = failing_append
                await must_fail(client.match.SubmitCommand(request))
            store.before_append = None
            await table.submit(request)
        position = (await server.host.hosted(table.match_id)).match
        stored = [record_pb2.Record.FromString(data) for data in await store.records(table.match_id, 0, 1000)]
        author = (await server.host.hosted(table.match_id)).author
        text = log.getvalue().decode() + "\n".join(errors)
        assert "incident" in text
        assert "slow_call" in text
        secrets = [keyring.head_key, keyring.token_key, root_secrets()(), author._salt_key]
        secrets += [author.seeds.element(epoch) for epoch in range(1, author.seeds.known + 1)]
        secrets += [opening.salt for record in stored for opening in record.openings]
        secrets += [player.secret for player in players]
        for secret in secrets:
            assert not [spelling for spelling in spellings(secret) if spelling in text]
        values = [opening.value for record in stored for opening in record.openings if len(opening.value) > 8]
        for value in values:
            assert not [spelling for spelling in spellings(value) if spelling in text]
        for token in (table.owner_token, *(player.token for player in players)):
            assert token not in text
        for hand in position.state.hands:
            assert str(list(hand)) not in text
            assert str(tuple(hand)) not in text


async def test_reprs_of_what_holds_secrets_show_none() -> None:
    """Host, cache, hosted match, keys, tokens, rows and entries."""
    async with hosting(root_secret=root_secrets()) as (table, store):
        match = await table.start()
        await table.play(match, 3)
        hosted = await table.host.hosted(match.match_id)
        things = [
            table.host,
            hosted,
            hosted.match,
            hosted.match.state,
            hosted.author,
            hosted.row,
            Keyring(b"k" * 32, b"t" * 32),
            table.servicer._tokens,
            await table.host.posted(hosted, 2),
            store,
        ]
        text = "".join(repr(thing) for thing in things)
        for secret in (root_secrets()(), b"k" * 32, b"t" * 32, hosted.author._salt_key):
            assert not [spelling for spelling in spellings(secret) if spelling in text]
        for hand in hosted.match.state.hands:
            assert str(tuple(hand)) not in text


async def test_no_reply_to_a_viewer_opens_more_than_it_may() -> None:
    """What a spectator and each seat get on every way, at every record of a running round, has no foreign opening."""
    async with serving(clock=Clock()) as (_, client):
        table = await start(client, 3)
        for step in range(12):
            request = await table.next_request(Random(step))
            seat = next(player.seat for player in table.players if player.token == request.act.token)
            replies: list[tuple[int | None, list[record_pb2.Record]]] = [(seat, [(await table.submit(request)).record])]
            for viewer, token in ((None, ""), *((player.seat, player.token) for player in table.players)):
                replies.append((viewer, await table.records(token)))
                watch = client.match.WatchMatch(pb.WatchMatchRequest(match_id=table.match_id, token=token))
                records = []
                async for item in watch:
                    if not item.HasField("record"):
                        break
                    records.append(item.record.record)
                watch.cancel()
                replies.append((viewer, records))
            for viewer, records in replies:
                for record in records:
                    for opening in record.openings:
                        audience = record.seals[opening.seal].audience
                        assert viewer is not None
                        assert audience >> viewer & 1
