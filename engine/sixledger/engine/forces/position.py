"""Positions: complete states as messages, to and fro.

Whoever loads a position may have made it up, so loading checks every fact that the rules guarantee
(RULES 1.4, 1.7): what is loaded can be played on without surprises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sixledger.engine.errors import IllegalOptions
from sixledger.engine.forces import options as opt
from sixledger.engine.forces.cards import CHIPS, DECKS, HAND_SIZE, MESSAGES, TRUMPS, best, read, write
from sixledger.engine.forces.rules import fixed_starter, points, ranking_without
from sixledger.engine.forces.state import Announced, State, Trick
from sixledger.engine.forces.view import announced, course
from sixledger.engine.game import competition_ranking
from sixledger.engine.schema import has_unknown_fields
from sixledger.games.forces.v1 import forces_pb2 as pb


def position(state: State) -> pb.Position:
    """The complete state as a message. Raises ValueError if the state does not know every hand."""
    if any(len(hand) != count for hand, count in zip(state.hands, state.hand_counts, strict=True)):
        raise ValueError("the state does not know every card, so it has no position")
    return pb.Position(
        **course(state),
        on_turn=next(iter(state.to_act()), None),
        seats=[
            pb.SeatPosition(
                hand=write(state.hands[seat]),
                prediction=announced(state, seat),
                trump=state.trumps[seat],
                tricks_won=state.tricks_won[seat],
                total=state.totals[seat],
            )
            for seat in range(state.players)
        ],
    )


def from_position(position: pb.Position) -> State:
    """The state of a position at a decision point or after the end. Raises ValueError if it is none."""
    _demand(isinstance(position, pb.Position), "it is no position of 6 Forces")
    _demand(not has_unknown_fields(position), "it has fields that this build does not know")
    try:
        setup = opt.complete(position.players, position.options)
    except IllegalOptions as error:
        raise ValueError(f"no such position: {error}") from error
    _demand(setup.options == position.options, "its options are not complete")
    _demand(len(position.seats) == position.players, "it must describe every seat")
    _check_messages(position)
    state = _read(position)
    _check_deal(state)
    _check_planning(state)
    _check_tricks(state)
    _check_end(state)
    _demand(state.decision == _decisions(state), f"this is decision {_decisions(state)} of the match")
    turn = position.on_turn if position.HasField("on_turn") else None
    _demand(turn == next(iter(state.to_act()), None), "another seat is on turn, or none")
    return state


def _check_messages(position: pb.Position) -> None:
    """Every card and trump type is one of the game."""
    cards = [*position.table]
    for holder in (*[seat.hand for seat in position.seats], *[trick.cards for trick in position.tricks]):
        cards += holder
    _demand(all(read(card) in MESSAGES and card == MESSAGES[read(card)] for card in cards), "there is no such card")
    trumps = [seat.trump for seat in position.seats if seat.trump]
    _demand(set(trumps) <= set(TRUMPS), "there is no such trump type")


def _read(position: pb.Position) -> State:
    """The state as it is written, not yet checked; the turn follows from the rest."""
    options = pb.Options()
    options.CopyFrom(position.options)
    result = None
    if position.HasField("result"):
        result = pb.MatchEnded()
        result.CopyFrom(position.result)
    _demand(position.HasField("leader") == (position.trick > 0), "there is a leader in every trick and only there")
    hands = [tuple(map(read, seat.hand)) for seat in position.seats]
    state = State(
        players=position.players,
        options=options,
        phase=position.phase,
        deal=position.deal,
        starter=position.starter,
        planning_pass=position.planning_pass,
        trick=position.trick,
        leader=position.leader if position.trick else position.starter,
        decision=position.decision,
        hands=hands,
        hand_counts=[len(hand) for hand in hands],
        predictions=[
            Announced(seat.prediction.prediction, seat.prediction.flex) if seat.HasField("prediction") else None
            for seat in position.seats
        ],
        trumps=[seat.trump for seat in position.seats],
        tricks_won=[seat.tricks_won for seat in position.seats],
        totals=[seat.total for seat in position.seats],
        supply=position.supply,
        table=[read(card) for card in position.table],
        tricks=[Trick(each.leader, tuple(map(read, each.cards)), each.winner) for each in position.tricks],
        result=result,
    )
    if state.phase != pb.PHASE_ENDED:
        turn = state.starter + _choices(state) if state.planning_pass else state.leader + len(state.table)
        state.turn = turn % state.players
    return state


def _choices(state: State) -> int:
    """The choices of the planning that have been made."""
    return sum(each is not None for each in state.predictions) + sum(map(bool, state.trumps))


def _decisions(state: State) -> int:
    """The number of the decision that is open, or was the last to be: every command closes one."""
    commands = _choices(state) + len(state.table) + state.players * len(state.tricks)
    each_deal = (2 + HAND_SIZE) * state.players
    return (state.deal - 1) * each_deal + min(commands + 1, each_deal)


def _check_deal(state: State) -> None:
    """Deal, starter and totals fit each other, and every card of the deck lies in exactly one place."""
    players, deals = state.players, state.options.deals
    _demand(1 <= state.deal <= deals, f"the match has deals 1 to {deals}")
    _demand(state.starter < players, f"seats are 0 to {players - 1}")
    first = fixed_starter(state.options)
    _demand(first is None or state.starter == (first + state.deal - 1) % players, "another seat starts this deal")
    found = [*state.table]
    for cards in (*state.hands, *(trick.cards for trick in state.tricks)):
        found += cards
    _demand(sorted(found) == list(DECKS[players]), "the cards are not the deck, each once")
    _demand(all(list(hand) == sorted(hand) for hand in state.hands), "a hand is sorted by colour and number")
    before = state.totals
    if _ended_by_rules(state):
        scored = [points(each, won) for each, won in zip(state.predictions, state.tricks_won, strict=True) if each]
        _demand(len(scored) == players, "every seat has predicted in a finished deal")
        before = [total - each for total, each in zip(before, scored, strict=True)]
    _demand(set(before) <= _totals(state.deal - 1), f"no seat has such a total after {state.deal - 1} deals")


@cache
def _totals(deals: int) -> frozenset[int]:
    """The totals that a seat may have after some deals."""
    if deals == 0:
        return frozenset({0})
    return frozenset(total + gain for total in _totals(deals - 1) for gain in (4, 2, *range(-HAND_SIZE, 0)))


def _check_planning(state: State) -> None:
    """Predictions, trump types and chips were possible, in the order of the turns."""
    players, choices = state.players, _choices(state)
    for seat in range(players):
        after_starter = (seat - state.starter) % players
        made = (state.predictions[seat] is not None) + bool(state.trumps[seat])
        _demand(made == (choices > after_starter) + (choices > players + after_starter), "a seat chose out of turn")
    over = choices == 2 * players
    _demand(state.planning_pass == (0 if over else choices // players + 1), "the pass of the planning is another one")
    _demand(over == (state.trick > 0), "the tricks begin with the end of the planning")
    chips = [each.chips for each in state.predictions if each is not None]
    _demand(all(each <= HAND_SIZE for each in chips), f"a seat takes at most {HAND_SIZE} chips")
    _demand(sum(chips) + state.supply == CHIPS, f"there are {CHIPS} chips")
    chosen = [trump for trump in state.trumps if trump]
    pairs = len(chosen) - len(set(chosen))
    _demand(pairs <= (1 if players == max(DECKS) else 0), "too many seats have the same trump type")


def _check_tricks(state: State) -> None:
    """Every trick was played and won by the rules, and the hands are what is left."""
    players = state.players
    winners = [trick.winner for trick in state.tricks]
    won = [winners.count(seat) for seat in range(players)]
    _demand(state.tricks_won == won, "the tricks won are not those of the list")
    _demand(len(state.tricks) <= HAND_SIZE, f"a deal has {HAND_SIZE} tricks")
    finished = len(state.tricks) == HAND_SIZE
    if state.trick == 0:
        _demand(not state.tricks and not state.table, "no card is played before the end of the planning")
    else:
        _demand(state.trick == len(state.tricks) + (not finished), "the trick is not the one after the finished ones")
        _demand(len(state.table) < players, "a complete trick is settled at once")
        _check_course(state, finished)
    played = len(state.table)
    for seat, hand in enumerate(state.hands):
        waits = (seat - state.leader) % players >= played
        _demand(len(hand) == HAND_SIZE - len(state.tricks) - (not waits), "a hand is too small or too large")
    _demand(finished == _ended_by_rules(state), "a match ends with the last trick of its last deal")


def _check_course(state: State, finished: bool) -> None:
    """Leaders, winners and the duty to follow, trick by trick."""
    players, leader = state.players, state.starter
    later: list[Sequence[int]] = [*state.hands]  # what a seat held after the trick looked at
    tricks = [*state.tricks, *([] if finished else [Trick(state.leader, tuple(state.table), 0)])]
    for number, trick in enumerate(tricks, 1):
        _demand(trick.leader == leader, f"another seat leads trick {number}")
        if number <= len(state.tricks):
            _demand(len(trick.cards) == players, f"trick {number} has {players} cards")
            leader = (leader + best(trick.cards, state.trumps[leader])) % players
            _demand(trick.winner == leader, f"another seat wins trick {number}")
    if finished:
        _demand(state.leader == state.tricks[-1].leader, f"another seat leads trick {HAND_SIZE}")
    for trick in reversed(tricks):
        for place, card in enumerate(trick.cards):
            seat = (trick.leader + place) % players
            led = trick.cards[0] >> 4
            _demand(card >> 4 == led or all(each >> 4 != led for each in later[seat]), "a seat did not follow")
            later[seat] = [*later[seat], card]


def _ended_by_rules(state: State) -> bool:
    """True if the match ended after its last deal, not because someone left."""
    return state.result is not None and state.result.reason == pb.END_REASON_DEALS_PLAYED


def _check_end(state: State) -> None:
    """Phase and result fit; the result repeats the totals and ranks each seat, or none."""
    result = state.result
    if state.phase != pb.PHASE_ENDED:
        _demand(result is None, "a match that runs has no result")
        _demand(state.phase == (pb.PHASE_TRICKS if state.trick else pb.PHASE_PLANNING), "the phase is another one")
        return
    _demand(result is not None, "a match that has ended has a result")
    assert result is not None
    totals = state.totals
    _demand(list(result.scores) == totals, "the scores of the result are the totals")
    if result.reason == pb.END_REASON_DEALS_PLAYED:
        _demand(state.deal == state.options.deals, "the match has more deals")
        possible = [[*competition_ranking(totals, low_is_good=False)]]
    elif result.reason in (pb.END_REASON_RESIGNED, pb.END_REASON_FORFEIT):
        possible = [ranking_without(totals, seat) for seat in range(state.players)]
    else:
        _demand(result.reason == pb.END_REASON_ABORTED, "the result gives no reason")
        possible = [[]]
    _demand(list(result.ranking) in possible, "the ranking is not that of the scores")
    winners = [seat for seat, rank in enumerate(result.ranking) if rank == 1]
    _demand(list(result.winners) == winners, "the winners are the seats of rank 1")


def _demand(fact: bool, otherwise: str) -> None:
    """Refuse the position unless `fact` holds. The texts never hold a card that could be a secret."""
    if not fact:
        raise ValueError(f"no such position: {otherwise}")
