"""Golden ledgers: files of whole matches, with fixed keys, seeds and times, that every later build must verify.

`tests/golden/<id>@<version>/<name>.ledger.jsonl` holds them.

    python tests/support/golden_ledger.py            compare; exit status 1 and a list if anything differs
    python tests/support/golden_ledger.py --update   write them anew

Record 0 states the digest of the ruleset, so they change when that changes. For a released ruleset neither may:
`tests/golden/ledgers.sha256` pins its ledgers, `--update` adds what is new there and refuses to write another.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from collections.abc import Callable, Mapping
from typing import Any

from sixledger.engine.forces import GAME as FORCES
from sixledger.engine.game import Game
from sixledger.engine.nimmt import GAME as NIMMT
from sixledger.engine.piece import GAME as PIECE
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from sixledger.v1 import record_pb2
from support import rulesets
from support.ledgers import COMMIT_REVEAL, SEATS, SERVER_ONLY, Table, rounds

FOLDER = Path(__file__).parents[1] / "golden"
#: As sha256sum writes and checks it.
PINNED = FOLDER / "ledgers.sha256"
BOTH = frozenset({0, 1})


def _nimmt_signed() -> bytes:
    """Two seats sign and contribute; one round; heads on the way."""
    return Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="golden signed").play().file(3, 7)


def _nimmt_resigned() -> bytes:
    """Three seats, one signs, two contribute in one step; the second round is resigned."""
    table = Table(3, rounds(3), SEATS, signing=frozenset({1}), contributing=BOTH, name="golden resigned")
    table.play(40)
    table.resign(1)
    return table.file()


def _nimmt_running() -> bytes:
    """A running match of four seats, started in record 0, as seat 2 has it."""
    return Table(4, rounds(2), SERVER_ONLY, immediate=True, name="golden running").play(60).file(viewer="seat:2")


def _timed() -> bytes:
    """Two seats sign and contribute against the clock: a pause, first legal commands for those who run out of time."""
    both = frozenset({0, 1})
    clock = record_pb2.Clock(
        turn_us=2_000_000, bank_us=5_000_000, increment_us=100_000, join_us=60_000_000, contribute_us=30_000_000,
        reveal_us=30_000_000, pause_us=3_600_000_000,
    )  # fmt: skip
    table = Table(
        mode=COMMIT_REVEAL, signing=both, contributing=both, clock=clock, policy=record_pb2.TIMEOUT_POLICY_FIRST_LEGAL,
        name="golden timed",
    )  # fmt: skip
    _against_the_clock(table, 12)
    while not table.match.over:
        table.fire(1_000)
    return table.file(5)


def _forfeited() -> bytes:
    """Three seats with two seconds for each act; in the middle of the first round one does not act in time."""
    clock = record_pb2.Clock(turn_us=2_000_000)
    table = Table(3, mode=SERVER_ONLY, clock=clock, policy=record_pb2.TIMEOUT_POLICY_FORFEIT, name="golden forfeited")
    _against_the_clock(table, 10)
    table.fire()
    return table.file()


def _withheld() -> bytes:
    """Three seats contribute; one does not reveal in time."""
    three = frozenset({0, 1, 2})
    clock = record_pb2.Clock(contribute_us=30_000_000, reveal_us=30_000_000)
    table = Table(3, mode=COMMIT_REVEAL, contributing=three, clock=clock, name="golden withheld")
    for seat in range(3):
        table.join(seat)
    for seat in range(3):
        table.commit(seat)
    table.reveal(0)
    table.reveal(2)
    table.fire()
    return table.file()


def _went_on() -> bytes:
    """Four seats contribute; one does not commit, one does not reveal, and the match goes on without both."""
    go_on = record_pb2.WITHHELD_POLICY_GO_ON
    clock = record_pb2.Clock(contribute_us=30_000_000, reveal_us=30_000_000, withheld=go_on)
    four, signing = frozenset(range(4)), frozenset({0, 2})
    table = Table(4, rounds(1), COMMIT_REVEAL, signing, four, clock=clock, name="golden went on", at=0)
    for seat in range(4):
        table.join(seat)
    for seat in (0, 2, 3):
        table.commit(seat)
    table.fire()
    table.at = 31_000_000
    table.reveal(0)
    table.reveal(3)
    table.fire()
    table.at = 62_000_000
    return table.play().file(9)


def _against_the_clock(table: Table, commands: int) -> None:
    """Play so many commands, a tenth of a second each, with a pause of a minute after five."""
    table.start()
    table.at = 1_000_000
    for number in range(commands):
        table.at += 100_000
        table.play_one()
        if number == 5:
            table.pause()
            table.at += 60_000_000
            table.resume()


def _nimmt_variant(variant: nimmt_pb2.Variant.ValueType) -> bytes:
    """A variant for two, one of whom signs: one round, of the tournament two games."""
    options = rounds(1) if variant != nimmt_pb2.VARIANT_TOURNAMENT else nimmt_pb2.Options()
    options.variant = variant
    name = f"golden {nimmt_pb2.Variant.Name(variant)}"
    return Table(2, options, COMMIT_REVEAL, signing=frozenset({0}), contributing=BOTH, name=name).play().file(10)


def _nimmt_doublets() -> bytes:
    """Double with doublets, one round by the safety stop; one of two signs."""
    doublets = nimmt_pb2.DOUBLE_PACK_DOUBLETS
    options = nimmt_pb2.Options(variant=nimmt_pb2.VARIANT_DOUBLE, double_pack=doublets, max_rounds=1)
    signing = frozenset({1})
    return Table(2, options, COMMIT_REVEAL, signing=signing, contributing=BOTH, name="golden doublets").play().file(9)


def _forces_signed() -> bytes:
    """Three seats, all of which sign and contribute; one deal."""
    all_three = frozenset(range(3))
    options = forces_pb2.Options(deals=1)
    arguments: dict[str, Any] = {"signing": all_three, "contributing": all_three, "game": FORCES}
    return Table(3, options, COMMIT_REVEAL, name="golden forces", **arguments).play().file(20)


def _forces_running() -> bytes:
    """Four seats in the first tricks of the second deal, as a spectator has it."""
    table = Table(4, forces_pb2.Options(deals=2), SERVER_ONLY, immediate=True, name="golden tricks", game=FORCES)
    return table.play(56 + 15).file(viewer="spectator")


def _piece_clock() -> bytes:
    """The table says that time is up; one seat signs."""
    options = piece_pb2.Options(time_mode=piece_pb2.TIME_MODE_CLOCK)
    arguments: dict[str, Any] = {"signing": frozenset({1}), "contributing": BOTH, "game": PIECE}
    table = Table(2, options, COMMIT_REVEAL, name="golden clock", **arguments).play(9)
    table.act(table.table_command(piece_pb2.TimeUp()))
    return table.play().file(4)


def _piece_beasts() -> bytes:
    """Two Beasts and the discard variant; the match is aborted."""
    options = piece_pb2.Options(beasts=[13, 9], beast_13_value=2, discard=True)
    table = Table(2, options, SEATS, contributing=frozenset({1}), name="golden beasts", game=PIECE).play(14)
    table.abort()
    return table.file()


def _piece_turns() -> bytes:
    """A limit of ten turns, with a Beast; both sign."""
    turns = piece_pb2.TIME_MODE_TURNS
    options = piece_pb2.Options(beasts=[18, 10], time_mode=turns, turn_limit=10)
    arguments: dict[str, Any] = {"signing": BOTH, "contributing": BOTH, "game": PIECE}
    return Table(2, options, COMMIT_REVEAL, name="golden turns", **arguments).play().file(8)


_VARIANTS = [number for number in nimmt_pb2.Variant.values() if number > nimmt_pb2.VARIANT_BASE]

#: Every golden ledger: the game, its name there, and how it is made.
GOLDEN: list[tuple[Game[Any], str, Callable[[], bytes]]] = [
    (NIMMT, "two-seats-signed", _nimmt_signed),
    (NIMMT, "three-seats-resigned", _nimmt_resigned),
    (NIMMT, "four-seats-running", _nimmt_running),
    (NIMMT, "two-seats-timed", _timed),
    (NIMMT, "three-seats-forfeited", _forfeited),
    (NIMMT, "three-seats-withheld", _withheld),
    (NIMMT, "four-seats-went-on", _went_on),
    *(
        (NIMMT, nimmt_pb2.Variant.Name(variant).lower().replace("_", "-"), partial(_nimmt_variant, variant))
        for variant in _VARIANTS
    ),
    (NIMMT, "variant-doublets", _nimmt_doublets),
    (FORCES, "three-seats-signed", _forces_signed),
    (FORCES, "four-seats-running", _forces_running),
    (PIECE, "clock-signed", _piece_clock),
    (PIECE, "beasts-aborted", _piece_beasts),
    (PIECE, "turns", _piece_turns),
]


def ledgers() -> Mapping[Path, bytes]:
    """Every golden ledger as it should be."""
    return {FOLDER / f"{game.id}@{game.version}" / f"{name}.ledger.jsonl": make() for game, name, make in GOLDEN}


def pinned() -> dict[Path, str]:
    """The hashes that the ledgers of released rulesets must keep for ever, in hexadecimal."""
    entries = (line.split("  ", 1) for line in PINNED.read_text(encoding="utf-8").splitlines())
    return {FOLDER / name: digest for digest, name in entries}


def missing_pins() -> dict[Path, str]:
    """The hashes of the ledgers of released rulesets that are not pinned yet, as they are on the disk."""
    released = [path for path in ledgers() if path.parent.name in rulesets.frozen() and path.exists()]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in released if path not in pinned()}


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description="Compare the golden ledgers, or write them anew.")
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    stale = {path: data for path, data in ledgers().items() if not path.exists() or path.read_bytes() != data}
    refused = [path for path in stale if path in pinned()]
    for path, data in stale.items():
        said = "differs"
        if path in refused:
            said = "differs, but is of a released ruleset: add a version"
        elif update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            said = "written"
        print(f"{path.parent.name}/{path.name}: {said}")  # noqa: T201  # a script
    if update:
        both = pinned() | missing_pins()
        text = "".join(f"{both[path]}  {path.relative_to(FOLDER).as_posix()}\n" for path in sorted(both))
        PINNED.write_text(text, encoding="utf-8", newline="\n")
    return 1 if refused or (stale and not update) else 0


if __name__ == "__main__":
    sys.exit(main())
