"""Replays for tests: a match of four seats that sign and contribute, as a file of any viewer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sixledger.cli.replay.sources import Replay, open_file
from support.ledgers import COMMIT_REVEAL, KEYS, Table, rounds


@cache
def whole() -> Table:
    """A match of two rounds, played to its end."""
    seats = frozenset(range(4))
    return Table(4, rounds(2), COMMIT_REVEAL, signing=seats, contributing=seats, name="replay").play()


@cache
def running() -> Table:
    """A match of two rounds in the middle of the second."""
    return Table(3, rounds(2), COMMIT_REVEAL, signing=frozenset({0}), contributing=frozenset({0, 1}), name="runs").play(
        52
    )


def replay_of(folder: Path, data: bytes) -> Replay:
    """The file, opened with the key that signs it."""
    path = folder / "match.ledger.jsonl"
    path.write_bytes(data)
    return open_file(path, KEYS)
