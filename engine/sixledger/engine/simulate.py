"""Whole matches between policies: one at a time, or many on several processes.

The result of a match depends on the game, the setup, the policies and its seed alone, so a simulation
gives the same results with any number of processes.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any

from sixledger.engine.bots import Policy
from sixledger.engine.chance import Chance
from sixledger.engine.game import Game, Outcome, Setup, run

#: Commands after which a match is given up as endless: far above what any game needs.
MAX_COMMANDS = 1_000_000

#: Matches that a process plays before it reports.
_CHUNK = 8


class EndlessMatch(RuntimeError):
    """A match has not ended after `MAX_COMMANDS` commands."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """How one match went. `number` is its place in the simulation, `epochs` the rounds, deals … played."""

    number: int
    outcome: Outcome
    commands: int
    epochs: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Many results together. Lists are by seat; a match won by k seats counts 1/k for each."""

    matches: int
    #: Share of the matches won by each seat, 0 to 1.
    win_rate: tuple[float, ...]
    #: Share of the matches won by each policy, all of its seats together.
    win_rate_by_policy: Mapping[str, float]
    mean_score: tuple[float, ...]
    mean_epochs: float
    mean_commands: float


def play(game: Game[Any], setup: Setup, policies: Sequence[Policy], seed: int, number: int = 0) -> MatchResult:
    """Play match `number` of the simulation `seed` to its end; `policies` has one for each seat.

    Where several seats may act, the lowest acts first; the rules make that order irrelevant.
    """
    if len(policies) != setup.seats:
        raise ValueError(f"{setup.seats} seats need as many policies, not {len(policies)}")
    chance = Chance.from_key(_material(seed, number, "chance"))
    randoms = [Random(_material(seed, number, f"seat/{seat}")) for seat in range(setup.seats)]  # noqa: S311  # play, not secrets
    state = game.blank()
    run(game, state, game.start(state, setup, chance))
    for commands in range(MAX_COMMANDS):
        outcome = game.outcome(state)
        if outcome is not None:
            return MatchResult(number, outcome, commands, game.epoch(state))
        seat = game.decision(state).seats[0]
        command = policies[seat](game.view(state, seat), randoms[seat])
        run(game, state, game.play(state, seat, command, chance))
    raise EndlessMatch(f"{game.id} has not ended after {MAX_COMMANDS} commands")


def simulate(
    game: Game[Any], setup: Setup, policies: Sequence[Policy], matches: int, seed: int, jobs: int = 1
) -> Iterator[MatchResult]:
    """Play `matches` matches and yield their results in order, each as soon as it is known.

    `policies` has one for each seat. With `jobs` above 1 that many processes share the work; game and
    policies must then be picklable, as functions and games of an importable module are. Closing the
    iterator, or an exception such as KeyboardInterrupt, cancels what has not begun.
    """
    if len(policies) != setup.seats:
        raise ValueError(f"{setup.seats} seats need as many policies, not {len(policies)}")
    if matches < 0 or jobs < 1:
        raise ValueError("matches must not be negative and jobs at least 1")
    if jobs == 1:
        return (play(game, setup, policies, seed, number) for number in range(matches))
    return _share(game, setup, policies, matches, seed, jobs)


def summarise(results: Iterable[MatchResult], names: Sequence[str]) -> Summary:
    """Win rates and means; `names` names the policy of each seat. Raises ValueError if there is no result."""
    seats = len(names)
    matches = commands = epochs = 0
    wins, scores = [0.0] * seats, [0] * seats
    for result in results:
        matches += 1
        commands += result.commands
        epochs += result.epochs
        for seat in result.outcome.winners:
            wins[seat] += 1 / len(result.outcome.winners)
        for seat, score in enumerate(result.outcome.scores):
            scores[seat] += score
    if not matches:
        raise ValueError("no match was played")
    by_policy = dict.fromkeys(names, 0.0)
    for seat, name in enumerate(names):
        by_policy[name] += wins[seat] / matches
    return Summary(
        matches=matches,
        win_rate=tuple(won / matches for won in wins),
        win_rate_by_policy=by_policy,
        mean_score=tuple(score / matches for score in scores),
        mean_epochs=epochs / matches,
        mean_commands=commands / matches,
    )


def _material(seed: int, number: int, use: str) -> bytes:
    """32 bytes for one use in one match."""
    return hashlib.sha256(f"sixledger/simulation/1\n{seed}\n{number}\n{use}".encode()).digest()


def _share(
    game: Game[Any], setup: Setup, policies: Sequence[Policy], matches: int, seed: int, jobs: int
) -> Iterator[MatchResult]:
    """Hand out chunks of matches to processes, a few ahead of what the caller has taken."""
    chunks = (range(at, min(at + _CHUNK, matches)) for at in range(0, matches, _CHUNK))
    # Started afresh rather than forked: a fork would copy the threads' locks of whoever embeds this.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _ignore_interrupts)
    try:
        waiting: deque[Future[list[MatchResult]]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(_play_chunk, game, setup, policies, seed, chunk))
            if len(waiting) >= 4 * jobs:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; only the one that hands out the work acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _play_chunk(
    game: Game[Any], setup: Setup, policies: Sequence[Policy], seed: int, numbers: range
) -> list[MatchResult]:
    """Play some matches in another process."""
    return [play(game, setup, policies, seed, number) for number in numbers]
