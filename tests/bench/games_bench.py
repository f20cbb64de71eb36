"""What every game and variant costs beside base 6 nimmt!: random bots, CPU time an event, matches a second.

A match is played as a simulation plays it: the view of the seat on turn, a random one of its legal commands, and
every event the command causes. The rules of other variants do more for an event than those of the base game, and
some show more in a view: per event, none may cost three times as much.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.measure import Comparison, Figure, Report, Spread, by_turns
from sixledger.engine.bots import random_policy
from sixledger.engine.chance import Chance
from sixledger.engine.forces import GAME as FORCES
from sixledger.engine.game import Game, Setup, run
from sixledger.engine.nimmt import GAME as NIMMT
from sixledger.engine.piece import GAME as PIECE
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb
from sixledger.games.piece.v1 import piece_pb2

#: An event may cost so many times what one of the base game costs.
REACH = 3.0
#: The largest sets of legal commands may take so many µs.
LARGEST_US = 100.0
SEATS = 4


@dataclass(frozen=True, slots=True)
class Matches:
    """Some random matches of one setup, always the same ones."""

    game: Game[Any]
    setup: Setup
    count: int

    def play(self) -> int:
        """Play them; the number of their events."""
        return sum(play(self.game, self.setup, seed) for seed in range(self.count))


def play(game: Game[Any], setup: Setup, seed: int) -> int:
    """Play one match with random bots; the number of its events."""
    chance, random = Chance.from_key(seed.to_bytes(32, "big")), Random(seed)
    state = game.blank()
    events = len(run(game, state, game.start(state, setup, chance)))
    while seats := game.decision(state).seats:
        seat = seats[0]
        command = random_policy(game.view(state, seat), random)
        events += len(run(game, state, game.play(state, seat, command, chance)))
    return events


def setups() -> Iterator[tuple[str, Game[Any], Setup]]:
    """Every game and variant but the base game: its name, and four seats or what there is."""
    for number in pb.Variant.values():
        if number > pb.VARIANT_BASE:
            name = pb.Variant.Name(number).removeprefix("VARIANT_").lower()
            yield f"6 nimmt! {name}", NIMMT, NIMMT.complete(SEATS, pb.Options(variant=number))
    doublets = pb.Options(variant=pb.VARIANT_DOUBLE, double_pack=pb.DOUBLE_PACK_DOUBLETS)
    yield "6 nimmt! double, doublets", NIMMT, NIMMT.complete(SEATS, doublets)
    yield "6 Forces", FORCES, FORCES.complete(SEATS, FORCES.schema.options.kind())
    yield "6piece", PIECE, PIECE.complete(2, piece_pb2.Options())
    beasts = piece_pb2.Options(beasts=[9, 14], discard=True)
    yield "6piece, Beasts and discards", PIECE, PIECE.complete(2, beasts)


def run_all(matches: int = 12, rounds: int = 5, times: int = 200) -> Report:
    """Measure with so many matches of each setup in so many rounds; `times` calls for the largest sets."""
    named = {name: Matches(game, setup, matches) for name, game, setup in setups()}
    base = Matches(NIMMT, NIMMT.complete(SEATS, pb.Options()), matches)
    events = {name: each.play() for name, each in named.items()}
    base_events = base.play()
    comparisons, figures = [], []
    for name, each in named.items():
        spent = by_turns(rounds, each.play, base.play)
        pairs = [(own / events[name] * 1e6, other / base_events * 1e6) for own, other in spent]
        comparisons.append(Comparison.of(f"event of {name}", "event of 6 nimmt!", "µs", pairs, reach=REACH))
        rates = [matches / own for own, _ in spent]
        figures.append(Figure(f"{name}, {each.setup.seats} seats", "matches/s", Spread.of(rates)))
    bases = Spread.of([matches / seconds for (seconds,) in by_turns(rounds, base.play)])
    figures.insert(0, Figure(f"6 nimmt!, {SEATS} seats", "matches/s", bases))
    return Report([*comparisons, *_largest(rounds, times)], figures)


# -- the largest sets of legal commands ----------------------------------------------------------


def nifty_state() -> tuple[Any, int]:
    """The first selection of Nifty: 91 pairs."""
    setup = NIMMT.complete(2, pb.Options(variant=pb.VARIANT_NIFTY))
    state = NIMMT.blank()
    run(NIMMT, state, NIMMT.start(state, setup, Chance.from_key(bytes(32))))
    return state, 0


def hand_state() -> tuple[Any, int]:
    """A hand of sixteen cards in Hand: 256 plays. Whoever keeps what may be kept gets there."""
    setup = NIMMT.complete(2, pb.Options(variant=pb.VARIANT_HAND, max_cycles=1000))
    for seed in range(1000):
        chance, random = Chance.from_key(seed.to_bytes(32, "big")), Random(seed)
        state = NIMMT.blank()
        run(NIMMT, state, NIMMT.start(state, setup, chance))
        while seats := NIMMT.decision(state).seats:
            legal = NIMMT.legal(state, seats[0])
            if len(legal) == 16 + 16 * 15:
                return state, seats[0]
            keeps = [each for each in legal if isinstance(each, pb.KeepCards)]
            singles = [each for each in legal if not isinstance(each, pb.PlayCards) or len(each.cards) == 1]
            command = max(keeps, key=lambda each: len(each.cards)) if keeps else random.choice(singles)
            run(NIMMT, state, NIMMT.play(state, seats[0], command, chance))
    raise LookupError("no hand grew to sixteen cards")


LARGEST: Mapping[str, tuple[Callable[[], tuple[Any, int]], int]] = {
    "legal commands of Hand, 256": (hand_state, 256),
    "legal commands of Nifty, 91": (nifty_state, 91),
}


def _largest(rounds: int, times: int) -> Iterator[Comparison]:
    for name, (make, size) in LARGEST.items():
        state, seat = make()
        assert len(NIMMT.legal(state, seat)) == size

        def ask(state: Any = state, seat: int = seat) -> None:
            for _ in range(times):
                NIMMT.legal(state, seat)

        pairs = [(seconds / times * 1e6, LARGEST_US) for (seconds,) in by_turns(rounds, ask)]
        yield Comparison.of(name, "what they may take", "µs", pairs, reach=1)


if __name__ == "__main__":
    sys.stdout.write(run_all().text() + "\n")
