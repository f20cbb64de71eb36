"""6piece for the laws: its commands, extremes, invariants (RULES 3.4, 3.10) and hidden cards."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.games.piece.v1 import piece_pb2 as pb


def _made(kind: Any, **choices: Any) -> list[Message]:
    """A command for every combination of values; None: the field is absent."""
    names = list(choices)
    return [
        kind(**{name: value for name, value in zip(names, values, strict=True) if value is not None})
        for values in product(*choices.values())
    ]


COMMANDS: list[Message] = [
    pb.Decline(),
    pb.TimeUp(),
    *_made(pb.UseAbility, ability=(None, *range(8), 2**32 - 1), deck=(None, 0, 1, 2, 3), die=(None, 0, 1, 2, -1)),
    *_made(pb.Place, stack=(None, 0, 1, 2, 3, -1)),
    *_made(pb.Guess, value=(None, *range(9), -1)),
    pb.Command(),
    pb.Declined(seat=0),
]

EXTREMES: dict[str, tuple[int, dict[str, Any]]] = {
    "two-turns": (2, {"maxTurns": 2, "firstPlayer": "FIRST_PLAYER_SEAT_1"}),
    "turn-limit-2": (2, {"timeMode": "TIME_MODE_TURNS", "turnLimit": 2, "beasts": [18, 7]}),
    "turn-limit-2000": (2, {"timeMode": "TIME_MODE_TURNS", "turnLimit": 2000, "discard": True}),
    "clock": (2, {"timeMode": "TIME_MODE_CLOCK", "maxTurns": 2000, "firstPlayer": "FIRST_PLAYER_SEAT_0"}),
    "clock-discard-beasts": (
        2,
        {"timeMode": "TIME_MODE_CLOCK", "beasts": [13, 13], "beast13Value": 2, "discard": True, "maxTurns": 2000},
    ),
    "beasts": (2, {"beasts": [12, 9]}),
    "beasts-of-3-and-4": (2, {"beasts": [15, 10], "discard": True, "firstPlayer": "FIRST_PLAYER_SEAT_1"}),
}


def roll(card: int, options: pb.Options) -> int:
    """The rolled value as the rule book puts it, apart from the engine: subtract 6 until a die can show it."""
    if card == 13 and options.beast_13_value == 2:
        return 2
    while card > 6:
        card -= 6
    return card


def cards_of(options: pb.Options) -> list[int]:
    """Every card of the match."""
    return sorted([1, 2, 3, 4, 5, 6] * 2 + list(options.beasts))


def check(position: pb.Position) -> None:
    """The invariants that a position shows."""
    stacks = (position.left, position.right)
    found = [*position.decks[0].cards, *position.decks[1].cards, *position.discards]
    found += [card for stack in stacks for card in stack.cards]
    found += [card for card in (position.root, position.flipped) if card]
    assert sorted(found) == cards_of(position.options)
    assert position.options.discard or not position.discards
    for stack in stacks:
        assert stack.HasField("die") == (position.HasField("root") and position.placed != pb.WHERE_ROOT)
        if position.phase == pb.PHASE_DECIDE and stack.cards:
            assert 1 <= stack.die <= 5
    assert not position.HasField("flipped") or not position.placed
    if position.phase != pb.PHASE_ENDED:  # a match may be left at any moment
        assert position.HasField("flipped") == (position.phase in (pb.PHASE_DECIDE, pb.PHASE_PLACE))
        assert bool(position.placed) == (position.phase == pb.PHASE_GUESS)
    else:
        assert list(position.result.scores) == [len(deck.cards) for deck in position.decks]


def shuffle_hidden(position: pb.Position, viewer: int | None, random: Random) -> pb.Position:
    """Both decks mixed; before anything can have changed decks, each for itself."""
    other = pb.Position()
    other.CopyFrom(position)
    if position.turn == 1:
        for deck in other.decks:
            random.shuffle(cards := list(deck.cards))
            deck.cards[:] = cards
        return other
    hidden = [card for deck in other.decks for card in deck.cards]
    random.shuffle(hidden)
    for deck in other.decks:
        deck.cards[:] = [hidden.pop() for _ in deck.cards]
    return other
