"""6 nimmt! as a game of the engine."""

# ruff: noqa: D102  # the contract in `Game` documents every method

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.game import Decision, Game, Outcome, Setup
from sixledger.engine.nimmt import options as options_
from sixledger.engine.nimmt import position as position_
from sixledger.engine.nimmt import redeal as redeal_
from sixledger.engine.nimmt import view as view_
from sixledger.engine.nimmt.leaving import leave
from sixledger.engine.nimmt.state import State
from sixledger.engine.nimmt.variants import VARIANTS
from sixledger.engine.schema import Schema
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Nimmt(Game[State]):
    """The card game for 2 to 10 players. An epoch is a round."""

    id = "nimmt"
    version = 1
    # Changes with the golden playthroughs alone (DESIGN 4); a test recomputes it.
    digest = bytes.fromhex("8abc6e52e0f6540097dd4fc7c140f4fb1237aa92988b90f9469e858b54d8b0e9")
    released = "0.1.0"
    title = "6 nimmt!"
    min_seats = 2
    max_seats = 10
    schema = Schema(
        "nimmt",
        command=pb.Command,
        event=pb.Event,
        options=pb.Options,
        view=pb.View,
        position=pb.Position,
        shared=(pb.Chosen, pb.CardPlaced, pb.RowChoiceNeeded, pb.TurnEnded),
    )
    option_docs = options_.DOCS
    presets = options_.PRESETS

    def complete(self, seats: int, options: Any) -> Setup:
        return options_.complete(seats, options)

    def epochs(self, setup: Setup) -> int:
        return options_.variant_of(setup.options).epochs(setup)

    def rules_markdown(self) -> str:
        return resources.files("sixledger.engine.nimmt").joinpath("rules.md").read_text(encoding="utf-8")

    def blank(self) -> State:
        return State(VARIANTS[pb.VARIANT_BASE])  # until the first event says which variant it is

    def start(self, state: State, setup: Setup, chance: Chance) -> Iterator[Message]:
        return options_.variant_of(setup.options).start(state, setup, chance)

    def play(self, state: State, seat: int | None, command: Any, chance: Chance) -> Iterator[Message]:
        if seat is None:
            raise MalformedCommand("seat", "the table itself gives no command of 6 nimmt!")
        return state.rules.play(state, seat, command, chance)

    def leave(self, state: State, reason: str, seat: int | None) -> Iterator[Message]:
        return leave(state, reason, seat)

    def evolve(self, state: State, event: Message) -> None:
        try:
            handler = state.rules.handlers[type(event)]
        except KeyError:
            raise TypeError(f"{type(event).__name__} is no event of 6 nimmt! in this variant") from None
        handler(state, event)

    def legal(self, state: State, seat: int) -> list[Message]:
        return state.rules.legal(state, seat)

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

    def redeal(self, view: Any, stream: Stream) -> State:
        return redeal_.redeal(view, stream)
