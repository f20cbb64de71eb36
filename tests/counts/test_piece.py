"""The engine allows exactly the sequences of commands that a second reading of the rules allows.

From small fixed positions all sequences of a few commands are played out by the engine and by `piece_brute`; both
must give as many, and lead to the same states equally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from counts import piece_brute
from counts.piece_brute import Board
from sixledger.engine.chance import Chance
from sixledger.engine.game import run
from sixledger.engine.piece import GAME
from sixledger.games.piece.v1 import piece_pb2 as pb

CHANCE = Chance.from_key(b"counts")

_MODES = {"none": pb.TIME_MODE_NONE, "turns": pb.TIME_MODE_TURNS, "clock": pb.TIME_MODE_CLOCK}
_FIRST = (pb.FIRST_PLAYER_SEAT_0, pb.FIRST_PLAYER_SEAT_1)
_WAITS = {pb.PHASE_DECIDE: "decide", pb.PHASE_PLACE: "place", pb.PHASE_GUESS: "guess", pb.PHASE_ENDED: "ended"}

#: Name → position, depth, number of sequences.
POSITIONS: dict[str, tuple[Board, int, int]] = {
    "first turn of a 3": (
        Board(decks=[[5, 1, 2, 4, 6], [4, 2, 6, 1, 5, 3]], first=0, turn=1, flipped=3),
        10,
        3_072,
    ),
    "first turn, 4 against 4": (
        Board(decks=[[2, 1, 3, 5, 6], [4, 3, 1, 2, 5, 6]], first=0, turn=1, flipped=4),
        10,
        2_112,
    ),
    "first turn of a 5": (
        Board(decks=[[1, 5, 3, 4, 2, 6], [2, 1, 3, 4, 6]], first=1, turn=1, flipped=5),
        8,
        1_152,
    ),
    "a Beast": (
        Board(
            decks=[[6, 3, 4], [4, 2, 12]],
            first=0,
            turn=5,
            root=1,
            stacks={"L": [5, 2], "R": [3, 1, 6, 5]},
            dice={"L": 2, "R": 4},
            flipped=9,
            beasts=True,
        ),
        8,
        3_108,
    ),
    "stacks about to be taken, with discarding": (
        Board(
            decks=[[6, 3, 5], [1, 4, 2]],
            first=0,
            turn=5,
            root=1,
            stacks={"L": [5, 6], "R": [3, 2]},
            dice={"L": 1, "R": 5},
            flipped=4,
            discards=[],
            discard=True,
        ),
        10,
        2_304,
    ),
    "last cards": (
        Board(
            decks=[[], [3, 1]],
            first=0,
            turn=5,
            root=1,
            stacks={"L": [4, 5, 6, 4, 3], "R": [2, 5, 6]},
            dice={"L": 5, "R": 5},
            flipped=2,
        ),
        5,
        12,
    ),
    "a clock": (
        Board(
            decks=[[5, 1], [5, 4, 3]],
            first=1,
            turn=4,
            root=6,
            stacks={"L": [1, 2, 3], "R": [4, 6]},
            dice={"L": 4, "R": 3},
            flipped=2,
            mode="clock",
        ),
        8,
        2_046,
    ),
    "the last of the agreed turns": (
        Board(
            decks=[[5, 1], [5, 4, 3]],
            first=0,
            turn=5,
            root=6,
            stacks={"L": [1, 2, 3], "R": [4, 6]},
            dice={"L": 4, "R": 3},
            flipped=2,
            mode="turns",
            last_turn=6,
        ),
        6,
        36,
    ),
    "Beasts of 13 that count 2, the safety stop": (
        Board(
            decks=[[13, 1, 2], [5, 4, 3, 6]],
            first=0,
            turn=5,
            root=6,
            stacks={"L": [1, 2, 3], "R": [4, 5]},
            dice={"L": 4, "R": 4},
            flipped=13,
            beasts=True,
            thirteen=2,
            last_turn=6,
        ),
        6,
        460,
    ),
}


def below(label: str) -> Any:
    """The numbers of a stream."""
    return CHANCE.stream(1, label).below


def position(board: Board) -> pb.Position:
    """The position that the engine begins with."""
    cards = [*board.decks[0], *board.decks[1], *board.stacks["L"], *board.stacks["R"], *board.discards]
    cards += [card for card in (board.root, board.flipped) if card]
    beasts = [card for card in cards if card > 6]
    options = pb.Options(
        beasts=beasts, discard=board.discard, time_mode=_MODES[board.mode], first_player=_FIRST[board.first]
    )
    if beasts:
        options.beast_13_value = board.thirteen
    if board.mode == "turns":
        options.turn_limit = board.last_turn
    else:
        options.max_turns = board.last_turn
    return pb.Position(
        players=2,
        options=GAME.complete(2, options).options,
        first_player=board.first,
        phase=pb.PHASE_DECIDE,
        turn=board.turn,
        decision=2 * board.turn - 1,
        decks=[pb.DeckCards(cards=deck) for deck in board.decks],
        root=board.root,
        left=pb.StackState(cards=board.stacks["L"], die=board.dice["L"]),
        right=pb.StackState(cards=board.stacks["R"], die=board.dice["R"]),
        flipped=board.flipped,
        discards=board.discards,
    )


def walk(state: Any, depth: int) -> Iterator[Any]:
    """What every sequence of `depth` commands of the engine, or fewer at the end, leads to."""
    given: list[tuple[int | None, Any]] = []
    if depth:
        given = [(seat, command) for seat in GAME.decision(state).seats for command in GAME.legal(state, seat)]
        given += [(None, command) for command in GAME.table_legal(state)]
    if not given:
        yield summary(GAME.position(state))
        return
    for seat, command in given:
        copy = GAME.copy(state)
        run(GAME, copy, GAME.play(copy, seat, command, CHANCE))
        yield from walk(copy, depth - 1)


def summary(at: pb.Position) -> Any:
    """As `Board.summary`."""
    stacks = (at.left, at.right)
    return (
        *(tuple(deck.cards) for deck in at.decks),
        at.turn,
        at.root or None,
        *(tuple(stack.cards) for stack in stacks),
        *(stack.die or None for stack in stacks),
        at.flipped or None,
        _WAITS[at.phase],
        tuple(sorted(at.discards)),
        at.player_one_failed,
        at.time_up,
        tuple(at.result.winners) if at.HasField("result") else None,
    )


@pytest.mark.parametrize("name", POSITIONS)
def test_as_many_sequences_lead_to_the_same_states(name: str) -> None:
    board, depth, number = POSITIONS[name]
    by_engine = Counter(walk(GAME.from_position(position(board)), depth))
    by_hand = Counter(piece_brute.walk(board, depth, below))
    assert by_engine.total() == by_hand.total() == number
    assert by_engine == by_hand
