"""What RULES guarantees of a position (RULES 2.15), so that whatever loads can be played on."""

from __future__ import annotations

from sixledger.engine.nimmt.cards import ROW_LENGTH, ROWS, bullheads, fitting_row
from sixledger.engine.nimmt.frame import Frame
from sixledger.engine.nimmt.state import ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def demand(fact: bool, otherwise: str) -> None:
    """Refuse the position unless `fact` holds. The texts never hold a card that could be a secret."""
    if not fact:
        raise ValueError(f"no such position: {otherwise}")


class Facts(Frame):
    """The facts of the base game; a variant puts its own in their place where they differ."""

    def undealt_sizes(self, state: State) -> range:
        """How many cards may be left of the pack once the rows have started."""
        left = len(self.pack(state.players, state.options)) - self.hand_size * state.players - ROWS
        return range(left, left + 1)

    def decisions(self, state: State) -> range:
        """What the number of the decision may be. Every turn has one choice of cards and at most one of a row."""
        begun = state.turns_completed() + 1
        return range(begun, 2 * begun + 1)

    def most_points(self, state: State) -> int:
        """How many points a round can give at most to all seats together."""
        return bullheads(self.pack(state.players, state.options))

    def moves_of_start(self, state: State, ended: bool) -> int:
        """How often the start has moved to the left neighbour; `ended`: the match has ended with this round."""
        return state.round - 1

    def next_seat(self, state: State) -> int:
        """The seat on turn where no choice is pending; -1 where every seat may act."""
        return -1

    def check_row(self, row: tuple[int, ...]) -> None:
        """The cards of a row ascend, and they are not too many."""
        demand(1 <= len(row) <= ROW_LENGTH, f"a row holds 1 to {ROW_LENGTH} cards")
        demand(list(row) == sorted(row), "the cards of a row ascend")

    def check_points(self, state: State, ended: bool) -> None:
        """The points of the round follow from the cards; `ended`: the match has ended with this round."""
        demand(not state.common_pile, "no rows are collected together")
        for points, pile in zip(state.round_points, state.piles, strict=True):
            demand(points == bullheads(pile), "round points are the bullheads of the pile")

    def check_public(self, state: State) -> None:
        """What everybody knows of the hands."""
        demand(not any(state.public_hands), "no card of a hand is public")

    def check_pool(self, state: State) -> None:
        """Cards to draft and drafted hands."""
        demand(len(state.rows) == ROWS, f"there are {ROWS} rows")
        demand(not state.pool and not state.hand_lists, "no cards are drafted")

    def check_hands(self, state: State, phase: pb.Phase.ValueType) -> None:
        """The sizes of the hands, with sealed choices, in a turn that is in `phase`."""
        sizes = {len(hand) + len(sealed or ()) for hand, sealed in zip(state.hands, state.chosen, strict=True)}
        left = self.hand_size - self.cards_a_turn * state.turn
        demand(all(sealed is None or len(sealed) == self.cards_a_turn for sealed in state.chosen), "a choice is whole")
        if phase == pb.PHASE_PLACING:
            demand(sizes == {left}, f"while cards are placed in turn {state.turn}, every hand has {left} cards")
            demand(all(sealed is None for sealed in state.chosen), "a revealed choice is no longer sealed")
        else:
            demand(phase == pb.PHASE_SELECTION, "it names no phase")
            left += self.cards_a_turn
            demand(None in state.chosen, "a choice of every seat is turned up at once")
            demand(sizes == {left}, f"in turn {state.turn} every seat has {left} cards, its choice counted")

    def check_queue(self, state: State) -> None:
        """A match stops in the middle of a turn only if the lowest card, and so none yet, can be placed."""
        queue = state.queue
        demand(sorted(seat for _, seat in queue) == list(range(state.players)), "every seat has one revealed card")
        demand(queue == sorted(queue), "revealed cards are placed in ascending order")
        demand(fitting_row(state.rows, queue[0][0]) < 0, "the lowest revealed card fits, so it would lie")
        demand(state.pending == ROW, "the choice of a row is that of the lowest revealed card")
        demand(state.on_turn == self.chooser(state), "the choice of a row is that of the lowest revealed card")

    def chooser(self, state: State) -> int:
        """The seat that chooses a row for the first card of the queue."""
        return state.queue[0][1]

    def check_last_turn(self, state: State) -> None:
        """The round is over."""
        demand(state.turn == self.turns, "a match ends after the last turn of a round")
        demand(not any(state.hands) and not any(state.chosen), "a match ends after the last turn of a round")
