"""Matches for tests: a table that keeps what happened, and the setups that every game is tested with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.game import Game, Setup
from sixledger.engine.registry import installed
from sixledger.engine.visibility import redact
from support.traits import traits


@dataclass
class Record:
    """What one act caused: its events, each with the epoch in which it was yielded.

    `seat` is None if the table acted, `command` if the act was none.
    """

    seat: int | None
    command: Message | None
    events: list[tuple[int, Message]] = field(default_factory=list)


class Table:
    """One match, with everything that happened so far."""

    def __init__(self, game: Game[Any], setup: Setup, seed: int = 0) -> None:
        """Start a match whose cards follow from `seed`."""
        self.game, self.setup = game, setup
        self.chance = Chance.from_key(seed.to_bytes(32, "big"))
        self.state = game.blank()
        self.records: list[Record] = []
        self._take(Record(None, None), game.start(self.state, setup, self.chance))

    @property
    def over(self) -> bool:
        """True if the match has ended."""
        return self.game.outcome(self.state) is not None

    @property
    def position(self) -> Any:
        """The complete position."""
        return self.game.position(self.state)

    def act(self, seat: int | None, command: Message) -> Record:
        """Give a command of a seat, or of the table (None)."""
        return self._take(Record(seat, command), self.game.play(self.state, seat, command, self.chance))

    def leave(self, reason: str, seat: int | None) -> Record:
        """End the match outside its rules."""
        return self._take(Record(None, None), self.game.leave(self.state, reason, seat))

    def choose(self, choices: Random) -> tuple[int | None, Message]:
        """A seat that may act and one of its legal commands; now and then the table (None) and one of its own."""
        of_table = self.game.table_legal(self.state)
        if of_table and choices.random() < 0.05:
            return None, choices.choice(of_table)
        seat = choices.choice(self.game.decision(self.state).seats)
        return seat, choices.choice(self.game.legal(self.state, seat))

    def play_on(self, choices: Random, commands: int = 1_000_000) -> Iterator[Record]:
        """Random commands until the match ends or `commands` were given."""
        for _ in range(commands):
            if self.over:
                return
            yield self.act(*self.choose(choices))

    def _take(self, record: Record, events: Iterator[Message]) -> Record:
        for event in events:
            record.events.append((self.game.epoch(self.state), event))
            self.game.evolve(self.state, event)
        self.records.append(record)
        return record

    def fold_for(self, viewer: int | None, *, revealed: int = 0) -> Any:
        """The state folded from what `viewer` may see once the epochs up to `revealed` are revealed."""
        state = self.game.blank()
        for record in self.records:
            fold(self.game, state, record, viewer, revealed=revealed)
        return state


def fold(game: Game[Any], state: Any, record: Record, viewer: int | None, *, revealed: int = 0) -> None:
    """Apply to `state` what `viewer` may see of the events of one record."""
    for epoch, event in record.events:
        game.evolve(state, redact(event, viewer, revealed=0 < epoch <= revealed))


def setups(game: Game[Any]) -> dict[str, Setup]:
    """The setups that a game is tested with: every preset with the fewest and the most seats, and extremes."""
    found = {}
    for name, preset in game.presets.items():
        for seats in (game.min_seats, game.max_seats):
            found[f"{name}-{seats}"] = game.complete(seats, preset.options)
    for name, (seats, options) in traits(game).extremes.items():
        found[name] = game.complete(seats, json_format.ParseDict(options, game.schema.options.kind()))
    return found


def all_setups() -> list[Any]:
    """(game, setup) of every registered game, as parameters named like `nimmt@1-d4-2`."""
    return [
        pytest.param(game, setup, id=f"{game.id}@{game.version}-{name}")
        for game in installed().all()
        for name, setup in setups(game).items()
    ]
