"""Ranks: everybody holds one secret card and guesses how many of the others hold a lower one."""

from __future__ import annotations

from ranks.game import Ranks

#: What the entry point names: one object serves every match.
GAME = Ranks()
