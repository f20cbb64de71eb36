"""Nifty: two cards a turn; a seat places both before the next (RULES 2.10)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import fitting_row, without
from sixledger.engine.nimmt.commands import select_pairs
from sixledger.engine.nimmt.core import Events, Step, Variant, not_in_hand
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import NOTHING, ORDER, ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Nifty(Variant):
    """The queue holds the pairs by their lower cards, each ascending until its seat has chosen the order."""

    number = pb.VARIANT_NIFTY
    name = "nifty"
    about = "two cards a turn; a seat places both before the next one"
    max_seats = 7
    hand_size = 14
    turns = 7
    cards_a_turn = 2

    def steps(self) -> dict[type[Message], Step]:
        return {
            pb.SelectPair: self._select_pair,
            pb.PlaceFirst: self._place_first,
            pb.TakeRow: self._take_row,
        }

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {
            pb.Chosen: _chosen,
            pb.Revealed: _revealed,
            pb.OrderChosen: _order_chosen,
            pb.CardPlaced: _card_placed,
        }

    def waits(self, phase: pb.Phase.ValueType) -> str:
        return "two cards of every seat"

    def selections(self, hand: tuple[int, ...]) -> list[Message]:
        return [select_pairs(low)[high] for at, low in enumerate(hand) for high in hand[at + 1 :]]

    def choices(self, state: State, seat: int) -> list[Message]:
        if state.pending == ORDER:
            return [pb.PlaceFirst(card=card) for card, _ in state.queue[:2]]
        return super().choices(state, seat)

    def pending_choice(self, state: State) -> dict[str, Message]:
        if state.pending != ORDER:
            return super().pending_choice(state)
        return {"order_choice": pb.OrderChoice(seat=state.on_turn, cards=[card for card, _ in state.queue[:2]])}

    def _select_pair(self, state: State, seat: int, command: pb.SelectPair, chance: Chance) -> Events:
        """Seal two cards; the last seat's choice turns all up."""
        self.check(state, seat, command, pb.PHASE_SELECTION)
        if state.chosen[seat] is not None:
            raise IllegalCommand("already_chosen", "the seat has chosen its cards for this turn")
        cards = tuple(command.cards)
        for card in cards:
            if card not in state.hands[seat]:
                raise not_in_hand(card)
        if len(cards) != self.cards_a_turn or cards[0] >= cards[1]:
            raise IllegalCommand("illegal_value", "give two different cards, the lower one first")
        yield pb.Chosen(seat=seat, cards=cards)
        if None in state.chosen:
            return
        yield pb.Revealed(plays=[pb.Play(seat=at, cards=pair) for at, pair in enumerate(state.chosen)])

    def _place_first(self, state: State, seat: int, command: pb.PlaceFirst, chance: Chance) -> Events:
        """Choose the order of the own pair, then place it."""
        self.check(state, seat, command, pb.PHASE_PLACING, ORDER)
        if command.card not in (card for card, _ in state.queue[:2]):
            raise IllegalCommand("illegal_value", f"card {command.card} is none of the two that the seat has played")
        yield pb.OrderChosen(seat=seat, first=command.card)
        yield from self.place(state, chance)

    def may_fit_nowhere(self, state: State) -> bool:
        """The next seat's cards may be lower than those that lie."""
        return True

    # -- what every position fulfils -------------------------------------------------------------

    def decisions(self, state: State) -> range:
        """A turn has one choice of cards, and of each seat one of the order and at most two of a row."""
        done, players = state.turns_completed(), state.players
        return range(1 + done * (1 + players), (done + 1) * (1 + 3 * players) + 1)

    def check_queue(self, state: State) -> None:
        """Pairs of different seats by their lower cards; the first may be halved or turned round."""
        queue = state.queue
        demand(bool(queue) and len(queue) <= 2 * state.players, "a choice is that of a revealed card")
        head = 2 - len(queue) % 2
        rest = [queue[at : at + 2] for at in range(head, len(queue), 2)]
        demand(all(low[1] == high[1] and low < high for low, high in rest), "a revealed pair is that of a seat")
        demand(rest == sorted(rest), "pairs are placed by their lower cards")
        demand(len({seat for _, seat in queue[:head]}) == 1, "a revealed pair is that of a seat")
        seats = [queue[0][1], *(pair[0][1] for pair in rest)]
        demand(len(set(seats)) == len(seats), "a seat has one revealed pair")
        demand(all(0 <= seat < state.players for seat in seats), "a revealed pair is that of a seat")
        demand(head == 1 or not rest or min(queue[:head]) < rest[0][0], "pairs are placed by their lower cards")
        demand(state.on_turn == seats[0], "the choice is that of the first seat")
        if state.pending == ORDER:
            demand(head == 2 and queue[0] < queue[1], "an order is chosen before a pair is placed")
        else:
            demand(state.pending == ROW and fitting_row(state.rows, queue[0][0]) < 0, "the card fits, so it would lie")


def _chosen(state: State, event: pb.Chosen) -> None:
    seat, cards = event.seat, tuple(event.cards)
    state.chosen[seat] = cards
    state.hand_counts[seat] -= Nifty.cards_a_turn
    for card in cards:
        state.hands[seat] = without(state.hands[seat], card)


def _revealed(state: State, event: pb.Revealed) -> None:
    pairs = sorted((tuple(play.cards), play.seat) for play in event.plays)
    state.queue = [(card, seat) for pair, seat in pairs for card in pair]
    state.chosen = [None] * state.players
    state.phase = pb.PHASE_PLACING
    _ask_for_order(state)


def _ask_for_order(state: State) -> None:
    """The first seat of the queue must choose the order of its pair."""
    state.pending = ORDER
    state.on_turn = state.queue[0][1]
    state.decision += 1


def _order_chosen(state: State, event: pb.OrderChosen) -> None:
    state.pending = NOTHING
    if state.queue[0][0] != event.first:
        state.queue[:2] = state.queue[1::-1]


def _card_placed(state: State, event: pb.CardPlaced) -> None:
    evolve.card_placed(state, event)
    if state.queue and len(state.queue) % 2 == 0:
        _ask_for_order(state)
