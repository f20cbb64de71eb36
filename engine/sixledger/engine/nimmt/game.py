"""6 nimmt! as a game of the engine."""

# ruff: noqa: D102  # the contract in `Game` documents every method

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.game import Decision, Game, Outcome, Setup
from sixledger.engine.nimmt import options as options_
from sixledger.engine.nimmt import position as position_
from sixledger.engine.nimmt import rules
from sixledger.engine.nimmt import view as view_
from sixledger.engine.nimmt.cards import MAX_SEATS
from sixledger.engine.nimmt.evolve import HANDLERS
from sixledger.engine.nimmt.state import State
from sixledger.engine.schema import Schema
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Nimmt(Game[State]):
    """The card game for 2 to 10 players. An epoch is a round."""

    id = "nimmt"
    version = 1
    # Changes with the golden playthroughs alone (DESIGN 4); a test recomputes it.
    digest = bytes.fromhex("0da0f67c5e7b533708f0937f15f68f44d5cc6086b9a0268ebb2f979ebed8c037")
    title = "6 nimmt!"
    min_seats = 2
    max_seats = MAX_SEATS
    schema = Schema("nimmt", command=pb.Command, event=pb.Event, options=pb.Options, view=pb.View, position=pb.Position)
    option_docs = options_.DOCS
    presets = options_.PRESETS

    def complete(self, seats: int, options: Any) -> Setup:
        return options_.complete(seats, options)

    def epochs(self, setup: Setup) -> int:
        return options_.epochs(setup)

    def rules_markdown(self) -> str:
        return resources.files("sixledger.engine.nimmt").joinpath("rules.md").read_text(encoding="utf-8")

    def blank(self) -> State:
        return State()

    def start(self, state: State, setup: Setup, chance: Chance) -> Iterator[Message]:
        return rules.start(state, setup, chance)

    def play(self, state: State, seat: int, command: Any, chance: Chance) -> Iterator[Message]:
        return rules.play(state, seat, command, chance)

    def leave(self, state: State, reason: str, seat: int | None) -> Iterator[Message]:
        return rules.leave(state, reason, seat)

    def evolve(self, state: State, event: Message) -> None:
        try:
            handler = HANDLERS[type(event)]
        except KeyError:
            raise TypeError(f"{type(event).__name__} is no event of 6 nimmt!") from None
        handler(state, event)

    def legal(self, state: State, seat: int) -> list[Message]:
        return rules.legal(state, seat)

    def decision(self, state: State) -> Decision:
        return Decision(state.decision, state.to_act())

    def epoch(self, state: State) -> int:
        return state.round

    def view(self, state: State, seat: int | None) -> pb.View:
        return view_.view(state, seat)

    def outcome(self, state: State) -> Outcome | None:
        result = state.result
        if result is None:
            return None
        reason = pb.EndReason.Name(result.reason).removeprefix("END_REASON_").lower()
        return Outcome(tuple(result.scores), tuple(result.winners), tuple(result.ranking), reason)

    def copy(self, state: State) -> State:
        return state.copy()

    def position(self, state: State) -> pb.Position:
        return position_.position(state)

    def from_position(self, position: Any) -> State:
        return position_.from_position(position)
