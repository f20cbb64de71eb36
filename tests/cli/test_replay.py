"""`sixledger replay` without a terminal, and what it makes of good, bad and growing ledgers."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from sixledger.cli.failures import Failure
from sixledger.cli.render import hands
from sixledger.cli.replay.course import ALL_HANDS, Course, Eyes
from sixledger.cli.replay.scene import Scene
from sixledger.cli.replay.sources import open_file, open_live
from sixledger.client import Client, Settings, run_bot
from sixledger.engine.bots import bot
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import file
from sixledger.testing import FakeServer
from sixledger.v1 import record_pb2
from support.command_line import CommandLine
from support.ledgers import KEYS, OTHER_SIGNER, forge, heads
from support.replays import replay_of, running, whole

ONE_ROUND = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a whole match."""
    place = tmp_path / "match.ledger.jsonl"
    place.write_bytes(whole().file(3, 50))
    return place


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The file of the key that signs it."""
    place = tmp_path / "server.vkey"
    place.write_text(f"{KEYS[0]}\n")
    return place


# -- files ---------------------------------------------------------------------------------------


def test_the_course_in_plain_words(quick: CommandLine, path: Path, key: Path) -> None:
    """Without a terminal it prints: every record once, turns, the result, the verdict first and last."""
    ran = quick("replay", path, "--key", key)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert " VALID  match.ledger.jsonl" in lines[0]
    assert "signed by ledger.example" in lines[0]
    assert lines[1] == "6 nimmt!, 2025-06-15, as seen by spectator"
    numbers = [int(found[1]) for line in lines if (found := re.match(r"#(\d+)  \d\d:\d\d:\d\d\.\d{3}  ", line))]
    assert numbers == list(range(len(whole().records)))
    assert "Seat 1 reveals the contribution." in ran.out
    assert "Deal: provably fair – seats " in ran.out
    assert "select card (sealed)" in ran.out
    assert ran.out.count("── round 2, turn 4") == 1
    assert "Final ranking" in ran.out
    assert lines[-1] == lines[0]


def test_a_seat_and_all_hands(quick: CommandLine, path: Path, key: Path) -> None:
    own, every = (quick("replay", path, "--key", key, *arguments).out for arguments in (("--seat", "1"), ("--all",)))
    assert "as seen by seat 1" in own
    assert re.search(r"you: select card \d+$", own, re.MULTILINE)
    assert re.search(r"Seat 0: select card \(sealed\)$", own, re.MULTILINE)
    assert "as seen by all hands" in every
    assert "(sealed)" not in every


def test_a_tampered_ledger_is_shown_up_to_the_last_good_record(quick: CommandLine, path: Path, key: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[1 + 40] = lines[1 + 40].replace(b'"hash":"', b'"hash":"AAAA', 1)
    path.write_bytes(b"\n".join(lines))
    ran = quick("replay", path, "--key", key)
    assert (ran.status, ran.err) == (1, "")
    assert "#39 " in ran.out
    assert "#40 " not in ran.out
    assert "✗ " in ran.out
    assert "Record 39 is the last good one: nothing after it is shown." in ran.out
    assert " TAMPERED  match.ledger.jsonl  the first 40 records are good" in ran.out


def test_what_the_rules_forbid_ends_it_though_it_could_be_folded(tmp_path: Path) -> None:
    """A chain made anew around a changed card: the verifier's verdict decides, not whether the fold goes on."""

    def change(body: record_pb2.Body) -> None:
        placed = [event.nimmt for event in body.events if event.nimmt.HasField("card_placed")]
        placed[0].card_placed.row = (placed[0].card_placed.row + 1) % 4

    seq = next(seq for seq, record in enumerate(whole().records) if seq > 40 and _places(record.body))
    forged = forge(whole().records, seq, change)
    data = file.dump(forged, heads(forged), KEYS)
    replay = replay_of(tmp_path, data)
    assert len(replay.course) == seq
    assert (replay.judgement.word, replay.judgement.style, replay.judgement.status) == ("RULES_DIVERGENCE", "bad", 1)


def _places(body: bytes) -> bool:
    """True if a record places a card."""
    return any(event.nimmt.HasField("card_placed") for event in record_pb2.Body.FromString(body).events)


def test_a_file_that_cannot_be_read_to_its_end(tmp_path: Path) -> None:
    """A line that is no JSON, a file cut off, damaged gzip: what came before is verified and shown."""
    data = whole().file(3, 50)
    lines = data.split(b"\n")
    broken = b"\n".join([*lines[:30], b"{", *lines[31:]])
    replay = replay_of(tmp_path, broken)
    assert len(replay.course) == 29
    assert replay.judgement.word == "TAMPERED"
    assert "Line 31" in replay.judgement.cut
    replay = replay_of(tmp_path, data[: len(data) // 2])
    assert 0 < len(replay.course) < len(whole().records)
    assert replay.judgement.word == "TRUNCATED"
    packed = gzip.compress(data)
    replay = replay_of(tmp_path, packed[: len(packed) // 2])
    assert 0 < len(replay.course) < len(whole().records)


def test_a_ledger_signed_by_somebody_else_is_marked_but_shown(tmp_path: Path) -> None:
    table = whole()
    data = file.dump(table.records, heads(table.records, signer=OTHER_SIGNER), [OTHER_SIGNER.verifier_key])
    replay = replay_of(tmp_path, data)
    assert (replay.judgement.word, replay.judgement.style) == ("BAD_SIGNATURE", "bad")
    assert len(replay.course) == len(table.records)


def test_a_running_match_as_a_seat_has_it(tmp_path: Path) -> None:
    """It is shown through the eyes of its seat; others' are sealed, and the failure says what can be seen."""
    replay = replay_of(tmp_path, running().file(viewer="seat:1"))
    assert replay.judgement.word == "INCOMPLETE"
    assert replay.eyes == Eyes(1)
    with pytest.raises(Failure, match="seat 2: sealed in this ledger; it can be seen as spectator; seat 1"):
        replay.choose(2, everything=False)
    with pytest.raises(Failure, match="all hands: sealed"):
        replay.choose(None, everything=True)
    with pytest.raises(Failure, match="the seats are 0 to 2"):
        replay.choose(3, everything=False)
    with pytest.raises(Failure, match="not both"):
        replay.choose(1, everything=True)


def test_eyes_that_are_sealed_here_see_the_table_of_a_spectator(tmp_path: Path) -> None:
    replay = replay_of(tmp_path, running().file(viewer="seat:1"))
    scene = Scene(replay.course, replay.names)
    text = "\n".join(line.plain for line in scene.body(replay.course.at(len(replay.course) - 1), Eyes(0), 80, 24))
    assert "seat 0: sealed up to here; this is what a spectator sees" in text
    assert "your hand" not in text


def test_what_cannot_be_replayed_at_all(quick: CommandLine, tmp_path: Path, path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert "this is no ledger" in quick("replay", "notes.txt").refused(2)
    assert "no such file" in quick("replay", "missing.jsonl").refused(2)
    assert "not for a file" in quick("replay", path, "--credentials", "x.json").refused(2)
    first = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([first[0], b"{}", *first[2:]]))
    assert "no record can be shown" in quick("replay", path).refused(1)
    path.write_bytes(first[0][:-1] + b',"x":1}\n')
    assert "not even the header" in quick("replay", path).refused(1)
    assert "no answer" in quick("replay", "abcd1234", "--server", "127.0.0.1:1").refused(1)


# -- drawing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 20), (200, 60)])
def test_every_moment_fits_a_terminal(tmp_path: Path, width: int, height: int) -> None:
    """No line is too long; at 80×24 the table of four seats never needs to be scrolled."""
    replay = replay_of(tmp_path, whole().file())
    scene = Scene(replay.course, replay.names)
    for seq in range(0, len(replay.course), 3):
        moment = replay.course.at(seq)
        for eyes in (Eyes(), Eyes(1), ALL_HANDS):
            lines = scene.body(moment, eyes, width, height - 3)
            assert max(line.cell_len for line in lines) <= width
            assert scene.caption(moment, eyes, width).cell_len == width
            if width >= 80:
                assert len(lines) <= height - 3


def test_hands_of_a_game_without_a_drawing_of_them() -> None:
    """What a seat sees beyond the table, by the names of the fields."""
    course = Course(whole().records)
    moment = course.at(30)
    table, views = course.view(moment, ALL_HANDS), course.hands(moment)
    lines = [line.plain for line in hands.beyond(table, views, ["A", "B", "C", "D"])]
    assert len(lines) == 4
    for seat, line in enumerate(lines):
        assert "hand " + " ".join(map(str, views[seat].seats[seat].hand)) in line
        assert "legal" not in line


# -- live ----------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A server for one test."""
    with FakeServer(seed=3) as running_:
        yield running_


def play_all(client: Client, server: FakeServer, match: bytes, seats: int) -> list[threading.Thread]:
    """Bots in every seat, each in a thread."""
    threads = []
    for seat in range(seats):
        own = server.credentials(match, seat, f"Bot {seat}")
        arguments = {"random": Random(seat), "credentials": own}
        thread = threading.Thread(
            target=run_bot, args=(client, match, seat, bot("nimmt", "random")), kwargs=arguments, daemon=True
        )
        thread.start()
        threads.append(thread)
    return threads


def test_a_live_match_is_printed_as_it_grows(quick: CommandLine, server: FakeServer) -> None:
    """From its first record to its end, with the names at the table, through a cut stream, verified at the end."""
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    with server.client() as client:
        server.cut_next_stream(after=9, times=3)
        threads = play_all(client, server, match, 2)
        ran = quick("replay", match.hex()[:8], "--server", server.address)
        for thread in threads:
            thread.join()
    assert (ran.status, ran.err) == (0, "")
    numbers = [int(found) for found in re.findall(r"^#(\d+)  ", ran.out, re.MULTILINE)]
    assert numbers == list(range(len(numbers)))
    assert "Bot 1 takes seat 1." in ran.out
    assert "Final ranking" in ran.out
    assert " VALID " in ran.out.splitlines()[-1]


def test_updates_of_a_live_match_open_earlier_records(server: FakeServer) -> None:
    """A spectator's course can be seen through all eyes once the round has ended."""
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    with server.client() as client:
        replay = open_live(client, match, None)
        assert replay.live is not None
        assert len(replay.course) == 1
        assert replay.judgement.word == "CHECKED"
        threads = play_all(client, server, match, 2)
        for update in replay.live.updates(1):
            replay.take(update)
        replay.live.close()
        for thread in threads:
            thread.join()
    last = len(replay.course) - 1
    assert replay.course.at(last).match.over
    assert replay.course.sees(ALL_HANDS, last)
    assert replay.names == ["Bot 0", "Bot 1"]
    assert (replay.judgement.word, replay.judgement.style) == ("VALID", "good")


def test_a_live_match_through_the_eyes_of_a_seat(server: FakeServer, tmp_path: Path) -> None:
    match = server.open("nimmt", seats=2, options=ONE_ROUND)
    with server.client() as client:
        threads = play_all(client, server, match, 2)
        for thread in threads:
            thread.join()
        own = server.credentials(match, 1)
        replay = open_live(client, match, own)
        assert replay.eyes == Eyes(1)
        assert replay.judgement.word == "VALID"
        assert replay.live is not None
        replay.live.close()
        exported = client.matches.export(match, tmp_path / "x.jsonl")
    assert open_file(exported, None).course.at(20).match.hash == replay.course.at(20).match.hash


def test_a_server_that_goes_away_is_said(server: FakeServer) -> None:
    match = server.open("nimmt", seats=2)
    with server.client(settings=Settings(patience=0.3)) as client:
        replay = open_live(client, match, None)
        assert replay.live is not None
        server.stop()
        updates = list(replay.live.updates(1))
        replay.live.close()
    (update,) = updates
    assert update.judgement is not None
    assert (update.judgement.style, update.judgement.status) == ("unsure", 0)
    assert "cut off" in update.judgement.text
