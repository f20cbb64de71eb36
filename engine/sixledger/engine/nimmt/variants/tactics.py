"""Tactics: every card of the pack is dealt, so all know what is in play (RULES 2.5)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from collections.abc import Sequence

from sixledger.engine.nimmt.core import Variant
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Tactics(Variant):
    """The base game with the cards 1 to 10n + 4."""

    number = pb.VARIANT_TACTICS
    name = "tactics"
    about = "only the cards 1 to 10n + 4, all of them dealt"

    def pack(self, players: int, options: pb.Options) -> Sequence[int]:
        return self.tactics_pack(players)
