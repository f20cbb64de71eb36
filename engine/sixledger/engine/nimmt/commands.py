"""The commands as messages: made once where there are few of them, and checked against what a match has.

What is wrong here is malformed: no turn of the match could ever take it (RULES 0.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import Message
from sixledger.engine.errors import MalformedCommand
from sixledger.engine.nimmt.cards import HIGHEST, ROWS
from sixledger.engine.nimmt.state import State
from sixledger.games.nimmt.v1 import nimmt_pb2 as pb

_CARDS = range(HIGHEST + 1)
#: Commands by card, by row or by cards. They are handed out as they are: nobody may change them.
SELECT_CARD = tuple(pb.SelectCard(card=card) for card in _CARDS)
LAY_CARD = tuple(pb.LayCard(card=card) for card in _CARDS)
DRAFT_CARD = tuple(pb.DraftCard(card=card) for card in _CARDS)
PLAY_CARD = tuple(pb.PlayCards(cards=(card,)) for card in _CARDS)
TAKE_ROW = tuple(pb.TakeRow(row=row) for row in range(ROWS))


@cache
def select_pairs(low: int) -> tuple[pb.SelectPair, ...]:
    """The pairs of nifty whose lower card is `low`, by the higher card; those that are none hold no cards."""
    return tuple(pb.SelectPair(cards=(low, card) if card > low else ()) for card in _CARDS)


@cache
def play_pairs(first: int) -> tuple[pb.PlayCards, ...]:
    """The two cards of hand that begin with `first`, by the second card."""
    return tuple(pb.PlayCards(cards=(first, card)) for card in _CARDS)


def check_seat(state: State, seat: int) -> None:
    """Raise MalformedCommand for a seat that does not exist."""
    if not 0 <= seat < state.players:
        raise MalformedCommand("seat", f"there is no seat {seat}; the match has {state.players}, counted from 0")


def check_shape(state: State, command: Any) -> None:
    """Raise MalformedCommand for a message that is no command, or not complete, or out of range in this match."""
    try:
        check = _SHAPES[type(command)]
    except KeyError:
        raise MalformedCommand("", f"{type(command).__name__} is no command of 6 nimmt!") from None
    check(state, command)


def _card(state: State, command: Any) -> None:
    lowest, highest = state.rules.lowest, state.highest
    card = command.card
    if not lowest <= card <= highest:
        wrong = f"this match has no card {card}" if command.HasField("card") else "is missing"
        raise MalformedCommand("card", f"{wrong}; give one of {lowest} to {highest}")


def _cards(state: State, command: Any) -> None:
    lowest, highest = state.rules.lowest, state.highest
    wrong = _first_outside(command.cards, lowest, highest)
    if wrong is not None:
        raise MalformedCommand("cards", f"this match has no card {wrong}; give cards of {lowest} to {highest}")


def _first_outside(cards: Iterable[int], lowest: int, highest: int) -> int | None:
    return next((card for card in cards if not lowest <= card <= highest), None)


def _row(state: State, command: Any) -> None:
    row = command.row
    if row >= ROWS or not command.HasField("row"):
        wrong = f"there is no row {row}" if row else "is missing"
        raise MalformedCommand("row", f"{wrong}; give one of 0 to {ROWS - 1}")


def _end(state: State, command: pb.ChooseEnd) -> None:
    _row(state, command)
    if command.side not in (pb.SIDE_LEFT, pb.SIDE_RIGHT):
        wrong = "this is no end of a row" if command.side else "is missing"
        raise MalformedCommand("side", f"{wrong}; give the left or the right one")


_SHAPES: Mapping[type[Message], Callable[[State, Any], None]] = {
    pb.SelectCard: _card,
    pb.SelectPair: _cards,
    pb.LayCard: _card,
    pb.PlayCards: _cards,
    pb.DraftCard: _card,
    pb.PlaceFirst: _card,
    pb.TakeRow: _row,
    pb.ChooseEnd: _end,
    pb.KeepCards: _cards,
}

#: Type of a command → its case in the game's `Command`.
_ONEOF: Any = pb.Command.DESCRIPTOR.oneofs_by_name["command"]
CASES: Mapping[type[Message], str] = {
    message_factory.GetMessageClass(field.message_type): field.name for field in _ONEOF.fields
}
