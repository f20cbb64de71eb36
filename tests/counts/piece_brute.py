"""6piece once more, straight from RULES part 3 and as plainly as possible: to count by, not to play with.

It shares nothing with the engine but the numbers that chance gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

#: (label, n) → the numbers of that stream below 1, 2, … as they are asked for.
Below = Callable[[str], Callable[[int], int]]
Move = tuple[Any, ...]


@dataclass
class Board:
    """Everything about a match. Decks are lists, top first; "L" and "R" name stacks and dice."""

    decks: list[list[int]]
    first: int
    turn: int
    root: int | None = None
    stacks: dict[str, list[int]] = field(default_factory=lambda: {"L": [], "R": []})
    dice: dict[str, int | None] = field(default_factory=lambda: {"L": None, "R": None})
    flipped: int | None = None
    waits: str = "decide"
    ability: int | None = None
    named: str | None = None
    lies: str | None = None
    look: bool = False
    discards: list[int] = field(default_factory=list)
    failed: bool = False
    time_up: bool = False
    winners: list[int] | None = None
    # -- options
    beasts: bool = False
    thirteen: int = 1
    discard: bool = False
    mode: str = "none"
    last_turn: int = 200

    def summary(self) -> Any:
        """What two states must agree in to be the same."""
        lies = [tuple(self.stacks[side]) for side in "LR"]
        return (
            *map(tuple, self.decks), self.turn, self.root, *lies, self.dice["L"], self.dice["R"], self.flipped,
            self.waits, tuple(sorted(self.discards)), self.failed, self.time_up, self.winners and tuple(self.winners),
        )  # fmt: skip


def roll(board: Board, card: int) -> int:
    """The rolled value (RULES 3.1)."""
    if card == 13:
        return board.thirteen
    return ((card - 1) % 6) + 1


def on_turn(board: Board) -> int:
    """The seat on turn."""
    return board.first if board.turn % 2 == 1 else 1 - board.first


def moves(board: Board) -> list[Move]:
    """Every command that somebody may give (RULES 3.8); the first part is the seat, or None for the table."""
    if board.winners is not None:
        return []
    a = on_turn(board)
    b = 1 - a
    found: list[Move] = []
    if board.waits == "place":
        found = [(a, "place", "L"), (a, "place", "R")]
    elif board.waits == "guess":
        found = [(b, "guess", value) for value in range(1, 7)]
        if board.beasts:
            found.append((b, "guess", "beast"))
    else:
        assert board.flipped is not None
        found.append((a, "decline"))
        abilities = range(1, 7) if board.flipped >= 7 else [board.flipped]
        for ability in abilities:
            if ability == 1:
                found += [(a, "use", 1, whose) for whose, seat in (("own", a), ("opponent", b)) if board.decks[seat]]
            if ability in (2, 3, 4) and board.decks[b]:
                found.append((a, "use", ability))
            if ability == 5 and board.decks[a]:
                found.append((a, "use", 5))
            if ability == 6 and board.root is not None:
                found += [(a, "use", 6, "L"), (a, "use", 6, "R")]
    if board.mode == "clock" and not board.time_up:
        found.append((None, "time_up"))
    return found


def after(old: Board, move: Move, below: Below) -> Board:
    """The state after a move."""
    board = deepcopy(old)
    kind = move[1]
    if kind == "time_up":
        board.time_up = True
    elif kind == "decline":
        _then_place(board, below)
    elif kind == "use":
        _use(board, move, below)
    elif kind == "place":
        _lay(board, move[2], below)
    else:
        _guess(board, move[2], below)
    return board


def _use(board: Board, move: Move, below: Below) -> None:
    a = on_turn(board)
    b = 1 - a
    card = board.flipped
    assert card is not None
    board.ability = move[2]
    board.look = card >= 7 and roll(board, card) == board.ability
    if board.ability == 1:
        board.named = move[3]
    elif board.ability == 2:
        board.decks[b].insert(0, board.decks[b].pop())
    elif board.ability == 3:
        board.flipped = board.decks[b].pop()
        board.decks[b].append(card)
    elif board.ability == 4 and board.decks[b][0] == 4:
        board.decks[b].append(card)
        board.flipped = None
        _finish(board, below)
        return
    elif board.ability == 6:
        die = board.dice[move[3]]
        assert die is not None
        board.dice[move[3]] = 6 if die == 1 else die - 1
    _then_place(board, below)


def _then_place(board: Board, below: Below) -> None:
    if board.root is None:
        _lay(board, "root", below)
    else:
        board.waits = "place"


def _lay(board: Board, where: str, below: Below) -> None:
    card = board.flipped
    assert card is not None
    board.flipped = None
    if where == "root":
        board.root = card
    else:
        board.stacks[where].append(card)
    board.lies = where
    if board.ability == 5:
        board.waits = "guess"
    else:
        _count(board, below)


def _guess(board: Board, value: Any, below: Below) -> None:
    a = on_turn(board)
    b = 1 - a
    shown = board.decks[a][0]
    if (value == "beast" and shown >= 7) or value == shown:
        board.decks[b].append(board.decks[a].pop())
    elif board.decks[b]:
        board.decks[a].append(board.decks[b].pop())
    _count(board, below)


def _count(board: Board, below: Below) -> None:
    assert board.root is not None
    if board.lies == "root":
        board.dice = {"L": roll(board, board.root), "R": roll(board, board.root)}
    else:
        assert board.lies is not None
        die = board.dice[board.lies]
        assert die is not None
        total = die + roll(board, board.stacks[board.lies][-1])
        board.dice[board.lies] = total - 6 if total > 6 else total
    board.lies = None
    _finish(board, below)


def _finish(board: Board, below: Below) -> None:
    """Six piece, end of turn, and on to the next flip or the end (RULES 3.4, steps 7 to 9)."""
    full = [side for side in "LR" if board.stacks[side] and board.dice[side] == 6]
    taken: list[int] = []
    for side in full:
        cards = board.stacks[side]
        if board.discard:
            name = {"L": "left", "R": "right"}[side]
            board.discards.append(cards.pop(below(f"discard/{board.turn}/{name}")(len(cards))))
        taken += cards
        board.stacks[side] = []
        assert board.root is not None
        board.dice[side] = roll(board, board.root)
    draw = below(f"take/{board.turn}")
    for i in range(len(taken) - 1, 0, -1):
        j = draw(i + 1)
        taken[i], taken[j] = taken[j], taken[i]
    board.decks[on_turn(board)] += taken
    board.ability = board.named = None
    board.look = False
    _next(board)


def _next(board: Board) -> None:
    while True:
        a = on_turn(board)
        one, two = board.first, 1 - board.first
        empty = not board.decks[a]
        if a == two and board.failed:
            board.winners = [0, 1] if empty else [two]
        elif a == two and empty:
            board.winners = [one]
        elif a == one and empty:
            board.failed = True
        if board.winners is None and a == two:
            if board.turn == board.last_turn and board.mode == "none":
                board.winners = [0, 1]
            elif board.turn == board.last_turn or board.time_up:
                sizes = [len(deck) for deck in board.decks]
                board.winners = [seat for seat in (0, 1) if sizes[seat] == max(sizes)]
        if board.winners is not None:
            board.waits = "ended"
            return
        board.turn += 1
        if board.decks[on_turn(board)]:
            board.flipped = board.decks[on_turn(board)].pop(0)
            board.waits = "decide"
            return


def walk(board: Board, depth: int, below: Below) -> Iterator[Any]:
    """What every sequence of `depth` commands, or fewer if the match ends before, leads to."""
    found = moves(board) if depth else []
    if not found:
        yield board.summary()
        return
    for move in found:
        yield from walk(after(board, move, below), depth - 1, below)
