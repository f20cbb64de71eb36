"""Base: the game of the rule book, as the core plays it (RULES 2.4)."""

from __future__ import annotations

from sixledger.engine.nimmt.core import Variant
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Base(Variant):
    """The base game."""

    number = pb.VARIANT_BASE
    name = "base"
    about = "the game of the rule book"
    decks = (pb.DECK_FULL, pb.DECK_TACTICS)
