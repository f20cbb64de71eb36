"""Who may do how much: API keys, rates, quotas, certificates of clients, the time of verifications."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sixledger.service.admission import Rates
from sixledger.service.api_keys import ApiKeys
from sixledger.service.caller import Caller, caller_of, networks, peer_of
from sixledger.service.config import Settings
from sixledger.service.errors import ServiceError
from sixledger.service.replay_servicer import CpuLimit, ReplayServicer, verify
from sixledger.service.server import Server
from sixledger.service.store import MemoryStore
from sixledger.v1 import access_service_pb2 as access
from sixledger.v1 import error_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import ONE_ROUND, Client, create, failing, failure, memory_settings, serving, watched

#: The same over every transport.
pytestmark = pytest.mark.usefixtures("transport")

CREATE, LIST, ADMIN = access.API_SCOPE_CREATE, access.API_SCOPE_LIST, access.API_SCOPE_ADMIN


def with_key(key: str) -> dict[str, Any]:
    return {"metadata": (("authorization", f"Bearer {key}".rstrip()),)}  # no value ends with a space in HTTP/2


def creation() -> pb.CreateMatchRequest:
    return pb.CreateMatchRequest(game="nimmt", seats=2, options=ONE_ROUND, secret=secrets.token_bytes(32))


async def keys_of(server: Server) -> ApiKeys:
    return ApiKeys(server.host.store, server.host.clock)


# -- API keys --------------------------------------------------------------------------------------


async def test_a_server_may_want_a_key_from_whoever_opens_matches() -> None:
    async with serving(memory_settings(create_needs_key="yes")) as (server, client):
        keys = await keys_of(server)
        club, row = await keys.add("club", [CREATE, LIST])
        lists, _ = await keys.add("lists", [LIST])
        forged = club[:-1] + ("A" if club[-1] != "A" else "B")
        for key, reason in (
            ("", "BAD_API_KEY"),
            ("nonsense", "BAD_API_KEY"),
            (forged, "BAD_API_KEY"),
            (lists, "MISSING_SCOPE"),
        ):
            refused = await failing(client.match.CreateMatch(creation(), **with_key(key)))
            assert refused.reason == reason
            assert not key or key not in refused.message
        request = creation()
        created = await client.match.CreateMatch(request, **with_key(club))
        assert (await client.match.CreateMatch(request, **with_key(club))) == created
        private = await client.match.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2, private=True),
                                                 **with_key(club))  # fmt: skip
        mine = pb.ListMatchesRequest(mine=True)
        found = (await client.match.ListMatches(mine, **with_key(club))).matches
        assert [each.match_id for each in found] == [private.match_id, created.match_id]
        assert not (await client.match.ListMatches(mine, **with_key(lists))).matches
        assert (await failing(client.match.ListMatches(mine))).reason == "BAD_API_KEY"
        stored = await server.host.store.api_keys()
        assert club.encode() not in repr(stored).encode() + b"".join(each.digest for each in stored)
        assert (await server.host.store.match(created.match_id)).owner == row.id  # type: ignore[union-attr]


async def test_whoever_shows_a_bad_key_is_told_even_where_none_is_needed() -> None:
    async with serving() as (_, client):
        assert (await failing(client.match.CreateMatch(creation(), **with_key("sixk_x")))).reason == "BAD_API_KEY"
        await client.match.CreateMatch(creation())


async def test_a_manager_makes_rotates_and_ends_keys() -> None:
    now = [2_000_000_000_000_000]
    async with serving(memory_settings(create_needs_key="yes"), clock=lambda: now[0]) as (server, client):
        root, _ = await (await keys_of(server)).add("root", [ADMIN])
        asked = access.CreateApiKeyRequest(name="club", scopes=[CREATE, LIST], calls_per_second=50, open_matches=3)
        assert (await failing(client.access.CreateApiKey(asked))).reason == "BAD_API_KEY"
        first = await client.access.CreateApiKey(asked, **with_key(root))
        listing = client.access.ListApiKeys(access.ListApiKeysRequest(), **with_key(first.secret))
        assert (await failing(listing)).reason == "MISSING_SCOPE"
        match = await client.match.CreateMatch(creation(), **with_key(first.secret))
        rotated = access.CreateApiKeyRequest(replaces=first.key.id, overlap_s=60)
        second = await client.access.CreateApiKey(rotated, **with_key(root))
        assert (second.key.name, list(second.key.scopes), second.key.calls_per_second, second.key.open_matches) == (
            "club", [CREATE, LIST], 50, 3,
        )  # fmt: skip
        for key in (first.secret, second.secret):  # both, for a while; the new one has the matches of the old one
            found = (await client.match.ListMatches(pb.ListMatchesRequest(mine=True), **with_key(key))).matches
            assert [each.match_id for each in found] == [match.match_id]
        now[0] += 60_000_001
        assert (await failing(client.match.CreateMatch(creation(), **with_key(first.secret)))).reason == "BAD_API_KEY"
        await client.match.CreateMatch(creation(), **with_key(second.secret))
        ended = await client.access.RevokeApiKey(access.RevokeApiKeyRequest(id=second.key.id), **with_key(root))
        assert ended.key.expires_us == now[0]
        assert (await failing(client.match.CreateMatch(creation(), **with_key(second.secret)))).reason == "BAD_API_KEY"
        listed = (await client.access.ListApiKeys(access.ListApiKeysRequest(), **with_key(root))).keys
        assert sorted(each.name for each in listed) == ["club", "club", "root"]
        for wrong, field in (
            (access.CreateApiKeyRequest(name="x"), "scopes"),
            (access.CreateApiKeyRequest(scopes=[CREATE]), "name"),
            (access.CreateApiKeyRequest(name="x", scopes=[9]), "scopes"),  # type: ignore[list-item]
            (access.CreateApiKeyRequest(name="x", scopes=[CREATE], replaces="0" * 16), "replaces"),
        ):
            assert (await failing(client.access.CreateApiKey(wrong, **with_key(root)))).violations == [field]


async def test_another_process_hears_of_a_new_key_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixledger.service.api_keys.MAX_AGE_S", 0)
    async with MemoryStore() as store:
        here, there = ApiKeys(store, lambda: 1), ApiKeys(store, lambda: 1)
        key, row = await there.add("club", [CREATE])
        assert await here.check(key, CREATE) == row
        await there.revoke(row.id)
        with pytest.raises(ServiceError, match="revoked"):
            await here.check(key, CREATE)
        assert here.known(key) is None


@pytest.mark.parametrize(
    ("listen", "setting", "needed"),
    [("127.0.0.1:0", "auto", False), ("0.0.0.0:0", "auto", True), ("0.0.0.0:0", "no", False), ("[::1]:0", "yes", True)],
)
def test_by_default_strangers_need_a_key_and_have_limits(listen: str, setting: str, needed: bool) -> None:
    settings = Settings(listen=listen, create_needs_key=setting)
    assert settings.needs_key is needed
    assert (settings.limit(settings.calls_per_second) == 0) is settings.is_local


def test_settings_of_access_are_checked() -> None:
    for wrong, name in (
        ({"create_needs_key": "maybe"}, "create_needs_key"),
        ({"tls_client_ca": Path("ca.pem")}, "tls_client_ca"),
        ({"calls_per_second": -1}, "calls_per_second"),
        ({"max_verifications": 0}, "max_verifications"),
        ({"verification_cpu_s": 0}, "verification_cpu_s"),
    ):
        with pytest.raises(ValueError, match=name):
            Settings(**wrong)
    read = Settings.from_environment({"SIXLEDGER_CALLS_PER_SECOND": "2.5", "SIXLEDGER_MAX_OPEN_MATCHES": "7"})
    assert (read.calls_per_second, read.max_open_matches) == (2.5, 7)


# -- rates and quotas ------------------------------------------------------------------------------


def test_a_rate_lets_a_burst_through_and_then_says_how_long_to_wait() -> None:
    now = [100.0]
    rates = Rates(burst_s=2.0, clock=lambda: now[0])
    assert [rates.take("a", 10) for _ in range(20)] == [0.0] * 20
    assert rates.take("a", 10) == pytest.approx(0.1)
    assert rates.take("b", 10) == 0.0
    now[0] += 0.1
    assert rates.take("a", 10) == 0.0
    assert rates.take("a", 10) == pytest.approx(0.1)
    now[0] += 1000
    assert sum(not rates.take("a", 10) for _ in range(50)) == 20
    assert rates.take("c", 0.1) == 0.0  # however slow the rate, one call is possible
    assert rates.take("c", 0.1) == pytest.approx(10)
    assert rates.take("d", 10, cost=20) == 0.0


def test_no_number_of_callers_fills_the_memory() -> None:
    now = [0.0]
    rates = Rates(max_callers=100, clock=lambda: now[0])
    for n in range(1000):
        rates.take(str(n), 1)
    assert len(rates._paid) <= 100
    assert rates.take("999", 1) == 0.0
    assert rates.take("999", 1) > 0  # those who called last are remembered


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("ipv4:192.0.2.7:5000", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000", "2001:db8:1:2::/64"),
        ("ipv6:[::1]:5000", "::1"),
        ("ipv6:[::ffff:192.0.2.7]:1", "192.0.2.7"),
        ("ipv6:[fe80::1%25eth0]:1", "fe80::/64"),
        ("unix:", "unix"),
        ("unix:/run/x.sock", "unix"),
    ],
)
def test_a_caller_is_its_host_or_network(address: str, peer: str) -> None:
    assert peer_of(address) == peer


@dataclass
class Context:
    """What is asked of a context of grpc.aio."""

    address: str
    forwarded: str

    def peer(self) -> str:
        return self.address

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return (("x-forwarded-for", self.forwarded), ("authorization", "Bearer k"))


@pytest.mark.parametrize(
    ("address", "forwarded", "peer"),
    [
        ("ipv4:10.1.2.3:5", "203.0.113.7", "203.0.113.7"),
        ("ipv4:10.1.2.3:5", "198.51.100.1, 203.0.113.7", "203.0.113.7"),  # what the client claims comes before
        ("ipv4:10.1.2.3:5", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("ipv4:10.1.2.3:5", "unknown", "10.1.2.3"),
        ("ipv4:10.1.2.3:5", "", "10.1.2.3"),
        ("ipv6:%5B::ffff:10.1.2.3%5D:5", "203.0.113.7", "203.0.113.7"),
        ("ipv6:%5Bfd00::1%5D:5", "203.0.113.7", "203.0.113.7"),
        ("ipv4:203.0.113.9:5", "203.0.113.7", "203.0.113.9"),  # no proxy of ours
        ("unix:", "203.0.113.7", "unix"),
    ],
)
def test_a_proxy_that_is_trusted_says_who_calls(address: str, forwarded: str, peer: str) -> None:
    assert caller_of(Context(address, forwarded), networks("10.0.0.0/8, fd00::/8")) == Caller(peer, "k")
    assert caller_of(Context(address, forwarded)) == Caller(peer_of(address), "k")


async def test_callers_behind_a_proxy_have_a_limit_each() -> None:
    """Else all of them would share the limit of one, which is that of the proxy."""
    async with serving(memory_settings(calls_per_second=5, trusted_proxies="127.0.0.0/8,::1")) as (_, client):

        async def refusals(*forwarded: str) -> int:
            calls = [
                client.match.ListMatches(pb.ListMatchesRequest(), metadata=(("x-forwarded-for", each),))
                for each in forwarded
            ]
            results = await asyncio.gather(*calls, return_exceptions=True)
            return sum(isinstance(each, grpc.aio.AioRpcError) for each in results)

        assert await refusals(*(f"203.0.113.{number}" for number in range(30))) == 0
        assert await refusals(*(f"192.0.2.{number}, 198.51.100.1" for number in range(30))) >= 15


@pytest.mark.parametrize("wrong", ["example.org", "10.0.0.1/8", "10.0.0.0/8;fd00::/8"])
def test_proxies_are_networks(wrong: str) -> None:
    with pytest.raises(ValueError, match="trusted_proxies must be networks between commas"):
        Settings(trusted_proxies=wrong)


async def test_who_calls_too_fast_is_told_when_to_come_back() -> None:
    async with serving(memory_settings(calls_per_second=5)) as (server, client):
        quick, _ = await (await keys_of(server)).add("quick", [CREATE], calls_per_second=10_000)
        request = pb.ListMatchesRequest()
        results = await asyncio.gather(*(client.match.ListMatches(request) for _ in range(30)), return_exceptions=True)
        refused = [failure(each) for each in results if isinstance(each, grpc.aio.AioRpcError)]
        assert 15 <= len(refused) <= 20
        assert {each.reason for each in refused} == {"RATE_LIMITED"}
        assert all(each.code is grpc.StatusCode.RESOURCE_EXHAUSTED for each in refused)
        assert all(0 < each.retry_after <= 5 for each in refused)
        await asyncio.sleep(min(each.retry_after for each in refused) + 0.05)
        await client.match.CreateMatch(creation(), **with_key(quick))  # known from now on
        for _ in range(50):
            await client.match.ListMatches(request, **with_key(quick))


async def test_commands_of_batches_and_streams_count_as_calls() -> None:
    async with serving(memory_settings(calls_per_second=10)) as (_, client):
        command = pb.SubmitCommandRequest(act=pb.Act(match_id=bytes(16)))
        batch = pb.SubmitCommandsRequest(commands=[command] * 100)
        assert (await failing(client.match.SubmitCommands(batch))).reason == "RATE_LIMITED"
        orders = [pb.PlayOrder(tag=n, command=command) for n in range(1, 61)]
        call = client.match.Play(iter([pb.PlayRequest(orders=orders)]))
        items = [item async for response in call for item in response.items]
        limited = [item.failure for item in items if item.failure.reason == error_pb2.REASON_RATE_LIMITED]
        assert len(items) == 60
        assert len(limited) > 30
        assert all(each.retry_after_ms for each in limited)


async def test_an_owner_has_only_so_many_matches_open() -> None:
    async with serving(memory_settings(max_open_matches=2)) as (server, client):
        more, _ = await (await keys_of(server)).add("more", [CREATE], open_matches=3)
        first, request = await create(client), creation()
        reply = await client.match.CreateMatch(request)
        refused = await failing(client.match.CreateMatch(creation()))
        assert (refused.reason, refused.metadata["quota"], refused.retry) == ("QUOTA_EXCEEDED", "open_matches", True)
        assert await client.match.CreateMatch(request) == reply  # what is there is no new match
        for _ in range(3):
            await client.match.CreateMatch(creation(), **with_key(more))
        assert (await failing(client.match.CreateMatch(creation(), **with_key(more)))).reason == "QUOTA_EXCEEDED"
        abort = pb.AbortMatchRequest(
            match_id=first.match_id, owner_token=first.owner_token, request_id=secrets.token_bytes(16)
        )
        await client.match.AbortMatch(abort)
        await client.match.CreateMatch(creation())
        owners = {(await server.host.store.match(first.match_id)).owner}  # type: ignore[union-attr]
        assert all(owner.startswith("~") and "127.0.0" not in owner for owner in owners)  # a tag, not the address


async def test_a_caller_has_only_so_many_streams_and_a_match_so_many_watchers() -> None:
    async with serving(memory_settings(max_streams_per_caller=3, max_watchers=2)) as (_, client):
        table = await create(client)
        other = await create(client)
        request = pb.WatchMatchRequest(match_id=table.match_id)
        calls = [client.match.WatchMatch(request) for _ in range(2)]
        for call in calls:
            await watched(call, 2)
        third = client.match.WatchMatch(request)
        assert await stream_failure(third) == ("QUOTA_EXCEEDED", "watchers_of_the_match")
        calls.append(client.match.WatchMatch(pb.WatchMatchRequest(match_id=other.match_id)))
        await watched(calls[-1], 2)
        fourth = client.match.WatchMatch(pb.WatchMatchRequest(match_id=other.match_id))
        assert await stream_failure(fourth) == ("QUOTA_EXCEEDED", "streams")
        for call in calls:
            call.cancel()
        async with asyncio.timeout(5):
            while True:  # the server hears of it a moment later
                try:
                    assert await watched(client.match.WatchMatch(request), 2)
                    break
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.02)


async def stream_failure(call: Any) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    found = failure(caught.value)
    return found.reason, found.metadata.get("quota", "")


# -- verification ----------------------------------------------------------------------------------


async def test_only_so_many_ledgers_wait_for_verification() -> None:
    release = threading.Event()

    def slow(work: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: release.wait(10) and work(*arguments)

    class Slow(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Any:
            return super().submit(slow(fn), *arguments, **named)

    async with serving() as (server, _):
        key = server.host.signer.verifier_key
    servicer = ReplayServicer(key, max_waiting=2, executor=Slow(1))

    async def ask() -> replay_service_pb2.VerifyLedgerResponse:
        async def pieces() -> Any:
            yield replay_service_pb2.VerifyLedgerRequest(chunk=b"no ledger\n")

        return await servicer.VerifyLedger(pieces())

    waiting = [asyncio.create_task(ask()) for _ in range(2)]
    await asyncio.sleep(0.05)
    with pytest.raises(ServiceError) as caught:
        await ask()
    assert (caught.value.reason, caught.value.metadata["quota"]) == (error_pb2.REASON_QUOTA_EXCEEDED, "verifications")
    release.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    with pytest.raises(ServiceError) as caught:  # there is room again: the file itself is looked at
        await ask()
    assert caught.value.reason == error_pb2.REASON_MALFORMED
    servicer.close()


def test_a_replay_has_only_so_much_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*arguments: Any, **named: Any) -> None:
        while True:
            pass

    monkeypatch.setattr("sixledger.ledger.verify.verify", endless)
    with pytest.raises(CpuLimit):
        verify(b"", [], 0.05)


# -- certificates of clients -----------------------------------------------------------------------


def certified(
    folder: Path, name: str, issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate and its key, also written to `folder`; signed by itself without an issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    certificate = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, key


async def test_a_server_with_an_authority_for_clients_turns_others_away(tmp_path: Path) -> None:
    authority = certified(tmp_path, "ca", None)
    for name in ("server", "client"):
        certified(tmp_path, name, authority)
    certified(tmp_path, "stranger", certified(tmp_path, "other", None))
    settings = memory_settings(
        listen="localhost:0",
        tls_certificate=tmp_path / "server.pem",
        tls_key=tmp_path / "server.key",
        tls_client_ca=tmp_path / "ca.pem",
    )

    async def list_as(server: Server, name: str | None) -> None:
        pair: tuple[bytes, ...] = ()
        if name is not None:
            pair = ((tmp_path / f"{name}.key").read_bytes(), (tmp_path / f"{name}.pem").read_bytes())
        credentials = grpc.ssl_channel_credentials((tmp_path / "ca.pem").read_bytes(), *pair)
        async with grpc.aio.secure_channel(server.address, credentials) as channel:
            await Client(channel).match.ListMatches(pb.ListMatchesRequest(), timeout=5)

    async with Server(settings) as server:
        await list_as(server, "client")
        for other in (None, "stranger"):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await list_as(server, other)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
