"""The course of a match as all variants share it: the base game, with a method for each step.

Steps are generators of events; whoever runs them applies every event before asking for the next, so a step
reads the effects of what it has yielded. A variant is a subclass that says what it fixes about the options
and replaces the steps in which it departs (RULES 2.4 to 2.12).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.game import Setup, competition_ranking
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import HIGHEST, ROW_LENGTH, ROWS, bullheads, fitting_row
from sixledger.engine.nimmt.commands import SELECT_CARD, TAKE_ROW, check_seat, check_shape
from sixledger.engine.nimmt.facts import Facts
from sixledger.engine.nimmt.state import END, KEEP, NOTHING, ORDER, ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Events = Iterator[Message]
Step = Callable[[State, int, Any, Chance], Events]

#: The commonest event by seat and card, made once: nobody may change them.
CHOSEN = tuple(tuple(pb.Chosen(seat=seat, card=card) for card in range(HIGHEST + 1)) for seat in range(10))

#: What a match waits for, by its phase and by the choice that is pending while cards are placed.
_WAITS_IN = {
    pb.PHASE_SELECTION: "a card of every seat",
    pb.PHASE_DRAFT: "a seat to draft a card",
    pb.PHASE_LAYING: "a seat to lay a card",
    pb.PHASE_ACTING: "a seat to play its cards",
}
_WAITS_FOR = {
    ROW: "the choice of a row",
    END: "the choice of an end",
    ORDER: "the choice of the first card",
    KEEP: "the choice of the cards to keep",
}


@lru_cache(maxsize=8192)
def card_placed(seats: tuple[int, ...], card: int, row: int, side: pb.Side.ValueType, length: int) -> pb.CardPlaced:
    """The event of a card that is placed. One message serves many matches: nobody may change it."""
    return pb.CardPlaced(seats=seats, card=card, row=row, side=side, length=length)


@lru_cache(maxsize=2048)
def row_choice_needed(seat: int, card: int) -> pb.RowChoiceNeeded:
    """The event of a card that fits nowhere. One message serves many matches: nobody may change it."""
    return pb.RowChoiceNeeded(seat=seat, card=card)


@lru_cache(maxsize=1024)
def turn_ended(round_: int, turn: int) -> pb.TurnEnded:
    """The event of a turn that ends. One message serves many matches: nobody may change it."""
    return pb.TurnEnded(round=round_, turn=turn)


class Variant(Facts):
    """One variant. Stateless: a single object serves every match."""

    def __init__(self, family: Mapping[pb.Variant.ValueType, Variant]) -> None:
        """`family` are all variants by number, this one included as soon as it is complete."""
        self._family = family
        self._steps = self.steps()
        self.handlers: dict[type[Message], evolve.Handler] = {
            pb.MatchStarted: self._match_started,
            **evolve.HANDLERS,
            **self.changes(),
        }

    def steps(self) -> dict[type[Message], Step]:
        """What happens on each command of the variant."""
        return {pb.SelectCard: self._select_card, pb.TakeRow: self._take_row}

    def changes(self) -> dict[type[Message], evolve.Handler]:
        """Handlers of the events that only this variant has, or that change its state differently."""
        return {}

    def _match_started(self, state: State, event: pb.MatchStarted) -> None:
        options = pb.Options()
        options.CopyFrom(event.options)
        state.rules = self._family[options.variant]
        # A redacted ledger is folded before its events can be decided again: whatever costs memory is checked here.
        if state.players or not state.rules.min_seats <= event.players <= state.rules.max_seats:
            raise ValueError("the match cannot start like this")
        state.players = event.players
        state.options = options
        state.highest = state.rules.pack(event.players, options)[-1]
        state.totals = [0] * event.players
        if options.first_starter > pb.FIRST_STARTER_RANDOM:
            state.starter = options.first_starter - pb.FIRST_STARTER_SEAT_0

    # -- the match -------------------------------------------------------------------------------

    def epochs(self, setup: Setup) -> int:
        """The rounds that the match can have at most."""
        options: pb.Options = setup.options
        return options.max_rounds if options.end_mode == pb.END_MODE_POINTS else options.rounds

    def start(self, state: State, setup: Setup, chance: Chance) -> Events:
        """The events that begin a match with a complete setup."""
        if state.players:
            raise ValueError("the match has begun")
        yield pb.MatchStarted(players=setup.seats, options=setup.options)
        if setup.options.first_starter == pb.FIRST_STARTER_RANDOM:
            yield pb.StarterDrawn(seat=chance.stream(1, "starter").below(setup.seats))
        yield from self.begin_round(state, chance)

    def play(self, state: State, seat: int, command: Any, chance: Chance) -> Events:
        """The events of a command; see `Game.play`. Needs a complete state."""
        step = self._steps.get(type(command))
        if step is None:
            self.check(state, seat, command, pb.PHASE_UNSPECIFIED)  # a command of no phase of this variant
            raise AssertionError("a match that runs has a phase")
        return step(state, seat, command, chance)

    # -- which commands are legal ----------------------------------------------------------------

    def legal(self, state: State, seat: int) -> list[Message]:
        """The legal commands of a seat, in the order of RULES 0.4."""
        if not 0 <= seat < state.players:
            return []
        if state.phase == pb.PHASE_SELECTION:
            return self.selections(known_hand(state, seat)) if state.chosen[seat] is None else []
        return self.choices(state, seat) if seat == state.on_turn and state.to_act() else []

    def selections(self, hand: tuple[int, ...]) -> list[Message]:
        """What a seat with this hand may select."""
        return [SELECT_CARD[card] for card in hand]

    def choices(self, state: State, seat: int) -> list[Message]:
        """What the seat on turn may choose."""
        assert state.pending == ROW, "the variant has other choices"
        return list(TAKE_ROW)

    def pending_choice(self, state: State) -> dict[str, Message]:
        """The pending choice of the seat on turn, by the field of view and position that holds it."""
        if not state.pending:
            return {}
        assert state.pending == ROW, "the variant has other choices"
        return {"row_choice": pb.Play(seat=state.on_turn, card=state.queue[0][0])}

    def check(self, state: State, seat: int, command: Any, phase: pb.Phase.ValueType, pending: int = NOTHING) -> None:
        """Raise what is wrong with a command that needs this phase and this pending choice of its seat."""
        check_seat(state, seat)
        check_shape(state, command)
        if state.phase != phase or state.pending != pending:
            check_running(state)
            waits = _WAITS_FOR.get(state.pending) or self.waits(state.phase)
            raise IllegalCommand("wrong_phase", f"the match waits for {waits}")
        if phase != pb.PHASE_SELECTION and seat != state.on_turn:
            raise IllegalCommand("not_your_turn", f"seat {state.on_turn} must choose")

    def waits(self, phase: pb.Phase.ValueType) -> str:
        """What a match waits for in `phase`, in words."""
        return _WAITS_IN[phase]

    # -- commands --------------------------------------------------------------------------------

    def _select_card(self, state: State, seat: int, command: pb.SelectCard, chance: Chance) -> Events:
        """Seal a card of the hand; the last seat's choice turns all up (RULES 2.4.2)."""
        card = command.card
        if state.phase != pb.PHASE_SELECTION or not (0 <= seat < state.players and 0 < card <= state.highest):
            self.check(state, seat, command, pb.PHASE_SELECTION)  # most commands of a match pass without it
        if state.chosen[seat] is not None:
            raise IllegalCommand("already_chosen", "the seat has chosen its card for this turn")
        if card not in state.hands[seat]:
            raise not_in_hand(card)
        yield CHOSEN[seat][card]
        if None in state.chosen:
            return
        revealed = pb.Revealed()
        add_play = revealed.plays.add  # half the time of a list of Play messages
        for at, cards in enumerate(state.chosen):
            assert cards
            add_play(seat=at, card=cards[0])
        yield revealed
        yield from self.place(state, chance)

    def _take_row(self, state: State, seat: int, command: pb.TakeRow, chance: Chance) -> Events:
        """Collect the chosen row for a card that fits nowhere (RULES 2.4.3)."""
        self.check(state, seat, command, pb.PHASE_PLACING, ROW)
        yield from self.collect(state, command.row, pb.TAKE_CAUSE_NO_FIT)
        yield from self.place(state, chance)

    # -- the steps of a round --------------------------------------------------------------------

    def begin_round(self, state: State, chance: Chance) -> Events:
        """Shuffle, deal and start the rows (RULES 2.3). Every round starts from the complete pack."""
        number = state.round + 1
        cards = self.pack(state.players, state.options)
        size = self.hand_size
        yield pb.RoundStarted(round=number, pack_size=len(cards), hand_size=size)
        yield pb.PackShuffled(round=number, order=chance.stream(number, "pack").shuffle(cards))
        for seat in range(state.players):
            yield pb.HandDealt(seat=seat, count=size, cards=sorted(state.undealt[:size]))
        yield self.first_rows(state.undealt)

    def first_rows(self, undealt: tuple[int, ...]) -> pb.RowsStarted:
        """The first cards of the rows, from the top of what is not dealt."""
        return pb.RowsStarted(rows=[pb.Row(cards=(card,)) for card in undealt[:ROWS]])

    def place(self, state: State, chance: Chance) -> Events:
        """Place the open cards, the first of the queue first, as far as nobody has to decide (RULES 2.4.3)."""
        queue, rows = state.queue, state.rows
        while queue and not state.pending:
            card, seat = queue[0]
            row = fitting_row(rows, card)
            if row < 0:
                assert self.may_fit_nowhere(state), "a second card of one turn fits nowhere"
                yield row_choice_needed(seat, card)
            elif len(rows[row]) < ROW_LENGTH:
                yield card_placed((seat,), card, row, pb.SIDE_RIGHT, len(rows[row]) + 1)
            else:
                yield from self.collect(state, row, pb.TAKE_CAUSE_FULL)
        if not state.pending:
            yield from self.end_turn(state, chance)

    def may_fit_nowhere(self, state: State) -> bool:
        """Once any card of the turn lies, its row takes every higher one: only the lowest can fit nowhere."""
        return len(state.queue) == state.players

    def collect(self, state: State, row: int, cause: pb.TakeCause.ValueType) -> Events:
        """The seat of the first open card collects a row, and its card starts it anew."""
        card, seat = state.queue[0]
        cards = state.rows[row]
        yield pb.RowTaken(seats=(seat,), row=row, cards=cards, points_each=bullheads(cards), cause=cause)
        yield card_placed((seat,), card, row, pb.SIDE_NEW, 1)

    def end_turn(self, state: State, chance: Chance) -> Events:
        """End the turn, and with the last one the round."""
        yield turn_ended(state.round, state.turn)
        if state.phase == pb.PHASE_PLACING:  # no further turn has begun
            yield from self.end_round(state, chance)

    def end_round(self, state: State, chance: Chance) -> Events:
        """Score the round and go on (RULES 2.4.4)."""
        yield self.score(state)
        yield from self.go_on(state, chance)

    def score(self, state: State) -> pb.RoundScored:
        """The points of the round and the totals with them."""
        points = state.round_points
        totals = [total + each for total, each in zip(state.totals, points, strict=True)]
        return pb.RoundScored(round=state.round, points=points, totals=totals)

    def go_on(self, state: State, chance: Chance) -> Events:
        """After a scored round, end the match or begin the next round (RULES 2.4.5)."""
        totals = state.totals
        reason = self.end_reason(state.options, state.round, totals)
        if reason == pb.END_REASON_UNSPECIFIED:
            yield from self.begin_round(state, chance)
            return
        ranking = competition_ranking(totals, low_is_good=True)
        winners = [seat for seat, rank in enumerate(ranking) if rank == 1]
        yield pb.MatchEnded(scores=totals, winners=winners, ranking=ranking, reason=reason)


# -- small parts that variants use ---------------------------------------------------------------


def known_hand(state: State, seat: int) -> tuple[int, ...]:
    """The hand of a seat. Raises ValueError if it is not known here."""
    hand = state.hands[seat]
    if len(hand) != state.hand_counts[seat]:
        raise ValueError(f"the hand of seat {seat} is not known here")
    return hand


def check_running(state: State) -> None:
    """Raise IllegalCommand unless the match has begun and not ended."""
    if state.phase == pb.PHASE_ENDED:
        raise IllegalCommand("finished", "the match has ended")
    if state.phase == pb.PHASE_UNSPECIFIED:
        raise IllegalCommand("wrong_phase", "the match has not begun")


def not_in_hand(card: int) -> IllegalCommand:
    """The error of a card that the seat does not hold; the seat has named it itself."""
    return IllegalCommand("not_in_hand", f"card {card} is not in the hand of the seat")
