"""Logic: the hands are drafted openly from the cards 1 to 10n + 4 (RULES 2.6)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import ROWS, without
from sixledger.engine.nimmt.commands import DRAFT_CARD
from sixledger.engine.nimmt.core import Events, Step, Variant
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


class Logic(Variant):
    """A draft before each round; then the base game with hands that everybody knows."""

    number = pb.VARIANT_LOGIC
    name = "logic"
    about = "the cards 1 to 10n + 4 lie open, and the seats take their hands from them in turn"
    has_starter = True
    has_public_hands = True

    def pack(self, players: int, options: pb.Options) -> Sequence[int]:
        return self.tactics_pack(players)

    def steps(self) -> dict[type[Message], Step]:
        return super().steps() | {pb.DraftCard: self._draft_card}

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {
            pb.StarterDrawn: evolve.starter_drawn,
            pb.RoundStarted: _round_started,
            pb.DraftStarted: _draft_started,
            pb.CardDrafted: _card_drafted,
            pb.Revealed: _revealed,
        }

    def begin_round(self, state: State, chance: Chance) -> Events:
        """Nothing is shuffled: the whole pack is the pool."""
        cards = self.pack(state.players, state.options)
        yield pb.RoundStarted(round=state.round + 1, pack_size=len(cards), hand_size=self.hand_size)
        yield pb.DraftStarted(cards=cards, starter=state.starter)

    def choices(self, state: State, seat: int) -> list[Message]:
        if state.phase == pb.PHASE_DRAFT:
            return [DRAFT_CARD[card] for card in state.pool]
        return super().choices(state, seat)

    def _draft_card(self, state: State, seat: int, command: pb.DraftCard, chance: Chance) -> Events:
        """Take a card; the four that nobody took start the rows."""
        self.check(state, seat, command, pb.PHASE_DRAFT)
        card = command.card
        if card not in state.pool:
            raise IllegalCommand("illegal_value", f"card {card} is no longer in the pool")
        yield pb.CardDrafted(seat=seat, card=card)
        if len(state.pool) == ROWS:
            yield from self.end_draft(state)

    def end_draft(self, state: State) -> Events:
        """All hands are complete."""
        yield self.first_rows(state.pool)

    # -- what every position fulfils -------------------------------------------------------------

    def drafts(self, state: State) -> int:
        """Drafts begun in the match."""
        return state.round

    def decisions(self, state: State) -> range:
        whole = self.hand_size * state.players
        if state.rows:
            return shifted(super().decisions(state), whole * self.drafts(state))
        played = self.turns * (state.round - 1)
        return shifted(range(played, 2 * played + 1), whole * (state.round - 1) + self._picks(state) + 1)

    def next_seat(self, state: State) -> int:
        return (state.starter + self._picks(state)) % state.players

    def _picks(self, state: State) -> int:
        """Cards taken in the draft that is going on."""
        return self.hand_size * state.players + ROWS - len(state.pool)

    def check_public(self, state: State) -> None:
        for hand, sealed, public in zip(state.hands, state.chosen, state.public_hands, strict=True):
            demand(public == tuple(sorted(hand + (sealed or ()))), "every card of a hand is public, sealed or not")

    def check_hand_lists(self, state: State) -> None:
        """Drafted hands that are kept for later."""
        demand(not state.hand_lists, "no hands go round")

    def check_pool(self, state: State) -> None:
        self.check_hand_lists(state)
        if state.rows:
            demand(not state.pool, "the draft is over")
            return
        demand(list(state.pool) == sorted(state.pool), "the cards of the pool ascend")
        drafted = [0] * state.players
        for pick in range(self._picks(state)):
            drafted[(state.starter + pick) % state.players] += 1
        demand([len(hand) for hand in state.hands] == drafted, "the seats draft in turn")


def shifted(numbers: range, by: int) -> range:
    """A range moved up."""
    return range(numbers.start + by, numbers.stop + by)


def _round_started(state: State, event: pb.RoundStarted) -> None:
    evolve.round_started_by_the_next(state, event)
    state.undealt_count = 0  # the cards lie in the pool


def _draft_started(state: State, event: pb.DraftStarted) -> None:
    state.pool = tuple(event.cards)
    state.phase = pb.PHASE_DRAFT
    state.on_turn = event.starter
    state.decision += 1


def _card_drafted(state: State, event: pb.CardDrafted) -> None:
    seat = event.seat
    state.pool = without(state.pool, event.card)
    state.hands[seat] = state.public_hands[seat] = tuple(sorted((*state.hands[seat], event.card)))
    state.hand_counts[seat] += 1
    if len(state.pool) > ROWS:
        state.on_turn = (seat + 1) % state.players
        state.decision += 1


def _revealed(state: State, event: pb.Revealed) -> None:
    """What was sealed is known to all: it no longer counts as a card of the hand."""
    evolve.revealed(state, event)
    for play in event.plays:
        state.public_hands[play.seat] = state.hands[play.seat] = without(state.public_hands[play.seat], play.card)
