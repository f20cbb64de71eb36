"""The options of a match: defaults, bounds, presets and what applies where (RULES 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import OptionDoc, Preset, Setup
from sixledger.engine.nimmt.cards import MAX_SEATS
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


@dataclass(frozen=True, slots=True)
class Frame:
    """What a variant fixes about its options: here a further variant declares itself."""

    name: str
    min_seats: int
    max_seats: int
    #: The packs that may be chosen.
    decks: tuple[pb.Deck.ValueType, ...]
    end_modes: tuple[pb.EndMode.ValueType, ...]


FRAMES: Mapping[pb.Variant.ValueType, Frame] = {
    pb.VARIANT_BASE: Frame(
        name="base",
        min_seats=2,
        max_seats=MAX_SEATS,
        decks=(pb.DECK_FULL, pb.DECK_TACTICS),
        end_modes=(pb.END_MODE_POINTS, pb.END_MODE_ROUNDS),
    ),
}

_COMPARISONS = (pb.COMPARE_GT, pb.COMPARE_GE)

_LIMIT, _ROUNDS, _MAX_ROUNDS = (1, 1000), (1, 100), (1, 1000)


def complete(seats: int, options: Any) -> Setup:
    """A setup with every option that applies filled in; see `Game.complete`."""
    if not isinstance(options, pb.Options):
        raise IllegalOptions("options", "are of another game", f"a message {pb.Options.DESCRIPTOR.full_name}")
    if has_unknown_fields(options):
        known = ", ".join(field.name for field in pb.Options.DESCRIPTOR.fields)
        raise IllegalOptions("options", "have a field that this build does not know", known)
    full = pb.Options(variant=_variant(options))
    frame = FRAMES[full.variant]
    if not frame.min_seats <= seats <= frame.max_seats:
        raise IllegalOptions(
            "players", f"{frame.name} is not played by {seats}", f"{frame.min_seats} to {frame.max_seats}"
        )
    full.deck = _choice(options, "deck", pb.Deck, frame.decks)
    full.end_mode = _choice(options, "end_mode", pb.EndMode, frame.end_modes)
    if full.end_mode == pb.END_MODE_POINTS:
        _refuse(options, "rounds", "end_mode rounds")
        full.limit = _number(options, "limit", 66, _LIMIT)
        full.compare = _choice(options, "compare", pb.Compare, _COMPARISONS)
        full.max_rounds = _number(options, "max_rounds", 100, _MAX_ROUNDS)
    else:
        for name in ("limit", "compare", "max_rounds"):
            _refuse(options, name, "end_mode points")
        full.rounds = _number(options, "rounds", 1, _ROUNDS)
    return Setup(seats, full)


def epochs(setup: Setup) -> int:
    """The rounds that the match can have at most."""
    options: pb.Options = setup.options
    return options.max_rounds if options.end_mode == pb.END_MODE_POINTS else options.rounds


def _variant(options: pb.Options) -> pb.Variant.ValueType:
    """The chosen variant, by default base."""
    if options.variant in FRAMES:
        return options.variant
    if options.variant == pb.VARIANT_UNSPECIFIED:
        return pb.VARIANT_BASE
    known = ", ".join(frame.name for frame in FRAMES.values())
    raise IllegalOptions("variant", f"{int(options.variant)} is not known here", known)


def _choice(options: pb.Options, name: str, enum: Any, allowed: Sequence[Any]) -> Any:
    """The value of an enum option; not given, or given as 0, is the first of `allowed`."""
    value = getattr(options, name)
    if value == 0:
        return allowed[0]
    if value not in allowed:
        words = ", ".join(enum.Name(each).removeprefix(f"{name.upper()}_").lower() for each in allowed)
        raise IllegalOptions(name, f"{int(value)} is not a choice", words)
    return value


def _number(options: pb.Options, name: str, default: int, bounds: tuple[int, int]) -> int:
    """The value of a number option, within `bounds`."""
    if not options.HasField(name):  # type: ignore[arg-type]  # the stub wants the names as literals
        return default
    value: int = getattr(options, name)
    if not bounds[0] <= value <= bounds[1]:
        raise IllegalOptions(name, f"{value} is out of range", f"{bounds[0]} to {bounds[1]}")
    return value


def _refuse(options: pb.Options, name: str, where: str) -> None:
    """An option that does not apply must not be given: ignoring it would deceive."""
    if options.HasField(name):  # type: ignore[arg-type]  # as above
        raise IllegalOptions(name, "does not apply here", f"only with {where}")


DOCS = (
    OptionDoc("variant", "Rule set", "base", "base"),
    OptionDoc("deck", "Pack: all 104 cards, or 1 to 10n + 4 for n seats", "full, tactics", "full", "base"),
    OptionDoc("end_mode", "What ends the match", "points, rounds", "points"),
    OptionDoc("limit", "Points that end the match, looked at after every round", "1 to 1000", "66", "points"),
    OptionDoc("compare", "A total must be greater than the limit (gt) or reach it (ge)", "gt, ge", "gt", "points"),
    OptionDoc("rounds", "Number of rounds", "1 to 100", "1", "rounds"),
    OptionDoc("max_rounds", "Safety stop: the match ends after this round at the latest", "1 to 1000", "100", "points"),
)


def _preset(description: str, **options: Any) -> Preset:
    return Preset(description, pb.Options(variant=pb.VARIANT_BASE, **options))


PRESETS: Mapping[str, Preset] = {
    "d1": _preset(
        "6 qui prend!: until a total is more than 66",
        deck=pb.DECK_FULL,
        end_mode=pb.END_MODE_POINTS,
        limit=66,
        compare=pb.COMPARE_GT,
    ),
    "d2": _preset(
        "Czech rules: cards 1 to 10n + 4, until a total reaches 66",
        deck=pb.DECK_TACTICS,
        end_mode=pb.END_MODE_POINTS,
        limit=66,
        compare=pb.COMPARE_GE,
    ),
    "d4": _preset("Romanian rules: a single round", deck=pb.DECK_FULL, end_mode=pb.END_MODE_ROUNDS, rounds=1),
    "amigo": _preset(
        "AMIGO 2005: until a total reaches 66",
        deck=pb.DECK_FULL,
        end_mode=pb.END_MODE_POINTS,
        limit=66,
        compare=pb.COMPARE_GE,
    ),
    "category5": _preset(
        "Category 5: until a total is more than 74",
        deck=pb.DECK_FULL,
        end_mode=pb.END_MODE_POINTS,
        limit=74,
        compare=pb.COMPARE_GT,
    ),
}
