"""Every act of an administrator leaves a line that says who did what; none holds a secret."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from sixledger.service import logs
from sixledger.service.api_keys import ApiKeys
from sixledger.service.matches import wall_clock
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import access_service_pb2 as pb
from sixledger.v1 import access_service_pb2_grpc
from sixledger.v1 import match_service_pb2 as match_pb
from support.servers import client_of, failing, memory_settings, serving, start


@pytest.fixture(params=["info", "error"])
def log(request: pytest.FixtureRequest) -> Iterator[io.BytesIO]:
    """What is logged, at two levels: the audit log does not depend on it."""
    file = io.BytesIO()
    logs.configure(request.param, file)
    yield file
    structlog.reset_defaults()


def audited(log: io.BytesIO) -> list[dict[str, Any]]:
    """The lines of the audit log, which all have a time, without it."""
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    return [
        {name: value for name, value in line.items() if name not in ("event", "level", "timestamp")}
        for line in lines
        if line["event"] == "audit" and line["timestamp"]
    ]


async def test_keys_that_are_made_rotated_and_revoked(log: io.BytesIO) -> None:
    async with MemoryStore() as store:
        root, row = await ApiKeys(store, wall_clock).add("root", [pb.API_SCOPE_ADMIN])
        async with Server(memory_settings(), store=store) as server, client_of(server) as client:
            stub = access_service_pb2_grpc.AccessServiceStub(client.channel)
            shown = [("authorization", f"Bearer {root}")]
            made = await stub.CreateApiKey(
                pb.CreateApiKeyRequest(name="Bob's club", scopes=[pb.API_SCOPE_CREATE]), metadata=shown
            )
            rotated = await stub.CreateApiKey(pb.CreateApiKeyRequest(replaces=made.key.id), metadata=shown)
            ended = await stub.RevokeApiKey(pb.RevokeApiKeyRequest(id=rotated.key.id), metadata=shown)
            await failing(stub.RevokeApiKey(pb.RevokeApiKeyRequest(id="0" * 16), metadata=shown))
            await failing(stub.RevokeApiKey(pb.RevokeApiKeyRequest(id=rotated.key.id)))
    by = f"key:{row.id}"
    scopes = 1 << pb.API_SCOPE_CREATE
    assert audited(log) == [
        {"act": "api_key_created", "by": by, "key": made.key.id, "replaces": "", "scopes": scopes},
        {"act": "api_key_rotated", "by": by, "key": rotated.key.id, "replaces": made.key.id, "scopes": scopes},
        {"act": "api_key_revoked", "by": by, "key": rotated.key.id, "ends_us": ended.key.expires_us},
    ]
    for secret in (root, made.secret, rotated.secret, "Bob's club"):
        assert secret.encode() not in log.getvalue()


async def test_tokens_that_are_revoked(log: io.BytesIO) -> None:
    async with serving() as (_, client):
        table = await start(client)
        match_id, seat = table.match_id, table.players[1].token
        request = match_pb.RevokeTokensRequest
        await client.match.RevokeTokens(
            request(match_id=match_id, token=table.owner_token, invitations=match_pb.Invitations())
        )
        own = await client.match.RevokeTokens(request(match_id=match_id, token=seat, own=match_pb.OwnTokens()))
        await client.match.RevokeTokens(request(match_id=match_id, token=table.owner_token, seat=1))
        await failing(client.match.RevokeTokens(request(match_id=match_id, token=own.token, own=match_pb.OwnTokens())))
    match = match_id.hex()
    assert audited(log) == [
        {"act": "tokens_revoked", "by": "owner", "match": match, "of": "invitations"},
        {"act": "tokens_revoked", "by": "seat:1", "match": match, "of": "seat:1"},
        {"act": "tokens_revoked", "by": "owner", "match": match, "of": "seat:1"},
    ]
    for secret in (seat, own.token, table.owner_token):
        assert secret.encode() not in log.getvalue()
