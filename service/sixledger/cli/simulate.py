"""`sixledger simulate`: many matches of bots, counted."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter, validators
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import unusable
from sixledger.cli.options import OptionList, PresetName, build, find_game, spell_all
from sixledger.cli.seating import Seed, check_players, policy, usual_players
from sixledger.cli.terminal import err, out, write_json
from sixledger.engine.bots import bots_for
from sixledger.engine.simulate import MatchResult, Summary, summarise
from sixledger.engine.simulate import simulate as run_simulation

#: Standard normal quantile of a 95 % interval.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """A share of won matches with its 95 % interval (Wilson), all from 0 to 1."""

    share: float
    low: float
    high: float


def wilson(share: float, matches: int) -> Share:
    """The interval of a share of `matches`; sound for shares near 0 and 1 too."""
    spread = _Z * _Z / matches
    centre = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / matches + spread / (4 * matches))
    return Share(share, max(0.0, centre - half), min(1.0, centre + half))


def simulate(
    game: Annotated[str, Parameter(help="Game, for example nimmt.")],
    /,
    *,
    matches: Annotated[
        int, Parameter(validator=validators.Number(gte=1, lte=100_000_000), help="How many matches.")
    ] = 1000,
    players: Annotated[
        int | None, Parameter(help="Number of seats. Default: one per --policy, at least 4 where the game allows it.")
    ] = None,
    policy_names: Annotated[
        list[str] | None,
        Parameter("--policy", negative="", help="Bot of a seat: heuristic or random. Repeat it; the list goes round."),
    ] = None,
    jobs: Annotated[
        int | None, Parameter(validator=validators.Number(gte=1, lte=1024), help="Processes. Default: one per core.")
    ] = None,
    seed: Seed = None,
    preset: PresetName = None,
    option: OptionList = None,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> None:
    """Play many matches of bots and count: win rates, points, rounds.

    The same seed gives the same numbers, with any number of processes.
    """
    rules = find_game(game)
    names = policy_names or [list(bots_for(rules.id))[-1]]
    seats = players or max(len(names), usual_players(rules))
    check_players(rules, seats)
    if len(names) > seats:
        raise unusable(f"{len(names)} policies for {seats} players; give at most one for each")
    by_seat = [names[seat % len(names)] for seat in range(seats)]
    policies = [policy(rules.id, name) for name in by_seat]
    setup = build(rules, seats, preset, option)
    used_seed = seed if seed is not None else secrets.randbelow(2**32)
    processes = min(jobs or os.cpu_count() or 1, matches)
    results = run_simulation(rules, setup, policies, matches, used_seed, processes)
    started = time.monotonic()
    summary = summarise(_counted(results, matches, err()), by_seat)
    seconds = time.monotonic() - started
    if as_json:
        write_json(_document(rules.id, setup.options, by_seat, used_seed, summary))
        return
    _report(out(), rules.id, by_seat, used_seed, summary, seconds)


def _counted(results: Iterator[MatchResult], total: int, console: Console) -> Iterator[MatchResult]:
    """Pass results on, with a progress bar where a terminal watches."""
    columns = (
        TextColumn("playing"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TextColumn("·"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        for result in results:
            yield result
            progress.advance(task)


class _Rate(ProgressColumn):
    """Matches per second."""

    def render(self, task: Task) -> Text:
        """The rate once there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "–/s", style="number")


def _by_policy(summary: Summary, by_seat: Sequence[str]) -> dict[str, tuple[int, Share]]:
    """Per policy: how many seats it has, and the share of matches that any of them won."""
    return {
        name: (by_seat.count(name), wilson(min(1.0, share), summary.matches))
        for name, share in summary.win_rate_by_policy.items()
    }


def _document(game: str, options: Any, by_seat: Sequence[str], seed: int, summary: Summary) -> dict[str, Any]:
    seats = [
        {"seat": seat, "policy": name, "mean_points": summary.mean_score[seat]}
        | _share_fields(wilson(summary.win_rate[seat], summary.matches))
        for seat, name in enumerate(by_seat)
    ]
    policies = [
        {"policy": name, "seats": count} | _share_fields(share)
        for name, (count, share) in _by_policy(summary, by_seat).items()
    ]
    return {
        "game": game,
        "options": spell_all(options),
        "seed": seed,
        "matches": summary.matches,
        "mean_rounds": summary.mean_epochs,
        "mean_commands": summary.mean_commands,
        "seats": seats,
        "policies": policies,
    }


def _share_fields(share: Share) -> dict[str, float]:
    return {"win_rate": share.share, "win_rate_low": share.low, "win_rate_high": share.high}


def _report(console: Console, game: str, by_seat: Sequence[str], seed: int, summary: Summary, seconds: float) -> None:
    table = Table(box=None, header_style="heading", pad_edge=False)
    for name, right in (("seat", True), ("policy", False), ("wins", True), ("95 % interval", True), ("points", True)):
        table.add_column(name, justify="right" if right else "left")
    for seat, name in enumerate(by_seat):
        share = wilson(summary.win_rate[seat], summary.matches)
        table.add_row(str(seat), name, *_cells(share), f"{summary.mean_score[seat]:.1f}")
    by_policy = _by_policy(summary, by_seat)
    if len(by_policy) > 1:
        table.add_section()
        for name, (count, share) in by_policy.items():
            table.add_row("all", f"{name} ({count} of {len(by_seat)} seats)", *_cells(share), "")
    console.print(table)
    rate = summary.matches / seconds if seconds else 0.0
    console.print(
        f"\n{summary.matches:,} matches of {game}, seed {seed}, at {rate:,.0f} a second\n"
        f"on average {summary.mean_epochs:.1f} rounds and {summary.mean_commands:.0f} commands",
        style="faint",
    )


def _cells(share: Share) -> tuple[str, str]:
    return f"{share.share:.1%}", f"{share.low:.1%} – {share.high:.1%}"
