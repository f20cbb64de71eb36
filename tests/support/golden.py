"""Golden playthroughs: whole matches as readable text, which no change may alter by accident.

`tests/golden/playthroughs.toml` lists the matches, `tests/golden/<id>@<version>/<name>.txt` holds them. Each
begins with its setup and then shows every decision: who may act, what changed in the position, the legal
commands, the command given and its events.

`tests/golden/visibility.txt` says who may read each field of a command or an event.

    python tests/support/golden.py            compare; exit status 1 and a list if anything differs
    python tests/support/golden.py --update   write them anew and print the digest of each ruleset
    python tests/support/golden.py --release 0.1.0   freeze every ruleset that is not frozen yet

The digest belongs into the `digest` of the game; `tests/golden/rulesets.toml` repeats it. Changing a released one is
not allowed: it would be a new version of the ruleset (DESIGN 4). `make golden` runs the update.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf import json_format
from sixledger.engine.chance import Chance
from sixledger.engine.game import Game, run
from sixledger.engine.registry import installed

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support import rulesets, visibility
from support.text import fields_of, read_command, show_command, show_event, show_fields

FOLDER = Path(__file__).parents[1] / "golden"
VISIBILITY = FOLDER / "visibility.txt"


@dataclass(frozen=True)
class Playthrough:
    """One match of the list."""

    ruleset: str
    name: str
    about: str
    seats: int
    #: The options message as JSON; what is not given is the default.
    options: dict[str, Any]
    #: Seeds the cards and the choices.
    seed: int
    #: Ends the match at this command, if any: {at = 12, reason = "resigned", seat = 1}.
    leave: dict[str, Any] = field(default_factory=dict)
    #: The table gives this command, if any: {at = 7, command = "time_up"}.
    table: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Where its text lies."""
        return FOLDER / self.ruleset / f"{self.name}.txt"

    @property
    def game(self) -> Game[Any]:
        """The game in its version."""
        name, _, version = self.ruleset.partition("@")
        return installed().get(name, int(version))


def playthroughs() -> list[Playthrough]:
    """All matches of the list."""
    with (FOLDER / "playthroughs.toml").open("rb") as file:
        return [Playthrough(**entry) for entry in tomllib.load(file)["playthrough"]]


def given_commands(text: str) -> list[str]:
    """The commands in a transcript, each `<seat> <command>` or `table <command>`, and `leave …` lines."""
    return [line.removeprefix("  > ") for line in text.splitlines() if line.startswith("  > ")]


def transcript(entry: Playthrough, given: list[str] | None = None) -> str:
    """The text of a match. `given` replays these commands; without it they are chosen by the seed."""
    return "".join(f"{line}\n" for line in _lines(entry, given))


def _lines(entry: Playthrough, given: list[str] | None) -> Iterator[str]:
    game = entry.game
    setup = game.complete(entry.seats, json_format.ParseDict(entry.options, game.schema.options.kind()))
    key = hashlib.sha256(b"golden %d" % entry.seed).digest()
    chance, choices = Chance.from_key(key), Random(entry.seed)
    state = game.blank()
    yield f"# {entry.about}"
    yield f"ruleset: {entry.ruleset}"
    yield f"seats: {setup.seats}"
    yield f"options: {show_fields(setup.options)}"
    yield f"epochs: {game.epochs(setup)}"
    yield f"key: {key.hex()}"
    yield ""
    yield "start"
    for event in run(game, state, game.start(state, setup, chance)):
        yield f"  {show_event(game, event)}"
    shown: dict[str, str] = {}
    number = 0
    while game.outcome(state) is None:
        decision = game.decision(state)
        position = fields_of(game.position(state))
        yield ""
        yield f"command {number}, decision {decision.number}, epoch {game.epoch(state)}"
        yield f"  to act: {', '.join(map(str, decision.seats))}"
        for name in sorted({*position, *shown}, key=_order(game)):
            if position.get(name) != shown.get(name):
                yield f"  {name}: {position.get(name, '-')}"
        shown = position
        for seat in decision.seats:
            yield f"  legal {seat}: {_legal(game, state, seat)}"
        if given is not None:
            chosen = given[number]
        elif number == entry.leave.get("at"):
            chosen = f"leave {entry.leave['reason']} {entry.leave.get('seat', '-')}"
        elif number == entry.table.get("at"):
            chosen = f"table {entry.table['command']}"
        else:
            seat = choices.choice(decision.seats)
            chosen = f"{seat} {show_command(game, choices.choice(game.legal(state, seat)))}"
        yield f"  > {chosen}"
        for event in run(game, state, _events(game, state, chosen, chance)):
            yield f"  {show_event(game, event)}"
        number += 1
    yield ""
    yield f"outcome: {game.outcome(state)}"


def _legal(game: Game[Any], state: Any, seat: int) -> str:
    """The legal commands; those of one case follow it without repeating it."""
    words: list[str] = []
    last = ""
    for command in game.legal(state, seat):
        case, _, fields = show_command(game, command).partition(" ")
        words.append(fields if case == last else f"{case} {fields}")
        last = case
    return " | ".join(words)


def _events(game: Game[Any], state: Any, chosen: str, chance: Chance) -> Iterator[Any]:
    """The events of a line `<seat> <command>`, `table <command>` or `leave <reason> <seat>`."""
    first, rest = chosen.split(" ", 1)
    if first == "leave":
        reason, seat = rest.split()
        return game.leave(state, reason, None if seat == "-" else int(seat))
    return game.play(state, None if first == "table" else int(first), read_command(game, rest), chance)


def _order(game: Game[Any]) -> Any:
    """Position fields in the order of the schema."""
    names = [each.name for each in game.schema.position.kind.DESCRIPTOR.fields]
    return names.index


def digest(game: Game[Any]) -> bytes:
    """The digest of a ruleset, from its golden playthroughs (DESIGN 4)."""
    folder = FOLDER / f"{game.id}@{game.version}"
    texts = [path.read_bytes() for path in sorted(folder.glob("*.txt"))]
    head = f"sixledger/ruleset/1\n{game.id}\n{game.version}\n".encode()
    return hashlib.sha256(head + b"".join(hashlib.sha256(text).digest() for text in texts)).digest()


def main() -> int:
    """Compare or update; see the head of the module."""
    parser = argparse.ArgumentParser(description="Golden playthroughs of every game")
    parser.add_argument("--update", action="store_true", help="write them anew")
    parser.add_argument("--release", default="", metavar="VERSION", help="freeze the rulesets: VERSION ships them")
    given = parser.parse_args()
    update = given.update
    frozen = rulesets.frozen() if rulesets.TABLE.exists() else {}
    wrong = []
    for entry in playthroughs():
        text = transcript(entry)
        if entry.ruleset in frozen and (not entry.path.exists() or entry.path.read_text(encoding="utf-8") != text):
            released = frozen[entry.ruleset].released
            wrong.append(f"{entry.ruleset}/{entry.name} differs, but was released with {released}: add a version")
        elif update:
            entry.path.parent.mkdir(parents=True, exist_ok=True)
            entry.path.write_text(text, encoding="utf-8", newline="\n")
        elif not entry.path.exists() or entry.path.read_text(encoding="utf-8") != text:
            wrong.append(f"{entry.path.relative_to(FOLDER)} differs")
    if update:
        VISIBILITY.write_text(visibility.table(), encoding="utf-8", newline="\n")
    elif VISIBILITY.read_text(encoding="utf-8") != visibility.table():
        wrong.append("visibility.txt differs")
    for game in installed().all():
        found = digest(game)
        if found != game.digest:
            wrong.append(f'{game.id}@{game.version}: digest = bytes.fromhex("{found.hex()}")')
    table = rulesets.current(installed().all(), given.release)
    if update or (given.release and not wrong):
        rulesets.TABLE.write_text(table, encoding="utf-8", newline="\n")
    elif not rulesets.TABLE.exists() or rulesets.TABLE.read_text(encoding="utf-8") != table:
        wrong.append("rulesets.toml differs")
    sys.stdout.write("".join(f"{line}\n" for line in wrong) or "golden playthroughs and digests are up to date\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
