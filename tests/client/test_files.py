"""Credentials and pinned keys: kept in private files, written whole, and never shown."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from sixledger.client import Credentials, TrustStore, errors
from sixledger.client.files import write_private
from sixledger.ledger import keys
from sixledger.ledger.heads import HeadSigner
from support.play import IMPOSTOR, IMPOSTORS_KEY, MATCH_ID, SIGNER, credentials

posix = pytest.mark.skipif(os.name != "posix", reason="file modes are a matter of POSIX")


def test_credentials_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "seat.json"
    made = Credentials.new(MATCH_ID, 3, display_name="Ada")
    made.token = "t"
    made.save(path)
    assert Credentials.load(path) == made
    assert Credentials.load(path).public_key == made.public_key


@posix
def test_files_of_secrets_are_the_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "seat.json"
    made = Credentials.new(MATCH_ID, 0)
    path.write_text("old")
    path.chmod(0o644)
    made.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(errors.BadCredentials, match="0600"):
        Credentials.load(path)


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Whatever is made is open to everybody, unless somebody cares."""
    before = os.umask(0)
    yield
    os.umask(before)


@posix
@pytest.mark.usefixtures("no_umask")
def test_folders_that_are_made_for_secrets_are_the_owner_s_alone_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "seats" / "tonight" / "seat.json"
    Credentials.new(MATCH_ID, 0).save(path)
    made = (path, path.parent, path.parent.parent)
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o600, 0o700, 0o700]
    assert Credentials.load(path).path == path


@posix
def test_a_folder_in_which_everybody_writes_is_no_place_for_a_key(tmp_path: Path) -> None:
    """Somebody else could put another file there. In one like /tmp nobody but the owner can."""
    folder = tmp_path / "shared"
    folder.mkdir()
    path = folder / "seat.json"
    made = Credentials.new(MATCH_ID, 0)
    made.save(path)
    folder.chmod(0o777)
    for use in (made.save, lambda: Credentials.load(path)):
        with pytest.raises(errors.BadCredentials, match="everybody can write"):
            use()
    folder.chmod(0o1777)
    made.save()
    assert Credentials.load(path) == made


@posix
def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "seat.json"
    Credentials.new(MATCH_ID, 0).save(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(errors.BadCredentials, match="another user"):
        Credentials.load(path)


@posix
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602, 0o610, 0o666])
def test_a_key_that_others_may_have_read_or_changed_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "seat.json"
    Credentials.new(MATCH_ID, 0).save(path)
    path.chmod(mode)
    with pytest.raises(errors.BadCredentials, match="can be read by others"):
        Credentials.load(path)


def test_no_secret_is_shown() -> None:
    made = credentials(0)
    for secret in (made.secret, made.private_key, made.contribution):
        assert repr(secret)[2:-1] not in repr(made)
    assert made.token not in repr(made)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2}', '{"format": 1, "match": "zz"}'])
def test_what_is_no_credentials_file_is_refused_without_quoting_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "seat.json"
    write_private(path, text)
    with pytest.raises(errors.BadCredentials) as caught:
        Credentials.load(path)
    assert caught.value.__suppress_context__


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "seat.json"
    write_private(path, "old")

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_unsigned_seats_have_no_key_and_sign_nothing() -> None:
    made = Credentials.new(MATCH_ID, 0, sign=False, contribute=False)
    assert made.public_key == b""
    assert made.sign(keys.ActKind.RESIGN, 0, b"h" * 32, b"r" * 16, b"") == b""
    assert not made.contributes


def test_request_ids_differ_by_purpose_and_stay_the_same() -> None:
    made = credentials(0)
    ids = {made.request_id(purpose) for purpose in ("join", "commitment", "contribution", "resign")}
    assert len(ids) == 4
    assert made.request_id("join") == credentials(0).request_id("join")


# -- trust -------------------------------------------------------------------------------------------


def test_the_first_key_of_an_origin_is_pinned_and_another_refused(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    TrustStore(path).pin(SIGNER.verifier_key, "play.test:1")
    again = TrustStore(path)
    again.pin(SIGNER.verifier_key, "play.test:1")
    with pytest.raises(errors.OriginChanged, match="announced"):
        again.pin(IMPOSTOR.verifier_key)
    assert again.get("play.test") == SIGNER.verifier_key
    again.forget("play.test")
    TrustStore(path).pin(IMPOSTOR.verifier_key, "play.test:1")


def test_another_origin_at_a_known_address_is_refused() -> None:
    store = TrustStore(keys=[str(SIGNER.verifier_key)])
    store.pin(SIGNER.verifier_key, "play.test:1")
    other = HeadSigner("other.test", IMPOSTORS_KEY)
    with pytest.raises(errors.OriginChanged, match="before it was"):
        store.pin(other.verifier_key, "play.test:1")
    assert store.keys == [SIGNER.verifier_key]


def test_two_stores_on_one_file_see_each_other_s_keys(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    first, second = TrustStore(path), TrustStore(path)
    first.pin(SIGNER.verifier_key)
    with pytest.raises(errors.OriginChanged):
        second.pin(IMPOSTOR.verifier_key)


@posix
def test_the_trust_file_is_private_json(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    TrustStore(path).pin(SIGNER.verifier_key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["keys"] == [str(SIGNER.verifier_key)]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 9}', '{"format": 1, "keys": ["x"], "addresses": {}}'])
def test_a_trust_file_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trust.json"
    path.write_text(text)
    with pytest.raises(errors.BadTrustStore):
        TrustStore(path)
