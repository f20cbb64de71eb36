"""Captures of `play` and `replay` on terminals of 80×24 and 120×40: text to compare, pictures for the docs.

    python tests/support/captures.py            compare; exit status 1 and a list if anything differs
    python tests/support/captures.py --update   write text and pictures anew

`tests/cli/captures/<name>.txt` is pinned, `docs/images/<name>.svg` must show the same text.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import sys
import tempfile
from pathlib import Path
from random import Random
from xml.etree import ElementTree

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from rich.console import Console
from rich.text import Text
from sixledger.cli.replay.app import ReplayApp
from sixledger.cli.replay.sources import Replay, open_file
from sixledger.cli.table_talk import Talk
from sixledger.cli.terminal import PALETTE, THEME
from sixledger.engine.bots import bot
from sixledger.games.nimmt.v1 import nimmt_pb2
from support import pictures
from support.ledgers import COMMIT_REVEAL, KEYS, Table, rounds

PINNED = Path(__file__).parents[1] / "cli" / "captures"
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZES = ((80, 24), (120, 40))
#: Columns and lines of a terminal in units of the picture: those of rich.
_COLUMN, _LINE = 12.2, 24.4
_SVG = "{http://www.w3.org/2000/svg}"


def captures() -> dict[str, str]:
    """Every capture by name, as SVG."""
    found = {}
    for width, height in SIZES:
        found[f"replay-{width}x{height}"] = asyncio.run(replay(width, height))
        found[f"play-{width}x{height}"] = play(width, height)
    return found


def ledger() -> bytes:
    """The ledger that is replayed: four seats that sign and contribute, two rounds."""
    seats = frozenset(range(4))
    return Table(4, rounds(2), COMMIT_REVEAL, signing=seats, contributing=seats, name="replay capture").play().file()


async def replay(width: int, height: int) -> str:
    """The replay in the second round: a seat's eyes on the small terminal, all hands on the large one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.ledger.jsonl"
        path.write_bytes(ledger())
        opened: Replay = open_file(path, KEYS)
    opened.names[:] = ["Anna", "Ada", "Bruno", "Clara"]  # names of people are kept beside the ledger
    app = ReplayApp(opened)
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.press("r", "r", "t", "t", "t", "1" if width < 100 else "a")
        await pilot.pause()
        return clean(app.export_screenshot(title="sixledger replay match.ledger.jsonl"), f"replay-{width}x{height}")


def play(width: int, height: int) -> str:
    """What a terminal shows at a decision in the second round: the last lines that were printed."""
    table, random, mind = pictures.local_table(11), Random(2), bot("nimmt", "heuristic")
    console = Console(
        file=io.StringIO(), width=width, theme=THEME, highlight=False, force_terminal=True, color_system="standard"
    )
    talk = Talk(table, console)
    while True:
        events = table.advance()
        view = table.view()
        talk.tell(events)
        talk.draw(view, events)
        console.print()
        console.print(talk.question(view), end="")
        taken = [event for event in events if isinstance(event, nimmt_pb2.RowTaken)]
        if (view.round, view.turn) >= (2, 4) and taken and view.phase == nimmt_pb2.PHASE_SELECTION:
            break
        command = mind(view, random)
        assert isinstance(command, nimmt_pb2.TakeRow | nimmt_pb2.SelectCard)
        console.print(command.row + 1 if isinstance(command, nimmt_pb2.TakeRow) else command.card)  # what was typed
        table.submit(command)
    printed = console.file.getvalue().splitlines()[-height:]  # type: ignore[attr-defined]  # it is the StringIO above
    recorded = Console(
        file=io.StringIO(), width=width, record=True, force_terminal=True, color_system="standard", highlight=False
    )
    for line in printed:
        recorded.print(Text.from_ansi(line), soft_wrap=True)
    name = f"play-{width}x{height}"
    return recorded.export_svg(
        title="sixledger play nimmt", theme=PALETTE, code_format=pictures.SVG, unique_id=f"sixledger-{name}"
    )


def clean(svg: str, name: str) -> str:
    """A picture of textual with fonts that are on every machine, nothing to fetch, and blanks that stay."""
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!-- Generated with Rich .*? -->", "", svg)
    svg = svg.replace("Fira Code, monospace", 'Menlo, Consolas, "DejaVu Sans Mono", monospace')
    svg = re.sub(r"terminal-\d+", f"sixledger-{name}", svg)
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)


def text_of(svg: str) -> str:
    """The text that a picture shows, line by line, without the blanks at line ends."""
    root = ElementTree.fromstring(svg)
    rows: dict[int, dict[int, str]] = {}
    for element in root.iter(f"{_SVG}text"):
        if "clip-path" not in element.attrib:
            continue  # the title of the window
        row = round(float(element.attrib["y"]) / _LINE - 0.75)
        column = round(float(element.attrib["x"]) / _COLUMN)
        rows.setdefault(row, {})[column] = (element.text or "").replace("\xa0", " ")
    lines = []
    for row in range(max(rows, default=-1) + 1):
        line = ""
        for column, piece in sorted(rows.get(row, {}).items()):
            line = line.ljust(column) + piece
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description="Compare the captures of the terminal, or write them anew.")
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    stale = 0
    for name, svg in captures().items():
        pinned, picture = PINNED / f"{name}.txt", PICTURES / f"{name}.svg"
        same = all(path.exists() for path in (pinned, picture)) and (
            text_of(svg) == pinned.read_text(encoding="utf-8") == text_of(picture.read_text(encoding="utf-8"))
        )
        if same and not update:
            continue
        stale += not same
        if update:
            pinned.parent.mkdir(exist_ok=True)
            pinned.write_text(text_of(svg), encoding="utf-8")
            picture.write_text(svg, encoding="utf-8")
        print(f"{name}: {'written' if update else 'differs'}")  # noqa: T201  # a script
    return 1 if stale and not update else 0


if __name__ == "__main__":
    sys.exit(main())
