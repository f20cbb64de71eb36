"""6 Forces as a game of the engine."""

# ruff: noqa: D102  # the contract in `Game` documents every method

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.forces import options as options_
from sixledger.engine.forces import position as position_
from sixledger.engine.forces import redeal as redeal_
from sixledger.engine.forces import rules
from sixledger.engine.forces import view as view_
from sixledger.engine.forces.evolve import HANDLERS
from sixledger.engine.forces.state import State
from sixledger.engine.game import Decision, Game, Outcome, Setup
from sixledger.engine.schema import Schema
from sixledger.games.forces.v1 import forces_pb2 as pb


class Forces(Game[State]):
    """The trick-taking game for 3 or 4 players. An epoch is a deal."""

    id = "forces"
    version = 1
    # Changes with the golden playthroughs alone (DESIGN 4); a test recomputes it.
    digest = bytes.fromhex("3274d9ca2b37897944a9789d4da4e0f735cd87365ac96f7da07d97f9d2b81056")
    released = "0.1.0"
    title = "6 Forces"
    min_seats = 3
    max_seats = 4
    schema = Schema(
        "forces", command=pb.Command, event=pb.Event, options=pb.Options, view=pb.View, position=pb.Position
    )
    option_docs = options_.DOCS
    presets = options_.PRESETS

    def complete(self, seats: int, options: Any) -> Setup:
        return options_.complete(seats, options)

    def epochs(self, setup: Setup) -> int:
        return options_.epochs(setup)

    def rules_markdown(self) -> str:
        return resources.files("sixledger.engine.forces").joinpath("rules.md").read_text(encoding="utf-8")

    def blank(self) -> State:
        return State()

    def start(self, state: State, setup: Setup, chance: Chance) -> Iterator[Message]:
        return rules.start(state, setup, chance)

    def play(self, state: State, seat: int | None, command: Any, chance: Chance) -> Iterator[Message]:
        return rules.play(state, seat, command, chance)

    def leave(self, state: State, reason: str, seat: int | None) -> Iterator[Message]:
        return rules.leave(state, reason, seat)

    def evolve(self, state: State, event: Message) -> None:
        try:
            handler = HANDLERS[type(event)]
        except KeyError:
            raise TypeError(f"{type(event).__name__} is no event of 6 Forces") from None
        handler(state, event)

    def legal(self, state: State, seat: int) -> list[Message]:
        return rules.legal(state, seat)

    def decision(self, state: State) -> Decision:
        return Decision(state.decision, state.to_act())

    def epoch(self, state: State) -> int:
        return state.deal

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
