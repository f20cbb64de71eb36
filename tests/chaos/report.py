"""What a run gives: faults, commands, matches, checks, and how long the service was away at worst."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from chaos import history as told
from chaos.checker import Check
from chaos.history import Event
from chaos.ledgers import Ledger
from chaos.nemesis import Fault


@dataclass
class Part:
    """One store: what was done to it, and what came of it."""

    name: str
    seed: int
    seconds: float
    store: str
    disk: str
    #: By kind: how often, and seconds in all.
    faults: dict[str, tuple[int, float]] = field(default_factory=dict)
    #: Starts of processes, and ends of their own accord.
    starts: int = 0
    crashes: int = 0
    matches: int = 0
    records: int = 0
    #: By outcome, each request once: acknowledged, refused, unknown.
    commands: dict[str, int] = field(default_factory=dict)
    #: Attempts beside: sent again after no answer, and copies to other replicas.
    attempts_without_answer: int = 0
    copies: int = 0
    acts: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    #: Seconds from the first attempt to the confirmation.
    latency: dict[str, float] = field(default_factory=dict)
    #: The longest time in which nothing at all was confirmed to anybody, in seconds.
    longest_silence_s: float = 0.0
    checks: list[Check] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """True if nothing was broken, and something was looked at."""
        return bool(self.checks) and not any(check.broken for check in self.checks) and self.matches > 0


def summarise(
    part: Part, events: Sequence[Event], ledgers: Sequence[Ledger], faults: Sequence[tuple[Fault, float]]
) -> None:
    """Fill in what follows from the histories, the ledgers and the faults."""
    count, lasted = Counter(fault.kind for fault, _ in faults), defaultdict[str, float](float)
    for fault, seconds in faults:
        lasted[fault.kind] += seconds
    part.faults = {kind: (count[kind], round(lasted[kind], 1)) for kind in sorted(count)}
    longest: dict[str, int] = {}
    for ledger in ledgers:
        longest[ledger.match] = max(longest.get(ledger.match, 0), len(ledger.records))
    part.matches, part.records = len(longest), sum(longest.values())
    part.seen = sum(event.what == told.SEEN for event in events)
    part.attempts_without_answer = sum(event.what == told.UNKNOWN for event in events)
    part.copies = sum(event.by.endswith("/copy") for event in events)
    _commands(part, events)
    confirmed = sorted(event.time_ns for event in events if event.what == told.ACKNOWLEDGED)
    gaps = [after - before for before, after in pairwise(confirmed)]
    part.longest_silence_s = round(max(gaps, default=0) / 1e9, 2)


def _commands(part: Part, events: Sequence[Event]) -> None:
    outcome: dict[str, str] = {}
    begun: dict[str, int] = {}
    waited: list[float] = []
    acts: Counter[str] = Counter()
    for event in events:
        if event.what == told.ACKNOWLEDGED and outcome.get(event.request) != told.ACKNOWLEDGED:
            acts[event.act] += 1
        if event.act != "command":
            if event.what == told.ACKNOWLEDGED:
                outcome[event.request] = told.ACKNOWLEDGED
            continue
        if event.what == told.INVOKED:
            begun[event.request] = event.time_ns
            outcome.setdefault(event.request, told.UNKNOWN)
        elif event.what == told.ACKNOWLEDGED:
            if outcome.get(event.request) != told.ACKNOWLEDGED:
                waited.append((event.time_ns - begun[event.request]) / 1e9)
            outcome[event.request] = told.ACKNOWLEDGED
        elif event.what == told.REFUSED and outcome.get(event.request) != told.ACKNOWLEDGED:
            outcome[event.request] = told.REFUSED
    part.commands = dict(Counter(outcome[request] for request in begun))
    part.acts = dict(acts)
    waited.sort()
    if waited:
        part.latency = {
            name: round(waited[min(int(share * len(waited)), len(waited) - 1)], 3)
            for name, share in (("median", 0.5), ("p99", 0.99), ("worst", 1.0))
        }


def as_json(parts: Sequence[Part]) -> dict[str, Any]:
    """All of it."""
    return {"good": all(part.good for part in parts), "parts": [asdict(part) for part in parts]}


def markdown(parts: Sequence[Part]) -> str:
    """For people."""
    lines: list[str] = []
    for part in parts:
        lines += [f"### {part.name}", ""]
        lines += [
            f"Seed {part.seed}, {part.seconds:.0f} seconds of faults, {part.store}; "
            f"full disks by {part.disk}. {part.starts} starts of servers, {part.crashes} ends of their own accord.",
            "",
            "| Fault | times | seconds in all |",
            "|---|---:|---:|",
        ]
        lines += [f"| {kind} | {times} | {seconds} |" for kind, (times, seconds) in part.faults.items()]
        commands = part.commands
        lines += [
            "",
            "| Commands | |",
            "|---|---:|",
            f"| acknowledged | {commands.get(told.ACKNOWLEDGED, 0)} |",
            f"| refused, the match had gone on | {commands.get(told.REFUSED, 0)} |",
            f"| given up without an answer | {commands.get(told.UNKNOWN, 0)} |",
            f"| attempts without an answer | {part.attempts_without_answer} |",
            f"| blind copies to any replica | {part.copies} |",
            f"| seconds to the confirmation: median, p99, worst | "
            f"{', '.join(str(part.latency.get(name, '–')) for name in ('median', 'p99', 'worst'))} |",
            f"| longest time without any confirmation to anybody | {part.longest_silence_s} s |",
            "",
            f"{part.matches} matches, {part.records} records, {part.seen} records shown to players and watchers.",
            "",
            "| Check | looked at | broken |",
            "|---|---:|---:|",
        ]
        lines += [f"| {check.name} | {check.looked_at} | {check.broken} |" for check in part.checks]
        lines.append("")
        for each in part.checks:
            lines += [f"* {each.name}: {violation}" for violation in each.violations]
    return "\n".join(lines).rstrip() + "\n"


def write(parts: Sequence[Part], folder: Path) -> None:
    """`report.json` and `report.md`."""
    (folder / "report.json").write_text(json.dumps(as_json(parts), indent=2) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(markdown(parts), encoding="utf-8")
