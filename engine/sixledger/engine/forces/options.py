"""The options of a match: defaults, bounds and presets (RULES 1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.forces.cards import HIGHEST
from sixledger.engine.game import OptionDoc, Preset, Setup
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.forces.v1 import forces_pb2 as pb

_MOST_DEALS = 12


def complete(seats: int, options: Any) -> Setup:
    """A setup with every option filled in; see `Game.complete`."""
    if not isinstance(options, pb.Options):
        raise IllegalOptions("options", "are of another game", f"a message {pb.Options.DESCRIPTOR.full_name}")
    if has_unknown_fields(options):
        known = ", ".join(field.name for field in pb.Options.DESCRIPTOR.fields)
        raise IllegalOptions("options", "have a field that this build does not know", known)
    if seats not in HIGHEST:
        raise IllegalOptions("players", f"6 Forces is not played by {seats}", f"{min(HIGHEST)} to {max(HIGHEST)}")
    starter = options.first_starter or pb.FIRST_STARTER_RANDOM
    last = pb.FIRST_STARTER_SEAT_0 + seats - 1
    if starter not in range(pb.FIRST_STARTER_RANDOM, last + 1):
        raise IllegalOptions("first_starter", f"{int(starter)} is not a choice", f"random, seat_0 to seat_{seats - 1}")
    deals = options.deals if options.HasField("deals") else seats
    if not 1 <= deals <= _MOST_DEALS:
        raise IllegalOptions("deals", f"{deals} is out of range", f"1 to {_MOST_DEALS}")
    return Setup(seats, pb.Options(first_starter=starter, deals=deals))


def epochs(setup: Setup) -> int:
    """The deals of the match."""
    options: pb.Options = setup.options
    return options.deals


DOCS = (
    OptionDoc("first_starter", "Who starts the first deal", "random, seat_0, seat_1, seat_2, seat_3", "random"),
    OptionDoc("deals", "Number of deals; by default everybody starts one", f"1 to {_MOST_DEALS}", "one for each seat"),
)

PRESETS: Mapping[str, Preset] = {
    "default": Preset("As in the rule book: everybody starts one deal, the first starter is drawn", pb.Options()),
}
