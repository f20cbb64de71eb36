"""The state of a match, and the events that change it."""

from __future__ import annotations

from dataclasses import dataclass, field

from google.protobuf.message import Message

from ranks.v1 import ranks_pb2 as pb


@dataclass(slots=True)
class State:
    """One match, as far as it is known.

    Folded from the events that a viewer may see, it lacks cards and orders, and of a guess it knows only that it
    was given.
    """

    players: int = 0
    rounds: int = 0
    round: int = 0
    totals: list[int] = field(default_factory=list)
    #: By seat; 0: unknown.
    cards: list[int] = field(default_factory=list, repr=False)
    #: By seat; None: unknown, or not given.
    guesses: list[int | None] = field(default_factory=list, repr=False)
    guessed: list[bool] = field(default_factory=list)
    #: The rest of the pack; empty if unknown.
    undealt: list[int] = field(default_factory=list, repr=False)
    result: pb.MatchEnded | None = None

    def copy(self) -> State:
        """An independent copy."""
        lists = ([*self.totals], [*self.cards], [*self.guesses], [*self.guessed], [*self.undealt])
        return State(self.players, self.rounds, self.round, *lists, self.result)


def evolve(state: State, event: Message) -> None:
    """Apply an event, whole or without its secret fields. Raises TypeError or ValueError if it cannot happen."""
    if isinstance(event, pb.MatchStarted):
        if state.players or not 2 <= event.players <= 6:
            raise ValueError("the match cannot start like this")
        state.players, state.rounds = event.players, event.options.rounds
        state.totals = [0] * state.players
    elif isinstance(event, pb.RoundStarted):
        state.round = event.round
        state.cards = [0] * state.players
        state.guesses, state.guessed = [None] * state.players, [False] * state.players
    elif isinstance(event, pb.PackShuffled):
        state.undealt = list(event.order)
    elif isinstance(event, pb.CardDealt):
        state.cards[event.seat] = event.card
        state.undealt = state.undealt[1:]
    elif isinstance(event, pb.Guessed):
        state.guessed[event.seat] = True
        state.guesses[event.seat] = event.lower if event.HasField("lower") else None
    elif isinstance(event, pb.RoundScored):
        state.cards, state.guesses, state.totals = list(event.cards), list(event.guesses), list(event.totals)
    elif isinstance(event, pb.MatchEnded):
        state.result = event
    else:
        raise TypeError(f"{type(event).__name__} is no event of this game")
