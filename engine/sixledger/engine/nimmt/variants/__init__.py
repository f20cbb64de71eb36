"""The variants by number. Each module holds what one variant changes, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from sixledger.engine.nimmt.core import Variant
from sixledger.engine.nimmt.variants.base import Base
from sixledger.engine.nimmt.variants.double import Double
from sixledger.engine.nimmt.variants.hand import Hand
from sixledger.engine.nimmt.variants.logic import Logic
from sixledger.engine.nimmt.variants.nifty import Nifty
from sixledger.engine.nimmt.variants.open import Open
from sixledger.engine.nimmt.variants.professional import Professional
from sixledger.engine.nimmt.variants.tactics import Tactics
from sixledger.engine.nimmt.variants.tournament import Tournament
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def _family() -> Mapping[pb.Variant.ValueType, Variant]:
    """One object of each variant, in the order of RULES 2.2."""
    family: dict[pb.Variant.ValueType, Variant] = {}
    for kind in (Base, Tactics, Logic, Tournament, Professional, Open, Nifty, Hand, Double):
        family[kind.number] = kind(family)
    return family


VARIANTS = _family()
