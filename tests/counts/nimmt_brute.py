"""6 nimmt! and its variants read a second time from RULES 2, plainly and slowly, for counting only.

A row is a list of positions, a position a list of equal cards. Nothing here comes from the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

SIMULTANEOUS = ("base", "tactics", "logic", "tournament", "professional", "double", "nifty")
#: A move: who, what, and which cards, row or side.
Move = tuple[int, str, Any]


@dataclass
class Plain:
    """A round in progress. It ends with the round."""

    variant: str
    hands: list[list[int]]
    rows: list[list[list[int]]]
    points: list[int]
    #: Turns completed in the match (double), or in the round (hand: of single seats).
    turns: int
    starter: int = 0
    pool: list[int] = field(default_factory=list)
    #: Cards of each pile; hand and double count them.
    piles: list[list[int]] = field(default_factory=list)
    #: Sealed or laid this turn.
    played: dict[int, tuple[int, ...]] = field(default_factory=dict)
    #: Groups of (card, seats) that are still to be placed; in nifty each group is a pair.
    waiting: list[list[tuple[int, list[int]]]] = field(default_factory=list)
    #: What somebody must decide while cards are placed: (seat, what).
    asked: tuple[int, str] | None = None
    collected: int = -1
    over: bool = False
    max_cycles: int = 100

    @property
    def seats(self) -> int:
        return len(self.hands)


def worth(card: int) -> int:
    """RULES 2.1."""
    return 7 if card == 55 else 5 if not card % 11 else 3 if not card % 10 else 2 if not card % 5 else 1


def value(positions: list[list[int]]) -> int:
    return sum(worth(card) for position in positions for card in position)


def moves(game: Plain) -> Iterator[Move]:
    """Every legal move, in no particular order."""
    if game.over:
        return
    if game.asked:
        seat, what = game.asked
        if what == "row":
            yield from ((seat, "take", row) for row in range(4))
        elif what == "end":
            yield from ((seat, "end", end) for end in ends(game.rows, game.waiting[0][0][0]))
        elif what == "first":
            yield from ((seat, "first", card) for card, _ in game.waiting[0])
        else:
            cards = [card for position in game.rows[game.collected] for card in position]
            room = 16 - len(game.hands[seat])
            for size in range(min(room, len(cards)) + 1):
                yield from ((seat, "keep", kept) for kept in combinations(cards, size))
    elif len(game.pool) > 4:
        drafted = sum(map(len, game.hands))
        yield from (((game.starter + drafted) % game.seats, "draft", card) for card in game.pool)
    elif game.variant in SIMULTANEOUS:
        for seat, hand in enumerate(game.hands):
            if seat not in game.played:
                size = 2 if game.variant == "nifty" else 1
                yield from ((seat, "play", cards) for cards in set(combinations(sorted(hand), size)))
    elif game.variant == "open":
        seat = (game.starter + len(game.played)) % game.seats
        yield from ((seat, "play", (card,)) for card in game.hands[seat])
    else:
        seat = (game.starter + game.turns) % game.seats
        for size in (1, 2):
            yield from ((seat, "play", cards) for cards in permutations(game.hands[seat], size))


def after(game: Plain, move: Move) -> Plain:
    """The game after a move, which is not checked."""
    game = deepcopy(game)
    seat, what, choice = move
    if what == "draft":
        game.pool.remove(choice)
        game.hands[seat].append(choice)
        if len(game.pool) == 4:
            game.rows = [[[card]] for card in sorted(game.pool)]
            game.pool = []
        return game
    if what == "play":
        for card in choice:
            game.hands[seat].remove(card)
        game.played[seat] = choice
        if game.variant == "hand":
            game.waiting = [[(card, [seat])] for card in choice]
        elif len(game.played) < game.seats:
            return game
        else:
            game.waiting = line_up(game)
        game.played = {}
        if game.variant == "nifty":
            game.asked = (game.waiting[0][0][1][0], "first")
    else:
        decide(game, seat, what, choice)
    go_on(game)
    return game


def line_up(game: Plain) -> list[list[tuple[int, list[int]]]]:
    """The revealed cards in the order in which they are handled."""
    if game.variant == "nifty":
        order = sorted(game.played, key=lambda seat: min(game.played[seat]))
        return [[(card, [seat]) for card in game.played[seat]] for seat in order]
    cards = sorted({cards[0] for cards in game.played.values()})
    return [[(card, sorted(seat for seat in game.played if game.played[seat] == (card,)))] for card in cards]


def decide(game: Plain, seat: int, what: str, choice: Any) -> None:
    """A decision while cards are placed."""
    game.asked = None
    if what == "first":
        game.waiting[0].sort(key=lambda each: each[0] != choice)
    elif what == "take":
        collect(game, choice)
    elif what == "end":
        put(game, *choice)
    else:
        row = game.rows[game.collected]
        cards = [card for position in row for card in position]
        game.hands[seat] += choice
        game.piles[seat] += [card for card in cards if card not in choice]
        game.points[seat] += sum(worth(card) for card in cards if card not in choice)
        game.rows[game.collected] = [[game.waiting[0][0][0]]]
        done(game)


def go_on(game: Plain) -> None:
    """Place cards until somebody is asked or the turn is over."""
    while game.waiting and not game.asked:
        card, seats = game.waiting[0][0]
        if game.variant == "double":
            on = [row for row in game.rows if row[-1][0] == card]
            if on:
                on[0][-1].append(card)
                done(game)
                continue
        found = ends(game.rows, card) if game.variant == "professional" else right(game.rows, card)
        if not found:
            chooser = seats[0]
            if game.variant == "double":
                first = game.turns % game.seats
                chooser = next(s % game.seats for s in range(first, first + game.seats) if s % game.seats in seats)
            game.asked = (chooser, "row")
        elif len(found) == 2:
            game.asked = (seats[0], "end")
        else:
            put(game, *found[0])
    if not game.asked:
        game.turns += 1
        end_of_turn(game)


def end_of_turn(game: Plain) -> None:
    if game.variant == "open":
        game.starter = (game.starter + 1) % game.seats
    if game.variant != "hand":
        game.over = not any(game.hands)
    elif game.turns % game.seats == 0:
        game.over = (
            any(not hand for hand in game.hands)
            or any(len(pile) >= 21 for pile in game.piles)
            or game.turns // game.seats == game.max_cycles
        )
        if game.over:
            for seat, hand in enumerate(game.hands):
                game.points[seat] += 2 * sum(map(worth, hand))


def right(rows: list[list[list[int]]], card: int) -> list[tuple[int, str]]:
    """The right end to which a card belongs, if any."""
    fitting = [(card - row[-1][0], index) for index, row in enumerate(rows) if row[-1][0] < card]
    return [(min(fitting)[1], "right")] if fitting else []


def ends(rows: list[list[list[int]]], card: int) -> list[tuple[int, str]]:
    """The nearest ends in professional."""
    every = [(card - row[-1][0], index, "right") for index, row in enumerate(rows)]
    every += [(row[0][0] - card, index, "left") for index, row in enumerate(rows)]
    every = [end for end in every if end[0] > 0]
    return sorted((index, side) for distance, index, side in every if distance == min(every)[0])


def put(game: Plain, row: int, side: str) -> None:
    """Lay the first waiting card at an end, or collect the row if it is full."""
    if len(game.rows[row]) == 5:
        collect(game, row)
        return
    card, seats = game.waiting[0][0]
    game.rows[row].insert(0 if side == "left" else 5, [card] * len(seats))
    done(game)


def collect(game: Plain, row: int) -> None:
    """The seats of the first waiting card collect a row."""
    card, seats = game.waiting[0][0]
    if game.variant == "hand":
        game.asked, game.collected = (seats[0], "keep"), row
        return
    for seat in seats:
        game.points[seat] += -(-value(game.rows[row]) // len(seats))
        if len(seats) == 1:
            game.piles[seat] += [each for position in game.rows[row] for each in position]
    game.rows[row] = [[card] * len(seats)]
    done(game)


def done(game: Plain) -> None:
    """The first waiting card lies."""
    del game.waiting[0][0]
    if not game.waiting[0]:
        del game.waiting[0]
        if game.variant == "nifty" and game.waiting:
            game.asked = (game.waiting[0][0][1][0], "first")
