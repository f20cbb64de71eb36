"""Professional: rows grow at both ends (RULES 2.8)."""

# ruff: noqa: D102  # the core documents every method

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand
from sixledger.engine.nimmt import evolve
from sixledger.engine.nimmt.cards import ROW_LENGTH
from sixledger.engine.nimmt.core import Events, Step, Variant, card_placed, row_choice_needed
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import END, NOTHING, ROW, State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: An end of a row: its index and SIDE_LEFT or SIDE_RIGHT.
End = tuple[int, pb.Side.ValueType]


class Professional(Variant):
    """A card goes to the nearest end that admits it, left or right; between two its seat chooses."""

    number = pb.VARIANT_PROFESSIONAL
    name = "professional"
    about = "rows grow at both ends"
    decks = (pb.DECK_FULL, pb.DECK_TACTICS)

    def steps(self) -> dict[type[Message], Step]:
        return super().steps() | {pb.ChooseEnd: self._choose_end}

    def changes(self) -> dict[type[Message], evolve.Handler]:
        return {pb.EndChoiceNeeded: _end_choice_needed, pb.CardPlaced: _card_placed}

    def choices(self, state: State, seat: int) -> list[Message]:
        if state.pending == END:
            return [pb.ChooseEnd(row=row, side=side) for row, side in nearest_ends(state.rows, state.queue[0][0])]
        return super().choices(state, seat)

    def pending_choice(self, state: State) -> dict[str, Message]:
        if state.pending != END:
            return super().pending_choice(state)
        card = state.queue[0][0]
        return {
            "end_choice": pb.EndChoice(seat=state.on_turn, card=card, ends=_messages(nearest_ends(state.rows, card)))
        }

    def _choose_end(self, state: State, seat: int, command: pb.ChooseEnd, chance: Chance) -> Events:
        self.check(state, seat, command, pb.PHASE_PLACING, END)
        end = command.row, command.side
        if end not in nearest_ends(state.rows, state.queue[0][0]):
            raise IllegalCommand("illegal_value", "this is none of the two nearest ends")
        yield from self._place_at(state, *end)
        yield from self.place(state, chance)

    def place(self, state: State, chance: Chance) -> Events:
        while state.queue and not state.pending:
            card, seat = state.queue[0]
            ends = nearest_ends(state.rows, card)
            if not ends:
                yield row_choice_needed(seat, card)
            elif len(ends) == 1:
                yield from self._place_at(state, *ends[0])
            else:
                yield pb.EndChoiceNeeded(seat=seat, card=card, ends=_messages(ends))
        if not state.pending:
            yield from self.end_turn(state, chance)

    def _place_at(self, state: State, row: int, side: pb.Side.ValueType) -> Events:
        """Lay the first card of the queue at an end; a full row is collected, whichever end it was."""
        length = len(state.rows[row])
        if length == ROW_LENGTH:
            yield from self.collect(state, row, pb.TAKE_CAUSE_FULL)
        else:
            card, seat = state.queue[0]
            yield card_placed((seat,), card, row, side, length + 1)

    # -- what every position fulfils -------------------------------------------------------------

    def decisions(self, state: State) -> range:
        begun = state.turns_completed() + 1
        return range(begun, begun * (1 + state.players) + 1)

    def check_queue(self, state: State) -> None:
        """Cards may have been placed before the one that waits."""
        queue = state.queue
        demand(bool(queue), "a choice is that of a revealed card")
        demand(len({seat for _, seat in queue}) == len(queue) <= state.players, "a seat has one revealed card")
        demand(all(0 <= seat < state.players for _, seat in queue), "a revealed card is that of a seat")
        demand(queue == sorted(queue), "revealed cards are placed in ascending order")
        ends = nearest_ends(state.rows, queue[0][0])
        demand(len(ends) != 1, "the lowest revealed card fits, so it would lie")
        demand(state.pending == (END if ends else ROW), "the choice is that of the lowest revealed card")
        demand(state.on_turn == queue[0][1], "the choice is that of the lowest revealed card")


def nearest_ends(rows: Sequence[Sequence[int]], card: int) -> list[End]:
    """The nearest ends that admit `card`, by row: none, one, or two."""
    nearest = 0
    found: list[End] = []
    for index, row in enumerate(rows):
        first, last = row[0], row[-1]
        if card > last:
            distance, side = card - last, pb.SIDE_RIGHT
        elif card < first:
            distance, side = first - card, pb.SIDE_LEFT
        else:
            continue
        if not found or distance < nearest:
            nearest, found = distance, [(index, side)]
        elif distance == nearest:
            found.append((index, side))
    # Two right ends, or two left ones, at one distance would be the same card.
    assert len({side for _, side in found}) == len(found), "two ends of one side are equally near"
    return found


def _messages(ends: list[End]) -> list[pb.RowEnd]:
    return [pb.RowEnd(row=row, side=side) for row, side in ends]


def _end_choice_needed(state: State, event: pb.EndChoiceNeeded) -> None:
    state.pending = END
    state.on_turn = event.seat
    state.decision += 1


def _card_placed(state: State, event: pb.CardPlaced) -> None:
    if event.side == pb.SIDE_LEFT:
        state.rows[event.row] = (event.card, *state.rows[event.row])
        del state.queue[0]
    else:
        evolve.card_placed(state, event)
    state.pending = NOTHING
