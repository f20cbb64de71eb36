"""What is soaked: every setup of every game, and the bounds that RULES gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import Game, Setup
from sixledger.engine.registry import installed
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from support.matches import setups


@dataclass(frozen=True, slots=True)
class Case:
    """One setup that is soaked."""

    game: Game[Any]
    name: str
    setup: Setup

    @property
    def kind(self) -> str:
        """The game, with the variant if it has any: what the results are listed by."""
        options = self.setup.options
        if self.game.id != "nimmt":
            return self.game.id
        return f"nimmt {nimmt_pb2.Variant.Name(options.variant).removeprefix('VARIANT_').lower()}"


def cases() -> list[Case]:
    """Every preset and extreme of every game, and every variant with every number of seats."""
    return [
        Case(game, name, setup)
        for game in installed().all()
        for name, setup in {**setups(game), **dict(_by_seats(game))}.items()
    ]


def plan(matches: int, seed: int) -> Iterator[tuple[int, Case]]:
    """The number and the case of each match: every case comes before any comes again."""
    all_cases = cases()
    Random(seed).shuffle(all_cases)
    return ((number, all_cases[number % len(all_cases)]) for number in range(matches))


def case_of(number: int, seed: int) -> Case:
    """The case of one match of a plan."""
    *_, (_, case) = plan(number % len(cases()) + 1, seed)
    return case


def _by_seats(game: Game[Any]) -> Iterator[tuple[str, Setup]]:
    variants: list[Any] = [game.schema.options.kind()]
    if game.id == "nimmt":
        variants = [nimmt_pb2.Options(variant=number) for number in nimmt_pb2.Variant.values() if number]
    for options in variants:
        for seats in range(game.min_seats, game.max_seats + 1):
            try:
                setup = game.complete(seats, options)
            except IllegalOptions:
                continue  # the variant is not played by so many
            yield f"variant-{getattr(options, 'variant', 0)}-{seats}", setup


# -- bounds --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a match may need at most."""

    #: The largest set of legal commands, rounds (deals, turns of 6piece), commands, and events.
    choices: int
    rounds: int
    commands: int
    events: int
    #: True if a match that nobody leaves has exactly so many commands and events.
    exact: bool = False


def bounds(case: Case) -> Bounds | None:
    """The bounds of a case; None for a game that RULES does not know."""
    known = _BOUNDS.get(case.game.id)
    return known(case.setup) if known is not None else None


def _forces(setup: Setup) -> Bounds:
    """RULES 1.7."""
    n, deals = setup.seats, setup.options.deals
    random_starter = setup.options.first_starter == forces_pb2.FIRST_STARTER_RANDOM
    return Bounds(31, deals, 14 * n * deals, (4 + 3 * n + 12 * (n + 2)) * deals + 2 + random_starter, exact=True)


def _piece(setup: Setup) -> Bounds:
    """RULES 3.10."""
    options = setup.options
    turns = options.turn_limit if options.time_mode == piece_pb2.TIME_MODE_TURNS else options.max_turns
    # Before the first turn: the match, the first player, the decks; at the end: time, the last chance, the result.
    return Bounds(9 if options.beasts else 6, turns, 3 * turns + 1, 14 * turns + 10)


def _nimmt(setup: Setup) -> Bounds:
    """RULES 2.4.6 and 2.15."""
    n, options = setup.seats, setup.options
    variant, hand = options.variant, options.variant == nimmt_pb2.VARIANT_HAND
    nifty = variant == nimmt_pb2.VARIANT_NIFTY
    drafts = variant in (nimmt_pb2.VARIANT_LOGIC, nimmt_pb2.VARIANT_TOURNAMENT)
    if variant == nimmt_pb2.VARIANT_TOURNAMENT:
        rounds = n
    elif options.end_mode == nimmt_pb2.END_MODE_ROUNDS:
        rounds = options.rounds
    elif hand or variant == nimmt_pb2.VARIANT_DOUBLE:
        rounds = options.max_rounds  # kept cards, and twins that lie on each other, break the other bound
    else:
        collected = (14 if nifty else 10) * n - 16
        rounds = min(options.max_rounds, n * options.limit // collected + 1)
    per_round = 10 * n + 10
    if drafts or variant == nimmt_pb2.VARIANT_PROFESSIONAL:
        per_round = 20 * n + 10
    elif nifty:
        per_round = 28 * n
    elif hand:
        per_round = 5 * n * options.max_cycles
    choices = 91 if nifty else 256 if hand else 10 * n + 4 if drafts else 10
    # A command causes at most its own event and, with the last of a turn, those of the placing and of a new round.
    return Bounds(choices, rounds, per_round * rounds, (per_round * 6 + 20 * n + 20) * rounds + 10)


_BOUNDS: Mapping[str, Callable[[Setup], Bounds]] = {"forces": _forces, "nimmt": _nimmt, "piece": _piece}
