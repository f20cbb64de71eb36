"""The course of a match, in the order of the rule book: which events a command causes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from google.protobuf.message import Message
from sixledger.engine.chance import Chance
from sixledger.engine.errors import IllegalCommand, MalformedCommand
from sixledger.engine.forces.cards import COLORS, DECKS, HAND_SIZE, HIGHEST, MESSAGES, TRUMPS, best, playable, write
from sixledger.engine.forces.state import Announced, State
from sixledger.engine.game import ABORTED, FORFEIT, RESIGNED, Setup, competition_ranking
from sixledger.games.forces.v1 import forces_pb2 as pb

Events = Iterator[Message]

#: The commands, made once: `legal` hands out these very messages. Predictions in the order of RULES, so that
#: those of at most t chips are the first 2t + 1.
PREDICT = tuple(pb.Predict(prediction=tricks, flex=flex) for tricks in range(HAND_SIZE + 1) for flex in (False, True))
CHOOSE_TRUMP = {trump: pb.ChooseTrump(trump=trump) for trump in TRUMPS}
PLAY_CARD = {card: pb.PlayCard(card=message) for card, message in MESSAGES.items()}

_WAITS = {pb.PHASE_PLANNING: "a prediction or a trump type", pb.PHASE_TRICKS: "a card"}


def start(state: State, setup: Setup, chance: Chance) -> Events:
    """The events that begin a match with a complete setup."""
    if state.players:
        raise ValueError("the match has begun")
    yield pb.MatchStarted(players=setup.seats, options=setup.options)
    starter = fixed_starter(setup.options)
    if starter is None:
        starter = chance.stream(1, "starter").below(setup.seats)
        yield pb.StarterDrawn(seat=starter)
    yield from _begin_deal(state, starter, chance)


def fixed_starter(options: pb.Options) -> int | None:
    """The seat that the options let start the first deal; None if it is drawn."""
    return None if options.first_starter == pb.FIRST_STARTER_RANDOM else options.first_starter - pb.FIRST_STARTER_SEAT_0


def play(state: State, seat: int | None, command: Any, chance: Chance) -> Events:
    """The events of a command; see `Game.play`. Needs a complete state."""
    try:
        step = _COMMANDS[type(command)]
    except KeyError:
        raise MalformedCommand("", f"{type(command).__name__} is no command of 6 Forces") from None
    if seat is None:
        raise MalformedCommand("seat", "is missing: the table gives no command of 6 Forces")
    return step(state, seat, command, chance)


def legal(state: State, seat: int) -> list[Message]:
    """The legal commands of a seat: predictions, then trump types; or cards by colour and number."""
    if seat != state.turn or seat >= state.players:
        return []
    if state.phase == pb.PHASE_TRICKS:
        hand = state.hands[seat]
        if len(hand) != state.hand_counts[seat]:
            raise ValueError(f"the hand of seat {seat} is not known here")
        return [PLAY_CARD[card] for card in (playable(hand, state.table[0]) if state.table else hand)]
    if state.phase != pb.PHASE_PLANNING:
        return []
    commands: list[Message] = []
    if state.predictions[seat] is None:
        commands += PREDICT[: 2 * most_chips(state) + 1]
    if not state.trumps[seat]:
        commands += [CHOOSE_TRUMP[trump] for trump in free_trumps(state.trumps)]
    return commands


def most_chips(state: State) -> int:
    """The chips that a prediction may take (Ruling F3)."""
    return min(state.supply, HAND_SIZE)


def free_trumps(chosen: Sequence[int]) -> list[pb.Trump.ValueType]:
    """The types that may be chosen next, given the seats' choices so far (RULES 1.4.1, choice B)."""
    pair_allowed = len(chosen) == max(HIGHEST) and not any(chosen.count(trump) > 1 for trump in TRUMPS)
    return [trump for trump in TRUMPS if pair_allowed or trump not in chosen]


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
    why = pb.END_REASON_RESIGNED if reason == RESIGNED else pb.END_REASON_FORFEIT
    yield _ended(state.totals, ranking_without(state.totals, seat), why)


def ranking_without(totals: Sequence[int], leaver: int) -> list[int]:
    """Ranks by seat if one leaves: last, whatever its total; the others by theirs."""
    ranks = list(competition_ranking([*totals[:leaver], *totals[leaver + 1 :]], low_is_good=False))
    return [*ranks[:leaver], len(totals), *ranks[leaver:]]


def _ended(totals: Sequence[int], ranking: Sequence[int], reason: pb.EndReason.ValueType) -> pb.MatchEnded:
    """The result; the best rank wins."""
    winners = [seat for seat, rank in enumerate(ranking) if rank == 1]
    return pb.MatchEnded(scores=totals, winners=winners, ranking=ranking, reason=reason)


# -- commands ------------------------------------------------------------------------------------


def _predict(state: State, seat: int, command: pb.Predict, chance: Chance) -> Events:
    """Announce tricks and take chips (RULES 1.4.1, choice A)."""
    _check_seat(state, seat)
    for name in ("prediction", "flex"):
        if not command.HasField(name):
            raise MalformedCommand(name, "is missing")
    _check_phase(state, pb.PHASE_PLANNING)
    if state.predictions[seat] is not None:
        raise IllegalCommand("already_chosen", "the seat has predicted in this deal")
    _check_turn(state, seat)
    announced = Announced(command.prediction, command.flex)
    most = most_chips(state)
    if announced.chips > most:
        raise IllegalCommand(
            "illegal_value",
            f"it would take {announced.chips} chips; {state.supply} are left and at most {most} allowed",
        )
    yield pb.Predicted(
        seat=seat,
        prediction=announced.tricks,
        flex=announced.flex,
        chips_taken=announced.chips,
        chips_left=state.supply - announced.chips,
    )
    yield from _plan_on(state)


def _choose_trump(state: State, seat: int, command: pb.ChooseTrump, chance: Chance) -> Events:
    """Choose a trump type (RULES 1.4.1, choice B)."""
    trump = command.trump
    _check_seat(state, seat)
    if trump not in CHOOSE_TRUMP:
        wrong = f"there is no type {int(trump)}" if trump else "is missing"
        raise MalformedCommand("trump", f"{wrong}; give one of 1 to {len(TRUMPS)}")
    _check_phase(state, pb.PHASE_PLANNING)
    if state.trumps[seat]:
        raise IllegalCommand("already_chosen", "the seat has chosen its trump type in this deal")
    _check_turn(state, seat)
    if trump not in free_trumps(state.trumps):
        raise IllegalCommand("illegal_value", "this trump type is no longer free")
    yield pb.TrumpChosen(seat=seat, trump=trump)
    yield from _plan_on(state)


def _play_card(state: State, seat: int, command: pb.PlayCard, chance: Chance) -> Events:
    """Play a card; the last one of a trick settles it (RULES 1.4.2)."""
    color, number = command.card.color, command.card.number
    _check_seat(state, seat)
    if not command.HasField("card"):
        raise MalformedCommand("card", "is missing")
    if color not in COLORS:
        raise MalformedCommand("card.color", f"there is no colour {int(color)}; give one of 1 to {len(COLORS)}")
    if not 1 <= number <= HIGHEST[state.players]:
        raise MalformedCommand(
            "card.number", f"this match has no card {number}; give one of 1 to {HIGHEST[state.players]}"
        )
    _check_phase(state, pb.PHASE_TRICKS)
    _check_turn(state, seat)
    card, hand = color << 4 | number, state.hands[seat]
    if card not in hand:
        raise IllegalCommand("not_in_hand", "this card is not in the hand of the seat")
    if state.table and card not in playable(hand, state.table[0]):
        raise IllegalCommand("must_follow", "the seat holds a card of the led colour and must play one")
    yield pb.CardPlayed(seat=seat, card=MESSAGES[card])
    if len(state.table) == state.players:
        yield from _settle(state, chance)


_COMMANDS: dict[type[Message], Callable[[State, int, Any, Chance], Events]] = {
    pb.Predict: _predict,
    pb.ChooseTrump: _choose_trump,
    pb.PlayCard: _play_card,
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
    if state.phase != phase:
        _check_running(state)
        raise IllegalCommand("wrong_phase", f"the match waits for {_WAITS[state.phase]}")


def _check_turn(state: State, seat: int) -> None:
    if seat != state.turn:
        raise IllegalCommand("not_your_turn", f"seat {state.turn} is on turn")


# -- the steps of a deal -------------------------------------------------------------------------


def _begin_deal(state: State, starter: int, chance: Chance) -> Events:
    """Shuffle and deal everything (RULES 1.3)."""
    number = state.deal + 1
    yield pb.DealStarted(deal=number, starter=starter, hand_size=HAND_SIZE)
    order = write(chance.stream(number, "deck").shuffle(DECKS[state.players]))
    yield pb.DeckShuffled(deal=number, order=order)
    for seat in range(state.players):
        yield pb.HandDealt(seat=seat, cards=order[HAND_SIZE * seat : HAND_SIZE * (seat + 1)])


def _plan_on(state: State) -> Events:
    """After the second pass the first trick begins."""
    if state.planning_pass <= 2:
        return
    # A seat makes one choice in each pass, and the checks let it make neither twice.
    assert None not in state.predictions, "a seat has not predicted"
    assert all(state.trumps), "a seat has not chosen its trump type"
    predictions = [pb.Prediction(prediction=each.tricks, flex=each.flex) for each in state.predictions if each]
    yield pb.PlanningEnded(predictions=predictions, trumps=state.trumps)
    yield pb.TrickStarted(trick=1, leader=state.starter, trump=state.trumps[state.starter])


def _settle(state: State, chance: Chance) -> Events:
    """The winner of the trick leads the next one; the last trick ends the deal."""
    trick, table = state.trick, state.table
    place = best(table, state.trumps[state.leader])
    winner = (state.leader + place) % state.players
    won = state.tricks_won[:]
    won[winner] += 1
    yield pb.TrickWon(trick=trick, seat=winner, card=MESSAGES[table[place]], tricks_won=won)
    if trick < HAND_SIZE:
        yield pb.TrickStarted(trick=trick + 1, leader=winner, trump=state.trumps[winner])
    else:
        yield from _end_deal(state, chance)


def points(announced: Announced, won: int) -> int:
    """The points of a seat that has won this many tricks (RULES 1.4.3)."""
    tricks, flex = announced
    if tricks <= won <= tricks + flex:
        return 2 if flex else 4
    return won - tricks if won < tricks else tricks + flex - won


def _end_deal(state: State, chance: Chance) -> Events:
    """Score the deal; end the match or begin the next deal (RULES 1.4.3, 1.4.4)."""
    scored = [points(each, won) for each, won in zip(state.predictions, state.tricks_won, strict=True) if each]
    totals = [total + each for total, each in zip(state.totals, scored, strict=True)]
    yield pb.DealScored(deal=state.deal, tricks_won=state.tricks_won, points=scored, totals=totals)
    if state.deal < state.options.deals:
        yield from _begin_deal(state, (state.starter + 1) % state.players, chance)
        return
    yield _ended(totals, competition_ranking(totals, low_is_good=False), pb.END_REASON_DEALS_PLAYED)
