"""What the commands of operators print, log and complain about holds no secret: only a new API key is shown, once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from sixledger.cli import admin_store, archive
from sixledger.service.config import Settings
from sixledger.service.keyring import Keyring
from sixledger.service.store import open_store
from sixledger.v1 import match_service_pb2 as pb
from sixledger.v1 import record_pb2
from support.command_line import CommandLine, Ran
from support.servers import serving, start
from support.spelling import leaks

ORIGIN = "secrets.test"


class Told:
    """A command line that remembers what was said, and the secrets that must not be in it."""

    def __init__(self, quick: CommandLine) -> None:
        self._quick = quick
        self.said: list[str] = []
        self.secrets: dict[str, bytes | str] = {}

    def __call__(self, status: int | None, *arguments: str | Path) -> Ran:
        """Run it; with a `status` it must end with that."""
        ran = self._quick(*arguments)
        assert status in (None, ran.status), ran
        self.said += [ran.out, ran.err]
        self.check()
        return ran

    def check(self) -> None:
        """Nothing leaked so far."""
        assert leaks("\n".join(self.said), self.secrets) == []

    def keep_keys(self, path: Path) -> None:
        """The keys in a file are secrets."""
        keyring = Keyring.load(path)
        for key in (keyring.head_key, *keyring.older_keys, keyring.token_key):
            self.secrets[key.hex()[:8]] = key


@pytest.fixture
def told(quick: CommandLine) -> Iterator[Told]:
    made = Told(quick)
    yield made
    made.check()
    assert len(made.said) > 4
    assert made.secrets


def test_key_files_are_made_changed_and_broken(told: Told, tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    told(0, "admin", "new-keys", path)
    told.keep_keys(path)
    told(0, "admin", "new-keys", path, "--keep")
    told(2, "admin", "new-keys", path)
    told(1, "keys", "generate", path, "--origin", ORIGIN)
    told(0, "keys", "show", path, "--origin", ORIGIN)
    told(0, "keys", "rotate", path, "--origin", ORIGIN, "--at", "+7d")
    told.keep_keys(path)
    told(0, "keys", "show", path, "--json")
    (first, *_) = json.loads(told(0, "keys", "show", path, "--json").out)["keys"]
    told(0, "keys", "revoke", path, first["verifier_key"].split("+")[1])
    told.keep_keys(path)
    told(0, "keys", "publish", path)
    told(0, "keys", "publish", path, "-o", tmp_path / "published.keys")
    assert leaks((tmp_path / "published.keys").read_text(), told.secrets) == []
    good = path.read_text()
    for text in (good[:-30], good.replace('"token_key"', '"token"'), good.replace("=", ""), "[" + good + "]"):
        path.write_text(text)
        for command in ("show", "rotate", "publish"):
            told(2, "keys", command, path)
        told(2, "keys", "trust", path)


def test_api_keys_are_shown_once(told: Told) -> None:
    made = told(0, "admin", "keys", "add", "club", "--scope", "admin", "--json")
    key = json.loads(made.out)
    told.said.remove(made.out)  # here it belongs
    told.secrets["club"] = key["key"]
    told(0, "admin", "keys", "list")
    told(0, "admin", "keys", "list", "--json")
    rotated = told(0, "admin", "keys", "add", "--replaces", key["id"])
    told.said.remove(rotated.out)
    told.secrets["rotated"] = rotated.out.split()[0]
    told(0, "admin", "keys", "list")
    told(0, "admin", "keys", "revoke", key["id"])
    told(2, "admin", "keys", "revoke", key["key"][:-1])
    told(2, "admin", "keys", "add", "--replaces", key["key"])


async def played(settings: Settings) -> tuple[str, dict[str, bytes | str]]:
    """A match to its end, and one that is left open: the id of that, and the secrets of both."""
    async with serving(settings) as (_, client):
        table = await start(client)
        await table.play(Random(1))
        opened = await client.match.CreateMatch(pb.CreateMatchRequest(game="nimmt", seats=2))
    found = {"owner": opened.owner_token, **{f"seat {each.seat}": each.token for each in table.players}}
    async with open_store(settings.store, seal=settings.seal()) as store:
        for match_id, _ in await store.kept_secrets(after=None, limit=10):
            row = await store.match(match_id)
            assert row is not None
            found[f"root {match_id.hex()}"] = row.root_secret
            for data in await store.records(match_id, 0, 1000):
                salts = (opening.salt for opening in record_pb2.Record.FromString(data).openings)
                found |= {salt.hex()[:8]: salt for salt in salts}
    return opened.match_id.hex(), found


def test_a_store_is_looked_after(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets sealed anew, ledgers archived and brought back, matches aborted; with wrong keys, and with defects."""
    first, second, keys = os.urandom(32), os.urandom(32), tmp_path / "keys.json"
    Keyring.generate().save(keys)
    settings = Settings(
        listen="127.0.0.1:0",
        store=f"sqlite:{tmp_path / 'matches.db'}",
        data_dir=tmp_path,
        key_file=keys,
        origin="secrets.test",
        secret_keys=first.hex(),
    )
    open_match, found = asyncio.run(played(settings))
    told.keep_keys(keys)
    told.secrets |= {"first": first, "second": second, **found}

    def admin(status: int | None, *arguments: str | Path) -> Ran:
        return told(status, "admin", *arguments, "--store", settings.store)

    folder = tmp_path / "archive"
    to = ("archive", "--to", folder, "--older-than", "0s", "--key", keys, "--origin", settings.origin)
    for wrong in ("", second.hex(), first.hex()[:-1]):
        monkeypatch.setenv("SIXLEDGER_SECRET_KEYS", wrong)
        for command in (("rotate-keys",), ("abort", open_match), to):
            admin(None, *command)
    monkeypatch.setenv("SIXLEDGER_SECRET_KEYS", f"{second.hex()},{first.hex()}")
    assert "2 matches" in admin(0, "rotate-keys").out
    admin(0, *to)
    (path,) = folder.iterdir()
    back = ("unarchive", path.name.partition(".")[0], "--from", folder)
    assert "back in the store" in admin(0, *back).out
    admin(0, *to)
    path.write_bytes(path.read_bytes()[:-9])
    admin(1, *back)
    admin(0, "restored")
    admin(0, "abort", "--restored")

    def broken(*_: object, **__: object) -> None:
        raise KeyError(first, second, Keyring.load(keys), Keyring.load(keys).head_key)

    monkeypatch.setattr(archive, "_signer", broken)
    monkeypatch.setattr(admin_store, "with_store", broken)
    for command in (to, ("abort", open_match)):
        assert "a defect of sixledger (KeyError)" in admin(1, *command).err
