"""Positions: complete states as messages, to and fro.

Whoever loads a position may have made it up, so loading checks every fact that the rules guarantee
(RULES 2.15): what is loaded can be played on without surprises.
"""

from __future__ import annotations

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.nimmt import options as opt
from sixledger.engine.nimmt.cards import ROWS
from sixledger.engine.nimmt.facts import demand
from sixledger.engine.nimmt.state import END, KEEP, NOTHING, ORDER, ROW, State
from sixledger.engine.nimmt.view import shared
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

#: The pending choice by the field that holds it.
_PENDING = {"row_choice": ROW, "end_choice": END, "order_choice": ORDER, "keep_choice": KEEP}

_BY_RULES = (
    pb.END_REASON_LIMIT,
    pb.END_REASON_ROUNDS,
    pb.END_REASON_MAX_ROUNDS,
    pb.END_REASON_TOURNAMENT,
)


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
        seats=[_seat(state, seat) for seat in range(state.players)],
        queue=[pb.Play(seat=seat, card=card) for card, seat in state.queue],
        undealt=state.undealt,
        decision=state.decision,
        result=state.result,
        starter=state.starter if state.starter >= 0 else None,
        pool=state.pool,
        common_pile=state.common_pile,
        hand_lists=[pb.CardList(cards=cards) for cards in state.hand_lists],
        **state.rules.pending_choice(state),  # type: ignore[arg-type]  # fields of the message, by name
    )


def _seat(state: State, seat: int) -> pb.SeatPosition:
    sealed = state.chosen[seat] or ()
    return pb.SeatPosition(
        hand=state.hands[seat],
        chosen=sealed[0] if len(sealed) == 1 else None,
        chosen_cards=sealed if len(sealed) > 1 else (),
        pile=state.piles[seat],
        round_points=state.round_points[seat],
        total=state.totals[seat],
        public_hand=state.public_hands[seat] if state.public_hands else (),
        shared_points=shared(state, seat),
    )


def from_position(given: pb.Position) -> State:
    """The state of a position at a decision point or after the end. Raises ValueError if it is none."""
    demand(isinstance(given, pb.Position), "it is no position of 6 nimmt!")
    demand(not has_unknown_fields(given), "it has fields that this build does not know")
    try:
        setup = opt.complete(given.players, given.options)
    except IllegalOptions as error:
        raise ValueError(f"no such position: {error}") from error
    demand(setup.options == given.options, "its options are not complete")
    demand(len(given.seats) == given.players, "it must describe every seat")
    choices = [name for name in _PENDING if given.HasField(name)]  # type: ignore[arg-type]  # names as literals
    demand(len(choices) <= 1, "one choice is pending at a time")
    state = _read(given, choices[0] if choices else None)
    _check_cards(state)
    _check_course(state)
    _check_phase(state)
    demand(position(state) == given, "a part of it belongs to another phase or variant")
    return state


def _read(given: pb.Position, choice: str | None) -> State:
    """The state as it is written, not yet checked."""
    options = pb.Options()
    options.CopyFrom(given.options)
    result = None
    if given.HasField("result"):
        result = pb.MatchEnded()
        result.CopyFrom(given.result)
    hands = [tuple(seat.hand) for seat in given.seats]
    rules = opt.variant_of(options)
    state = State(
        rules=rules,
        players=given.players,
        options=options,
        highest=rules.pack(given.players, options)[-1],
        phase=given.phase,
        round=given.round,
        turn=given.turn,
        decision=given.decision,
        starter=given.starter if given.HasField("starter") else -1,
        rows=[tuple(row.cards) for row in given.rows],
        hands=hands,
        hand_counts=[len(hand) for hand in hands],
        public_hands=[tuple(seat.public_hand) for seat in given.seats] if rules.has_public_hands else [],
        chosen=[_sealed(seat) for seat in given.seats],
        piles=[tuple(seat.pile) for seat in given.seats],
        common_pile=tuple(given.common_pile),
        round_points=[seat.round_points for seat in given.seats],
        totals=[seat.total for seat in given.seats],
        queue=[(play.card, play.seat) for play in given.queue],
        pending=_PENDING[choice] if choice else NOTHING,
        pending_row=given.keep_choice.row if choice == "keep_choice" else -1,
        undealt=tuple(given.undealt),
        undealt_count=len(given.undealt),
        pool=tuple(given.pool),
        hand_lists=tuple(tuple(each.cards) for each in given.hand_lists),
        result=result,
    )
    state.on_turn = getattr(given, choice).seat if choice else rules.next_seat(state)
    return state


def _sealed(seat: pb.SeatPosition) -> tuple[int, ...] | None:
    """The sealed cards of a seat, None if it has not chosen."""
    return tuple(seat.chosen_cards) or ((seat.chosen,) if seat.HasField("chosen") else None)


def _check_cards(state: State) -> None:
    """Every card of the pack lies in exactly one place, in order where there is one."""
    found = [*state.undealt, *state.pool, *state.common_pile, *(card for card, _ in state.queue)]
    for cards in (*state.rows, *state.hands, *state.piles, *(sealed or () for sealed in state.chosen)):
        found += cards
    low, high = state.rules.lowest, state.highest
    demand(all(low <= card <= high for card in found), f"cards are numbers from {low} to {high}")
    pack = list(state.rules.pack(state.players, state.options))
    demand(sorted(found) == pack, "the cards are not the pack, each once")
    state.rules.check_pool(state)
    if state.rows:
        sizes = state.rules.undealt_sizes(state)
        demand(len(state.undealt) in sizes, f"{sizes.stop - 1} cards are not dealt in a round")
        demand(len(state.rows) == ROWS, f"there are {ROWS} rows")
        for row in state.rows:
            state.rules.check_row(row)
        demand(len({row[-1] for row in state.rows}) == ROWS, "no two rows end alike")
    demand(all(list(hand) == sorted(hand) for hand in state.hands), "the cards of a hand ascend")
    demand(all(list(sealed or ()) == sorted(sealed or ()) for sealed in state.chosen), "sealed cards ascend")
    state.rules.check_points(state, _ended_by_rules(state))
    state.rules.check_public(state)


def _check_course(state: State) -> None:
    """Round, turn, starter, totals and the number of the decision fit each other."""
    rules, options = state.rules, state.options
    over, turns = rules.epochs(opt.complete(state.players, options)), rules.most_turns(state.players, options)
    demand(1 <= state.round <= over, f"the match has rounds 1 to {over}")
    demand(bool(state.rows) <= state.turn <= turns * bool(state.rows), f"a round has turns 1 to {turns}")
    if rules.has_starter:
        demand(0 <= state.starter < state.players, "a seat begins")
        first = options.first_starter - pb.FIRST_STARTER_SEAT_0
        starter = (first + rules.moves_of_start(state, _ended_by_rules(state))) % state.players
        demand(first < 0 or state.starter == starter, "another seat begins")
    scored = state.round if _ended_by_rules(state) else state.round - 1
    most = rules.most_points(state) * scored
    demand(sum(state.totals) <= most, f"the totals of {scored} scored rounds are at most {most} together")
    if not _ended_by_rules(state) and scored:
        goes_on = rules.end_reason(options, scored, state.totals) == pb.END_REASON_UNSPECIFIED
        demand(goes_on, "the match would have ended after the round before")
    numbers = rules.decisions(state)
    within = f"the number of the decision is between {numbers.start} and {numbers.stop - 1}"
    demand(state.decision in numbers, within)


def _check_phase(state: State) -> None:
    """Hands, sealed choices, queue and result fit the phase."""
    phase = state.phase
    if phase == pb.PHASE_ENDED:
        demand(state.result is not None, "a match that has ended has a result")
        _check_result(state)
        if _ended_by_rules(state):
            demand(not state.queue and not state.pending, "no card waits to be placed")
            state.rules.check_last_turn(state)
            return
        # Where it was left: what is pending or missing tells.
        phase = pb.PHASE_PLACING if state.pending else state.rules.opening if state.rows else pb.PHASE_DRAFT
    else:
        demand(state.result is None, "a match that runs has no result")
    demand((phase == pb.PHASE_DRAFT) == (not state.rows), "it names no phase")
    if phase == pb.PHASE_PLACING or state.pending or (state.queue and phase != pb.PHASE_LAYING):
        demand(bool(state.queue), "a choice is that of a revealed card")
        state.rules.check_queue(state)
        demand(phase == pb.PHASE_PLACING, "it names no phase")
    if phase != pb.PHASE_DRAFT:
        state.rules.check_hands(state, phase)
    else:
        demand(not any(state.piles) and not any(state.chosen), "nothing is played before the draft is over")


def _ended_by_rules(state: State) -> bool:
    """True if the match ended after a scored round, not because someone left."""
    return state.result is not None and state.result.reason in _BY_RULES


def _check_result(state: State) -> None:
    """The result repeats the totals and ranks each seat, or none."""
    result = state.result
    assert result is not None
    demand(list(result.scores) == state.totals, "the scores of the result are the totals")
    ranked = 0 if result.reason == pb.END_REASON_ABORTED else state.players
    demand(len(result.ranking) == ranked, f"the result ranks {ranked} seats")
    winners = [seat for seat, rank in enumerate(result.ranking) if rank == 1]
    demand(list(result.winners) == winners, "the winners are the seats of rank 1")
    if _ended_by_rules(state):
        reason = state.rules.end_reason(state.options, state.round, state.totals)
        demand(result.reason == reason, "the match does not end like this with these totals")
    else:
        left = (pb.END_REASON_RESIGNED, pb.END_REASON_FORFEIT, pb.END_REASON_ABORTED)
        demand(result.reason in left, "the result gives no reason")
