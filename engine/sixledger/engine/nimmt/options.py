"""The options of a match: defaults, bounds, presets and what applies where (RULES 2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import OptionDoc, Preset, Setup
from sixledger.engine.nimmt.core import Variant
from sixledger.engine.nimmt.variants import VARIANTS
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_COMPARISONS = (pb.COMPARE_GT, pb.COMPARE_GE)
_LIMIT, _ROUNDS, _MAX_ROUNDS, _MAX_CYCLES = (1, 1000), (1, 100), (1, 1000), (10, 1000)


def complete(seats: int, options: Any) -> Setup:
    """A setup with every option that applies filled in; see `Game.complete`.

    What does not apply stays absent, the pack of a variant that leaves no choice among it, so that complete
    options can be completed again.
    """
    if not isinstance(options, pb.Options):
        raise IllegalOptions("options", "are of another game", f"a message {pb.Options.DESCRIPTOR.full_name}")
    if has_unknown_fields(options):
        known = ", ".join(field.name for field in pb.Options.DESCRIPTOR.fields)
        raise IllegalOptions("options", "have a field that this build does not know", known)
    variant = _variant(options)
    if not variant.min_seats <= seats <= variant.max_seats:
        raise IllegalOptions(
            "players", f"{variant.name} is not played by {seats}", f"{variant.min_seats} to {variant.max_seats}"
        )
    full = pb.Options(variant=variant.number)
    _choose(options, full, "deck", pb.Deck, variant.decks)
    _choose(options, full, "end_mode", pb.EndMode, variant.end_modes)
    in_points, in_rounds = full.end_mode == pb.END_MODE_POINTS, full.end_mode == pb.END_MODE_ROUNDS
    _count(options, full, "limit", 66, _LIMIT if in_points else None)
    _choose(options, full, "compare", pb.Compare, _COMPARISONS if in_points else ())
    _count(options, full, "rounds", 1, _ROUNDS if in_rounds else None)
    _count(options, full, "max_rounds", 100, _MAX_ROUNDS if in_points else None)
    _choose(options, full, "first_starter", pb.FirstStarter, _starters(seats) if variant.has_starter else ())
    _choose(options, full, "double_pack", pb.DoublePack, variant.double_packs)
    _count(options, full, "max_cycles", 100, _MAX_CYCLES if variant.has_cycles else None)
    return Setup(seats, full)


def variant_of(options: pb.Options) -> Variant:
    """The variant of complete options."""
    return VARIANTS[options.variant or pb.VARIANT_BASE]


def _variant(options: pb.Options) -> Variant:
    """The chosen variant, by default base."""
    if options.variant in VARIANTS:
        return VARIANTS[options.variant]
    if options.variant == pb.VARIANT_UNSPECIFIED:
        return VARIANTS[pb.VARIANT_BASE]
    known = ", ".join(variant.name for variant in VARIANTS.values())
    raise IllegalOptions("variant", f"{int(options.variant)} is not known here", known)


def _starters(seats: int) -> tuple[pb.FirstStarter.ValueType, ...]:
    """Random, or one of the seats."""
    return (pb.FIRST_STARTER_RANDOM, *tuple(pb.FirstStarter.values())[2 : 2 + seats])


def _choose(options: pb.Options, full: pb.Options, name: str, enum: Any, allowed: Sequence[Any]) -> None:
    """Fill in the value of an enum option; not given, or given as 0, is the first of `allowed`."""
    value = getattr(options, name)
    if not allowed:
        _refuse(name, bool(value))
        return
    if value and value not in allowed:
        words = ", ".join(enum.Name(each).removeprefix(f"{name.upper()}_").lower() for each in allowed)
        raise IllegalOptions(name, f"{int(value)} is not a choice", words)
    setattr(full, name, value or allowed[0])


def _count(options: Any, full: pb.Options, name: str, default: int, bounds: tuple[int, int] | None) -> None:
    """Fill in the value of a number option, within `bounds`."""
    given = options.HasField(name)
    if bounds is None:
        _refuse(name, given)
        return
    value = getattr(options, name) if given else default
    if not bounds[0] <= value <= bounds[1]:
        raise IllegalOptions(name, f"{value} is out of range", f"{bounds[0]} to {bounds[1]}")
    setattr(full, name, value)


def _refuse(name: str, given: bool) -> None:
    """An option that does not apply must not be given: ignoring it would deceive."""
    if given:
        raise IllegalOptions(name, "does not apply here", f"only with {_WHERE[name]}")


def _with(has: Callable[[Variant], Any]) -> str:
    """The variants in which an option applies, in words."""
    return "variant " + " or ".join(variant.name for variant in VARIANTS.values() if has(variant))


#: Where an option applies.
_WHERE = {
    "deck": _with(lambda variant: variant.decks),
    "end_mode": _with(lambda variant: variant.end_modes),
    "limit": "end_mode points",
    "compare": "end_mode points",
    "rounds": "end_mode rounds",
    "max_rounds": "end_mode points",
    "first_starter": _with(lambda variant: variant.has_starter),
    "double_pack": _with(lambda variant: variant.double_packs),
    "max_cycles": _with(lambda variant: variant.has_cycles),
}

_NAMES = ", ".join(variant.name for variant in VARIANTS.values())

DOCS = (
    OptionDoc("variant", "Rule set", _NAMES, "base"),
    OptionDoc("deck", "Pack: all 104 cards, or 1 to 10n + 4 for n seats", "full, tactics", "full", _WHERE["deck"]),
    OptionDoc("end_mode", "What ends the match", "points, rounds", "points (hand: rounds)", "all but tournament"),
    OptionDoc("limit", "Points that end the match, looked at after every round", "1 to 1000", "66", "end_mode points"),
    OptionDoc(
        "compare", "A total must be greater than the limit (gt) or reach it (ge)", "gt, ge", "gt", "end_mode points"
    ),
    OptionDoc("rounds", "Number of rounds", "1 to 100", "1", "end_mode rounds"),
    OptionDoc("max_rounds", "Safety stop: the match ends after this round", "1 to 1000", "100", "end_mode points"),
    OptionDoc("first_starter", "The seat that begins", "random, seat_0, seat_1, …", "random", _WHERE["first_starter"]),
    OptionDoc(
        "double_pack",
        "Pack: two packs of 104, or one and a second card of each of 11, 22, …, 99",
        "double, doublets",
        "double",
        _WHERE["double_pack"],
    ),
    OptionDoc("max_cycles", "Safety stop: the round ends after this cycle", "10 to 1000", "100", _WHERE["max_cycles"]),
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
