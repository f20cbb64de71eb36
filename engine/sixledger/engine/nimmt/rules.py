"""The course of a match: dealing, selection, placement, scoring, end (RULES 2.4).

Each step is a generator of events; whoever runs it applies every event before asking for the next, so
a step reads the effects of what it has yielded. A variant hooks in where it departs: its pack in
`cards.pack`, its options in `options.FRAMES`, its commands in `_COMMANDS`, its placement in `_place`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, Setup, competition_ranking
from sixledger.engine.nimmt.cards import HAND_SIZE, HIGHEST, MAX_SEATS, ROW_LENGTH, ROWS, bullheads, pack
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

Events = Iterator[Message]

#: The commands by card and by row, made once: `legal` hands out these very messages.
SELECT_CARD = tuple(pb.SelectCard(card=card) for card in range(HIGHEST + 1))
TAKE_ROW = tuple(pb.TakeRow(row=row) for row in range(ROWS))
#: The commonest event by seat and card, made once as well.
CHOSEN = tuple(tuple(pb.Chosen(seat=seat, card=card) for card in range(HIGHEST + 1)) for seat in range(MAX_SEATS))


def start(state: State, setup: Setup, chance: Chance) -> Events:
    """The events that begin a match with a complete setup."""
    if state.players:
        raise ValueError("the match has begun")
    yield pb.MatchStarted(players=setup.seats, options=setup.options)
    yield from _begin_round(state, chance)


def play(state: State, seat: int, command: Any, chance: Chance) -> Events:
    """The events of a command; see `Game.play`. Needs a complete state."""
    try:
        step = _COMMANDS[type(command)]
    except KeyError:
        raise MalformedCommand("", f"{type(command).__name__} is no command of 6 nimmt!") from None
    return step(state, seat, command, chance)


def legal(state: State, seat: int) -> list[Message]:
    """The legal commands of a seat: cards or rows ascending."""
    if state.phase == pb.PHASE_SELECTION and 0 <= seat < state.players and state.chosen[seat] is None:
        hand = state.hands[seat]
        if len(hand) != state.hand_counts[seat]:
            raise ValueError(f"the hand of seat {seat} is not known here")
        return [SELECT_CARD[card] for card in hand]
    if state.choosing_row and state.phase == pb.PHASE_PLACING and state.queue[0][1] == seat:
        return list(TAKE_ROW)
    return []


def leave(state: State, reason: str, seat: int | None) -> Events:
    """The events that end a match outside its rules (RULES 0.8)."""
    if reason == ABORTED:
        _check_running(state)
        yield pb.MatchEnded(scores=state.totals, reason=pb.END_REASON_ABORTED)
        return
    if reason not in (RESIGNED, FORFEIT) or seat is None:
        raise ValueError(f"nobody leaves a match by {reason!r} of seat {seat}")
    _check_seat(state, seat)
    _check_running(state)
    others = [each for each in range(state.players) if each != seat]
    ranks = competition_ranking([state.totals[each] for each in others], low_is_good=True)
    ranking = dict(zip(others, ranks, strict=True)) | {seat: state.players}
    yield pb.MatchEnded(
        scores=state.totals,
        winners=[each for each in others if ranking[each] == 1],
        ranking=[ranking[each] for each in range(state.players)],
        reason=pb.END_REASON_RESIGNED if reason == RESIGNED else pb.END_REASON_FORFEIT,
    )


# -- commands ------------------------------------------------------------------------------------


def _select_card(state: State, seat: int, command: pb.SelectCard, chance: Chance) -> Events:
    """Seal a card of the hand; the last seat's choice turns all up (RULES 2.4.2)."""
    card = command.card
    if not (
        state.phase == pb.PHASE_SELECTION
        and 0 <= seat < state.players
        and state.chosen[seat] is None
        and card in state.hands[seat]
    ):
        _refuse_selection(state, seat, command)
    yield CHOSEN[seat][card]
    if None in state.chosen:
        return
    revealed = pb.Revealed()
    add_play = revealed.plays.add  # half the time of a list of Play messages
    for at, own in enumerate(state.chosen):
        add_play(seat=at, card=own or 0)
    yield revealed
    yield from _place(state, chance)


def _refuse_selection(state: State, seat: int, command: pb.SelectCard) -> NoReturn:
    """Name the first rule that a selection breaks (RULES 0.4)."""
    card = command.card
    _check_seat(state, seat)
    if not 1 <= card <= state.pack_size:
        wrong = f"this match has no card {card}" if command.HasField("card") else "is missing"
        raise MalformedCommand("card", f"{wrong}; give one of 1 to {state.pack_size}")
    _check_phase(state, pb.PHASE_SELECTION)
    if state.chosen[seat] is not None:
        raise IllegalCommand("already_chosen", "the seat has chosen its card for this turn")
    raise IllegalCommand("not_in_hand", f"card {card} is not in the hand of the seat")


def _take_row(state: State, seat: int, command: pb.TakeRow, chance: Chance) -> Events:
    """Collect the chosen row for a card that fits nowhere (RULES 2.4.3)."""
    row = command.row
    _check_seat(state, seat)
    if row >= ROWS or not (row or command.HasField("row")):
        wrong = f"there is no row {row}" if row else "is missing"
        raise MalformedCommand("row", f"{wrong}; give one of 0 to {ROWS - 1}")
    _check_phase(state, pb.PHASE_PLACING)
    card, owner = state.queue[0]
    if seat != owner:
        raise IllegalCommand("not_your_turn", f"seat {owner} must choose a row")
    yield from _collect(state, seat, card, row, pb.TAKE_CAUSE_NO_FIT)
    yield from _place(state, chance)


_COMMANDS: dict[type[Message], Callable[[State, int, Any, Chance], Events]] = {
    pb.SelectCard: _select_card,
    pb.TakeRow: _take_row,
}


def _check_seat(state: State, seat: int) -> None:
    if not 0 <= seat < state.players:
        raise MalformedCommand("seat", f"there is no seat {seat}; the match has {state.players}, counted from 0")


def _check_running(state: State) -> None:
    if state.phase == pb.PHASE_ENDED:
        raise IllegalCommand("finished", "the match has ended")
    if state.phase == pb.PHASE_UNSPECIFIED:
        raise IllegalCommand("wrong_phase", "the match has not begun")


def _check_phase(state: State, phase: pb.Phase.ValueType) -> None:
    if state.phase == phase:
        return
    _check_running(state)
    waits = "a card of every seat" if state.phase == pb.PHASE_SELECTION else "the choice of a row"
    raise IllegalCommand("wrong_phase", f"the match waits for {waits}")


# -- the steps of a round ------------------------------------------------------------------------


def _begin_round(state: State, chance: Chance) -> Events:
    """Shuffle, deal and start the rows (RULES 2.3). Every round starts from the complete pack."""
    number = state.round + 1
    cards = pack(state.players, state.options)
    yield pb.RoundStarted(round=number, pack_size=len(cards), hand_size=HAND_SIZE)
    yield pb.PackShuffled(round=number, order=chance.stream(number, "pack").shuffle(cards))
    for seat in range(state.players):
        yield pb.HandDealt(seat=seat, count=HAND_SIZE, cards=sorted(state.undealt[:HAND_SIZE]))
    yield pb.RowsStarted(rows=[pb.Row(cards=(card,)) for card in state.undealt[:ROWS]])


def _place(state: State, chance: Chance) -> Events:
    """Place the revealed cards, the lowest first, as far as nobody has to decide (RULES 2.4.3)."""
    queue, rows = state.queue, state.rows
    while queue:
        card, seat = queue[0]
        row = fitting_row(rows, card)
        if row < 0:
            # Once any card of the turn lies, its row takes every higher one: only the lowest can fit nowhere.
            assert len(queue) == state.players, "a second card of one turn fits nowhere"
            yield pb.RowChoiceNeeded(seat=seat, card=card)
            return
        length = len(rows[row])
        if length < ROW_LENGTH:
            yield pb.CardPlaced(seats=(seat,), card=card, row=row, side=pb.SIDE_RIGHT, length=length + 1)
        else:
            yield from _collect(state, seat, card, row, pb.TAKE_CAUSE_FULL)
    yield pb.TurnEnded(round=state.round, turn=state.turn)
    if state.phase != pb.PHASE_SELECTION:
        yield from _end_round(state, chance)


def fitting_row(rows: Sequence[Sequence[int]], card: int) -> int:
    """The row whose last card is the nearest below `card`; -1 if there is none."""
    nearest, found = 0, -1
    for index, row in enumerate(rows):
        if nearest < row[-1] < card:
            nearest, found = row[-1], index
    return found


def _collect(state: State, seat: int, card: int, row: int, cause: pb.TakeCause.ValueType) -> Events:
    """A seat collects a row and its card starts it anew."""
    cards = state.rows[row]
    points = bullheads(cards)
    yield pb.RowTaken(seats=(seat,), row=row, cards=cards, points_each=points, cause=cause)
    yield pb.CardPlaced(seats=(seat,), card=card, row=row, side=pb.SIDE_NEW, length=1)


def _end_round(state: State, chance: Chance) -> Events:
    """Score the round; end the match or begin the next round (RULES 2.4.4, 2.4.5)."""
    totals = [total + points for total, points in zip(state.totals, state.round_points, strict=True)]
    yield pb.RoundScored(round=state.round, points=state.round_points, totals=totals)
    reason = end_reason(state.options, state.round, totals)
    if reason == pb.END_REASON_UNSPECIFIED:
        yield from _begin_round(state, chance)
        return
    ranking = competition_ranking(totals, low_is_good=True)
    winners = [seat for seat, rank in enumerate(ranking) if rank == 1]
    yield pb.MatchEnded(scores=totals, winners=winners, ranking=ranking, reason=reason)


def end_reason(options: pb.Options, rounds: int, totals: Sequence[int]) -> pb.EndReason.ValueType:
    """Why the match ends after `rounds` rounds with these totals; UNSPECIFIED if it goes on."""
    if options.end_mode == pb.END_MODE_ROUNDS:
        return pb.END_REASON_ROUNDS if rounds >= options.rounds else pb.END_REASON_UNSPECIFIED
    highest = max(totals)
    if highest > options.limit or (highest == options.limit and options.compare == pb.COMPARE_GE):
        return pb.END_REASON_LIMIT
    return pb.END_REASON_MAX_ROUNDS if rounds >= options.max_rounds else pb.END_REASON_UNSPECIFIED
