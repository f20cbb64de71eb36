"""6 Forces once more, as slowly and plainly as RULES part 1 says it, to count what the engine counts.

Nothing here comes from the engine: cards are texts such as `R10`, a game is a tuple of plain values, and every
question is answered by looking at everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

TYPES = ("R", "Y", "B", "G", "HIGH", "LOW")


@dataclass(frozen=True)
class Plain:
    """A deal of 6 Forces. Predictions are (tricks, flex), seats without a choice have None."""

    players: int
    starter: int
    hands: tuple[tuple[str, ...], ...]
    predictions: tuple[tuple[int, bool] | None, ...]
    trumps: tuple[str | None, ...]
    #: Cards played, in order, as (seat, card).
    played: tuple[tuple[int, str], ...] = ()


def number(card: str) -> int:
    return int(card[1:])


def put(values: tuple[Any, ...], seat: int, value: Any) -> tuple[Any, ...]:
    return tuple(value if each == seat else old for each, old in enumerate(values))


def chips_left(deal: Plain) -> int:
    return 15 - sum(tricks + (1 if flex else 0) for tricks, flex in filter(None, deal.predictions))


def winner_of(deal: Plain, trick: tuple[tuple[int, str], ...]) -> int:
    """1.4.2: compare every card with every other one."""
    trump, led = deal.trumps[trick[0][0]], trick[0][1][0]

    def beats(later: str, earlier: str) -> bool:
        if trump == "HIGH":
            return number(later) >= number(earlier)
        if trump == "LOW":
            return number(later) <= number(earlier)
        for color in (trump, led):
            if later[0] == color or earlier[0] == color:
                return later[0] == color and (earlier[0] != color or number(later) > number(earlier))
        return False

    best = trick[0]
    for play in trick[1:]:
        if beats(play[1], best[1]):
            best = play
    return best[0]


def tricks_of(deal: Plain) -> list[tuple[tuple[int, str], ...]]:
    """Complete tricks."""
    n = deal.players
    return [deal.played[at : at + n] for at in range(0, len(deal.played) - n + 1, n)]


def on_turn(deal: Plain) -> int | None:
    """The seat that must act; None after the last card."""
    n = deal.players
    choices = sum(each is not None for each in (*deal.predictions, *deal.trumps))
    if choices < 2 * n:
        return (deal.starter + choices) % n
    if len(deal.played) == 12 * n:
        return None
    if len(deal.played) % n:
        return (deal.played[-1][0] + 1) % n
    tricks = tricks_of(deal)
    return winner_of(deal, tricks[-1]) if tricks else deal.starter


def moves(deal: Plain) -> Iterator[Plain]:
    """Every deal that one legal command leads to, in the order of 1.5."""
    seat = on_turn(deal)
    if seat is None:
        return
    choices = sum(each is not None for each in (*deal.predictions, *deal.trumps))
    if choices < 2 * deal.players:
        if deal.predictions[seat] is None:
            for tricks in range(16):
                for flex in (False, True):
                    taken = tricks + (1 if flex else 0)
                    if taken <= chips_left(deal) and taken <= 12:
                        yield replace(deal, predictions=put(deal.predictions, seat, (tricks, flex)))
        if deal.trumps[seat] is None:
            for kind in TYPES:
                count = {each: deal.trumps.count(each) for each in TYPES}
                allowed = count[kind] == 0 or (deal.players == 4 and count[kind] == 1 and 2 not in count.values())
                if allowed:
                    yield replace(deal, trumps=put(deal.trumps, seat, kind))
        return
    hand = deal.hands[seat]
    trick = deal.played[len(deal.played) // deal.players * deal.players :]
    for card in hand:
        if trick and card[0] != trick[0][1][0] and any(other[0] == trick[0][1][0] for other in hand):
            continue
        rest = tuple(other for other in hand if other != card)
        yield replace(deal, hands=put(deal.hands, seat, rest), played=(*deal.played, (seat, card)))


def points(deal: Plain) -> tuple[int, ...]:
    """1.4.3, seat by seat, for a deal that is played out."""
    won = [winner_of(deal, trick) for trick in tricks_of(deal)]
    result = []
    for seat, prediction in enumerate(deal.predictions):
        assert prediction is not None
        tricks, flex = prediction
        announced = {tricks, tricks + 1} if flex else {tricks}
        mine = won.count(seat)
        if mine in announced:
            result.append(2 if flex else 4)
        else:
            result.append(-min(abs(mine - each) for each in announced))
    return tuple(result)
