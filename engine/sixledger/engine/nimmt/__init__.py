"""6 nimmt! (RULES part 2): `GAME` is the game, everything else is its own affair."""

from __future__ import annotations

from sixledger.engine.nimmt.game import Nimmt

GAME = Nimmt()

__all__ = ["GAME"]
