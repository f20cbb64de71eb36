"""Changing the keys of a server: the next key, the end of one, and how a running server takes them up."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from sixledger.ledger.heads import SignedHead, VerifierKey
from sixledger.ledger.key_list import Reason, SignedKeyList
from sixledger.ledger.key_succession import Step, step
from sixledger.service import key_life
from sixledger.service.key_life import KeyLifeError
from sixledger.service.keyring import KeyFileError, Keyring
from sixledger.service.server import Server
from sixledger.v1 import catalog_service_pb2, replay_service_pb2
from sixledger.v1 import match_service_pb2 as pb
from support.servers import Client, client_of, memory_settings, serving, start

ORIGIN = "test.example"
DAY = 86_400_000_000
NOW = 20_000 * DAY


def lists(*keyrings: Keyring) -> list[SignedKeyList]:
    return [keyring.signed_list(ORIGIN) for keyring in keyrings]


def stepped(held: Keyring, new: Keyring) -> Step:
    return step(held.signed_list(ORIGIN), new.signed_list(ORIGIN), NOW)


def shorts(keyring: Keyring) -> list[str]:
    return [entry.key.hash.hex() for entry in keyring.signed_list(ORIGIN).content.keys]


def signing(keyring: Keyring, time_us: int) -> VerifierKey:
    entry = keyring.signed_list(ORIGIN).content.signing(time_us)
    assert entry is not None
    return entry.key


def states(keyring: Keyring, now_us: int) -> list[str]:
    return [entry.state(now_us) for entry in keyring.signed_list(ORIGIN).content.keys]


# -- changes -------------------------------------------------------------------------------------


def test_a_rotation_names_the_next_key_and_when_it_begins() -> None:
    first = Keyring.generate()
    changed = key_life.rotate(first, ORIGIN, NOW + DAY, NOW)
    second = changed.keyring
    assert changed.is_new
    assert states(second, NOW) == ["active", "waiting"]
    assert states(second, NOW + DAY) == ["retired", "active"]
    assert signing(second, NOW + DAY - 1) == signing(first, NOW)
    assert signing(second, NOW + DAY) == changed.successor
    held, new = lists(first, second)
    assert (held.content.number, new.content.number) == (1, 2)
    assert step(held, new, NOW) is step(held.verifier_keys[0], new, NOW) is Step.NEWER


def test_a_key_that_waits_is_the_next_one() -> None:
    """Who rotates again changes when it begins: earlier, or later."""
    first = Keyring.generate()
    waiting = key_life.rotate(first, ORIGIN, NOW + 300 * DAY, NOW)
    for at in (NOW + 1, NOW + 400 * DAY):
        moved = key_life.rotate(waiting.keyring, ORIGIN, at, NOW)
        assert (moved.successor, moved.is_new) == (waiting.successor, False)
        assert signing(moved.keyring, at) == waiting.successor
        assert signing(moved.keyring, at - 1) == signing(first, NOW)
        assert stepped(waiting.keyring, moved.keyring) is Step.NEWER


def test_a_chain_of_rotations_is_followed_from_every_earlier_key_and_list() -> None:
    rings = [Keyring.generate()]
    for day in range(5):
        rings.append(key_life.rotate(rings[-1], ORIGIN, NOW + day * DAY + 1, NOW + day * DAY).keyring)
    *earlier, last = lists(*rings)
    assert len(last.content.keys) == 6
    assert all(step(held, last, NOW) is Step.NEWER for held in earlier)
    assert all(step(key, last, NOW + 9 * DAY) is Step.NEWER for key in last.verifier_keys)


@pytest.mark.parametrize("waiting", [False, True])
def test_a_stolen_key_is_replaced_for_its_whole_period(waiting: bool) -> None:
    """By the key that was waiting, if there is one: then those who knew of it can follow."""
    first = Keyring.generate()
    held = key_life.rotate(first, ORIGIN, NOW + 300 * DAY, NOW).keyring if waiting else first
    changed = key_life.revoke(held, ORIGIN, shorts(held)[0], Reason.COMPROMISED, NOW - DAY, NOW)
    assert changed.is_new is not waiting
    assert states(changed.keyring, NOW) == ["revoked", "active"]
    assert all(signing(changed.keyring, time_us) == changed.successor for time_us in (0, NOW - DAY, NOW, NOW * 2))
    old, new = lists(held, changed.keyring)
    assert step(old, new, NOW) is (Step.NEWER if waiting else Step.REVOKED)
    assert step(old.verifier_keys[0], new, NOW) is Step.REVOKED


def test_a_waiting_key_can_be_revoked_as_well() -> None:
    first = Keyring.generate()
    held = key_life.rotate(first, ORIGIN, NOW + DAY, NOW).keyring
    changed = key_life.revoke(held, ORIGIN, shorts(held)[1], Reason.COMPROMISED, NOW, NOW)
    assert not changed.is_new
    assert signing(changed.keyring, NOW + 2 * DAY) == signing(first, NOW)
    assert stepped(held, changed.keyring) is Step.NEWER
    again = key_life.rotate(changed.keyring, ORIGIN, NOW + DAY, NOW)
    assert again.is_new
    assert signing(again.keyring, NOW + DAY) == again.successor


def test_a_key_that_was_merely_given_up_vouches_for_the_next() -> None:
    first = Keyring.generate()
    changed = key_life.revoke(first, ORIGIN, shorts(first)[0], Reason.SUPERSEDED, NOW, NOW)
    assert changed.is_new
    assert stepped(first, changed.keyring) is Step.NEWER
    worse = key_life.revoke(changed.keyring, ORIGIN, shorts(first)[0], Reason.COMPROMISED, NOW - DAY, NOW + 1)
    assert states(worse.keyring, NOW + 1) == ["revoked", "active"]
    assert stepped(changed.keyring, worse.keyring) is Step.NEWER


def test_changes_that_make_no_sense_are_refused() -> None:
    first = Keyring.generate()
    (key,) = shorts(first)
    waiting = key_life.rotate(first, ORIGIN, NOW + DAY, NOW).keyring
    stolen = key_life.revoke(first, ORIGIN, key, Reason.COMPROMISED, NOW, NOW).keyring
    changes: list[Callable[[], object]] = [
        lambda: key_life.rotate(first, ORIGIN, NOW - 1, NOW),
        lambda: key_life.rotate(key_life.rotate(first, ORIGIN, NOW + 9, NOW).keyring, ORIGIN, NOW + 9, NOW + 9),
        lambda: key_life.revoke(first, ORIGIN, "00000000", Reason.LOST, NOW, NOW),
        lambda: key_life.revoke(stolen, ORIGIN, key, Reason.COMPROMISED, NOW, NOW),
        lambda: key_life.revoke(first, ORIGIN, key, Reason.LOST, NOW - 1, NOW),
        lambda: key_life.revoke(first, ORIGIN, key, Reason.COMPROMISED, NOW + 1, NOW),
    ]
    for refused in changes:
        with pytest.raises(KeyLifeError):
            refused()
    with pytest.raises(KeyFileError, match=r"is of the origin test\.example"):
        waiting.signed_list("else.where")


# -- the file ------------------------------------------------------------------------------------


def test_a_key_file_keeps_all_keys_private(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    first = Keyring.generate()
    first.save(path)
    assert json.loads(path.read_text())["format"] == 1
    second = key_life.rotate(first, ORIGIN, NOW + DAY, NOW).keyring
    second.save(path, over=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Keyring.load(path) == second
    assert list(tmp_path.iterdir()) == [path]
    secret = json.loads(path.read_text())["head_key"]
    assert secret not in repr(second)
    assert secret not in second.key_list


@pytest.mark.parametrize(
    "change",
    [
        {"format": 3},
        {"older_keys": 5},
        {"older_keys": ["AAAA"]},
        {"older_keys": [None]},
        {"head_key": "ä"},
        {"key_list": "sixledger-keys/1"},
        {"key_list": None},
    ],
)
def test_a_broken_key_file_is_named_without_its_content(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "keys.json"
    key_life.rotate(Keyring.generate(), ORIGIN, NOW + DAY, NOW).keyring.save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | change))
    with pytest.raises(KeyFileError) as caught:
        Keyring.load(path)
    assert str(path) in str(caught.value)
    assert content["head_key"] not in str(caught.value)


# -- a running server ----------------------------------------------------------------------------


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    Keyring.generate().save(path)
    return path


def change(path: Path, now_us: int) -> None:
    key_life.rotate(Keyring.load(path), ORIGIN, now_us, now_us).keyring.save(path, over=True)


async def test_a_server_publishes_its_key_list_and_takes_up_a_changed_file(key_file: Path) -> None:
    """By itself; what it signs and shows changes with it, and nobody is disconnected."""
    async with serving(memory_settings(key_file=key_file, key_tick_s=0.02)) as (server, client):
        table = await start(client)
        old = await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest())
        assert SignedKeyList.parse(old.key_list).content.number == 1
        change(key_file, server.host.clock())
        new = old
        for _ in range(250):
            new = await client.catalog.GetOrigin(catalog_service_pb2.GetOriginRequest())
            if new != old:
                break
            await asyncio.sleep(0.02)
        shown = SignedKeyList.parse(new.key_list)
        assert step(SignedKeyList.parse(old.key_list), shown, NOW) is Step.NEWER
        assert new.verifier_key == str(shown.verifier_keys[1])
        reply = await table.submit(await table.next_request(Random(1)))
        assert SignedHead.parse(reply.head).signed_by(shown.verifier_keys[1])


async def test_a_key_file_of_another_origin_is_refused_at_the_start(key_file: Path) -> None:
    change(key_file, NOW)
    with pytest.raises(KeyFileError, match="name that one"):
        await Server(memory_settings(key_file=key_file, origin="else.where")).start()


async def test_a_file_that_cannot_be_used_changes_nothing(key_file: Path) -> None:
    async with serving(memory_settings(key_file=key_file)) as (server, _):
        held = server.host.signer.verifier_keys

        def put(text: str) -> bool:
            key_file.write_text(text)
            return server.key_watch.look()

        good = key_file.read_text()  # noqa: ASYNC240  # a small file, in a test
        other = key_file.with_name("other.json")
        key_life.rotate(Keyring.generate(), "else.where", NOW, NOW).keyring.save(other)
        assert not put("{")
        assert not put(other.read_text())
        assert server.host.signer.verifier_keys == held
        assert not put(good)
        change(key_file, server.host.clock())
        assert server.key_watch.look()
        assert len(server.host.signer.verifier_keys) == 2
        assert not put(good)  # an older list: clients would refuse it
        assert len(server.host.signer.verifier_keys) == 2


async def test_after_a_revocation_nothing_signed_with_the_stolen_key_is_handed_out(key_file: Path) -> None:
    """Heads that were made before are made anew, by the key that stands in; the server's verifier goes by the list."""
    async with serving(memory_settings(key_file=key_file)) as (server, client), client_of(server) as other:
        table = await start(client)
        await table.play(Random(1))
        request = pb.GetMatchRequest(match_id=table.match_id)
        before = SignedHead.parse((await client.match.GetMatch(request)).head)

        async def export(who: Client) -> bytes:
            pieces = who.match.ExportLedger(pb.ExportLedgerRequest(match_id=table.match_id))
            return b"".join([piece.chunk async for piece in pieces])

        exported = await export(client)
        keyring, now = Keyring.load(key_file), server.host.clock()
        (key,) = (entry.key.hash.hex() for entry in keyring.signed_list(ORIGIN).content.keys)
        changed = key_life.revoke(keyring, ORIGIN, key, Reason.COMPROMISED, now, now)
        changed.keyring.save(key_file, over=True)
        assert server.key_watch.look()
        after = SignedHead.parse((await other.match.GetMatch(request)).head)
        assert (after.head, after.key_hash) == (before.head, changed.successor.hash)
        reexported = await export(other)

        async def judge(data: bytes) -> replay_service_pb2.VerifyReport:
            reply = await client.replay.VerifyLedger(iter([replay_service_pb2.VerifyLedgerRequest(chunk=data)]))
            report: replay_service_pb2.VerifyReport = reply.report
            return report

        doubtful, good = await judge(exported), await judge(reexported)
        assert doubtful.verdict == good.verdict == replay_service_pb2.VERDICT_VALID
        assert (doubtful.signer_authenticated, good.signer_authenticated) == (False, True)
        assert "only a receipt" in doubtful.unchecked[0]
