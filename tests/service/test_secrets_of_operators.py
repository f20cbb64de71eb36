"""Nothing secret that operators handle gets out: keys that sign and seal, API keys, tokens, what an archive holds.

Not in a log line, an error, a metric, a trace or a repr; not in the ordinary course, nor when it fails, nor when a
defect throws the secret itself.
"""

from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import structlog
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sixledger.ledger.key_list import Reason
from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service import archive, key_life, logs, supervisor
from sixledger.service.admission import Admission
from sixledger.service.api_keys import ApiKeys
from sixledger.service.config import Settings
from sixledger.service.keyring import KeyFileError, Keyring
from sixledger.service.matches import wall_clock
from sixledger.service.member import Member
from sixledger.service.server import Server
from sixledger.service.store import StoreError, open_store
from sixledger.service.store.sealing import Seal
from sixledger.service.supervisor import MemberFailed
from sixledger.service.tracing import Tracing
from sixledger.v1 import access_service_pb2, catalog_service_pb2, record_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.hosts import root_secrets
from support.operators import page
from support.servers import Client, Player, client_of, failing, start
from support.spelling import leaks, spellings
from support.traces import Traces

ORIGIN = "secrets.test"
DAY = 86_400_000_000


@dataclass
class Told:
    """Everything that got out, and everything that must not."""

    log: io.BytesIO
    traces: Traces
    said: list[str] = field(default_factory=list)
    secrets: dict[str, bytes | str] = field(default_factory=dict)

    def keep(self, **secrets: bytes | str) -> None:
        """Name secrets."""
        self.secrets |= secrets

    def keep_keys(self, keyring: Keyring) -> None:
        """All keys of a key file."""
        self.keep(token_key=keyring.token_key)
        for key in (*keyring.older_keys, keyring.head_key):
            self.secrets[f"head key {key.hex()[:4]}"] = key

    def show(self, *things: object) -> None:
        """What a debugger, a traceback or an f-string would print."""
        self.said += [f"{thing!r} {thing}" for thing in things]

    def text(self) -> str:
        """All of it."""
        return "\n".join([self.log.getvalue().decode(), self.traces.text(), *self.said])

    def check(self, *words: str) -> None:
        """Nothing leaked, though what these words are of was told."""
        text = self.text()
        for word in words:
            assert word in text
        assert leaks(text, self.secrets) == []


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Told]:
    """With the log at its finest level, and that of the libraries."""
    log = io.BytesIO()
    logs.configure("debug", log)
    made = Told(log, Traces())
    with caplog.at_level(logging.DEBUG):
        yield made
    assert leaks(caplog.text, made.secrets) == []
    made.traces.provider.shutdown()
    structlog.reset_defaults()


@pytest.fixture
def settings(tmp_path: Path, told: Told) -> Settings:
    """Of a server with everything that has a secret: key file, sealing keys, API keys, archive."""
    keyring = Keyring.generate()
    keyring.save(tmp_path / "keys.json")
    sealing = [os.urandom(32), os.urandom(32)]
    (tmp_path / "sealing").write_text("".join(f"{key.hex()}\n" for key in sealing))
    told.keep_keys(keyring)
    told.keep(sealing=sealing[0], older_sealing=sealing[1])
    return Settings(
        listen="127.0.0.1:0",
        admin_listen="127.0.0.1:0",
        data_dir=tmp_path,
        key_file=tmp_path / "keys.json",
        secret_key_file=tmp_path / "sealing",
        archive_dir=tmp_path / "archive",
        origin=ORIGIN,
        slow_call_s=0.000001,
        watch_tick_s=0.05,
    )


@asynccontextmanager
async def serving(settings: Settings, told: Told, **given: Any) -> AsyncIterator[tuple[Server, Client]]:
    """A server whose reprs, metrics and health are told as well."""
    async with (
        Server(settings, tracing=Tracing(1, told.traces.provider), **given) as server,
        client_of(server) as client,
    ):
        yield server, client
        for path in ("/metrics", "/readyz"):
            told.said.append((await page(server, path))[1])
        host = server.host
        told.show(server, host, host.store, host.signer, server.key_watch, server.gate, server.gate.admission, settings)


async def refused(told: Told, call: Any) -> None:
    """A call that must fail; what its caller and those in between can see is told."""
    failure = await failing(call)
    told.said.append(f"{failure.message} {failure.metadata} {failure.violations} {failure.reason}")


# -- the detector --------------------------------------------------------------------------------


def test_a_secret_that_got_out_is_noticed(told: Told) -> None:
    """However it is spelled: as programs print bytes, in a message, inside a line of JSON."""
    secret = bytes(range(240, 256)) + b"\x00'\"\\abcdefghijkl"
    printed = (secret.hex(), repr(secret), str(list(secret)), record_pb2.Opening(salt=secret), spellings(secret)[2])
    for each in printed:
        assert leaks(f"so {each} it is", {"it": secret}) == ["it"]
        told.log.truncate(0)
        logs.Log("test").error("leaked", value=str(each))
        assert leaks(told.log.getvalue().decode(), {"it": secret}) == ["it"], each
    assert leaks("a token: abc.def", {"token": "abc.def", "other": "abc.deg"}) == ["token"]


# -- keys that sign ------------------------------------------------------------------------------


async def test_keys_that_are_rotated_revoked_and_broken(told: Told, settings: Settings) -> None:
    """While a server runs, which takes them up or says why not; clients ask for them meanwhile."""
    path = settings.key_path
    assert path is not None
    async with serving(settings, told) as (server, client):

        async def origin() -> None:
            told.show(await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest()))

        now = wall_clock()
        rotated = key_life.rotate(Keyring.load(path), ORIGIN, now + DAY, now)
        told.keep_keys(rotated.keyring)
        rotated.keyring.save(path, over=True)
        assert server.key_watch.look()
        await origin()
        (old, _) = rotated.keyring.signed_list(ORIGIN).content.keys
        revoked = key_life.revoke(rotated.keyring, ORIGIN, old.key.hash.hex(), Reason.COMPROMISED, now, now + 1)
        revoked.keyring.save(path, over=True)
        assert server.key_watch.look()
        await origin()
        told.show(rotated, revoked, revoked.keyring.signed_list(ORIGIN), revoked.keyring.signing_keys)
        good = path.read_text()
        content = json.loads(good)
        stranger = Keyring.generate()
        other = OriginSigner(stranger.signing_keys, stranger.signed_list("other.test"))
        told.keep_keys(stranger)
        broken = [
            good[: len(good) // 2],
            good.replace('"', "'"),
            json.dumps(content | {"head_key": content["head_key"][:-4]}),
            json.dumps(content | {"head_key": content["head_key"] + "*"}),
            json.dumps(content | {"older_keys": content["head_key"]}),
            json.dumps(content | {"older_keys": []}),
            json.dumps(content | {"format": content["head_key"]}),
            json.dumps(content | {"key_list": content["key_list"].replace("from", "since")}),
            json.dumps(content | {"key_list": stranger.with_list(other.signed_list).key_list}),
            json.dumps([content]),
        ]
        for text in broken:
            path.write_text(text)
            assert not server.key_watch.look()
            try:
                told.show(Keyring.load(path).signed_list(ORIGIN))
            except (KeyFileError, ValueError) as error:
                told.show(error, error.__cause__)
        path.chmod(0o644)
        assert not server.key_watch.look()
        for wrong in ("00000000", old.key.hash.hex()):
            with pytest.raises(key_life.KeyLifeError) as caught:
                key_life.revoke(revoked.keyring, ORIGIN, wrong, Reason.LOST, now, now + 1)
            told.show(caught.value)
    told.check("keys_changed", "keys_not_taken_up", "can be read by everybody")


async def test_a_defect_that_throws_a_key_logs_only_its_kind(
    told: Told, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In what signs, in what checks API keys, in what opens sealed secrets."""
    held = Keyring.load(settings.data_dir / "keys.json")
    key = f"sixk_{'0' * 16}_{'A' * 43}"
    told.keep(api_key=key)
    async with serving(settings, told) as (server, client):
        table = await start(client)

        def broken(*_: object) -> str:
            raise KeyError(held.head_key, held, told.secrets["sealing"], key)

        async def broken_check(*_: object) -> None:
            broken()

        monkeypatch.setattr(server.host.signer, "sign", broken)
        request = await table.next_request(Random(1))
        await refused(told, client.match.SubmitCommand(request))
        await refused(told, client.match.GetMatch(pb.GetMatchRequest(match_id=b"?" * 16)))
        monkeypatch.setattr(ApiKeys, "check", broken_check)
        shown = [("authorization", f"Bearer {key}")]
        await refused(told, client.access.ListApiKeys(access_service_pb2.ListApiKeysRequest(), metadata=shown))
    told.check("incident", "KeyError")


# -- API keys, tokens, what is sealed ------------------------------------------------------------


def bearer(key: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {key}")]


async def test_keys_and_tokens_that_callers_show(told: Told, settings: Settings) -> None:
    """Made, rotated, revoked, mistyped; invitations; and a match with every opening, to its end and its archive."""
    roots = root_secrets()
    told.keep(root_secret=root_secrets()())
    private = Ed25519PrivateKey.generate()
    raw, none = serialization.Encoding.Raw, serialization.NoEncryption()
    told.keep(private_key=private.private_bytes(raw, serialization.PrivateFormat.Raw, none))
    players = [Player(0, private, contributes=True), Player(1, contributes=True)]
    async with serving(settings, told, root_secret=roots) as (server, client):
        scopes = [access_service_pb2.API_SCOPE_ADMIN, access_service_pb2.API_SCOPE_CREATE]
        root, row = await ApiKeys(server.host.store, wall_clock).add("root", scopes)
        create = access_service_pb2.CreateApiKeyRequest
        made = await client.access.CreateApiKey(create(name="club", scopes=scopes), metadata=bearer(root))
        rotated = await client.access.CreateApiKey(create(replaces=made.key.id, overlap_s=9), metadata=bearer(root))
        told.keep(root=root, club=made.secret, rotated=rotated.secret)
        told.show(row, made.key, rotated.key, ApiKeys(server.host.store, wall_clock))
        revoke = access_service_pb2.RevokeApiKeyRequest(id=rotated.key.id)
        await client.access.RevokeApiKey(revoke, metadata=bearer(root))
        mistyped = rotated.secret[:-1] + ("A" if rotated.secret[-1] != "A" else "B")
        told.keep(mistyped=mistyped)
        for shown in (mistyped, rotated.secret, rotated.secret + "=", root[:-1], f"{root} {root}", root.upper()):
            await refused(told, client.access.RevokeApiKey(revoke, metadata=bearer(shown)))
        await refused(told, client.access.RevokeApiKey(revoke, metadata=[("authorization", root)]))

        mode = record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL
        table = await start(client, players, mode=mode)
        told.keep(owner=table.owner_token, **{f"seat {each.seat}": each.token for each in players})
        told.keep(**{f"secret of {each.seat}": each.secret for each in players})
        open_table = await client.match.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2, private=True))
        invited = await client.match.CreateInvitation(
            pb.CreateInvitationRequest(match_id=open_table.match_id, owner_token=open_table.owner_token)
        )
        told.keep(invitation=invited.invitation, other_owner=open_table.owner_token)
        join = pb.JoinMatchRequest(match_id=table.match_id, invitation=invited.invitation)
        await refused(told, client.match.JoinMatch(join))
        for token in (invited.invitation, players[0].token[:-1], players[0].token + "A"):
            told.keep(**{f"token …{token[-4:]}": token})
            view = pb.GetViewRequest(match_id=table.match_id, token=token)
            await refused(told, client.match.GetView(view))
        await table.play(Random(1))
        hosted = await server.host.hosted(table.match_id)
        told.show(hosted, hosted.match, hosted.author, hosted.row)
        stored = await server.host.store.records(table.match_id, 0, 1000)
        records = [record_pb2.Record.FromString(data) for data in stored]
        for seq, record in enumerate(records):
            for opening in record.openings:
                told.keep(**{f"salt {seq}.{opening.seal}": opening.salt})
                if len(opening.value) > 8:
                    told.keep(**{f"value {seq}.{opening.seal}": opening.value})
        known = hosted.author.seeds.known
        told.keep(**{f"seed {epoch}": hosted.author.seeds.element(epoch) for epoch in range(1, known + 1)})
        last, _ = archive.write(_made(settings.archive_dir), table.match_id, stored, server.host.signer)
        assert await server.host.store.archive(table.match_id, len(stored), last)
    told.check("api_key_created", "api_key_revoked", "slow_call", "BAD_API_KEY")

    path = archive.path_of(settings.data_dir / "archive", table.match_id)
    data = path.read_bytes()
    for damaged in (data[:-20], data[:400] + b"?" + data[401:], b"", None):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged)
            with pytest.raises(archive.BadArchive) as caught:
                archive.prove(path)
            told.show(caught.value)
        async with serving(settings, told) as (_, client):
            await refused(told, client.match.ListRecords(pb.ListRecordsRequest(match_id=table.match_id)))
    told.check("archive_damaged", "archive_unreadable")


def _made(folder: Path | None) -> Path:
    assert folder is not None
    folder.mkdir()
    return folder


async def test_secrets_that_are_sealed_under_other_keys(
    told: Told, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right keys are missing, or the sealed secret was changed; and keys that are none."""
    roots = root_secrets()
    told.keep(root_secret=root_secrets()())
    url = f"sqlite:{tmp_path / 'matches.db'}"
    async with serving(settings, told, root_secret=roots) as (_, client):
        table = await start(client)
        match_id = table.match_id
    seal = settings.seal()
    assert seal is not None
    stranger = os.urandom(32)
    told.keep(stranger=stranger)
    async with open_store(url, seal=seal) as store:
        ((_, kept),) = await store.kept_secrets(after=None, limit=10)
        told.show(seal, store, await store.match(match_id))
    for keys, changed in (([stranger], kept), ([stranger, told.secrets["sealing"]], kept[:-1] + bytes([kept[-1] ^ 1]))):
        other = Seal([bytes(key) for key in keys if isinstance(key, bytes)])
        told.show(other)
        with pytest.raises(StoreError) as caught:
            other.open(match_id, changed)
        told.show(caught.value, caught.value.__cause__)
    (tmp_path / "sealing").write_text(f"{stranger.hex()}\n")
    async with serving(settings, told) as (_, client):
        await refused(told, client.match.GetMatch(pb.GetMatchRequest(match_id=match_id)))

    def broken(*_: object) -> None:
        raise KeyError(seal, stranger, kept)

    monkeypatch.setattr(Seal, "open", broken)
    monkeypatch.setattr("sixledger.service.store.sealing._open", broken)
    async with serving(settings, told) as (_, client):
        await refused(told, client.match.GetMatch(pb.GetMatchRequest(match_id=match_id)))
    good = stranger.hex()
    for text in (good[:-1], good + "zz", f"{good},{good[:-2]}", f"{good}\n{good[:-1]}x"):
        with pytest.raises(ValueError) as wrong:  # noqa: PT011  # what it says is looked at below
            Settings.from_environment({"SIXLEDGER_SECRET_KEYS": text}).seal()
        told.show(wrong.value, wrong.value.__cause__, wrong.value.__context__)
    told.show(
        Settings(secret_keys=good, store=f"postgresql://u:{good}@h/d", postgres_direct=f"postgresql://u:{good}@h/d")
    )
    told.check("secret_keys:", "which is not here", "incident")


async def test_a_database_that_cannot_be_reached_is_named_without_its_password(told: Told) -> None:
    password = "correct-horse-battery"
    told.keep(password=password)
    store = open_store(f"postgresql://user:{password}@127.0.0.1:1/games")
    with pytest.raises(StoreError) as caught:
        await store.open()
    told.show(store, caught.value, caught.value.__cause__)
    told.check("cannot open the store")


# -- workers -------------------------------------------------------------------------------------


def test_a_worker_that_crashes_over_a_key_tells_only_its_kind(told: Told, settings: Settings) -> None:
    """To the log; and to its supervisor what it says on purpose."""
    keyring = Keyring.load(settings.data_dir / "keys.json")
    reading, writing = os.pipe()
    member = Member("1", writing, reading)

    def crash(_: Member) -> None:
        raise KeyError(keyring.head_key, keyring, settings)

    def fail(_: Member) -> None:
        raise MemberFailed(f"the keys {keyring} cannot be used", 2)

    assert (supervisor._live(member, crash), supervisor._live(member, fail)) == (1, 1)
    told.said.append(os.read(reading, 65536).decode())
    for descriptor in (reading, writing):
        os.close(descriptor)
    told.show(member, supervisor.Supervisor([crash]), Admission(ApiKeys(open_store("memory:"), wall_clock)))
    told.check("crashed", "KeyError", "cannot be used")
