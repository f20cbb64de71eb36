"""Open: cards are laid face up, one seat after the other (RULES 2.9)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.commands import LAY_CARD
from sixledger.engine.nimmt.core import Events, Step, Variant, known_hand, not_in_hand, turn_ended
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Open(Variant):
    """Card 1 is the marker: who holds it lays the first card of the turn."""

    number = pb.VARIANT_OPEN
    name = "open"
    about = "cards are laid face up, one seat after the other"
    max_seats = 9
    has_starter = True
    lowest = 2
    opening = pb.PHASE_LAYING

    def steps(self) -> dict[type[Message], Step]:
        return {pb.LayCard: self._lay_card, pb.TakeRow: self._take_row}

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {
            pb.StarterDrawn: evolve.starter_drawn,
            pb.RowsStarted: _rows_started,
            pb.CardLaid: _card_laid,
            pb.MarkerMoved: _marker_moved,
        }

    def choices(self, state: State, seat: int) -> list[Message]:
        if state.phase == pb.PHASE_LAYING:
            return [LAY_CARD[card] for card in known_hand(state, seat)]
        return super().choices(state, seat)

    def _lay_card(self, state: State, seat: int, command: pb.LayCard, chance: Chance) -> Events:
        self.check(state, seat, command, pb.PHASE_LAYING)
        card = command.card
        if card not in state.hands[seat]:
            raise not_in_hand(card)
        yield pb.CardLaid(seat=seat, card=card)
        if state.phase == pb.PHASE_PLACING:
            yield from self.place(state, chance)

    def end_turn(self, state: State, chance: Chance) -> Events:
        yield turn_ended(state.round, state.turn)
        yield pb.MarkerMoved(seat=(state.starter + 1) % state.players)
        if state.phase == pb.PHASE_PLACING:  # no further turn has begun
            yield from self.end_round(state, chance)

    # -- what every position fulfils -------------------------------------------------------------

    def decisions(self, state: State) -> range:
        """Every card is a decision of its own."""
        begun = state.turns_completed() + 1
        return range(1 + (begun - 1) * state.players, begun * (state.players + 1) + 1)

    def moves_of_start(self, state: State, ended: bool) -> int:
        return state.turns_completed() + ended

    def next_seat(self, state: State) -> int:
        return (state.starter + len(state.queue)) % state.players

    def check_hands(self, state: State, phase: pb.Phase.ValueType) -> None:
        demand(all(sealed is None for sealed in state.chosen), "nothing is sealed")
        laid = [seat for _, seat in state.queue]
        left = self.hand_size - state.turn
        if phase == pb.PHASE_LAYING:
            order = [(state.starter + place) % state.players for place in range(state.players)]
            demand(len(laid) < state.players and laid == order[: len(laid)], "the seats lay in turn")
        else:
            demand(phase == pb.PHASE_PLACING, "it names no phase")
        sizes = [left + (phase == pb.PHASE_LAYING and seat not in laid) for seat in range(state.players)]
        demand([len(hand) for hand in state.hands] == sizes, f"in turn {state.turn} hands have {left} cards once laid")


def _rows_started(state: State, event: pb.RowsStarted) -> None:
    evolve.rows_started(state, event)
    state.on_turn = state.starter


def _card_laid(state: State, event: pb.CardLaid) -> None:
    evolve.lay_openly(state, event.seat, event.card)
    if len(state.queue) < state.players:
        state.on_turn = (event.seat + 1) % state.players
        state.decision += 1
    else:
        state.queue.sort()
        state.phase = pb.PHASE_PLACING


def _marker_moved(state: State, event: pb.MarkerMoved) -> None:
    state.starter = state.on_turn = event.seat
