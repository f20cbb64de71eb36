"""The table of rulesets, `tests/golden/rulesets.toml`: what each is pinned by, and which are frozen.

A ruleset that a distribution was released with is frozen: its digest may never change, and neither may its golden
playthroughs and ledgers. `golden.py --update` keeps the table current for the others and refuses to touch these;
`golden.py --release VERSION` freezes all that are not frozen yet.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sixledger.engine.game import Game

TABLE = Path(__file__).parents[1] / "golden" / "rulesets.toml"

_HEAD = """\
# Every ruleset with its digest. `released` is the version of the distribution that shipped it first: from then on
# it is frozen, and a change of its rules is a new version beside it. Written by tests/support/golden.py.
"""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """One line of the table. `digest` is in hexadecimal; `released` is empty while the ruleset may change."""

    id: str
    version: int
    digest: str
    released: str = ""

    @property
    def name(self) -> str:
        """`nimmt@1`."""
        return f"{self.id}@{self.version}"


def read() -> dict[str, Ruleset]:
    """The table, by name."""
    with TABLE.open("rb") as file:
        return {entry.name: entry for entry in (Ruleset(**each) for each in tomllib.load(file)["ruleset"])}


def frozen() -> Mapping[str, Ruleset]:
    """The rulesets that must not change, by name."""
    return {name: entry for name, entry in read().items() if entry.released}


def current(games: Iterable[Game[Any]], release: str = "") -> str:
    """The text of the table for these games; `release` freezes what is not frozen yet."""
    known = read() if TABLE.exists() else {}
    lines = [_HEAD]
    for game in games:
        entry = Ruleset(game.id, game.version, game.digest.hex())
        before = known.get(entry.name)
        released = before.released if before is not None and before.released else release
        digest = before.digest if before is not None and before.released else entry.digest
        pinned = f'digest = "{digest}"\nreleased = "{released}"\n'
        lines.append(f'\n[[ruleset]]\nid = "{entry.id}"\nversion = {entry.version}\n{pinned}')
    return "".join(lines)
