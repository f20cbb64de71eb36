"""Positions: complete states as messages, to and fro.

Whoever loads a position may have made it up, so loading checks every fact that the rules guarantee
(RULES 2.15): what is loaded can be played on without surprises.
"""

from __future__ import annotations

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.nimmt import options as opt
from sixledger.engine.nimmt.cards import HAND_SIZE, HIGHEST, ROW_LENGTH, ROWS, bullheads, pack
from sixledger.engine.nimmt.rules import end_reason, fitting_row
from sixledger.engine.nimmt.state import State
from sixledger.engine.nimmt.view import row_choice
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb


def position(state: State) -> pb.Position:
    """The complete state as a message. Raises ValueError if the state does not know every secret."""
    if len(state.undealt) != state.undealt_count or any(
        len(hand) != count for hand, count in zip(state.hands, state.hand_counts, strict=True)
    ):
        raise ValueError("the state does not know every card, so it has no position")
    return pb.Position(
        players=state.players,
        options=state.options,
        phase=state.phase,
        round=state.round,
        turn=state.turn,
        rows=[pb.Row(cards=row) for row in state.rows],
        seats=[
            pb.SeatPosition(
                hand=state.hands[seat],
                chosen=state.chosen[seat],
                pile=state.piles[seat],
                round_points=state.round_points[seat],
                total=state.totals[seat],
            )
            for seat in range(state.players)
        ],
        queue=[pb.Play(seat=seat, card=card) for card, seat in state.queue],
        row_choice=row_choice(state),
        undealt=state.undealt,
        decision=state.decision,
        result=state.result,
    )


def from_position(position: pb.Position) -> State:
    """The state of a position at a decision point or after the end. Raises ValueError if it is none."""
    _demand(isinstance(position, pb.Position), "it is no position of 6 nimmt!")
    _demand(not has_unknown_fields(position), "it has fields that this build does not know")
    try:
        setup = opt.complete(position.players, position.options)
    except IllegalOptions as error:
        raise ValueError(f"no such position: {error}") from error
    _demand(setup.options == position.options, "its options are not complete")
    _demand(len(position.seats) == position.players, "it must describe every seat")
    state = _read(position)
    _check_cards(state)
    _check_course(state)
    _check_phase(state, position)
    return state


def _read(position: pb.Position) -> State:
    """The state as it is written, not yet checked."""
    options = pb.Options()
    options.CopyFrom(position.options)
    result = None
    if position.HasField("result"):
        result = pb.MatchEnded()
        result.CopyFrom(position.result)
    hands = [tuple(seat.hand) for seat in position.seats]
    return State(
        players=position.players,
        options=options,
        phase=position.phase,
        round=position.round,
        turn=position.turn,
        pack_size=len(pack(position.players, options)),
        hand_size=HAND_SIZE,
        decision=position.decision,
        rows=[tuple(row.cards) for row in position.rows],
        hands=hands,
        hand_counts=[len(hand) for hand in hands],
        chosen=[seat.chosen if seat.HasField("chosen") else None for seat in position.seats],
        piles=[tuple(seat.pile) for seat in position.seats],
        round_points=[seat.round_points for seat in position.seats],
        totals=[seat.total for seat in position.seats],
        queue=[(play.card, play.seat) for play in position.queue],
        choosing_row=position.HasField("row_choice"),
        undealt=tuple(position.undealt),
        undealt_count=len(position.undealt),
        result=result,
    )


def _check_cards(state: State) -> None:
    """Every card of the pack lies in exactly one place, in order where there is one."""
    found = [*state.undealt, *(card for card, _ in state.queue), *(card for card in state.chosen if card is not None)]
    for cards in (*state.rows, *state.hands, *state.piles):
        found += cards
    _demand(all(1 <= card <= HIGHEST for card in found), f"cards are numbers from 1 to {HIGHEST}")
    found.sort()
    _demand(found == list(range(1, state.pack_size + 1)), "the cards are not the pack, each once")
    left = state.pack_size - HAND_SIZE * state.players - ROWS
    _demand(len(state.undealt) == left, f"{left} cards are not dealt in a round")
    _demand(len(state.rows) == ROWS, f"there are {ROWS} rows")
    for row in state.rows:
        _demand(1 <= len(row) <= ROW_LENGTH, f"a row holds 1 to {ROW_LENGTH} cards")
        _demand(list(row) == sorted(row), "the cards of a row ascend")
    _demand(all(list(hand) == sorted(hand) for hand in state.hands), "the cards of a hand ascend")
    _demand(
        all(points == bullheads(pile) for points, pile in zip(state.round_points, state.piles, strict=True)),
        "round points are the bullheads of the pile",
    )


def _check_course(state: State) -> None:
    """Round, turn, totals and the number of the decision fit each other."""
    over = opt.epochs(opt.complete(state.players, state.options))
    _demand(1 <= state.round <= over, f"the match has rounds 1 to {over}")
    _demand(1 <= state.turn <= HAND_SIZE, f"a round has turns 1 to {HAND_SIZE}")
    scored = state.round if _ended_by_rules(state) else state.round - 1
    most = bullheads(range(1, state.pack_size + 1)) * scored
    _demand(sum(state.totals) <= most, f"the totals of {scored} scored rounds are at most {most} together")
    if not _ended_by_rules(state) and scored:
        goes_on = end_reason(state.options, scored, state.totals) == pb.END_REASON_UNSPECIFIED
        _demand(goes_on, "the match would have ended after the round before")
    turns = HAND_SIZE * (state.round - 1) + state.turn
    # Every turn opens one choice of cards and at most one of a row.
    _demand(turns <= state.decision <= 2 * turns, f"the number of the decision is between {turns} and {2 * turns}")


def _check_phase(state: State, position: pb.Position) -> None:
    """Hands, sealed choices, queue and result fit the phase."""
    in_hand = {len(hand) + (choice is not None) for hand, choice in zip(state.hands, state.chosen, strict=True)}
    left = HAND_SIZE - state.turn
    if state.phase == pb.PHASE_ENDED:
        _demand(state.result is not None, "a match that has ended has a result")
        _check_result(state)
    else:
        _demand(state.phase in (pb.PHASE_SELECTION, pb.PHASE_PLACING), "it names no phase")
        _demand(state.result is None, "a match that runs has no result")
    if state.phase == pb.PHASE_PLACING or state.queue or position.HasField("row_choice"):
        _check_queue(state, position)
        _demand(in_hand == {left}, f"while cards are placed in turn {state.turn}, every hand has {left} cards")
        _demand(all(choice is None for choice in state.chosen), "a revealed choice is no longer sealed")
    elif _ended_by_rules(state):
        _demand(left == 0 and in_hand == {0}, "a match ends after the last turn of a round")
    else:
        _demand(None in state.chosen, "a choice of every seat is turned up at once")
        _demand(in_hand == {left + 1}, f"in turn {state.turn} every seat has {left + 1} cards, its choice counted")


def _check_queue(state: State, position: pb.Position) -> None:
    """A match stops in the middle of a turn only if the lowest card, and so none yet, can be placed."""
    _demand(sorted(seat for _, seat in state.queue) == list(range(state.players)), "every seat has one revealed card")
    _demand(state.queue == sorted(state.queue), "revealed cards are placed in ascending order")
    _demand(fitting_row(state.rows, state.queue[0][0]) < 0, "the lowest revealed card fits, so it would lie")
    pending = (position.row_choice.card, position.row_choice.seat)
    _demand(pending == state.queue[0], "the choice of a row is that of the lowest revealed card")


def _ended_by_rules(state: State) -> bool:
    """True if the match ended after a scored round, not because someone left."""
    by_rules = (pb.END_REASON_LIMIT, pb.END_REASON_ROUNDS, pb.END_REASON_MAX_ROUNDS)
    return state.result is not None and state.result.reason in by_rules


def _check_result(state: State) -> None:
    """The result repeats the totals and ranks each seat, or none."""
    result = state.result
    assert result is not None
    _demand(list(result.scores) == state.totals, "the scores of the result are the totals")
    ranked = 0 if result.reason == pb.END_REASON_ABORTED else state.players
    _demand(len(result.ranking) == ranked, f"the result ranks {ranked} seats")
    winners = [seat for seat, rank in enumerate(result.ranking) if rank == 1]
    _demand(list(result.winners) == winners, "the winners are the seats of rank 1")
    if _ended_by_rules(state):
        reason = end_reason(state.options, state.round, state.totals)
        _demand(result.reason == reason, "the match does not end like this with these totals")
    else:
        left = (pb.END_REASON_RESIGNED, pb.END_REASON_FORFEIT, pb.END_REASON_ABORTED)
        _demand(result.reason in left, "the result gives no reason")


def _demand(fact: bool, otherwise: str) -> None:
    """Refuse the position unless `fact` holds. The texts never hold a card that could be a secret."""
    if not fact:
        raise ValueError(f"no such position: {otherwise}")
