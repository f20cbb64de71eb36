"""The rules of Ranks, as Sixledger asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance, Stream
from sixledger.engine.errors import IllegalCommand, IllegalOptions, MalformedCommand
from sixledger.engine.game import (
    ABORTED,
    FORFEIT,
    RESIGNED,
    Decision,
    Game,
    OptionDoc,
    Outcome,
    Preset,
    Setup,
    competition_ranking,
)
from sixledger.engine.schema import Schema, has_unknown_fields

from ranks.state import State, evolve
from ranks.v1 import ranks_pb2 as pb

PACK = range(1, 21)
_REASONS = {RESIGNED: pb.END_REASON_RESIGNED, FORFEIT: pb.END_REASON_FORFEIT, ABORTED: pb.END_REASON_ABORTED}


class Ranks(Game[State]):
    """Hidden cards, simultaneous guesses. Each round is an epoch."""

    id = "ranks"
    version = 1
    # 32 bytes that no other rules have. Released rules that change are a new version with another digest.
    digest = bytes.fromhex("f92afc78bf0407c6f461ff8450e1a9ec55f85f2f7f60b75fab21ebc8653b038d")
    title = "Ranks"
    min_seats = 2
    max_seats = 6
    schema = Schema("ranks", command=pb.Command, event=pb.Event, options=pb.Options, view=pb.View, position=pb.Position)
    option_docs = (OptionDoc("rounds", "Number of rounds", "1 to 20", "3"),)
    presets = {"quick": Preset("A single round", pb.Options(rounds=1))}  # noqa: RUF012  # constant by contract

    # -- setting up ------------------------------------------------------------------------------

    def complete(self, seats: int, options: Any) -> Setup:
        """A setup with every option filled in."""
        if not self.min_seats <= seats <= self.max_seats:
            raise IllegalOptions("players", f"Ranks is not played by {seats}", "2 to 6")
        if not isinstance(options, pb.Options) or has_unknown_fields(options):
            raise IllegalOptions("options", "are none of this game", "rounds")
        rounds = options.rounds if options.HasField("rounds") else 3
        if not 1 <= rounds <= 20:
            raise IllegalOptions("rounds", f"{rounds} is out of range", "1 to 20")
        return Setup(seats, pb.Options(rounds=rounds))

    def epochs(self, setup: Setup) -> int:
        """As many as rounds."""
        rounds: int = setup.options.rounds
        return rounds

    def rules_markdown(self) -> str:
        """The rules for players."""
        return resources.files("ranks").joinpath("rules.md").read_text(encoding="utf-8")

    # -- the course of a match -------------------------------------------------------------------

    def blank(self) -> State:
        """Before the first event."""
        return State()

    def start(self, state: State, setup: Setup, chance: Chance) -> Iterator[Message]:
        """The match and its first round."""
        yield pb.MatchStarted(players=setup.seats, options=setup.options)
        yield from self._round(state, chance)

    def play(self, state: State, seat: int | None, command: Any, chance: Chance) -> Iterator[Message]:
        """A guess; with the last one the round is scored."""
        if not isinstance(command, pb.Guess):
            raise MalformedCommand("", f"{type(command).__name__} is no command of this game")
        if seat is None or not 0 <= seat < state.players:
            raise MalformedCommand("seat", f"there is no seat {seat}")
        if not command.HasField("lower") or command.lower >= state.players:
            raise MalformedCommand("lower", f"must be 0 to {state.players - 1}")
        if state.result is not None:
            raise IllegalCommand("finished", "the match is over")
        if state.guessed[seat]:
            raise IllegalCommand("already_chosen", "the seat has guessed in this round")
        yield pb.Guessed(seat=seat, lower=command.lower)
        if not all(state.guessed):
            return
        lower = [sum(other < card for other in state.cards) for card in state.cards]
        right = [guess == true for guess, true in zip(state.guesses, lower, strict=True)]
        totals = [total + point for total, point in zip(state.totals, right, strict=True)]
        yield pb.RoundScored(cards=state.cards, guesses=[guess or 0 for guess in state.guesses], totals=totals)
        if state.round < state.rounds:
            yield from self._round(state, chance)
        else:
            winners = [seat for seat, total in enumerate(totals) if total == max(totals)]
            ranking = competition_ranking(totals, low_is_good=False)
            yield pb.MatchEnded(scores=totals, winners=winners, ranking=ranking, reason=pb.END_REASON_ROUNDS)

    def leave(self, state: State, reason: str, seat: int | None) -> Iterator[Message]:
        """The leaver ranks last, the others by their points; who aborts leaves no winner."""
        if state.result is not None:
            raise IllegalCommand("finished", "the match is over")
        ended = pb.MatchEnded(scores=state.totals, reason=_REASONS[reason])
        if seat is not None:
            standing = [-1 if number == seat else total for number, total in enumerate(state.totals)]
            ended.winners.extend(number for number, total in enumerate(standing) if total == max(standing))
            ended.ranking.extend(competition_ranking(standing, low_is_good=False))
        yield ended

    def evolve(self, state: State, event: Message) -> None:
        """Apply an event, whole or redacted."""
        evolve(state, event)

    def _round(self, state: State, chance: Chance) -> Iterator[Message]:
        number = state.round + 1
        yield pb.RoundStarted(round=number)
        yield pb.PackShuffled(order=chance.stream(number, "pack").shuffle(PACK))
        for seat in range(state.players):
            yield pb.CardDealt(seat=seat, card=state.undealt[0])

    # -- reading a state -------------------------------------------------------------------------

    def legal(self, state: State, seat: int) -> list[Message]:
        """Every rank that a seat may guess, ascending."""
        return [*self._guesses(state, seat)]

    def _guesses(self, state: State, seat: int) -> list[pb.Guess]:
        may_act = seat in self.decision(state).seats
        return [pb.Guess(lower=lower) for lower in range(state.players)] if may_act else []

    def decision(self, state: State) -> Decision:
        """Each round is one simultaneous choice."""
        open_seats = () if state.result is not None else (s for s, done in enumerate(state.guessed) if not done)
        return Decision(state.round, tuple(open_seats))

    def epoch(self, state: State) -> int:
        """The round."""
        return state.round

    def view(self, state: State, seat: int | None) -> pb.View:
        """What a seat sees: its own card and guess, and who has guessed."""
        decision = self.decision(state)
        view = pb.View(
            players=state.players,
            options=pb.Options(rounds=state.rounds),
            round=state.round,
            totals=state.totals,
            guessed=state.guessed,
            decision=decision.number,
            to_act=decision.seats,
        )
        if seat is not None:
            view.viewer, view.card = seat, state.cards[seat]
            if (guess := state.guesses[seat]) is not None:
                view.guess = guess
            view.legal.extend(pb.Command(guess=guess) for guess in self._guesses(state, seat))
        if state.result is not None:
            view.result.CopyFrom(state.result)
        return view

    def outcome(self, state: State) -> Outcome | None:
        """The result, once there is one."""
        result = state.result
        if result is None:
            return None
        reason = pb.EndReason.Name(result.reason).removeprefix("END_REASON_").lower()
        return Outcome(tuple(result.scores), tuple(result.winners), tuple(result.ranking), reason)

    # -- positions -------------------------------------------------------------------------------

    def copy(self, state: State) -> State:
        """An independent copy."""
        return state.copy()

    def position(self, state: State) -> pb.Position:
        """The complete state as a message."""
        position = pb.Position(
            players=state.players,
            options=pb.Options(rounds=state.rounds),
            round=state.round,
            totals=state.totals,
            cards=state.cards,
            undealt=state.undealt,
            result=state.result,
        )
        for guess, done in zip(state.guesses, state.guessed, strict=True):
            position.guesses.add(lower=guess if done else None)
        return position

    def from_position(self, position: Any) -> State:
        """The state of a complete position."""
        cards = [*position.cards, *position.undealt]
        if sorted(cards) != list(PACK) or not (
            len(position.cards) == len(position.guesses) == len(position.totals) == position.players
        ):
            raise ValueError("the position is not complete")
        done = [guess.HasField("lower") for guess in position.guesses]
        guesses = [guess.lower if given else None for guess, given in zip(position.guesses, done, strict=True)]
        result = position.result if position.HasField("result") else None
        lists = (list(position.totals), list(position.cards), guesses, done, list(position.undealt))
        return State(position.players, position.options.rounds, position.round, *lists, result)

    def redeal(self, view: Any, stream: Stream) -> State:
        """A state that could lie behind a view: the cards of the others dealt anew, and what they have guessed."""
        if not view.players:
            raise ValueError("the match has not started")
        viewer = view.viewer if view.HasField("viewer") else None
        hidden = stream.shuffle([card for card in PACK if viewer is None or card != view.card])
        cards = [view.card if seat == viewer else hidden.pop() for seat in range(view.players)]
        guesses = [stream.below(view.players) if done else None for done in view.guessed]
        if viewer is not None and view.guessed[viewer]:
            guesses[viewer] = view.guess
        result = view.result if view.HasField("result") else None
        lists = (list(view.totals), cards, guesses, list(view.guessed), hidden)
        return State(view.players, view.options.rounds, view.round, *lists, result)
