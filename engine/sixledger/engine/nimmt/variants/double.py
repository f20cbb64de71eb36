"""Double: a pack with twins, which lie on one another and may be played together (RULES 2.12)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import HIGHEST, ROW_LENGTH, ROWS, bullheads, fitting_row
from sixledger.engine.nimmt.commands import SELECT_CARD
from sixledger.engine.nimmt.core import Events, Variant, card_placed, row_choice_needed
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Double(Variant):
    """Equal numbers: in a hand two cards, in a row one position, in one turn the joint play of two seats."""

    number = pb.VARIANT_DOUBLE
    name = "double"
    about = "a pack with twins, which lie on one another and may be played together"
    double_packs = (pb.DOUBLE_PACK_DOUBLE, pb.DOUBLE_PACK_DOUBLETS)

    def pack(self, players: int, options: pb.Options) -> Sequence[int]:
        every = options.double_pack == pb.DOUBLE_PACK_DOUBLE
        return [card for card in range(1, HIGHEST + 1) for _ in range(2 if every or _is_doublet(card) else 1)]

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {pb.RowsStarted: _rows_started, pb.RowTaken: _row_taken, pb.CardPlaced: _card_placed}

    def selections(self, hand: tuple[int, ...]) -> list[Message]:
        return [SELECT_CARD[card] for card in dict.fromkeys(hand)]

    def first_rows(self, undealt: tuple[int, ...]) -> pb.RowsStarted:
        """A card that equals one that lies goes on top of it and starts no row."""
        rows: dict[int, list[int]] = {}
        drawn: list[int] = []
        for card in undealt:
            if len(rows) == ROWS:
                break
            drawn.append(card)
            rows.setdefault(card, []).append(card)
        return pb.RowsStarted(
            stacked_rows=[pb.StackedRow(positions=[pb.Stack(cards=cards)]) for cards in rows.values()], drawn=drawn
        )

    def place(self, state: State, chance: Chance) -> Events:
        while state.queue and not state.pending:
            card, seats = state.queue[0][0], joint_seats(state)
            row = twin_row(state.rows, card)
            if row >= 0:
                assert len(seats) == 1, "a third card of one number"
                yield pb.CardPlaced(
                    seats=seats, card=card, row=row, side=pb.SIDE_ON_TWIN, length=positions(state.rows[row])
                )
                continue
            row = fitting_row(state.rows, card)
            if row < 0:
                assert self.may_fit_nowhere(state), "a second number of one turn fits nowhere"
                yield row_choice_needed(self.chooser(state), card)
            elif (length := positions(state.rows[row])) < ROW_LENGTH:
                yield card_placed(tuple(seats), card, row, pb.SIDE_RIGHT, length + 1)
            else:
                yield from self.collect(state, row, pb.TAKE_CAUSE_FULL)
        if not state.pending:
            yield from self.end_turn(state, chance)

    def collect(self, state: State, row: int, cause: pb.TakeCause.ValueType) -> Events:
        """Two seats share the bullheads, rounded up for both."""
        card, seats, cards = state.queue[0][0], joint_seats(state), state.rows[row]
        points = -(-bullheads(cards) // len(seats))
        yield pb.RowTaken(seats=seats, row=row, cards=cards, points_each=points, cause=cause)
        yield card_placed(tuple(seats), card, row, pb.SIDE_NEW, 1)

    # -- what every position fulfils -------------------------------------------------------------

    def undealt_sizes(self, state: State) -> range:
        """Up to three of the cards drawn for the rows are twins of the others."""
        after_four = super().undealt_sizes(state).start
        return range(after_four - 3, after_four + 1)

    def most_points(self, state: State) -> int:
        """A shared collection may add one; a round has at most five a seat, each of two seats."""
        return super().most_points(state) + self.hand_size * state.players // 2

    def check_row(self, row: tuple[int, ...]) -> None:
        demand(1 <= positions(row) <= ROW_LENGTH, f"a row holds 1 to {ROW_LENGTH} positions")
        demand(list(row) == sorted(row), "the cards of a row ascend")

    def check_points(self, state: State, ended: bool) -> None:
        shared = [shared_points(state, seat) for seat in range(state.players)]
        common = state.common_pile
        demand(all(points >= 0 for points in shared), "round points hold the bullheads of the pile")
        least = bullheads(common)
        demand(least <= sum(shared) <= least + len(common), "shared points are the bullheads of the common pile")
        demand(sum(shared) % 2 == 0, "two seats share the same points")

    def check_queue(self, state: State) -> None:
        super().check_queue(state)
        demand(twin_row(state.rows, state.queue[0][0]) < 0, "the lowest revealed card lies on its twin")

    def chooser(self, state: State) -> int:
        """Of two seats the first clockwise from a seat that changes every turn."""
        start = state.turns_completed()
        return min(joint_seats(state), key=lambda seat: (seat - start) % state.players)


def positions(row: Sequence[int]) -> int:
    """The length of a row: twins count once."""
    return len(set(row))


def stacks(row: Sequence[int]) -> list[tuple[int, ...]]:
    """The positions of a row, each with its cards."""
    return [tuple(cards) for _, cards in groupby(row)]


def twin_row(rows: Sequence[Sequence[int]], card: int) -> int:
    """The row whose last card is the twin of `card`; -1 if there is none."""
    return next((index for index, row in enumerate(rows) if row[-1] == card), -1)


def joint_seats(state: State) -> tuple[int, ...]:
    """The seats whose card is placed next, ascending: two if it is a joint play."""
    card = state.queue[0][0]
    return tuple(seat for number, seat in state.queue[:2] if number == card)


def shared_points(state: State, seat: int) -> int:
    """Points of the round for rows that a seat collected together with another."""
    return state.round_points[seat] - bullheads(state.piles[seat])


def _is_doublet(card: int) -> bool:
    return card % 11 == 0 and card < 100


def _rows_started(state: State, event: pb.RowsStarted) -> None:
    evolve.rows_started(state, event)
    state.rows = [tuple(card for stack in row.positions for card in stack.cards) for row in event.stacked_rows]


def _card_placed(state: State, event: pb.CardPlaced) -> None:
    together = len(event.seats)
    state.rows[event.row] += (event.card,) * together
    del state.queue[:together]


def _row_taken(state: State, event: pb.RowTaken) -> None:
    """What two seats collect goes out of play; both are charged."""
    if len(event.seats) > 1:
        state.common_pile += state.rows[event.row]
        state.rows[event.row] = ()
    evolve.row_taken(state, event)
