"""Clients and the keys of an origin: a rotation is followed, everything that could be a theft is refused."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sixledger.client import AsyncClient, Client, Credentials, SeatedMatch, Settings, TrustStore, errors
from sixledger.client.core.origin_keys import OriginKeys
from sixledger.ledger.heads import HeadSigner, SignedHead
from sixledger.ledger.key_list import Reason, SignedKeyList
from sixledger.ledger.key_succession import Step
from sixledger.ledger.verify import verify
from sixledger.service import key_life
from sixledger.service.keyring import Keyring
from sixledger.v1 import record_pb2, replay_service_pb2
from support.key_lives import ORIGIN, A, B, key_list, listed
from support.play import ONE_ROUND, RunningServer

DAY = 86_400_000_000
ONE = key_list(listed("A"), number=1)
TWO = key_list(listed("A", None, 5 * DAY), listed("B", 5 * DAY), number=2, time_us=DAY)
THREE = key_list(listed("A", None, 5 * DAY), listed("B", 5 * DAY, 9 * DAY), listed("C", 9 * DAY), number=3, time_us=DAY)
VALID = replay_service_pb2.VERDICT_VALID


# -- the trust store -----------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trust.json"


def test_a_rotation_is_followed_and_kept(path: Path) -> None:
    store = TrustStore(path, [A.verifier_key])
    assert store.follow(TWO, "here:1", 2 * DAY) is Step.NEWER
    assert store.get(ORIGIN) == A.verifier_key
    store.follow(TWO, "here:1", 6 * DAY)
    assert store.get(ORIGIN) == B.verifier_key
    assert store.follow(THREE, "here:1", 6 * DAY) is Step.NEWER
    again = TrustStore(path)
    assert (again.get(ORIGIN), again.key_list(ORIGIN), again.trusted(ORIGIN)) == (B.verifier_key, THREE, THREE)
    assert again.follow(THREE, "here:1", 6 * DAY) is Step.SAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_first_list_is_as_good_as_its_key(path: Path) -> None:
    """What older builds wrote and read stays as it was."""
    store = TrustStore(path)
    assert store.follow(ONE, "here:1") is Step.NEWER
    assert json.loads(path.read_text()) == {
        "format": 1,
        "keys": [str(A.verifier_key)],
        "addresses": {"here:1": ORIGIN},
    }
    assert store.trusted(ORIGIN) == A.verifier_key


def refused(store: TrustStore, new: SignedKeyList, kind: type[errors.ServerCheated], now_us: int = 2 * DAY) -> str:
    """The refusal, after which everything trusted is as before."""
    before = (store.get(ORIGIN), store.key_list(ORIGIN))
    with pytest.raises(errors.ServerCheated) as caught:
        store.follow(new, "here:1", now_us)
    assert type(caught.value) is kind
    assert (store.get(ORIGIN), store.key_list(ORIGIN)) == before
    return caught.value.message


def test_a_list_for_which_no_trusted_key_vouches_is_refused(path: Path) -> None:
    store = TrustStore(path, [A.verifier_key])
    assert str(B.verifier_key) in refused(store, key_list(listed("B")), errors.OriginChanged)
    assert "forget" in refused(store, key_list(listed("A"), listed("B"), signed_by="B"), errors.OriginChanged)


def test_a_list_that_goes_backward_is_refused(path: Path) -> None:
    store = TrustStore(path)
    store.follow(THREE, "here:1", 2 * DAY)
    refused(store, TWO, errors.KeyListRolledBack)
    refused(TrustStore(path), ONE, errors.KeyListRolledBack)


def test_two_lists_of_one_number_are_evidence(path: Path) -> None:
    store = TrustStore(path)
    store.follow(TWO, "here:1", 2 * DAY)
    other = key_list(listed("A", None, 6 * DAY), listed("B", 6 * DAY), number=2, time_us=DAY)
    with pytest.raises(errors.KeyListsDiffer) as caught:
        store.follow(other, "here:1", 2 * DAY)
    assert caught.value.notes == (TWO.note, other.note)
    assert caught.value.verdict == replay_service_pb2.VERDICT_EQUIVOCATION


def test_a_list_that_takes_something_back_is_refused(path: Path) -> None:
    store = TrustStore(path)
    store.follow(THREE, "here:1", 2 * DAY)
    refused(store, key_list(listed("C"), number=4, time_us=2 * DAY), errors.BadKeyList)


def test_a_revoked_key_is_never_trusted_again(path: Path) -> None:
    """Not even after its origin was forgotten, nor by another process."""
    store = TrustStore(path, [A.verifier_key])
    stolen = key_list(listed("A", revoked=DAY), listed("B"), number=2, time_us=DAY)
    assert "on another way" in refused(store, stolen, errors.KeyRevoked)
    for again in (store, TrustStore(path)):
        assert again.trusted(ORIGIN) is None
        with pytest.raises(errors.KeyRevoked):
            again.pin(A.verifier_key)
        refused(again, ONE, errors.KeyRevoked)
    store.forget(ORIGIN)
    refused(store, ONE, errors.KeyRevoked)
    store.pin(B.verifier_key)
    assert store.follow(stolen, "here:1", 2 * DAY) is Step.NEWER
    assert TrustStore(path).trusted(ORIGIN) == stolen


def test_a_key_that_was_published_ahead_stands_in_for_a_stolen_one(path: Path) -> None:
    store = TrustStore(path)
    store.follow(TWO, "here:1", 2 * DAY)
    stolen = key_list(listed("A", None, 5 * DAY, revoked=DAY), listed("B"), number=3, time_us=2 * DAY, signed_by="B")
    assert store.follow(stolen, "here:1", 2 * DAY) is Step.NEWER
    assert store.get(ORIGIN) == B.verifier_key
    with pytest.raises(errors.KeyRevoked):
        store.pin(A.verifier_key)


def test_another_origin_at_the_same_address_is_refused(path: Path) -> None:
    store = TrustStore(path)
    store.follow(ONE, "here:1")
    other = Keyring.generate().signed_list("else.where")
    with pytest.raises(errors.OriginChanged, match="before it was"):
        store.follow(other, "here:1")


@pytest.mark.parametrize("change", [{"key_lists": {"x": ONE.note}}, {"key_lists": 5}, {"revoked": ["x"]}])
def test_a_broken_store_is_named(path: Path, change: dict[str, object]) -> None:
    TrustStore(path).follow(TWO)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(errors.BadTrustStore):
        TrustStore(path)


@pytest.mark.parametrize(
    "keys", [OriginKeys(A.verifier_key), OriginKeys(A.verifier_key, TWO), OriginKeys(B.verifier_key, TWO)]
)
@pytest.mark.parametrize("signer", [A, B])
@pytest.mark.parametrize("time_us", [0, 5 * DAY - 1, 5 * DAY, 9 * DAY])
def test_the_quick_look_at_a_head_says_yes_only_where_the_list_does(
    keys: OriginKeys, signer: HeadSigner, time_us: int
) -> None:
    note = signer.sign(bytes(16), 3, bytes(32), time_us)
    good = not keys.wrong_key(SignedHead.parse(note))
    assert keys.is_usual(note) == (good and signer.verifier_key == keys.current)
    assert not any(keys.is_usual(text) for text in ("", note.replace(ORIGIN, "else.where"), "\n" * 7 + " é"))


def test_a_revoked_key_is_never_usual() -> None:
    revoked = key_list(listed("A", revoked=DAY), listed("B"))
    assert not OriginKeys(A.verifier_key, revoked).is_usual(A.sign(bytes(16), 1, bytes(32), 0))


# -- a real server -------------------------------------------------------------------------------

SOCKET = "socket.test"


class KeyedServer(RunningServer):
    """A server whose keys can be changed while it runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, key_tick_s=0.02)
        self.key_file = folder / "keys.json"

    @property
    def keyring(self) -> Keyring:
        return Keyring.load(self.key_file)

    def rotate(self) -> str:
        """Let another key sign from now on; the result is its short name."""
        now = time.time_ns() // 1000
        changed = key_life.rotate(self.keyring, SOCKET, now, now)
        changed.keyring.save(self.key_file, over=True)
        return changed.successor.hash.hex()

    def steal(self) -> None:
        """Revoke the key that signs now, as it was stolen."""
        now = time.time_ns() // 1000
        signing = self.keyring.signed_list(SOCKET).content.signing(now)
        assert signing is not None
        changed = key_life.revoke(self.keyring, SOCKET, signing.key.hash.hex(), Reason.COMPROMISED, now, now)
        changed.keyring.save(self.key_file, over=True)

    def wait_for(self, number: int) -> None:
        """Until the server shows this list."""
        with Client(self.address) as client:
            for _ in range(250):
                reply = client.catalog.server()
                if SignedKeyList.parse(reply.key_list).content.number == number:
                    return
                time.sleep(0.02)
        raise AssertionError("the server does not take up its keys")


@pytest.fixture
def keyed(tmp_path: Path) -> object:
    folder = tmp_path / "server"
    folder.mkdir()
    with KeyedServer(folder) as server:
        yield server


def play(players: list[SeatedMatch], commands: int) -> None:
    """So many commands, or until the match ends."""
    for _ in range(commands):
        for player in players:
            player.refresh()
        acting = next((player for player in players if player.legal()), None)
        if acting is None:
            return
        acting.play(acting.legal()[0])


def open_match(client: Client) -> list[SeatedMatch]:
    mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
    created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
    return [client.matches.join(created.match_id, seat) for seat in range(2)]


def test_a_server_changes_its_key_under_those_who_play(keyed: KeyedServer, tmp_path: Path) -> None:
    """Nobody notices; the match verifies with the list, and with the old key as far as that signed it."""
    trust = TrustStore(tmp_path / "trust.json")
    with Client(keyed.address, trust=trust) as client:
        players = open_match(client)
        old = client.catalog.origin()
        with client.matches.watch_match(players[0].match_id) as spectator:
            play(players, 6)
            spectator.refresh()
            for commands, number in ((6, 2), (100, 3)):
                keyed.rotate()
                keyed.wait_for(number)
                play(players, commands)
                spectator.refresh()
            assert spectator.over
            held = client.catalog.key_list()
            assert held is not None
            assert held.content.number == 3
            assert {SignedHead.parse(note).key_hash for note in players[0].receipts.values()} == {
                key.hash for key in held.verifier_keys
            }
            for viewer in (spectator, *players):
                report = viewer.verify()
                assert (report.verdict, report.signer_authenticated) == (VALID, True), report.summary
            saved = players[0].export(tmp_path / "spanning.ledger.jsonl")
            exported = client.matches.export(players[0].match_id, tmp_path / "exported.ledger.jsonl")
    assert TrustStore(tmp_path / "trust.json").key_list(SOCKET) == held
    assert verify(saved, trusted=[held]).signer_authenticated
    assert verify(exported, trusted=[held]).signer_authenticated
    alone = verify(saved, trusted=[old])
    assert alone.verdict == replay_service_pb2.VERDICT_BAD_SIGNATURE
    assert f"the trusted key {old.hash.hex()} vouches for the first {alone.finding.seq} records" in alone.summary
    assert 0 < alone.finding.seq < alone.record_count


def test_owners_and_streams_follow_as_well(keyed: KeyedServer) -> None:
    """Whatever comes first under a new key: opening a match, an act of its owner, a command or a watch on a stream."""
    mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY

    def after_a_rotation(number: int) -> None:
        keyed.rotate()
        keyed.wait_for(number)

    with Client(keyed.address) as client:
        client.catalog.origin()
        after_a_rotation(2)
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
        after_a_rotation(3)
        client.matches.abort(created.match_id, created.owner_token)
        with client.matches.stream() as stream:
            created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
            players = [stream.join(created.match_id, seat) for seat in range(2)]
            play(players, 2)
            after_a_rotation(4)
            play(players, 100)
            assert players[0].over
            assert players[0].verify().signer_authenticated
        after_a_rotation(5)
        with client.matches.watch_match(players[0].match_id) as spectator:
            list(spectator.watch())
            assert spectator.verify().signer_authenticated


def test_many_tables_ask_once_for_changed_keys(keyed: KeyedServer) -> None:
    trust = CountingTrust()
    with Client(keyed.address, trust=trust) as client:
        tables = [open_match(client) for _ in range(6)]
        keyed.rotate()
        keyed.wait_for(2)
        asked = trust.followed
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda players: play(players, 1), tables))
        assert trust.followed - asked == 1


class CountingTrust(TrustStore):
    """Counts the lists that it was shown."""

    followed = 0

    def follow(self, key_list: SignedKeyList, address: str = "", now_us: int | None = None) -> Step:
        self.followed += 1
        return super().follow(key_list, address, now_us)


async def test_the_asyncio_client_follows_as_well(keyed: KeyedServer) -> None:
    async with AsyncClient(keyed.address) as client:
        mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        created = await client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
        players = [await client.matches.join(created.match_id, seat) for seat in range(2)]
        for number in range(8):
            for player in players:
                await player.refresh()
            acting = next(player for player in players if player.legal())
            await acting.play(acting.legal()[0])
            if number == 4:
                await asyncio.to_thread(keyed.rotate)
                await asyncio.to_thread(keyed.wait_for, 2)
        held = await client.catalog.key_list()
        assert held is not None
        assert await client.catalog.origin() == held.verifier_keys[1]
        assert (await players[0].verify()).signer_authenticated


def test_a_seat_is_resumed_after_a_rotation(keyed: KeyedServer, tmp_path: Path) -> None:
    """Also by a client that has never met the server: the new key is in a list that the old one signed."""
    file = tmp_path / "seat.json"
    with Client(keyed.address) as client:
        mode = record_pb2.CONTRIBUTION_MODE_SERVER_ONLY
        created = client.matches.create("nimmt", seats=2, options=ONE_ROUND, mode=mode)
        client.matches.join(created.match_id, 0, save_to=file)
        client.matches.join(created.match_id, 1)
    keyed.rotate()
    keyed.wait_for(2)
    with Client(keyed.address) as client:
        table = client.matches.resume(Credentials.load(file))
        table.refresh()
        table.play(table.legal()[0])
        assert table.verify().signer_authenticated


def test_a_stolen_key_stops_those_who_trusted_only_that(keyed: KeyedServer, tmp_path: Path) -> None:
    trust = TrustStore(tmp_path / "trust.json")
    with Client(keyed.address, trust=trust) as client:
        players = open_match(client)
        play(players, 1)
        keyed.steal()
        keyed.wait_for(2)
        with pytest.raises(errors.KeyRevoked):
            players[1].play(players[1].legal()[0])
        with pytest.raises(errors.KeyRevoked):  # and it stays so
            players[1].refresh()
    with Client(keyed.address, trust=TrustStore(tmp_path / "trust.json")) as client, pytest.raises(errors.KeyRevoked):
        client.catalog.origin()
    trust.forget(SOCKET)
    trust.pin(keyed.keyring.signed_list(SOCKET).verifier_keys[1])
    with Client(keyed.address, trust=trust) as client:
        play(open_match(client), 1)


def test_with_the_next_key_published_ahead_a_theft_stops_nobody(keyed: KeyedServer) -> None:
    now = time.time_ns() // 1000
    waiting = key_life.rotate(keyed.keyring, SOCKET, now + 300 * DAY, now).keyring
    waiting.save(keyed.key_file, over=True)
    keyed.wait_for(2)
    with Client(keyed.address) as client:
        players = open_match(client)
        play(players, 2)
        keyed.steal()
        keyed.wait_for(3)
        play(players, 100)
        report = players[0].verify()
        assert (report.verdict, report.signer_authenticated) == (VALID, True)


def test_a_server_that_goes_back_to_an_older_key_file_is_refused(keyed: KeyedServer, tmp_path: Path) -> None:
    trust = TrustStore(tmp_path / "trust.json")
    backup = keyed.keyring
    keyed.rotate()
    keyed.wait_for(2)
    with Client(keyed.address, trust=trust) as client:
        client.catalog.origin()
    keyed.stop()
    backup.save(keyed.key_file, over=True)
    keyed.start()
    impatient = Settings(patience=0.2, first_pause=0.05)
    with Client(keyed.address, trust=trust, settings=impatient) as client, pytest.raises(errors.KeyListRolledBack):
        client.catalog.origin()


def test_a_head_of_a_stranger_is_refused_after_a_look_at_the_keys(keyed: KeyedServer) -> None:
    """A replica with another key file: its heads are signed with a key that the list does not name."""
    with Client(keyed.address) as client:
        players = open_match(client)
        play(players, 1)
        keyed.stop()
        replace(keyed.keyring, head_key=bytes(32)).save(keyed.key_file, over=True)
        keyed.start()
        with pytest.raises(errors.OriginChanged):
            players[0].refresh()
        with client.matches.watch_match(players[0].match_id) as spectator, pytest.raises(errors.OriginChanged):
            list(spectator.watch())
