"""Root secrets are sealed at rest, under keys that can be changed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.cli.main import run
from sixledger.service.config import Settings
from sixledger.service.store import MatchRow, Store, StoreError, open_store
from sixledger.service.store.sealing import Seal, key_of
from support.postgres import PostgresServer, drop_database, new_database
from support.store_contract import new_match

OLD, NEW = bytes(range(32)), bytes(range(32, 64))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_server: PostgresServer) -> Iterator[str]:
    """An empty store."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'matches.db'}"
        return
    made = new_database(postgres_server)
    yield made
    drop_database(postgres_server, made)


async def kept(store: Store) -> dict[bytes, bytes]:
    return dict(await store.kept_secrets(after=None, limit=99))


async def test_a_sealed_secret_is_in_the_store_in_no_readable_form(url: str) -> None:
    async with open_store(url, seal=Seal([OLD])) as store:
        row, _ = await new_match(store)
        assert await store.match(row.match_id) == row
        assert list(await store.list_matches(status=None, game=None, after=None, limit=9)) == [row]
        secret = (await kept(store))[row.match_id]
        assert row.root_secret not in secret
        assert key_of(secret) == Seal([OLD]).current
    async with open_store(url, seal=Seal([NEW, OLD])) as store:
        assert await store.match(row.match_id) == row
    secrets: dict[bytes, bytes] = {}
    for seal in (None, Seal([NEW])):
        async with open_store(url, seal=seal) as store:
            with pytest.raises(StoreError, match="which is not here: add it to secret_key_file") as caught:
                await store.match(row.match_id)
            assert Seal([OLD]).current in str(caught.value)
            # One match whose key is lost must not hide the others.
            other, _ = await new_match(store)
            listed = await store.list_matches(status=None, game=None, after=None, limit=9)
            assert {each.match_id: each.root_secret for each in listed} == secrets | {
                row.match_id: b"",
                other.match_id: other.root_secret,
            }
            secrets[other.match_id] = other.root_secret


def test_a_seal_belongs_to_its_match_and_shows_every_change() -> None:
    seal, match_id = Seal([OLD]), os.urandom(16)
    sealed = seal.close(match_id, bytes(32))
    assert seal.open(match_id, sealed) == bytes(32)
    assert seal.close(match_id, bytes(32)) != sealed
    for at in range(9, len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(StoreError, match="was changed"):
            seal.open(match_id, changed)
    with pytest.raises(StoreError, match="was changed"):
        seal.open(os.urandom(16), sealed)
    for unknown in (b"\x02" + sealed[1:], sealed[:-1], b""):
        with pytest.raises(StoreError, match="this release does not know"):
            seal.open(match_id, unknown)
    assert OLD.hex() not in repr(seal) + repr(vars(seal))


@pytest.mark.parametrize("text", ["", "# none", "00" * 31, "zz" * 32, "00" * 32 + " " + "11" * 33])
def test_what_is_no_key_is_refused_and_not_repeated(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no key|a key has 32 bytes") as caught:
        Seal.parse(text)
    assert "zz" not in str(caught.value)
    path = tmp_path / "keys"
    path.write_text(text)
    with pytest.raises(ValueError, match="keys: "):
        Settings(secret_key_file=path).seal()


def test_keys_come_from_a_file_or_a_variable(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# since spring\n{NEW.hex()}\n\n{OLD.hex()}\n")
    variable = Settings.from_environment({"SIXLEDGER_SECRET_KEYS": f"{NEW.hex()},{OLD.hex()}"})
    for settings in (Settings(secret_key_file=path), variable):
        seal = settings.seal()
        assert seal is not None
        assert seal.current == Seal([NEW]).current
        assert NEW.hex() not in repr(settings)
    assert Settings().seal() is None
    with pytest.raises(ValueError, match="give one of them"):
        Settings(secret_key_file=path, secret_keys=OLD.hex())


async def filled(url: str, seal: Seal | None) -> MatchRow:
    async with open_store(url, seal=seal) as store:
        row, _ = await new_match(store)
        return row


async def all_under(url: str, key: bytes, rows: list[MatchRow]) -> None:
    async with open_store(url, seal=Seal([key])) as store:
        assert [await store.match(row.match_id) for row in rows] == rows
        assert {key_of(secret) for secret in (await kept(store)).values()} == {Seal([key]).current}


def test_keys_are_rotated(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plain secrets, and those under an old key, are sealed under the new one; a second run finds nothing to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIXLEDGER_STORE", url)
    rows = [asyncio.run(filled(url, seal)) for seal in (None, Seal([OLD]), Seal([OLD]), Seal([NEW]))]
    assert run(["admin", "rotate-keys"]) == 2
    assert "set SIXLEDGER_SECRET_KEY_FILE or SIXLEDGER_SECRET_KEYS" in capsys.readouterr().err
    monkeypatch.setenv("SIXLEDGER_SECRET_KEYS", NEW.hex())
    assert run(["admin", "rotate-keys"]) == 1
    assert "is sealed under the key" in capsys.readouterr().err
    monkeypatch.setenv("SIXLEDGER_SECRET_KEYS", f"{NEW.hex()},{OLD.hex()}")
    assert run(["admin", "rotate-keys", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["key"] == Seal([NEW]).current
    assert told["sealed"] + told["unchanged"] == 4
    asyncio.run(all_under(url, NEW, rows))
    assert run(["admin", "rotate-keys", "--json"]) == 0
    ended = json.loads(capsys.readouterr().out)
    assert (ended["sealed"], ended["unchanged"], ended["before"]) == (0, 4, {})
