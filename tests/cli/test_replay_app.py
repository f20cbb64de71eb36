"""The full-screen replay, driven by keys as a person presses them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from sixledger.cli.replay.app import ReplayApp
from sixledger.cli.replay.course import ALL_HANDS, SPECTATOR, Eyes
from sixledger.cli.replay.screens import HelpScreen, JumpScreen, PickScreen
from sixledger.cli.replay.sources import open_live
from sixledger.client import run_bot
from sixledger.engine.bots import bot
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.testing import FakeServer
from support.captures import text_of
from support.command_line import environment
from support.replays import replay_of, running, whole
from textual.pilot import Pilot
from textual.widgets import Input, OptionList


@asynccontextmanager
async def opened(
    folder: Path, data: bytes | None = None, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ReplayApp, Pilot[int]]]:
    """The replay of a ledger on a terminal of some size."""
    app = ReplayApp(replay_of(folder, whole().file() if data is None else data))
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield app, pilot


def screen(app: ReplayApp) -> str:
    """What the terminal shows."""
    return text_of(app.export_screenshot())


async def test_keys_step_and_jump(tmp_path: Path) -> None:
    """Records, turns, rounds, both ends; beyond an end nothing happens."""
    async with opened(tmp_path) as (app, pilot):
        course, last = app._replay.course, len(whole().records) - 1
        for keys, expected in [
            (["left"], 0),
            (["right"], 1),
            (["n", "n", "p"], 2),
            (["r"], course.find(1)),
            (["t", "t"], course.find(1, 3)),
            (["right", "T"], course.find(1, 3)),
            (["r"], course.find(2)),
            (["right", "R"], course.find(2)),
            (["end"], last),
            (["right"], last),
            (["home"], 0),
        ]:
            await pilot.press(*keys)
            assert app.seq == expected, keys


async def test_the_screen_says_where_it_is(tmp_path: Path) -> None:
    """Verdict, record, round and turn, who, time, signature, hash, eyes, and the keys."""
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("r", "right")
        lines = screen(app).splitlines()
        moment = app._replay.course.at(app.seq)
        assert lines[0].startswith(" VALID  match.ledger.jsonl")
        assert f" {app.seq}/{len(whole().records) - 1}  round 1, turn 1  Seat {moment.entry.seat}" in lines[1]
        assert "✓ signed" in lines[1]
        assert f"#{moment.record.hash.hex()[:8]}" in lines[1]
        assert lines[1].endswith("spectator")
        assert "? help q quit" in lines[23]


async def test_eyes(tmp_path: Path) -> None:
    """By number, one after the other, all hands; a seat that is not there is said."""
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("r")
        assert "your hand" not in screen(app)
        await pilot.press("2")
        assert app.eyes == Eyes(2)
        assert "your hand" in screen(app)
        await pilot.press("a")
        assert app.eyes == ALL_HANDS
        hands = app._replay.course.hands(app._replay.course.at(app.seq))
        for seat, view in enumerate(hands):
            assert re.search(rf"Seat {seat} +" + " +".join(map(str, view.seats[seat].hand)), screen(app))
        await pilot.press("s")
        assert app.eyes == SPECTATOR
        await pilot.press("S", "S")
        assert app.eyes == Eyes(3)
        await pilot.press("o", "7")
        assert app.eyes == SPECTATOR


async def test_sealed_eyes_are_not_offered(tmp_path: Path) -> None:
    """A running match as seat 1 has it: its own eyes at first; another seat's are refused where they are sealed."""
    async with opened(tmp_path, running().file(viewer="seat:1")) as (app, pilot):
        assert app.eyes == Eyes(1)
        await pilot.press("end", "2")
        assert app.eyes == Eyes(1)
        await pilot.pause(0.1)
        assert "seat 2: sealed up to here." in screen(app)
        await pilot.press("s")
        assert app.eyes == SPECTATOR
        await pilot.press("s")
        assert app.eyes == Eyes(1)
        await pilot.press("home", "r", "2")
        assert app.eyes == Eyes(2), "the first round is open to all"
        await pilot.press("end")
        assert "seat 2: sealed up to here" in screen(app)


async def test_the_list_picks_records_and_turns(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("l")
        assert isinstance(app.screen, PickScreen)
        assert "Records" in screen(app)
        await pilot.press("down", "down", "enter")
        assert app.seq == 2
        await pilot.press("l", "tab")
        assert "Turns" in screen(app)
        choices = app.screen.query_one(OptionList)
        assert choices.option_count == 21
        await pilot.press("end", "enter")
        assert app.seq == app._replay.course.find(2, 10)
        await pilot.press("l", "escape")
        assert not isinstance(app.screen, PickScreen)


async def test_the_jump_prompt(tmp_path: Path) -> None:
    """It goes where it is told, and says what it does not understand."""
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("j", *"r2t4", "enter")
        assert app.seq == app._replay.course.find(2, 4)
        await pilot.press("j", *"r9", "enter")
        assert isinstance(app.screen, JumpScreen)
        assert "does not reach round 9" in screen(app)
        app.screen.query_one(Input).value = "27"
        await pilot.press("enter")
        assert app.seq == 27


async def test_help_is_on_screen(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        for words in ("next record", "next turn", "next round", "all hands", "follow a live match", "quit"):
            assert words in screen(app)
        await pilot.press("x")
        assert not isinstance(app.screen, HelpScreen)


async def test_what_lies_over_it_does_not_stop_it(tmp_path: Path) -> None:
    """It plays on, and is drawn anew for another size, while the help is shown."""
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("plus", "plus", "plus", "space", "question_mark")
        before = app.seq
        await pilot.resize_terminal(120, 40)
        await pilot.pause(0.4)
        assert isinstance(app.screen, HelpScreen)
        assert app.seq > before
        await pilot.press("x", "space")
        assert re.search(r"\d+  r\d t\d+ |start", screen(app))


async def test_it_plays_by_itself(tmp_path: Path) -> None:
    """Faster and slower, up to the end, where it stops; from the end it begins anew."""
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("end", "left", "left", "left", "plus", "plus", "plus", "plus", "space")
        last = len(whole().records) - 1
        for _ in range(100):
            await pilot.pause(0.05)
            if app.seq == last and app._timer is None:
                break
        assert (app.seq, app._timer) == (last, None)
        await pilot.press("space")
        assert app.seq < last
        await pilot.press("space")
        assert app._timer is None


async def test_a_wide_terminal_lists_the_records_beside_the_table(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as (app, pilot):
        await pilot.press("r")
        assert re.search(rf"{app.seq}  r1 t1 +Seat", screen(app))
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not re.search(r"r1 t1 +Seat", screen(app))


async def test_a_tampered_ledger_is_marked_and_ends_at_its_last_good_record(tmp_path: Path) -> None:
    lines = whole().file().split(b"\n")
    lines[1 + 40] = lines[1 + 40].replace(b'"hash":"', b'"hash":"AAAA', 1)
    async with opened(tmp_path, b"\n".join(lines)) as (app, pilot):
        assert screen(app).startswith(" TAMPERED  match.ledger.jsonl  the first 40 records are good")
        assert "✗" not in screen(app)
        await pilot.press("end")
        assert app.seq == 39
        assert "✗ Record 40: " in screen(app)
        await pilot.press("q")
    assert app.return_value == 1


async def test_quitting_a_valid_ledger_is_success(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("q")
    assert app.return_value == 0


async def test_a_tiny_terminal_scrolls(tmp_path: Path) -> None:
    """Nothing is lost where the table is higher than the screen."""
    async with opened(tmp_path, size=(40, 8)) as (app, pilot):
        await pilot.press("r", "1")
        area = app.query_one("#scroll")
        assert area.max_scroll_y > 0
        await pilot.press("down", "down")
        await pilot.pause()
        assert area.scroll_y > 0


async def test_a_live_match_is_followed(tmp_path: Path) -> None:
    """New records show at once while it follows; who steps back stays there, and End follows again."""
    async with FakeServer(seed=5) as server:
        options = nimmt_pb2.Options(end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
        match = server.open("nimmt", seats=2, options=options)
        with server.client() as client:
            app = ReplayApp(open_live(client, match, None))
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.pause()
                assert app.following
                assert " CHECKED " in screen(app)
                seats = [client.matches.resume(server.credentials(match, seat, f"Bot {seat}")) for seat in range(2)]
                await until(pilot, lambda: app.seq == 2)
                assert "Bot 1" in screen(app)
                await pilot.press("left")
                assert not app.following
                for seat in seats:
                    seat.close()
                players = [
                    asyncio.to_thread(
                        run_bot, client, match, seat, bot("nimmt", "random"), random=Random(seat),
                        credentials=server.credentials(match, seat),
                    )
                    for seat in range(2)
                ]  # fmt: skip
                await asyncio.gather(*players)
                await until(pilot, lambda: app._replay.judgement.word == "VALID")
                assert app.seq == 1
                await pilot.press("end")
                assert app.following
                assert app.seq == len(app._replay.course) - 1
                assert "Final ranking" in screen(app)
                await pilot.press("a", "left", "left")
                assert app.eyes == ALL_HANDS, "at the end everything is open"


async def until(pilot: Pilot[int], reached: object) -> None:
    """Let the program run until something is so."""
    assert callable(reached)
    for _ in range(200):
        if reached():
            return
        await pilot.pause(0.05)
    raise AssertionError("it never came so far")


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")
def test_the_command_opens_it_on_a_terminal(tmp_path: Path) -> None:
    """As a person starts it: the alternate screen is entered, `q` leaves, the status is that of the verdict."""
    (tmp_path / "match.ledger.jsonl").write_bytes(whole().file())
    primary, secondary = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", "replay", "match.ledger.jsonl"],
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        cwd=tmp_path,
        env=environment(tmp_path) | {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"},
    )
    os.close(secondary)
    shown, typed, until_ = b"", False, time.monotonic() + 60
    with contextlib.suppress(OSError):  # how a terminal says that nobody is left
        while (piece := os.read(primary, 65536)) and time.monotonic() < until_:
            shown += piece
            if not typed and b"quit" in shown:
                os.write(primary, b"q")
                typed = True
    os.close(primary)
    assert process.wait(timeout=30) == 0
    assert b"\x1b[?1049h" in shown
    assert b"VALID" in shown
