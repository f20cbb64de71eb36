"""The tutorials for embedders, chat bots and web backends: their code runs, from their text, in an empty folder."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from sixledger.client import AsyncClient
from sixledger.service.server import Server
from support.command_line import environment
from support.pages import DOCS, write
from support.play import RunningServer
from support.servers import memory_settings
from support.web import web_backend


def run(folder: Path, *command: str) -> str:
    """The output of a Python command in a folder."""
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(folder: Path, name: str) -> ModuleType:
    """A module of the tutorial, without leaving it among the modules of the tests."""
    spec = spec_from_file_location(f"tutorial_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- embedding ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embedded")
    assert write("tutorial/embed-the-engine.md", folder) == ["play.py", "ledger.py", "resume.py"]
    return folder


def test_embedding_prints_what_the_page_shows(embedded: Path) -> None:
    page = (DOCS / "tutorial/embed-the-engine.md").read_text(encoding="utf-8")
    assert f"```text\n{run(embedded, 'play.py')}```" in page


def test_an_embedded_match_is_a_ledger_that_the_command_line_verifies_and_code_resumes(embedded: Path) -> None:
    page = (DOCS / "tutorial/embed-the-engine.md").read_text(encoding="utf-8")
    assert f"```text\n{run(embedded, 'ledger.py')}```" in page
    command = re.search(r"^\$ sixledger (verify .*)$", page, re.MULTILINE)
    assert command is not None
    assert "VALID" in run(embedded, "-m", "sixledger.cli.main", *command[1].split())
    assert re.fullmatch(r"\d+ records, over\n", run(embedded, "resume.py"))


def test_embedding_needs_no_extra(embedded: Path) -> None:
    """Neither gRPC nor the terminal are imported."""
    probe = "import runpy, sys; runpy.run_path('ledger.py'); print({'grpc', 'structlog', 'rich'} & set(sys.modules))"
    assert run(embedded, "-c", probe).splitlines()[-1] == "set()"


# -- chat bot ----------------------------------------------------------------------------------------


class Room:
    """A chat room in memory."""

    def __init__(self) -> None:
        self.posts: list[str] = []
        self.whispers: dict[str, list[str]] = {}

    async def post(self, text: str) -> None:
        self.posts.append(text)

    async def whisper(self, person: str, text: str) -> None:
        self.whispers.setdefault(person, []).append(text)

    def hand(self, person: str) -> list[int]:
        """The hand that was whispered last."""
        hands = [text for text in self.whispers.get(person, []) if text.startswith("Your hand:")]
        return [int(card) for card in hands[-1].split()[2:]] if hands else []


async def test_people_in_a_chat_room_play_to_the_end(tmp_path: Path) -> None:
    """Hands are whispered to their owners alone, illegal moves are refused, and the ledger is verified."""
    assert write("tutorial/chat-bot.md", tmp_path) == ["table_bot.py", "console.py"]
    module = load(tmp_path, "table_bot")
    people = ["ada", "bob", "cy"]
    async with Server(memory_settings()) as server, AsyncClient(server.address) as client:
        room = Room()
        bot = module.TableBot(client, room.post, room.whisper)
        for person in people:
            await bot.on_message(person, "!join")
        await bot.on_message("dora", "!play 3")
        await bot.on_message("ada", "!start")
        async with asyncio.timeout(60):
            await _play(bot, room, people)
    assert "You do not sit at the table." in room.whispers["dora"]
    assert "The rules do not allow that: not in hand." in room.whispers["ada"]
    assert room.posts[-1] == "The ledger was verified."
    assert re.search(r"The match is over: ada \d+, bob \d+, cy \d+\. Won by", room.posts[-2])
    assert not [text for text in room.posts if "hand" in text]
    assert set(room.whispers) == {*people, "dora"}


async def _play(bot: Any, room: Room, people: list[str]) -> None:
    """Everybody plays the lowest card of the hand they were told last, over and over, until the match is over."""
    refused = False
    while not room.posts[-1].startswith("The ledger"):
        for person in people:
            hand = room.hand(person)
            if hand and not refused:
                refused = True
                await bot.on_message("ada", f"!play {next(card for card in range(1, 105) if card not in hand)}")
            if hand:
                await bot.on_message(person, f"!play {hand[0]}")
            if "which row" in room.posts[-1]:
                await bot.on_message(person, "!row 1")
        await asyncio.sleep(0)


async def test_the_console_of_the_chat_bot_talks(tmp_path: Path) -> None:
    write("tutorial/chat-bot.md", tmp_path)
    page = (DOCS / "tutorial/chat-bot.md").read_text(encoding="utf-8")
    async with Server(memory_settings()) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "console.py", server.address, cwd=tmp_path, env=environment(tmp_path),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"ada: !join\nbob: !join\nada: !start\n")
        said: list[str] = []
        while not said or not said[-1].startswith("-> bob: Your hand:"):
            said.append((await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip())
        process.stdin.close()
        await process.wait()
    shown = page.partition("$ python console.py")[2].partition("```text\n")[2].partition("```")[0].splitlines()
    shown = [line for line in shown if not re.match(r"\w+: !", line)]
    assert [re.sub(r"[\d ]+", "#", line) for line in said] == [
        re.sub(r"[\d ]+", "#", line) for line in shown[: len(said)]
    ]


# -- web backend -------------------------------------------------------------------------------------


async def _views(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    """The views of a stream of server-sent events."""
    async for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[str]:
    """The address of the tutorial's backend, beside a game server."""
    with RunningServer(tmp_path / "server") as server:
        (tmp_path / "web").mkdir()
        with web_backend(tmp_path / "web", server.address) as address:
            yield address


async def test_the_web_backend_plays_a_match_to_its_end(backend: str) -> None:
    """Over HTTP: every view arrives, no foreign card is in it, and wrong orders have an answer."""
    refusals: dict[str, tuple[int, str]] = {}
    async with httpx.AsyncClient(base_url=backend, timeout=30) as http:
        assert "<title>6 nimmt!" in (await http.get("/")).text
        assert (await http.get("/tables/nowhere/events")).status_code == 404
        table = (await http.post("/tables")).json()["table"]
        orders = f"/tables/{table}/orders"
        assert (await http.post(orders, json={"card": "x"})).status_code == 400
        async with http.stream("GET", f"/tables/{table}/events") as stream:
            async for view in _views(stream.aiter_lines()):
                assert not [seat for seat in view["seats"] if seat["seat"] != view["viewer"] and seat["hand"]]
                if "result" in view:
                    break
                if not view["legal"]:
                    continue
                hand = view["seats"][view["viewer"]]["hand"]
                stranger = next(card for card in range(1, 105) if card not in hand)
                wrong = [("stranger", {"card": stranger}, 0), ("late", {"row": 0}, -1)]
                for name, order, shift in wrong if not refusals else []:
                    reply = await http.post(orders, json={**order, "decision": int(view["decision"]) + shift})
                    refusals[name] = (reply.status_code, reply.json()["reason"])
                legal = view["legal"][0]
                order = legal.get("select_card") or legal["take_row"]
                reply = await http.post(orders, json={**order, "decision": view["decision"]})
                assert reply.status_code in (204, 409), reply.text
    assert refusals == {"stranger": (409, "ILLEGAL_COMMAND"), "late": (409, "STALE_DECISION")}
    assert view["result"]["winners"]
