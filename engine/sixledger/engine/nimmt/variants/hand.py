"""Hand: one seat after the other plays one or two cards and may keep cards of a row it collects (RULES 2.11)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from itertools import combinations, pairwise

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import ROW_LENGTH, ROWS, bullheads, fitting_row, without
from sixledger.engine.nimmt.commands import PLAY_CARD, play_pairs
from sixledger.engine.nimmt.core import Events, Step, Variant, card_placed, known_hand, not_in_hand, turn_ended
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import KEEP, NOTHING, ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: The largest hand, and the largest pile with which a round goes on.
HAND_LIMIT, PILE_LIMIT = 16, 20


class Hand(Variant):
    """A turn is the go of one seat, a cycle one turn of every seat."""

    number = pb.VARIANT_HAND
    name = "hand"
    about = "one seat after the other plays one or two cards and may keep cards of a row it collects"
    max_seats = 7
    end_modes = (pb.END_MODE_ROUNDS, pb.END_MODE_POINTS)
    has_starter = True
    has_public_hands = True
    has_cycles = True
    hand_size = 14
    opening = pb.PHASE_ACTING

    def most_turns(self, players: int, options: pb.Options) -> int:
        return players * options.max_cycles

    def steps(self) -> dict[type[Message], Step]:
        return {
            pb.PlayCards: self._play_cards,
            pb.TakeRow: self._take_row,
            pb.KeepCards: self._keep_cards,
        }

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {
            pb.StarterDrawn: evolve.starter_drawn,
            pb.RoundStarted: evolve.round_started_by_the_next,
            pb.RowsStarted: _rows_started,
            pb.CardsPlayed: _cards_played,
            pb.RowTaken: _row_taken,
            pb.RowSplit: _row_split,
            pb.TurnEnded: _turn_ended,
            pb.CycleEnded: _cycle_ended,
            pb.RoundScored: _round_scored,
        }

    def choices(self, state: State, seat: int) -> list[Message]:
        if state.phase == pb.PHASE_ACTING:
            hand = known_hand(state, seat)
            found: list[Message] = []
            for first in hand:
                found.append(PLAY_CARD[first])
                pairs = play_pairs(first)
                found += [pairs[second] for second in hand if second != first]
            return found
        if state.pending == KEEP:
            row = state.rows[state.pending_row]
            sizes = range(min(len(row), most_kept(state)) + 1)
            return [pb.KeepCards(cards=kept) for size in sizes for kept in combinations(row, size)]
        return super().choices(state, seat)

    def pending_choice(self, state: State) -> dict[str, Message]:
        if state.pending != KEEP:
            return super().pending_choice(state)
        card, row = state.queue[0][0], state.pending_row
        return {"keep_choice": pb.KeepChoice(seat=state.on_turn, card=card, row=row, most=most_kept(state))}

    def _play_cards(self, state: State, seat: int, command: pb.PlayCards, chance: Chance) -> Events:
        """Commit one or two cards, in the order in which they are placed."""
        self.check(state, seat, command, pb.PHASE_ACTING)
        cards = tuple(command.cards)
        for card in cards:
            if card not in state.hands[seat]:
                raise not_in_hand(card)
        if not 1 <= len(cards) <= 2 or len(set(cards)) < len(cards):
            raise IllegalCommand("illegal_value", "give one card or two different ones")
        yield pb.CardsPlayed(seat=seat, cards=cards)
        yield from self.place(state, chance)

    def may_fit_nowhere(self, state: State) -> bool:
        """The cards of a turn may be placed in any order."""
        return True

    def collect(self, state: State, row: int, cause: pb.TakeCause.ValueType) -> Events:
        """The row is the seat's; how it divides it is the seat's decision."""
        cards = state.rows[row]
        yield pb.RowTaken(seats=(state.on_turn,), row=row, cards=cards, points_each=bullheads(cards), cause=cause)

    def _keep_cards(self, state: State, seat: int, command: pb.KeepCards, chance: Chance) -> Events:
        """Divide the collected row between hand and pile; then the card starts it anew."""
        self.check(state, seat, command, pb.PHASE_PLACING, KEEP)
        kept, at, most = tuple(command.cards), state.pending_row, most_kept(state)
        row = state.rows[at]
        if not set(kept) <= set(row):
            raise IllegalCommand("illegal_value", "only cards of the collected row can be kept")
        if any(low >= high for low, high in pairwise(kept)):
            raise IllegalCommand("illegal_value", "give the cards ascending, each once")
        if len(kept) > most:
            raise IllegalCommand("illegal_value", f"a hand has at most {HAND_LIMIT} cards: keep at most {most}")
        yield pb.RowSplit(seat=seat, kept=kept, piled=[card for card in row if card not in kept])
        yield card_placed((seat,), state.queue[0][0], at, pb.SIDE_NEW, 1)
        yield from self.place(state, chance)

    def end_turn(self, state: State, chance: Chance) -> Events:
        yield turn_ended(state.round, state.turn)
        if state.phase != pb.PHASE_PLACING:  # the next seat's turn has begun
            return
        yield pb.CycleEnded(
            cycle=state.turn // state.players,
            hand_sizes=state.hand_counts,
            pile_sizes=[len(pile) for pile in state.piles],
        )
        if state.phase == pb.PHASE_PLACING:  # no further cycle has begun
            yield from self.end_round(state, chance)

    def score(self, state: State) -> pb.RoundScored:
        """Cards that are left in a hand count double."""
        points = [bullheads(pile) + 2 * bullheads(hand) for pile, hand in zip(state.piles, state.hands, strict=True)]
        return pb.RoundScored(
            round=state.round,
            points=points,
            totals=[total + each for total, each in zip(state.totals, points, strict=True)],
            max_cycles_reached=not _is_decided(state),
        )

    # -- what every position fulfils -------------------------------------------------------------

    def decisions(self, state: State) -> range:
        """A turn has one choice of cards, and for each of them at most one of a row and one of what is kept."""
        least = state.turn + (state.round - 1) * state.players
        turns = state.turn + (state.round - 1) * self.most_turns(state.players, state.options)
        return range(least, 5 * turns + 1)

    def most_points(self, state: State) -> int:
        return 2 * super().most_points(state)

    def next_seat(self, state: State) -> int:
        return (state.starter + state.turn - 1) % state.players

    def check_points(self, state: State, ended: bool) -> None:
        demand(not state.common_pile, "no rows are collected together")
        for points, pile, hand in zip(state.round_points, state.piles, state.hands, strict=True):
            counted = bullheads(pile) + (2 * bullheads(hand) if ended else 0)
            demand(points == counted, "round points are the bullheads of the pile, and at the end of the hand twice")

    def check_public(self, state: State) -> None:
        for hand, public in zip(state.hands, state.public_hands, strict=True):
            demand(list(public) == sorted(set(public) & set(hand)), "public cards of a hand are cards of the hand")

    def check_hands(self, state: State, phase: pb.Phase.ValueType) -> None:
        demand(all(sealed is None for sealed in state.chosen), "nothing is sealed")
        demand(all(len(hand) <= HAND_LIMIT for hand in state.hands), f"a hand has at most {HAND_LIMIT} cards")
        place = (state.turn - 1) % state.players
        seats = [(state.starter + each) % state.players for each in range(place, state.players)]
        if phase == pb.PHASE_PLACING:
            del seats[0]
        else:
            demand(phase == pb.PHASE_ACTING, "it names no phase")
            demand(not state.queue, "no card waits to be placed")
        for seat in seats:  # their last turn was in the cycle before, which did not end the round
            demand(bool(state.hands[seat]), "a round ends with the cycle that empties a hand")
            demand(len(state.piles[seat]) <= PILE_LIMIT, "a round ends with the cycle that fills a pile")

    def check_queue(self, state: State) -> None:
        queue = state.queue
        demand(1 <= len(queue) <= 2, "a turn has one or two cards")
        demand(all(seat == self.next_seat(state) for _, seat in queue), "the cards are those of the seat on turn")
        demand(state.on_turn == queue[0][1], "the choice is that of the seat on turn")
        fits = fitting_row(state.rows, queue[0][0])
        if state.pending == KEEP:
            demand(state.pending_row < ROWS, f"there are {ROWS} rows")
            demand(fits in (-1, state.pending_row), "the row that is divided has been collected")
            demand(fits < 0 or len(state.rows[fits]) == ROW_LENGTH, "the row that is divided has been collected")
        else:
            demand(state.pending == ROW and fits < 0, "the card fits, so it would lie")

    def check_last_turn(self, state: State) -> None:
        demand(state.turn % state.players == 0 and not state.queue, "a round ends with a cycle")
        demand(_is_over(state), "no hand is empty, no pile is full, and there may be more cycles")


def most_kept(state: State) -> int:
    """How many cards the seat on turn may take up. Cards that wait to be placed are not in its hand."""
    return HAND_LIMIT - state.hand_counts[state.on_turn]


def _is_decided(state: State) -> bool:
    """A hand is empty, or a pile has too many cards."""
    return 0 in state.hand_counts or any(len(pile) > PILE_LIMIT for pile in state.piles)


def _is_over(state: State) -> bool:
    """After a complete cycle: the round ends."""
    return _is_decided(state) or state.turn >= state.rules.most_turns(state.players, state.options)


def _open_turn(state: State, turn: int) -> None:
    state.turn = turn
    state.phase = pb.PHASE_ACTING
    state.on_turn = (state.starter + turn - 1) % state.players
    state.decision += 1


def _rows_started(state: State, event: pb.RowsStarted) -> None:
    evolve.rows_started(state, event)
    state.on_turn = state.starter


def _cards_played(state: State, event: pb.CardsPlayed) -> None:
    seat = event.seat
    for card in event.cards:
        evolve.lay_openly(state, seat, card)
        state.public_hands[seat] = without(state.public_hands[seat], card)
    state.phase = pb.PHASE_PLACING


def _row_taken(state: State, event: pb.RowTaken) -> None:
    """The cards lie where they are until they are divided."""
    state.pending = KEEP
    state.pending_row = event.row
    state.decision += 1


def _row_split(state: State, event: pb.RowSplit) -> None:
    seat, kept, piled = event.seat, tuple(event.kept), tuple(event.piled)
    state.hands[seat] = tuple(sorted(state.hands[seat] + kept))
    state.public_hands[seat] = tuple(sorted(state.public_hands[seat] + kept))
    state.hand_counts[seat] += len(kept)
    state.piles[seat] += piled
    state.round_points[seat] += bullheads(piled)
    state.rows[state.pending_row] = ()
    state.pending, state.pending_row = NOTHING, -1


def _turn_ended(state: State, event: pb.TurnEnded) -> None:
    if event.turn % state.players:
        _open_turn(state, event.turn + 1)


def _cycle_ended(state: State, event: pb.CycleEnded) -> None:
    if not _is_over(state):
        _open_turn(state, state.turn + 1)


def _round_scored(state: State, event: pb.RoundScored) -> None:
    evolve.round_scored(state, event)
    state.round_points = list(event.points)
