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


def ledgers() -> dict[Path, bytes]:
    """Every golden ledger as it should be."""
    folder = FOLDER / f"{GAME.id}@{GAME.version}"
    files = {"two-seats-signed": _signed(), "three-seats-resigned": _resigned(), "four-seats-running": _running()}
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
