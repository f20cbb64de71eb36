"""6 nimmt! as a program without events, messages, views or checks would play it: the baseline of the engine.

Plain lists and integers, changed in place. The rules are those of the base game (RULES 2.4), played until a
total is above the limit; a test plays the same packs here and in the engine and compares the results.
"""

from __future__ import annotations

from collections.abc import Callable

_BULLHEADS = [0] + [
    7 if c == 55 else 5 if c % 11 == 0 else 3 if c % 10 == 0 else 2 if c % 5 == 0 else 1 for c in range(1, 105)
]


class BareMatch:
    """A match in progress. `pack(round)` gives the shuffled pack of a round, from 1."""

    __slots__ = ("at", "chosen", "hands", "limit", "over", "pack", "players", "points", "queue", "round", "rows",
                 "taking", "totals", "waiting")  # fmt: skip

    def __init__(self, players: int, pack: Callable[[int], list[int]], limit: int = 66) -> None:
        self.players, self.pack, self.limit = players, pack, limit
        self.totals = [0] * players
        self.round = 0
        self.over = self.taking = False
        self.queue: list[tuple[int, int]] = []
        self.at = 0
        self._deal()

    def _deal(self) -> None:
        self.round += 1
        pack, players = self.pack(self.round), self.players
        self.hands = [sorted(pack[10 * seat : 10 * seat + 10]) for seat in range(players)]
        self.rows = [[card] for card in pack[10 * players : 10 * players + 4]]
        self.points = [0] * players
        self.chosen = [0] * players
        self.waiting = players

    def legal(self, seat: int) -> list[int]:
        """The cards, or the rows, that the seat may choose, ascending."""
        if self.taking:
            return [0, 1, 2, 3] if self.queue[self.at][1] == seat else []
        return [] if self.chosen[seat] else self.hands[seat].copy()

    def play(self, seat: int, choice: int) -> None:
        """Choose a card, or the row to take."""
        if self.taking:
            self.taking = False
            card, seat = self.queue[self.at]
            self.points[seat] += sum([_BULLHEADS[taken] for taken in self.rows[choice]])
            self.rows[choice] = [card]
            self.at += 1
            self._place()
            return
        self.hands[seat].remove(choice)
        self.chosen[seat] = choice
        self.waiting -= 1
        if not self.waiting:
            self.queue = sorted(zip(self.chosen, range(self.players), strict=True))
            self.at = 0
            self._place()

    def _place(self) -> None:
        """Place the revealed cards, the lowest first; stop where a seat must choose a row."""
        queue, rows, players = self.queue, self.rows, self.players
        while self.at < players:
            card, seat = queue[self.at]
            nearest, found = 0, None
            for row in rows:
                if nearest < row[-1] < card:
                    nearest, found = row[-1], row
            if found is None:
                self.taking = True
                return
            if len(found) == 5:
                self.points[seat] += sum([_BULLHEADS[taken] for taken in found])
                found.clear()
            found.append(card)
            self.at += 1
        self.chosen = [0] * players
        self.waiting = players
        if not self.hands[0]:
            self.totals = [total + points for total, points in zip(self.totals, self.points, strict=True)]
            if max(self.totals) > self.limit:
                self.over = True
            else:
                self._deal()

    @property
    def winners(self) -> list[int]:
        """The seats with the lowest total, once the match is over."""
        best = min(self.totals)
        return [seat for seat, total in enumerate(self.totals) if total == best]
