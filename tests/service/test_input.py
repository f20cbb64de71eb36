"""Input that no client of ours sends: every bad byte gets a typed answer, and the server goes on."""

from __future__ import annotations

import asyncio
import secrets
from random import Random
from typing import Any

import grpc
import pytest
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.service.server import Server
from sixledger.v1 import game_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import Client, create, failing, memory_settings, serving, start

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

ID = bytes(range(16))


async def raw(client: Client, method: str, data: bytes) -> Any:
    """A call with bytes instead of a message."""
    return await client.channel.unary_unary(method)(data)


async def test_random_bytes_on_the_port_disturb_nobody() -> None:
    """Connections that speak no HTTP/2 at all, or only its first line; a match goes on beside them."""
    async with serving() as (server, client):
        table = await start(client)
        random = Random(1)
        for preface in (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
            for _ in range(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(preface + random.randbytes(2000))
                await asyncio.sleep(0)
                writer.close()
                del reader
        await table.play(Random(2), 4)


async def test_bytes_that_are_no_message_are_malformed() -> None:
    """Truncated and random requests of every unary call: INVALID_ARGUMENT with a reason, or another typed error."""
    async with serving() as (_, client):
        table = await start(client)
        good = (await table.next_request(Random(1))).SerializeToString()
        submit = "/sixledger.v1.MatchService/SubmitCommand"
        for length in range(len(good)):
            refused = await failing(raw(client, submit, good[:length]))
            assert refused.code is grpc.StatusCode.INVALID_ARGUMENT or refused.reason == "BAD_TOKEN"
        random = Random(2)
        for method in pb.DESCRIPTOR.services_by_name["MatchService"].methods:
            if method.server_streaming:
                continue
            for _ in range(20):
                path = f"/{method.containing_service.full_name}/{method.name}"
                call = client.channel.unary_unary(path)(random.randbytes(random.randrange(1, 200)))
                assert await call.code() in {
                    grpc.StatusCode.OK,  # a list of matches may be asked for with bytes that happen to be a request
                    grpc.StatusCode.INVALID_ARGUMENT,
                    grpc.StatusCode.NOT_FOUND,
                }
        await client.match.SubmitCommand(pb.SubmitCommandRequest.FromString(good))


async def test_an_oversized_request_is_refused_and_the_connection_lives() -> None:
    """RESOURCE_EXHAUSTED by the transport; the next call on the same channel works."""
    async with serving(memory_settings(max_request_bytes=10_000)) as (_, client):
        request = pb.GetMatchRequest(match_id=bytes(20_000))
        assert (await failing(client.match.GetMatch(request))).code is grpc.StatusCode.RESOURCE_EXHAUSTED
        await client.match.ListMatches(pb.ListMatchesRequest())


async def test_a_long_command_is_malformed() -> None:
    """Commands are kept for ever, so they are short."""
    async with serving() as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        request.command = request.command + bytes(20_000)
        refused = await failing(client.match.SubmitCommand(request))
        assert (refused.reason, refused.violations) == ("MALFORMED", ["command"])


@pytest.mark.parametrize(
    "command",
    [
        game_pb2.Command(),
        game_pb2.Command(nimmt=nimmt_pb2.Command()),
        game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard())),
        game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=105))),
        game_pb2.Command(nimmt=nimmt_pb2.Command(take_row=nimmt_pb2.TakeRow(row=4))),
    ],
)
async def test_a_command_that_is_none_of_the_game_is_malformed(command: game_pb2.Command) -> None:
    """Missing cases, missing fields and values out of range."""
    async with serving() as (_, client):
        table = await start(client)
        refused = await failing(client.match.SubmitCommand(table.command_request(table.players[0], command, 1)))
        assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED")
        assert refused.violations[0].startswith("command")


async def test_unknown_fields_in_a_command_are_malformed() -> None:
    """A field that the schema does not have could hide anything in the ledger."""
    async with serving() as (_, client):
        table = await start(client)
        request = await table.next_request(Random(1))
        request.command += b"\xfa\x3f\x01x"
        assert (await failing(client.match.SubmitCommand(request))).reason == "MALFORMED"


async def test_an_unknown_match_is_not_found() -> None:
    """For reading, watching and joining."""
    async with serving() as (_, client):
        calls = [
            client.match.GetMatch(pb.GetMatchRequest(match_id=ID)),
            client.match.GetView(pb.GetViewRequest(match_id=ID)),
            client.match.ListRecords(pb.ListRecordsRequest(match_id=ID)),
            client.match.JoinMatch(pb.JoinMatchRequest(match_id=ID)),
            client.match.WatchMatch(pb.WatchMatchRequest(match_id=ID)).__aiter__().__anext__(),
            client.match.ExportLedger(pb.ExportLedgerRequest(match_id=ID)).__aiter__().__anext__(),
        ]
        for call in calls:
            refused = await failing(call)
            assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_MATCH")


async def test_wrong_lengths_and_limits_name_their_field() -> None:
    """Ids, secrets, keys, heads, signatures, names, pages."""
    async with serving() as (_, client):
        table = await create(client, 2)
        join: dict[str, Any] = {"match_id": table.match_id, "seat": 0}
        token = (await client.match.JoinMatch(pb.JoinMatchRequest(match_id=table.match_id, seat=1))).token
        act: dict[str, Any] = {"match_id": table.match_id, "token": token, "request_id": bytes(16)}

        def submit(**changes: Any) -> Any:
            return client.match.SubmitCommand(pb.SubmitCommandRequest(act=pb.Act(**(act | changes))))

        cases: list[tuple[Any, str]] = [
            (client.match.GetMatch(pb.GetMatchRequest(match_id=b"x")), "match_id"),
            (client.match.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2, secret=b"x")), "secret"),
            (client.match.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2, mode=99)), "mode"),  # type: ignore[arg-type]
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, secret=b"x")), "secret"),
            (client.match.JoinMatch(pb.JoinMatchRequest(match_id=table.match_id, seat=2)), "seat"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, public_key=b"x")), "public_key"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, public_key=bytes(32))), "public_key"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, signature=bytes(64))), "secret"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, display_name="x" * 65)), "display_name"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, display_name="a\nb")), "display_name"),
            (client.match.JoinMatch(pb.JoinMatchRequest(**join, contributes=True)), "contributes"),
            (submit(match_id=b""), "act.match_id"),
            (submit(request_id=b"1"), "act.request_id"),
            (submit(observed_head=b"1"), "act.observed_head"),
            (submit(signature=b"1"), "act.signature"),
            (client.match.ListRecords(pb.ListRecordsRequest(match_id=table.match_id, page_size=1001)), "page_size"),
            (client.match.ListMatches(pb.ListMatchesRequest(page_size=101)), "page_size"),
            (client.match.ListMatches(pb.ListMatchesRequest(page_token="?")), "page_token"),
            (client.match.ListMatches(pb.ListMatchesRequest(status=77)), "status"),  # type: ignore[arg-type]
        ]
        for call, field in cases:
            refused = await failing(call)
            assert (refused.reason, refused.violations) == ("MALFORMED", [field])
        info = await table.info()
        assert (info.record_count, [seat.joined for seat in info.seats]) == (2, [False, True])


async def test_a_call_that_does_not_exist_is_unimplemented() -> None:
    """Another method, another service; none of the names is remembered."""
    async with serving() as (server, client):
        for path in ("/sixledger.v1.MatchService/Cheat", "/x/y"):
            refused = await failing(raw(client, path, b""))
            assert (refused.code, refused.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNIMPLEMENTED")
        assert not server.gate._handlers


async def test_a_defect_is_internal_with_an_incident(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller learns the incident id, and nothing of the exception."""

    async def defect(*_: object) -> None:
        raise KeyError("a secret value")

    async with serving() as (server, client):
        monkeypatch.setattr(server.host.store, "match", defect)
        refused = await failing(client.match.GetMatch(pb.GetMatchRequest(match_id=ID)))
        assert (refused.code, refused.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
        assert refused.metadata["incident"] in refused.message
        assert "secret" not in refused.message


async def test_pages_of_matches_are_stable_while_matches_are_added() -> None:
    """Newest first, each once, although a new match was opened between two pages; filters hold."""
    async with serving() as (_, client):
        made = [(await create(client, 2)).match_id for _ in range(5)]
        await start(client)
        seen: list[bytes] = []
        request = pb.ListMatchesRequest(page_size=2, status=pb.MATCH_STATUS_OPEN, game="nimmt")
        while True:
            page = await client.match.ListMatches(request)
            seen += [match.match_id for match in page.matches]
            await create(client, 2)
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        assert seen == made[::-1]
        request.status = pb.MATCH_STATUS_RUNNING
        assert (await failing(client.match.ListMatches(request))).violations == ["page_token"]


async def test_settings_that_cannot_be_used_say_why() -> None:
    """A port that is taken, and an address that is none."""
    async with serving() as (server, _):
        with pytest.raises(OSError, match="cannot listen"):
            await Server(memory_settings(listen=server.address)).start()
    with pytest.raises(OSError, match="cannot listen"):
        await Server(memory_settings(listen="nonsense:x:y")).start()


async def test_modes_need_their_steps() -> None:
    """A match without contributions takes none."""
    async with serving() as (_, client):
        table = await start(client)
        act = pb.Act(match_id=table.match_id, token=table.players[0].token, request_id=secrets.token_bytes(16))
        request = pb.CommitContributionRequest(act=act, commitment=bytes(32))
        assert (await failing(client.match.CommitContribution(request))).reason == "WRONG_PHASE"
        assert (await table.info()).opened.mode == record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
