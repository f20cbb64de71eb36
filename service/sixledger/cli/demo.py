"""`sixledger demo`: everything at once, on one machine, in half a minute."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text
from sixledger.cli.bot_threads import BotThreads
from sixledger.cli.failures import INVALID, OK
from sixledger.cli.options import OptionList, PresetName, build, find_game
from sixledger.cli.paths import OUT_FOLDER
from sixledger.cli.remote import connected
from sixledger.cli.render.report import headline, report
from sixledger.cli.seating import Bot, Seed, bot_names, check_players, policy, secret, usual_players
from sixledger.cli.server_thread import ServerThread
from sixledger.cli.show import Pace, show
from sixledger.cli.terminal import out
from sixledger.client import Client, TrustStore
from sixledger.engine.game import Game, Setup
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.verify import verify
from sixledger.service.config import Settings
from sixledger.v1 import replay_service_pb2

#: Name under which the server of a demonstration signs.
ORIGIN = "demo.sixledger"


def demo(
    game: Annotated[str, Parameter(help="Game: nimmt, forces, piece, or another that is installed.")] = "nimmt",
    *,
    folder: Annotated[Path, Parameter("--out", help="Where files are written.")] = OUT_FOLDER,
    seats: Annotated[int | None, Parameter(help="Number of bots. Default: 4, or as many as the game allows.")] = None,
    bot: Bot = None,
    seed: Seed = None,
    preset: PresetName = None,
    option: OptionList = None,
    fast: Annotated[bool, Parameter(negative="", help="Without pauses for the reader.")] = False,
) -> int:
    """Show a whole match: a server, bots that sign what they do, the ledger, and its proof.

    Starts a server with an SQLite store, seats bots over a socket, shows their match as it happens, saves its
    ledger, verifies it, and shows what a single changed bit does.
    """
    rules = find_game(game)
    seats = usual_players(rules) if seats is None else seats
    check_players(rules, seats)
    setup = build(rules, seats, preset, option)
    pace = Pace(policy(rules.id, bot), fast=fast)
    console = out()
    store = _fresh_store(folder)
    settings = Settings(
        listen="127.0.0.1:0", data_dir=store.parent, store=f"sqlite:{store}", origin=ORIGIN, log_level="warning"
    )
    with ServerThread(settings, root_secret=lambda: secret(seed, "root")) as server:
        key = server.host.signer.verifier_key
        _say(console, f"Server on {server.address}, store {store}, signs as {ORIGIN}.")
        with connected(server.address, trust=TrustStore()) as client:
            match_id = _play(console, client, rules, setup, pace, seed)
            path = folder / f"{match_id.hex()[:12]}.ledger.jsonl"
            client.matches.export(match_id, path)
    return prove(console, path, key, rules.id)


def _fresh_store(folder: Path) -> Path:
    """An empty store in the demonstration's own folder: the one of the last demonstration is replaced."""
    place = folder / "demo-server"
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("matches.db*"):
        old.unlink()
    return place / "matches.db"


def _play(console: Console, client: Client, rules: Game[Any], setup: Setup, pace: Pace, seed: int | None) -> bytes:
    """Play and show one match; its id."""
    names = bot_names(setup.seats)
    created = client.matches.create(rules.id, seats=setup.seats, options=setup.options, secret=secret(seed, "create"))
    match_id = created.match_id
    _say(console, f"Match {match_id.hex()}: {rules.title} with {', '.join(names)}.")
    policies = [pace.policy(first=seat == 0) for seat in range(setup.seats)]
    bots = {seat: (name, policies[seat]) for seat, name in enumerate(names)}
    with client.matches.watch_match(match_id) as spectator:
        with BotThreads(client, match_id, bots, seed=seed, on_failure=spectator.close) as players:
            show(console, spectator, names)
            players.check()
        outcome = spectator.outcome()
        if outcome is not None and not console.is_terminal:
            _say(console, f"Winner: {', '.join(names[seat] for seat in outcome.winners)}.")
    return match_id


def prove(console: Console, path: Path, key: VerifierKey, game: str) -> int:
    """Verify the ledger of a `game` with the key of the server, then a copy in which one bit is changed."""
    key_file = path.parent / "demo.vkey"
    key_file.write_text(f"{key}\n", encoding="utf-8")
    found = verify(path, trusted=[key])
    console.print()
    console.print(Text("The ledger, replayed from its first record and held against the server's key:", "heading"))
    console.print(report(found, str(path)))
    forged = path.parent / "tampered" / path.name  # apart, so that out/*.ledger.jsonl is what was played
    forged.parent.mkdir(exist_ok=True)
    forged.write_bytes(change_one_bit(path.read_bytes()))
    caught = verify(forged, trusted=[key])
    console.print()
    console.print(Text("The same with a single bit of one record changed:", "heading"))
    console.print(headline(caught, str(forged)), soft_wrap=True)
    console.print(Text(f" {caught.summary}"))
    console.print()
    console.print(Text("Try it yourself:", "heading"))
    for line in (
        f"sixledger verify {path} --key {key_file}",
        f"sixledger verify {forged} --key {key_file}",
        f"sixledger dispute {forged} --key {key_file} --export {path} -o {path.parent / 'report.html'}",
        f"sixledger play {game}",
    ):
        console.print(Text(f"  {line}", "command"), soft_wrap=True)
    proven = found.verdict == replay_service_pb2.VERDICT_VALID and found.signer_authenticated
    return OK if proven and caught.verdict != replay_service_pb2.VERDICT_VALID else INVALID


def change_one_bit(ledger: bytes) -> bytes:
    """The ledger file with one bit of the body of its middle record flipped."""
    lines = ledger.split(b"\n")
    places = [index for index, line in enumerate(lines) if line.startswith(b'{"body":')]
    at = places[len(places) // 2]
    encoded = json.loads(lines[at])["body"]
    body = bytearray(base64.b64decode(encoded))
    body[-1] ^= 1
    lines[at] = lines[at].replace(encoded.encode(), base64.b64encode(body), 1)
    return b"\n".join(lines)


def _say(console: Console, line: str) -> None:
    console.print(Text(line, "faint"), soft_wrap=True)
