"""Draw the pictures of the documentation: `python tests/support/pictures.py [FOLDER]`, default docs/images.

They are what the commands print, recorded, and the same at every run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import Console
from rich.text import Text
from sixledger.cli.bot_threads import BotThreads
from sixledger.cli.demo import ORIGIN, prove
from sixledger.cli.local_table import LocalTable
from sixledger.cli.remote import connected
from sixledger.cli.render import drawing
from sixledger.cli.render.report import report
from sixledger.cli.seating import bot_names, secret
from sixledger.cli.server_thread import ServerThread
from sixledger.cli.show import picture
from sixledger.cli.table_talk import Talk
from sixledger.cli.terminal import PALETTE, THEME
from sixledger.client import Recorded, TrustStore
from sixledger.engine.bots import bot
from sixledger.engine.nimmt import GAME
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger import file, hashing
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.verify import verify
from sixledger.service.config import Settings
from sixledger.v1 import record_pb2

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
#: 2026-01-01T12:00:00Z in microseconds.
NOON = 1_767_268_800_000_000

#: rich's picture of a terminal, but with fonts that are on every machine instead of one from the network.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@contextmanager
def recording(folder: Path, name: str, title: str) -> Iterator[Console]:
    """A terminal of 80 columns; what is printed on it becomes `folder/name.svg`."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(
            file=nowhere,
            record=True,
            width=80,
            theme=THEME,
            highlight=False,
            force_terminal=True,
            color_system="standard",
        )
        yield console
        console.save_svg(
            str(folder / f"{name}.svg"), title=title, theme=PALETTE, code_format=SVG, unique_id=f"sixledger-{name}"
        )


def local_table(seed: int) -> LocalTable:
    """A table of a person, who is called Anna, and three bots."""
    setup = GAME.complete(4, nimmt_pb2.Options())
    minds = dict.fromkeys(range(1, 4), bot("nimmt", "heuristic"))
    return LocalTable(GAME, setup, ["Anna", *bot_names(3)], minds, seed=seed, clock=lambda: NOON)


def play(folder: Path) -> None:
    """The table in the middle of the second round, after a row was collected."""
    table, random, mind = local_table(11), Random(2), bot("nimmt", "heuristic")
    with recording(folder, "play", "sixledger play nimmt") as console:
        talk = Talk(table, console)
        while True:
            events = table.advance()
            view = table.view()
            taken = [event for event in events if isinstance(event, nimmt_pb2.RowTaken)]
            if (view.round, view.turn) >= (2, 4) and taken and view.phase == nimmt_pb2.PHASE_SELECTION:
                break
            table.submit(mind(view, random))
        talk.tell(events)
        talk.draw(view, events)
        console.print()
        console.print(talk.question(view))


def forge(records: list[record_pb2.Record]) -> list[record_pb2.Record]:
    """The ledger as an operator would forge it: one card lies in another row, and every hash fits again."""
    forged: list[record_pb2.Record] = []
    previous, done = hashing.ZERO_HASH, False
    for record in records:
        body = record_pb2.Body.FromString(record.body)
        placed = [event.nimmt.card_placed for event in body.events if event.nimmt.HasField("card_placed")]
        if not done and len(forged) > len(records) // 2 and placed:
            placed[0].row = (placed[0].row + 1) % 4
            done = True
        data = body.SerializeToString(deterministic=True)
        previous = hashing.record_hash(body.match_id, body.seq, previous, data, record.seals)
        forged.append(record_pb2.Record(body=data, seals=record.seals, openings=record.openings, hash=previous))
    return forged


def tampered(folder: Path) -> None:
    """What the verifier says when the operator has forged the ledger and signed it anew."""
    table, random, mind = local_table(7), Random(1), bot("nimmt", "heuristic")
    while not table.over:
        table.advance()
        if not table.over:
            table.submit(mind(table.view(), random))
    signer = HeadSigner("cards.example.org", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
    half = len(table.records) // 3
    at_half = record_pb2.Body.FromString(table.records[half - 1].body).time_us
    early = signer.sign(table.match_id, half, table.records[half - 1].hash, at_half)
    forged = forge(table.records)
    late = signer.sign(table.match_id, len(forged), forged[-1].hash, table.time_us)
    path = Path("match.ledger.jsonl")
    path.write_bytes(file.dump(forged, [early, late], [signer.verifier_key]))
    with recording(folder, "verify", "sixledger verify match.ledger.jsonl") as console:
        console.print(report(verify(path, trusted=[signer.verifier_key]), str(path)))


def demo(folder: Path) -> None:
    """The end of the demonstration: the last table, the ranking and the proof."""
    names, mind = bot_names(4), bot("nimmt", "heuristic")
    out = Path("out")
    out.mkdir()
    with recording(folder, "demo", "sixledger demo") as console:
        with (
            ServerThread(
                Settings(listen="127.0.0.1:0", store="memory:", origin=ORIGIN, log_level="warning", data_dir=out),
                root_secret=lambda: secret(5, "root"),
            ) as server,
            connected(server.address, trust=TrustStore()) as client,
        ):
            match_id = client.matches.create("nimmt", seats=4, secret=secret(5, "create")).match_id
            bots = {seat: (name, mind) for seat, name in enumerate(names)}
            with client.matches.watch_match(match_id) as spectator, BotThreads(client, match_id, bots, seed=5):
                last = [item for item in spectator.watch() if isinstance(item, Recorded)][-1]
                console.print(picture(drawing("nimmt"), spectator, last, names, ()))
            path = out / f"{match_id.hex()[:12]}.ledger.jsonl"
            client.matches.export(match_id, path)
            key = server.host.signer.verifier_key
        console.print(Text())
        prove(console, path, key, "nimmt")


def main() -> None:
    """Draw them all."""
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.environ["SIXLEDGER_CONFIG"] = scratch
        for draw in (play, tampered, demo):
            draw(folder)
        os.chdir("/")


if __name__ == "__main__":
    main()
