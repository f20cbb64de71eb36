"""Tournament: as many games as seats; the drafted hands go round, so each seat plays each of them (RULES 2.7)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.game import Setup
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.core import Events
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import State
from sixledger.engine.nimmt.variants.logic import Logic
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Tournament(Logic):
    """Logic with one draft for the whole match. Round g + 1 is game g."""

    number = pb.VARIANT_TOURNAMENT
    name = "tournament"
    about = "as many games as seats; the drafted hands go round, so that every seat plays each of them"
    max_seats = 5
    end_modes = ()

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return super().changes() | {pb.HandSet: _hand_set, pb.SheetEntry: _sheet_entry}

    def epochs(self, setup: Setup) -> int:
        return setup.seats

    def begin_round(self, state: State, chance: Chance) -> Events:
        """Only the first game has a draft; the others begin with what it left."""
        if not state.round:
            yield from super().begin_round(state, chance)
            return
        cards = self.pack(state.players, state.options)
        yield pb.RoundStarted(round=state.round + 1, pack_size=len(cards), hand_size=self.hand_size)
        drafted = {card for hand in state.hand_lists for card in hand}
        yield from self._begin_game(state, state.hand_lists, [card for card in cards if card not in drafted])

    def end_draft(self, state: State) -> Events:
        yield from self._begin_game(state, tuple(state.hands), state.pool)

    def _begin_game(self, state: State, hands: Sequence[tuple[int, ...]], first: Sequence[int]) -> Events:
        """Every seat takes the hand of its right neighbour's last game; the rows start as in the first game."""
        for seat in range(state.players):
            yield pb.HandSet(seat=seat, cards=hands[hand_index(state, seat)])
        yield self.first_rows(tuple(first))

    def end_round(self, state: State, chance: Chance) -> Events:
        yield self.score(state)
        for seat, points in enumerate(state.round_points):
            yield pb.SheetEntry(game=state.round - 1, hand_index=hand_index(state, seat), seat=seat, points=points)
        yield from self.go_on(state, chance)

    def end_reason(self, options: pb.Options, rounds: int, totals: Sequence[int]) -> pb.EndReason.ValueType:
        return pb.END_REASON_TOURNAMENT if rounds >= len(totals) else pb.END_REASON_UNSPECIFIED

    # -- what every position fulfils -------------------------------------------------------------

    def drafts(self, state: State) -> int:
        return 1

    def check_hand_lists(self, state: State) -> None:
        if not state.rows:
            demand(state.round == 1, "only the first game has a draft")
            demand(not state.hand_lists, "the hands are not drafted yet")
            return
        demand(len(state.hand_lists) == state.players, "every seat has drafted a hand")
        pack = set(self.pack(state.players, state.options))
        cards = [card for hand in state.hand_lists for card in hand]
        demand(all(len(hand) == self.hand_size for hand in state.hand_lists), "every seat has drafted a whole hand")
        demand(len(set(cards)) == len(cards) and set(cards) <= pack, "a card is drafted once")
        demand(all(list(hand) == sorted(hand) for hand in state.hand_lists), "the cards of a hand ascend")
        for seat, public in enumerate(state.public_hands):
            mine = state.hand_lists[hand_index(state, seat)]
            demand(set(public) <= set(mine), "every seat plays the hand whose turn it is")
            laid = [card for card, owner in state.queue if owner == seat]
            demand(set(laid) <= set(mine), "every seat plays the hand whose turn it is")


def hand_index(state: State, seat: int) -> int:
    """Which hand a seat plays in the current game: after each game every hand moves to the left neighbour."""
    return (seat - (state.round - 1)) % state.players


def _hand_set(state: State, event: pb.HandSet) -> None:
    seat = event.seat
    cards = tuple(event.cards)
    state.hands[seat] = state.public_hands[seat] = cards
    state.hand_counts[seat] = len(cards)
    if state.round == 1:
        state.hand_lists += (cards,)


def _sheet_entry(state: State, event: pb.SheetEntry) -> None:
    """The sheet tells who played which hand how well; the totals are those of the scored round."""
