"""Which matches are played: every game and variant, with and without clocks, some of them aborted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from google.protobuf.message import Message
from sixledger.client import time_limits
from sixledger.engine.errors import IllegalOptions
from sixledger.engine.game import Game
from sixledger.engine.registry import installed
from sixledger.games.forces.v1 import forces_pb2
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.games.piece.v1 import piece_pb2
from sixledger.v1 import record_pb2

_POLICIES = (record_pb2.TIMEOUT_POLICY_FIRST_LEGAL, record_pb2.TIMEOUT_POLICY_FORFEIT)
_MODES = (
    record_pb2.CONTRIBUTION_MODE_COMMIT_REVEAL,
    record_pb2.CONTRIBUTION_MODE_SEATS,
    record_pb2.CONTRIBUTION_MODE_SERVER_ONLY,
)


@dataclass(frozen=True, slots=True)
class Deal:
    """A match to open."""

    game: str
    #: The game, with the variant if it has any.
    kind: str
    seats: int
    options: Message
    mode: record_pb2.ContributionMode.ValueType
    #: The clock, if there is one.
    timing: dict[str, Any] = field(default_factory=dict)
    #: The owner aborts it some time.
    aborted: bool = False
    #: The service plays the last seat itself: all replicas do, and only one act may come of it.
    hosted: bool = False


def _options(game: Game[Any]) -> Iterator[tuple[str, Message]]:
    """Short matches of every kind."""
    if game.id == "nimmt":
        for number in nimmt_pb2.Variant.values():
            if number:
                name = nimmt_pb2.Variant.Name(number).removeprefix("VARIANT_").lower()
                short = nimmt_pb2.Options(variant=number, end_mode=nimmt_pb2.END_MODE_ROUNDS, rounds=1)
                # Some variants say themselves how they end.
                yield name, short if _seats(game, short) else nimmt_pb2.Options(variant=number)
    elif game.id == "forces":
        yield "", forces_pb2.Options(deals=1)
        yield "two deals", forces_pb2.Options(deals=2)
    elif game.id == "piece":
        yield "", piece_pb2.Options(max_turns=40)
        yield "turns", piece_pb2.Options(time_mode=piece_pb2.TIME_MODE_TURNS, turn_limit=30)
        yield "beasts", piece_pb2.Options(beasts=[12, 9], discard=True, max_turns=30)
    else:
        yield "", game.schema.options.kind()


def kinds() -> list[tuple[Game[Any], str, Message, list[int]]]:
    """Every game and variant, with the numbers of seats that can play it."""
    found = []
    for game in installed().all():
        for name, options in _options(game):
            seats = _seats(game, options)
            assert seats, f"{game.id} {name} cannot be played with these options"
            found.append((game, f"{game.id} {name}".strip(), options, seats))
    return found


def _seats(game: Game[Any], options: Message) -> list[int]:
    """The numbers of seats that can play it; no more than five, for the sake of the machine."""
    return [count for count in range(game.min_seats, min(game.max_seats, 5) + 1) if _fits(game, count, options)]


def _fits(game: Game[Any], seats: int, options: Message) -> bool:
    try:
        game.complete(seats, options)
    except IllegalOptions:
        return False
    return True


def deals(seed: int) -> Iterator[Deal]:
    """Matches without end: every kind comes before any comes again."""
    random, deck = Random(seed), list[tuple[Game[Any], str, Message, list[int]]]()
    while True:
        if not deck:
            deck = kinds()
            random.shuffle(deck)
        game, kind, options, seats = deck.pop()
        timing: dict[str, Any] = {}
        if random.random() < 0.3:
            clock = time_limits(turn=random.choice((2.0, 6.0)), join=60, contribute=60, reveal=60)
            timing = {"clock": clock, "on_timeout": random.choice(_POLICIES)}
        aborted, hosted = random.random() < 0.03, random.random() < 0.25
        yield Deal(game.id, kind, random.choice(seats), options, random.choice(_MODES), timing, aborted, hosted)
