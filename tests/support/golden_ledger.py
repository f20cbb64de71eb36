"""Golden ledgers: files of whole matches, with fixed keys, seeds and times, that every later build must verify.

`tests/golden/<id>@<version>/<name>.ledger.jsonl` holds them.

    python tests/support/golden_ledger.py            compare; exit status 1 and a list if anything differs
    python tests/support/golden_ledger.py --update   write them anew

Record 0 states the digest of the ruleset, so they change when that changes. For a released ruleset neither may.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from sixledger.engine.nimmt import GAME
from sixledger.v1 import record_pb2
from support.ledgers import COMMIT_REVEAL, SEATS, SERVER_ONLY, Table, rounds

FOLDER = Path(__file__).parents[1] / "golden"


def _signed() -> bytes:
    """Two seats sign and contribute; one round; heads on the way."""
    both = frozenset({0, 1})
    return Table(mode=COMMIT_REVEAL, signing=both, contributing=both, name="golden signed").play().file(3, 7)


def _resigned() -> bytes:
    """Three seats, one signs, two contribute in one step; the second round is resigned."""
    table = Table(3, rounds(3), SEATS, signing=frozenset({1}), contributing=frozenset({0, 1}), name="golden resigned")
    table.play(40)
    table.resign(1)
    return table.file()


def _running() -> bytes:
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


def ledgers() -> dict[Path, bytes]:
    """Every golden ledger as it should be."""
    folder = FOLDER / f"{GAME.id}@{GAME.version}"
    files = {
        "two-seats-signed": _signed(),
        "three-seats-resigned": _resigned(),
        "four-seats-running": _running(),
        "two-seats-timed": _timed(),
        "three-seats-forfeited": _forfeited(),
        "three-seats-withheld": _withheld(),
    }
    return {folder / f"{name}.ledger.jsonl": data for name, data in files.items()}


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description="Compare the golden ledgers, or write them anew.")
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    stale = [path for path, data in ledgers().items() if not path.exists() or path.read_bytes() != data]
    for path in stale:
        if update:
            path.write_bytes(ledgers()[path])
        print(f"{path.name}: {'written' if update else 'differs'}")  # noqa: T201  # a script
    return 1 if stale and not update else 0


if __name__ == "__main__":
    sys.exit(main())
