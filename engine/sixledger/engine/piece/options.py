"""The options of a match: defaults, bounds and what applies where (RULES 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import OptionDoc, Preset, Setup
from sixledger.engine.piece.cards import HIGHEST_BEAST, LOWEST_BEAST
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.piece.v1 import piece_pb2 as pb

SEATS = 2
_FEWEST_TURNS, _MOST_TURNS = 2, 2000
_TURNS = f"even, {_FEWEST_TURNS} to {_MOST_TURNS}"
_FIRST_PLAYERS = {
    pb.FIRST_PLAYER_RANDOM: "random",
    pb.FIRST_PLAYER_SEAT_0: "seat_0",
    pb.FIRST_PLAYER_SEAT_1: "seat_1",
}
_TIME_MODES = {pb.TIME_MODE_NONE: "none", pb.TIME_MODE_TURNS: "turns", pb.TIME_MODE_CLOCK: "clock"}


def complete(seats: int, options: Any) -> Setup:
    """A setup with every option that applies filled in; see `Game.complete`."""
    if not isinstance(options, pb.Options):
        raise IllegalOptions("options", "are of another game", f"a message {pb.Options.DESCRIPTOR.full_name}")
    if has_unknown_fields(options):
        known = ", ".join(field.name for field in pb.Options.DESCRIPTOR.fields)
        raise IllegalOptions("options", "have a field that this build does not know", known)
    if seats != SEATS:
        raise IllegalOptions("players", f"6piece is not played by {seats}", f"{SEATS}")
    full = pb.Options(
        first_player=_choice(options, "first_player", _FIRST_PLAYERS),
        discard=options.discard,
        time_mode=_choice(options, "time_mode", _TIME_MODES),
    )
    _beasts(options, full)
    if full.time_mode == pb.TIME_MODE_TURNS:
        _refuse(options, "max_turns", "time_mode none or clock")
        if not options.HasField("turn_limit"):
            raise IllegalOptions("turn_limit", "is required by time_mode turns", _TURNS)
        full.turn_limit = _turns(options, "turn_limit")
    else:
        _refuse(options, "turn_limit", "time_mode turns")
        full.max_turns = _turns(options, "max_turns") if options.HasField("max_turns") else 200
    return Setup(seats, full)


def last_turn(options: pb.Options) -> int:
    """The turn after which the match ends in any case. `options` are complete."""
    return options.turn_limit if options.time_mode == pb.TIME_MODE_TURNS else options.max_turns


def first_player(options: pb.Options) -> int | None:
    """The seat that the options give the first turn; None: it is drawn. `options` are complete."""
    chosen = options.first_player - pb.FIRST_PLAYER_SEAT_0
    return chosen if chosen >= 0 else None


def _choice(options: pb.Options, name: str, words: Mapping[Any, str]) -> Any:
    """The value of an enum option; not given, or given as 0, is the first of `words`."""
    value = getattr(options, name) or next(iter(words))
    if value not in words:
        raise IllegalOptions(name, f"{int(value)} is not a choice", ", ".join(words.values()))
    return value


def _beasts(options: pb.Options, full: pb.Options) -> None:
    """Take the Beasts, if there are any: either both decks have one or none."""
    if not options.beasts:
        _refuse(options, "beast_13_value", "beasts")
        return
    allowed = f"one for each of the {SEATS} seats, each {LOWEST_BEAST} to {HIGHEST_BEAST}, or none"
    if len(options.beasts) != SEATS:
        raise IllegalOptions("beasts", f"there are {len(options.beasts)}", allowed)
    for beast in options.beasts:
        if not LOWEST_BEAST <= beast <= HIGHEST_BEAST:
            raise IllegalOptions("beasts", f"{beast} is no Beast", allowed)
    full.beasts.extend(options.beasts)
    full.beast_13_value = options.beast_13_value if options.HasField("beast_13_value") else 1
    if full.beast_13_value not in (1, 2):
        raise IllegalOptions("beast_13_value", f"{options.beast_13_value} is not a choice", "1, 2")


def _turns(options: pb.Options, name: str) -> int:
    """A number of turns; even, so that both seats have the same number."""
    turns: int = getattr(options, name)
    if turns % 2 or not _FEWEST_TURNS <= turns <= _MOST_TURNS:
        raise IllegalOptions(name, f"{turns} is odd or out of range", _TURNS)
    return turns


def _refuse(options: pb.Options, name: str, where: str) -> None:
    """An option that does not apply must not be given: ignoring it would deceive."""
    if options.HasField(name):  # type: ignore[arg-type]  # the stub wants the names as literals
        raise IllegalOptions(name, "does not apply here", f"only with {where}")


DOCS = (
    OptionDoc("beasts", "A seventh card for each deck: the Beasts of seat 0 and seat 1", "[7 to 18, 7 to 18]", "none"),
    OptionDoc("beast_13_value", "Rolled value of the Beast 13", "1, 2", "1", "beasts"),
    OptionDoc("first_player", "Who takes the first turn", "random, seat_0, seat_1", "random"),
    OptionDoc("discard", "A random card of each taken stack leaves the game", "true, false", "false"),
    OptionDoc(
        "time_mode", "Limit of time: none, a number of turns, or a clock at the table", "none, turns, clock", "none"
    ),
    OptionDoc("turn_limit", "The match ends after this turn", _TURNS, "required", "turns"),
    OptionDoc("max_turns", "Safety stop: the match ends after this turn at the latest", _TURNS, "200", "none, clock"),
)

PRESETS: Mapping[str, Preset] = {
    "default": Preset("The rule book without its variants", pb.Options(discard=False, time_mode=pb.TIME_MODE_NONE)),
}
