"""6 Forces (RULES part 1): `GAME` is the game, everything else is its own affair."""

from __future__ import annotations

from sixledger.engine.forces.game import Forces

GAME = Forces()

__all__ = ["GAME"]
