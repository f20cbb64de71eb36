"""6piece (RULES part 3): `GAME` is the game, everything else is its own affair."""

from __future__ import annotations

from sixledger.engine.piece.game import Piece

GAME = Piece()

__all__ = ["GAME"]
