"""What came of the games: one at a time and together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from sixledger.engine.game import Outcome


@dataclass(slots=True)
class Played:
    """One game: a seat of a match from joining to its end."""

    match_id: bytes
    seat: int
    #: How it ended for the bot: `ended`, `aborted` (before the start, or without a winner), `crashed` or `interrupted`.
    how: str = "ended"
    outcome: Outcome | None = None
    decisions: int = 0
    #: Seconds in the policy, together and the longest decision.
    thinking_s: float = 0.0
    longest_s: float = 0.0
    #: What the policy did wrong, and what was done about it.
    crash: str = ""
    measure: str = ""

    @property
    def won(self) -> bool:
        """True if the seat has won, alone or with others."""
        return self.outcome is not None and self.seat in self.outcome.winners

    @property
    def rank(self) -> int | None:
        """The rank of the seat, from 1; None without a result."""
        ranked = self.outcome is not None and bool(self.outcome.ranking)
        return self.outcome.ranking[self.seat] if ranked and self.outcome is not None else None

    @property
    def score(self) -> int | None:
        """The score of the seat; None without a result."""
        return self.outcome.scores[self.seat] if self.outcome is not None and self.outcome.scores else None

    def line(self) -> Text:
        """The game in one line."""
        text = Text.assemble((self.match_id.hex()[:12], "faint"), f"  seat {self.seat}  ")
        if self.crash:
            return text.append(f"crashed, {self.measure}", "bad")
        if self.rank is None or self.outcome is None:
            return text.append(self.how, "unsure")
        text.append(f"rank {self.rank} of {len(self.outcome.ranking)}", "good" if self.won else "")
        return text.append(f"  score {self.score}  {self.decisions} decisions")


def summary(games: Sequence[Played], policy: str) -> RenderableType:
    """All games together, for people."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="faint", no_wrap=True)
    facts.add_column(overflow="fold")
    numbers = document(games, policy)
    facts.add_row("policy", policy)
    facts.add_row("games", Text(str(len(games)), "heading"))
    for name in ("crashed", "aborted", "interrupted"):
        if numbers[name]:
            facts.add_row(name, Text(str(numbers[name]), "bad" if name == "crashed" else "unsure"))
    if numbers["ranked"]:
        facts.add_row("won", f"{numbers['won']} of {numbers['ranked']} ({numbers['won'] / numbers['ranked']:.0%})")
        facts.add_row("mean rank", f"{numbers['mean_rank']:.2f}")
        facts.add_row("mean score", f"{numbers['mean_score']:.1f}")
    if numbers["decisions"]:
        each, longest = numbers["thinking_ms"], numbers["longest_ms"]
        facts.add_row("decisions", f"{numbers['decisions']}, {each:.1f} ms each, the longest {longest:.1f} ms")
    return Group(Text("Games of this bot", "heading"), facts)


def document(games: Sequence[Played], policy: str) -> dict[str, Any]:
    """All games together, for programs. Times in milliseconds; what cannot be told is null."""
    ways = Counter(game.how for game in games)
    ranked = [game for game in games if game.rank is not None]
    decisions = sum(game.decisions for game in games)
    return {
        "policy": policy,
        "games": len(games),
        "ended": ways["ended"],
        "crashed": ways["crashed"],
        "aborted": ways["aborted"],
        "interrupted": ways["interrupted"],
        "ranked": len(ranked),
        "won": sum(game.won for game in ranked),
        "mean_rank": mean(game.rank for game in ranked if game.rank is not None) if ranked else None,
        "mean_score": mean(game.score for game in ranked if game.score is not None) if ranked else None,
        "decisions": decisions,
        "thinking_ms": 1000 * sum(game.thinking_s for game in games) / decisions if decisions else None,
        "longest_ms": 1000 * max((game.longest_s for game in games), default=0.0) if decisions else None,
        "matches": [
            {"match": game.match_id.hex(), "seat": game.seat, "how": game.how, "rank": game.rank, "score": game.score}
            | ({"crash": game.crash, "measure": game.measure} if game.crash else {})
            for game in games
        ],
    }
