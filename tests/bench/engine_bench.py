"""What the engine costs: a step beside a bare implementation, views, legal commands, bots, processes.

A step is one decision: the legal commands of the seat on turn, then its command with every event it causes.
Engine and baseline take the same decisions in the same matches and get packs that are already shuffled, so
that chance, for which both would pay alike, does not thin out the difference; a second figure includes it.
"""

from __future__ import annotations

import hmac
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from bench.bare_nimmt import BareMatch
from bench.measure import Comparison, Figure, Report, Spread, all_of, by_turns
from sixledger.engine.bots import Policy, bot
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.game import Setup
from sixledger.engine.nimmt import GAME
from sixledger.engine.simulate import simulate
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

SEATS = 5


class Packs(Chance):
    """Chance as in a match, and its packs for the baseline."""

    __slots__ = ()

    def __init__(self, seed: int) -> None:
        key = seed.to_bytes(32, "big")
        super().__init__(lambda epoch: hmac.digest(key, epoch.to_bytes(4, "big"), "sha256"))

    def pack(self, number: int) -> list[int]:
        """The shuffled pack of a round, from 1."""
        return self.stream(number, "pack").shuffle(range(1, 105))


class ShuffledPacks(Packs):
    """The same packs, shuffled beforehand."""

    __slots__ = ("_packs",)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        drawn = Packs(seed)
        self._packs = [drawn.pack(number) for number in range(1, 31)]

    def stream(self, epoch: int, label: str) -> Stream:
        return _Known(self._packs[epoch - 1])


class _Known(Stream):
    """A stream whose shuffle gives one known order."""

    __slots__ = ("_order",)

    def __init__(self, order: list[int]) -> None:
        self._order = order

    def shuffle(self, items: Sequence[Any]) -> list[Any]:
        return self._order


@dataclass(frozen=True, slots=True)
class Script:
    """A whole match as decisions: who chooses, and which of the legal commands."""

    setup: Setup
    chance: Packs
    decisions: list[tuple[int, int]]
    totals: list[int]
    winners: list[int]


def script(seed: int, seats: int = SEATS, chance: Packs | None = None) -> Script:
    """A random match, played by the engine, with its packs shuffled beforehand."""
    setup = GAME.complete(seats, pb.Options())
    chance, random = chance or ShuffledPacks(seed), Random(seed)
    state = GAME.blank()
    decisions = []
    for event in GAME.start(state, setup, chance):
        GAME.evolve(state, event)
    while seats_on_turn := GAME.decision(state).seats:
        seat = random.choice(seats_on_turn)
        commands = GAME.legal(state, seat)
        index = random.randrange(len(commands))
        decisions.append((seat, index))
        for event in GAME.play(state, seat, commands[index], chance):
            GAME.evolve(state, event)
    outcome = GAME.outcome(state)
    assert outcome is not None
    return Script(setup, chance, decisions, list(outcome.scores), list(outcome.winners))


def drawn_script(seed: int, seats: int = SEATS) -> Script:
    """The same match, whose packs are shuffled as they are dealt."""
    return script(seed, seats, Packs(seed))


def play_engine(match: Script) -> Any:
    """The match on the engine; gives the final state."""
    legal, play, evolve, chance = GAME.legal, GAME.play, GAME.evolve, match.chance
    state = GAME.blank()
    for event in GAME.start(state, match.setup, chance):
        evolve(state, event)
    for seat, index in match.decisions:
        command = legal(state, seat)[index]
        for event in play(state, seat, command, chance):
            evolve(state, event)
    return state


def play_bare(match: Script) -> BareMatch:
    """The match on the bare implementation."""
    bare = BareMatch(match.setup.seats, match.chance.pack)
    legal, play = bare.legal, bare.play
    for seat, index in match.decisions:
        play(seat, legal(seat)[index])
    return bare


def run(matches: int = 40, rounds: int = 7, simulated: int = 300) -> Report:
    """Measure with so many matches for the steps and for the simulation, in so many rounds."""
    scripts = [script(seed) for seed in range(matches)]
    steps = sum(len(each.decisions) for each in scripts)
    rules = by_turns(rounds, all_of(play_engine, scripts), all_of(play_bare, scripts))
    drawn = [drawn_script(seed) for seed in range(matches)]
    drawn_steps = sum(len(each.decisions) for each in drawn)
    whole = by_turns(rounds, all_of(play_engine, drawn), all_of(play_bare, drawn))
    comparisons = [
        Comparison.of("engine step: legal, play, evolve", "bare step, no events", "µs", _per(steps, rules), reach=6),
        Comparison.of("the same with its share of shuffling", "likewise", "µs", _per(drawn_steps, whole)),
    ]
    processes, bots = _simulations(simulated, max(rounds // 2, 1))
    return Report([*comparisons, *processes], [*_reading(scripts[0], rounds), *bots])


def _per(steps: int, rounds: list[list[float]]) -> list[tuple[float, float]]:
    """(measured, baseline) in µs a step, of each round."""
    return [(measured / steps * 1e6, base / steps * 1e6) for measured, base in rounds]


def _reading(match: Script, rounds: int) -> list[Figure]:
    """View and legal commands in the middle of a round, and the shuffle of a pack."""
    state = GAME.blank()
    for event in GAME.start(state, match.setup, match.chance):
        GAME.evolve(state, event)
    for seat, index in match.decisions[: 5 * SEATS]:
        command = GAME.legal(state, seat)[index]
        for event in GAME.play(state, seat, command, match.chance):
            GAME.evolve(state, event)
    seat = GAME.decision(state).seats[0]
    chance, times = Chance.from_key(bytes(32)), 1000
    works: dict[str, Callable[[], object]] = {
        "view of a seat": lambda: GAME.view(state, seat),
        "legal commands of a seat": lambda: GAME.legal(state, seat),
        "copy of the state": lambda: GAME.copy(state),
        "shuffle of 104 cards": lambda: chance.stream(1, "pack").shuffle(range(1, 105)),
    }
    spent = by_turns(rounds, *(_times(work, times) for work in works.values()))
    return [
        Figure(name, "µs", Spread.of([seconds[at] / times * 1e6 for seconds in spent])) for at, name in enumerate(works)
    ]


def _times(work: Callable[[], object], times: int) -> Callable[[], None]:
    def works() -> None:
        for _ in range(times):
            work()

    return works


def _simulations(matches: int, rounds: int) -> tuple[list[Comparison], list[Figure]]:
    """Bots by one process and by two, in wall time: that is what a second process is for.

    Wall time is only as good as the second core. What sharing itself costs is the CPU time a match, of all processes
    together: as long as that does not grow, two idle cores do twice the work.
    """
    setup = GAME.complete(SEATS, pb.Options())

    def rate(policy: Policy, count: int, jobs: int) -> float:
        results = simulate(GAME, setup, [policy] * SEATS, count, seed=1, jobs=jobs)
        for _ in islice(results, count // 5):
            pass  # now every process has started
        begun = time.perf_counter()
        played = sum(1 for _ in results)
        return played / (time.perf_counter() - begun)

    def cpu(count: int, jobs: int) -> float:
        """CPU seconds of all processes."""
        before = os.times()
        for _ in simulate(GAME, setup, [bot("nimmt", "random")] * SEATS, count, seed=1, jobs=jobs):
            pass
        return sum(os.times()[:4]) - sum(before[:4])

    def cpu_per_match(jobs: int) -> float:
        """CPU µs a match, without what it takes to start the processes."""
        few = max(matches // 5, 2)
        return (cpu(matches, jobs) - cpu(few, jobs)) / (matches - few) * 1e6

    work = [(cpu_per_match(2), cpu_per_match(1)) for _ in range(rounds)]
    # At the end one process waits for the other's last matches: the more there are, the less that tells.
    many = 3 * matches
    pairs = [(rate(bot("nimmt", "random"), many, 2), rate(bot("nimmt", "random"), many, 1)) for _ in range(rounds)]
    one = Spread.of([single for _, single in pairs])
    smart = Spread.of([rate(bot("nimmt", "heuristic"), max(matches // 20, 5), 1) for _ in range(rounds)])
    return (
        [
            Comparison.of("simulation, 2 processes", "1 process", "matches/s", pairs, reach=1.8, low_is_good=False),
            Comparison.of("simulation, CPU time a match, 2 processes", "1 process", "µs", work, reach=2 / 1.8),
        ],
        [Figure("random bots, 5 seats", "matches/s", one), Figure("heuristic bots, 5 seats", "matches/s", smart)],
    )


if __name__ == "__main__":
    sys.stdout.write(run().text() + "\n")
