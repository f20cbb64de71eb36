"""What is to be measured: the scenarios there are, and the plan of one, as the load gets it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from sixledger.cli.bench.schedule import Arrivals

#: `saturate`: find out what the server takes at most; `half`: then send half of it; `rate`: send that many.
Mode = Literal["half", "rate", "saturate"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A scenario, and how it runs unless told otherwise."""

    name: str
    #: One line for people.
    what: str
    #: What one request is.
    unit: str
    #: The modes it knows, its default first; none: it has its own course.
    modes: tuple[Mode, ...] = ()
    #: Requests a second with mode `rate`, in full and quick.
    rate: float = 0.0
    quick_rate: float = 0.0
    #: Watchers, idle matches, or whatever it counts, in full and quick.
    count: int = 0
    quick_count: int = 0
    #: Matches that a server of its own keeps in memory.
    cached_matches: int = 8192


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("unary", "commands, a call each", "command", ("half", "rate", "saturate"), 1000, 100),
        Kind("play", "commands on play streams", "command", ("half", "rate", "saturate"), 1000, 100),
        Kind("shared", "commands on play streams, several matches on each", "command", ("half", "rate", "saturate"),
             1000, 100, 25, 5),
        Kind("watchers", "one match, many watchers", "delivery", ("rate",), 5, 10, 1000, 20),
        Kind("idle", "commands beside idle matches with a stream each", "command", ("rate",), 200, 50, 2000, 20),
        Kind("reconnect-storm", "all watchers lose their connections at once", "reconnect", (), 0, 0, 500, 20),
        Kind("cold", "commands to matches that are in no cache", "command", ("half", "rate", "saturate"), 500, 50,
             1000, 40, 32),
        Kind("churn", "matches opened, played and ended", "match", ("rate", "half", "saturate"), 20, 5),
        Kind("growth", "the cost of a match as stored matches grow", "match", (), 0, 0, 10_000, 60),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """One scenario against one server."""

    scenario: str
    address: str
    mode: Mode = "rate"
    #: Requests a second, with mode `rate`.
    rate: float = 0.0
    #: Length of a window in seconds, and of the warm-up before it, in which nothing counts.
    seconds: float = 10.0
    warmup_s: float = 2.0
    #: Windows of each side.
    rounds: int = 3
    #: Requests in flight at most.
    concurrency: int = 64
    #: Watchers, idle matches, stored matches, matches on a stream.
    count: int = 0
    #: Stored matches at which growth is measured, ascending.
    sizes: list[int] = field(default_factory=list)
    seed: int = 0
    arrivals: Arrivals = "poisson"
    #: Processes whose time is measured, where they are known.
    server_pid: int | None = None
    database_pid: int | None = None
    #: Does the server offer the echo?
    echo: bool = True
    #: How to encrypt: `system`, or a PEM file; None: not at all.
    tls: str | None = None
    #: Show the API key of the environment? A server of its own knows none.
    shows_key: bool = False

    @property
    def api_key(self) -> str:
        """The API key for every call; empty: none. It is no field, as plans are passed on as text."""
        return os.environ.get("SIXLEDGER_API_KEY", "") if self.shows_key else ""

    @property
    def kind(self) -> Kind:
        """The scenario."""
        return KINDS[self.scenario]

    @property
    def limit_s(self) -> float:
        """Seconds after which the load is ended, whatever it does."""
        window = self.seconds + self.warmup_s + 40
        prepared = self.count + self.concurrency + self.rate * (self.seconds + self.warmup_s) / 20
        return 120 + 6 * self.rounds * max(len(self.sizes), 1) * window + prepared * 0.05
