"""Hidden hands dealt anew, for whoever imagines what the others may hold.

All deals that fit a view are equally likely. They are not simply shuffles: a seat that did not follow a
colour holds none of it. Cards of one colour are alike in this, so it is enough to draw how many of each
colour every hidden hand gets, each way as likely as the deals it stands for, and then which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import comb

from sixledger.engine.chance import Stream
from sixledger.engine.forces.cards import COLORS, DECKS, color_of, read, write
from sixledger.engine.forces.position import from_position
from sixledger.engine.forces.state import State
from sixledger.engine.forces.view import view as view_of
from sixledger.games.forces.v1 import forces_pb2 as pb

#: How many cards of one colour each hidden hand gets.
Shares = tuple[int, ...]


def redeal(view: pb.View, stream: Stream) -> State:
    """A complete state that looks like `view` to its viewer. Raises ValueError if there is none."""
    if view.players not in DECKS or len(view.seats) != view.players:
        raise ValueError("no such view: there is nothing to deal before the match has begun")
    viewer = view.viewer if view.HasField("viewer") else None
    seen = {read(card) for seat in view.seats for card in seat.hand}
    seen.update(read(card) for cards in (view.table, *(trick.cards for trick in view.tricks)) for card in cards)
    unseen = [card for card in DECKS[view.players] if card not in seen]
    hidden = [seat for seat in range(view.players) if seat != viewer]
    sizes = [view.seats[seat].hand_count for seat in hidden]
    if sum(sizes) != len(unseen):
        raise ValueError("no such view: the cards are not the deck, each once")
    dealt = dict(zip(hidden, _deal(unseen, sizes, _missing(view, hidden), stream), strict=True))
    state = from_position(_position(view, dealt))
    if view_of(state, viewer) != view:
        raise ValueError("no such view: its parts do not fit each other")
    return state


def _missing(view: pb.View, seats: Sequence[int]) -> list[set[int]]:
    """The colours that these seats have not followed, and so do not hold."""
    missing: dict[int, set[int]] = {seat: set() for seat in range(view.players)}
    current = pb.Trick(leader=view.leader, cards=view.table)
    for trick in (*view.tricks, current):
        for place, card in enumerate(trick.cards):
            if card.color != trick.cards[0].color:
                missing[(trick.leader + place) % view.players].add(trick.cards[0].color)
    return [missing[seat] for seat in seats]


def _deal(unseen: Sequence[int], sizes: Sequence[int], missing: Sequence[set[int]], stream: Stream) -> list[list[int]]:
    """The cards in hands of these sizes, without the colours that a hand misses; every way as likely."""
    if not any(missing):
        cards = stream.shuffle(unseen)
        return [sorted(cards[sum(sizes[:hand]) :][:size]) for hand, size in enumerate(sizes)]
    groups = [[card for card in unseen if color_of(card) == color] for color in COLORS]
    hands: list[list[int]] = [[] for _ in sizes]
    for cards, shares in zip(groups, _draw_shares(groups, sizes, missing, stream), strict=True):
        shuffled = stream.shuffle(cards)
        for hand, share in zip(hands, shares, strict=True):
            hand.extend(shuffled[:share])
            del shuffled[:share]
    return [sorted(hand) for hand in hands]


def _draw_shares(
    groups: Sequence[Sequence[int]], sizes: Sequence[int], missing: Sequence[set[int]], stream: Stream
) -> list[Shares]:
    """For each colour, how many of its cards each hand gets."""

    def splits(group: int, room: Shares) -> Iterator[tuple[int, Shares, Shares]]:
        """The ways to share a colour: how many deals of its cards each stands for, shares, and room left."""
        may = tuple(0 if COLORS[group] in colors else free for free, colors in zip(room, missing, strict=True))
        for weight, shares in _shares(len(groups[group]), may):
            yield weight, shares, tuple(free - share for free, share in zip(room, shares, strict=True))

    @cache
    def deals(group: int, room: Shares) -> int:
        """The deals of the colours from this one on into this room."""
        if group == len(groups):
            return 1
        return sum(weight * deals(group + 1, left) for weight, _, left in splits(group, room))

    room, drawn = tuple(sizes), list[Shares]()
    if not deals(0, room):
        raise ValueError("no such view: no hands fit what was played")
    for group in range(len(groups)):
        at = stream.below(deals(group, room))
        for weight, shares, left in splits(group, room):
            at -= weight * deals(group + 1, left)
            if at < 0:
                room = left
                drawn.append(shares)
                break
    return drawn


def _shares(cards: int, room: Shares) -> Iterator[tuple[int, Shares]]:
    """Every way to share this many cards out into this room, and how many choices of cards it stands for."""
    if len(room) == 1:
        if cards <= room[0]:
            yield 1, (cards,)
        return
    for share in range(min(cards, room[0]) + 1):
        for weight, others in _shares(cards - share, room[1:]):
            yield comb(cards, share) * weight, (share, *others)


def _position(view: pb.View, dealt: dict[int, list[int]]) -> pb.Position:
    """The position that the view shows, with these hands where it shows none."""
    return pb.Position(
        players=view.players,
        options=view.options,
        phase=view.phase,
        deal=view.deal,
        starter=view.starter,
        planning_pass=view.planning_pass,
        trick=view.trick,
        leader=view.leader if view.HasField("leader") else None,
        on_turn=next(iter(view.to_act), None),
        seats=[
            pb.SeatPosition(
                hand=write(dealt[seat.seat]) if seat.seat in dealt else seat.hand,
                prediction=seat.prediction if seat.HasField("prediction") else None,
                trump=seat.trump,
                tricks_won=seat.tricks_won,
                total=seat.total,
            )
            for seat in view.seats
        ],
        table=view.table,
        tricks=view.tricks,
        supply=view.supply,
        decision=view.decision,
        result=view.result if view.HasField("result") else None,
    )
